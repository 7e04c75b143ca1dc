#include "tests/chaos/cluster.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "tests/node/eventually.h"
#include "tests/system/process.h"

namespace quipu::chaos {
namespace {

// In its state, in its last line, and in the log of one that its peers refuse. Of others,
// whose names are in its log too, it speaks in other words.
constexpr const char* kAsks = "--rebuild";
constexpr const char* kAsksAtItsEnd = "start the node with --rebuild";
constexpr const char* kRefusedByPeers = "this node's store is not the one";

std::size_t size_of(const std::filesystem::path& file) {
  std::error_code error;
  const auto size = std::filesystem::file_size(file, error);
  return error ? 0 : size;
}

std::string describe_end(int status) {
  return WIFEXITED(status) ? "exit code " + std::to_string(WEXITSTATUS(status))
                           : "signal " + std::to_string(WTERMSIG(status));
}

// After SIGSTOP: no thread executes its own code any more. One that is within a system call
// (state D) stops before it returns.
bool stands_still(pid_t pid) {
  for (const auto& thread :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task")) {
    std::ifstream file(thread.path() / "stat");
    std::string stat;
    std::getline(file, stat);
    const std::size_t name_end = stat.rfind(") ");
    if (name_end == std::string::npos) continue;  // it has ended
    if (const char state = stat[name_end + 2]; state != 'T' && state != 'D') return false;
  }
  return true;
}

}  // namespace

Cluster::Cluster(Programs programs, const Options& options, std::filesystem::path directory,
                 Network& network, std::vector<Disk>& disks)
    : programs_(std::move(programs)),
      directory_(std::move(directory)),
      network_(network),
      disks_(disks) {
  write_settings(options);
  for (std::size_t node = 0; node < kNodes; ++node) set_clock(node, {});
}

Cluster::~Cluster() {
  for (std::size_t node = 0; node < kNodes; ++node) kill(node);
}

void Cluster::write_settings(const Options& options) const {
  const ProtectionFiles& files = options.protection;
  std::string secret, tls;
  if (!files.secret.empty()) {
    secret = "secret_file = \"" + files.secret + "\"\n";
    // The Redis clients of the load speak plain text.
    tls = "[tls]\ncertificate = \"" + files.certificate + "\"\nkey = \"" + files.key +
          "\"\n[client]\nplaintext = \"allow\"\n";
  }
  std::string members;
  for (std::size_t node = 0; node < kNodes; ++node) {
    const Network::Addresses at = network_.dialed(node);
    members += "  { name = \"" + name_of(node) + "\", client = \"" + at.client + "\", peer = \"" +
               at.peer + "\" },\n";
  }
  for (std::size_t node = 0; node < kNodes; ++node) {
    const Network::Addresses at = network_.listened(node);
    std::ofstream(settings(node)) << "[cluster]\nname = \"chaos\"\nreactors = " << options.reactors
                                  << '\n'
                                  << secret << "members = [\n"
                                  << members << "]\n[node]\nname = \"" << name_of(node)
                                  << "\"\ndata_directory = \"" << disks_[node].data().string()
                                  << "\"\nclient_address = \"" << at.client
                                  << "\"\npeer_address = \"" << at.peer
                                  << "\"\ninsecure = true\n"
                                  // Small, so that a run of minutes has many checkpoints.
                                  << "checkpoint_bytes = 262144\n"
                                  << "drain_delay_ms = 200\n"
                                  << tls;
  }
}

std::filesystem::path Cluster::settings(std::size_t node) const {
  return directory_ / (name_of(node) + ".toml");
}
std::filesystem::path Cluster::log(std::size_t node) const {
  return directory_ / (name_of(node) + ".log");
}
std::filesystem::path Cluster::sync_switch(std::size_t node) const {
  return directory_ / (name_of(node) + ".failing-sync");
}
std::filesystem::path Cluster::clock(std::size_t node) const {
  return directory_ / (name_of(node) + ".clock");
}

void Cluster::start(std::size_t node, Store store) {
  Node& at = nodes_[node];
  if (at.pid != 0) return;
  at = {.may_end = at.disk_lost, .disk_lost = at.disk_lost, .log_begin = size_of(log(node))};
  // It dies with us, and only then.
  std::vector<std::string> arguments{
      "setpriv",
      "--pdeathsig",
      "KILL",
      "env",
      "LD_PRELOAD=" + programs_.faulty_machine,
      "QUIPU_CLOCK_AHEAD=" + clock(node).string(),
      "QUIPU_FAIL_SYNC_WHILE=" + sync_switch(node).string(),
      std::string("QUIPU_LIE_ABOUT_SYNC=") + (programs_.lying_syncs ? "yes" : ""),
      programs_.quipud,
      "--config",
      settings(node)};
  if (store == Store::rebuild) {
    arguments.emplace_back("--rebuild");
    ++rebuilds_;
  }
  at.pid = network_.start(node, arguments, log(node));
}

void Cluster::kill(std::size_t node) {
  Node& at = nodes_[node];
  reap();
  if (at.pid == 0) return;
  ::kill(at.pid, SIGKILL);
  test::wait_for(at.pid);
  at.pid = 0;
  at.paused = false;
}

void Cluster::stop(std::size_t node) {
  Node& at = nodes_[node];
  reap();
  if (at.pid == 0) return;
  ::kill(at.pid, SIGTERM);
  const int code = test::wait_for(at.pid);
  at.pid = 0;
  if (code != 0) {
    findings_.push_back(name_of(node) + " was stopped by SIGTERM and ended with " +
                        std::to_string(code) + ":\n" + last_words(node));
  }
}

void Cluster::pause(std::size_t node) {
  reap();
  if (nodes_[node].pid == 0) return;
  ::kill(nodes_[node].pid, SIGSTOP);
  nodes_[node].paused = true;
  if (!test::eventually([&] { return stands_still(nodes_[node].pid); }))
    throw std::runtime_error(name_of(node) + " goes on in spite of SIGSTOP");
}

void Cluster::resume(std::size_t node) {
  if (nodes_[node].pid != 0 && nodes_[node].paused) ::kill(nodes_[node].pid, SIGCONT);
  nodes_[node].paused = false;
}

void Cluster::break_sync(std::size_t node) const { std::ofstream(sync_switch(node)).flush(); }
void Cluster::mend_sync(std::size_t node) const { std::filesystem::remove(sync_switch(node)); }

// In place, since the process has it mapped.
void Cluster::set_clock(std::size_t node, std::chrono::seconds ahead) const {
  const std::int64_t seconds = ahead.count();
  const bool exists = std::filesystem::exists(clock(node));
  std::fstream file(clock(node),
                    std::ios::binary | std::ios::out | (exists ? std::ios::in : std::ios::trunc));
  file.write(reinterpret_cast<const char*>(&seconds), sizeof seconds).flush();
  if (!file) throw std::runtime_error("cannot write " + clock(node).string());
}

bool Cluster::trusts_its_clock(std::size_t node, bool expected,
                               std::chrono::seconds patience) const {
  return test::eventually(
      [&] {
        std::size_t reactors = 0, as_expected = 0;
        for (const auto& member : ask_for_members(node)) {
          const std::string name = member.at("name");
          if (name.substr(0, name.find('/')) != name_of(node)) continue;
          ++reactors;
          as_expected += member.at("clock_trusted") == expected ? 1 : 0;
        }
        return reactors > 0 && as_expected == reactors;
      },
      patience);
}

bool Cluster::ends(std::size_t node, std::chrono::milliseconds patience) {
  return test::eventually(
      [&] {
        reap();
        return nodes_[node].pid == 0;
      },
      patience);
}

std::string Cluster::words(std::size_t node) const {
  return test::read_file(log(node)).substr(nodes_[node].log_begin);
}

std::string Cluster::last_words(std::size_t node) const {
  std::istringstream file(words(node));
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  constexpr std::size_t kMost = 5;
  std::string text;
  for (std::size_t i = lines.size() < kMost ? 0 : lines.size() - kMost; i < lines.size(); ++i) {
    text += "    " + lines[i] + "\n";
  }
  return text;
}

void Cluster::reap() {
  for (std::size_t node = 0; node < kNodes; ++node) {
    Node& at = nodes_[node];
    int status = 0;
    if (at.pid == 0 || ::waitpid(at.pid, &status, WNOHANG) != at.pid) continue;
    at.pid = 0;
    if (at.may_end && WIFEXITED(status)) continue;
    findings_.push_back(name_of(node) + " ended by itself (" + describe_end(status) +
                        "), which no fault explains (P8):\n" + last_words(node));
  }
}

// As a node tells of all members. Empty: it cannot be asked.
nlohmann::json Cluster::ask_for_members(std::size_t asked) const {
  if (nodes_[asked].pid == 0) return nlohmann::json::array();
  const test::Finished said = test::run({programs_.cli, "cluster", "status", "--node",
                                         client_address(asked), "-o", "json", "--timeout", "1s"});
  // It exits with 1 where a member cannot be reached, and still shows the others.
  const auto status = nlohmann::json::parse(said.out, nullptr, false);
  return status.is_discarded() ? nlohmann::json::array() : status.at("members");
}

std::array<std::string, kNodes> Cluster::states() const {
  std::array<std::string, kNodes> states;
  for (std::size_t asked = 0; asked < kNodes; ++asked) {
    const nlohmann::json members = ask_for_members(asked);
    if (members.empty()) continue;
    for (const auto& member : members) {
      for (std::size_t node = 0; node < kNodes; ++node) {
        if (member.at("name") == name_of(node)) states[node] = member.at("state");
      }
    }
    return states;
  }
  return states;
}

void Cluster::look_after(std::size_t node, const std::string& state) {
  Node& at = nodes_[node];
  const std::string words = last_words(node);
  const auto says = [&](const char* what) { return words.find(what) != std::string::npos; };
  const bool asks = at.pid == 0 ? says(kAsksAtItsEnd)
                                : state.find(kAsks) != std::string::npos || says(kRefusedByPeers);
  if (!asks) return start(node);
  if (!at.disk_lost) {
    findings_.push_back(name_of(node) + " asks for --rebuild, but nothing was done to its disk:\n" +
                        "    state: " + state + "\n" + words);
  }
  kill(node);
  start(node, Store::rebuild);
}

// What --rebuild moved aside would fill the small disks in an hour.
void Cluster::remove_broken_stores() const {
  for (const Disk& disk : disks_) {
    std::vector<std::filesystem::path> broken;
    for (const auto& entry : std::filesystem::directory_iterator(disk.data())) {
      if (entry.path().filename().string().starts_with("store.broken-")) {
        broken.push_back(entry.path());
      }
    }
    for (const std::filesystem::path& one : broken) std::filesystem::remove_all(one);
  }
}

std::string Cluster::nurse(std::chrono::seconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  std::array<std::string, kNodes> said;
  for (;;) {
    reap();
    for (std::size_t node = 0; node < kNodes; ++node) look_after(node, said[node]);
    said = states();
    const bool ready = std::all_of(said.begin(), said.end(),
                                   [](const std::string& state) { return state == "ready"; });
    if (ready) break;
    if (std::chrono::steady_clock::now() > deadline) {
      std::string text = "not all nodes were ready " + std::to_string(patience.count()) +
                         " s after the last fault had ended:\n";
      for (std::size_t node = 0; node < kNodes; ++node) {
        text += "  " + name_of(node) + ": \"" + said[node] + "\"\n" + last_words(node);
      }
      return text;
    }
  }
  for (Node& node : nodes_) node.may_end = node.disk_lost = false;
  remove_broken_stores();
  return "";
}

}  // namespace quipu::chaos
