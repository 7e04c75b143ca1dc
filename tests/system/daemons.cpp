#include "tests/system/daemons.h"

#include <sys/wait.h>

#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "tests/node/eventually.h"
#include "tests/system/free_ports.h"

namespace quipu::test {

Daemons::Daemons(std::size_t count, const std::string& others)
    : Daemons(count, DaemonSettings{.others = std::vector<std::string>(count, others)}) {}

Daemons::Daemons(std::size_t count, const DaemonSettings& more) : pids_(count, 0) {
  const std::vector<int> ports = free_ports(2 * count);
  const auto of = [](const std::vector<std::string>& nodes, std::size_t i) {
    return nodes.empty() ? "" : nodes[i];
  };
  std::string members;
  for (std::size_t i = 0; i < count; ++i) {
    clients_.push_back(more.clients.empty() ? "127.0.0.1:" + std::to_string(ports[2 * i])
                                            : more.clients[i]);
    const std::string peer =
        more.peers.empty() ? "127.0.0.1:" + std::to_string(ports[2 * i + 1]) : more.peers[i];
    members += "  { name = \"n" + std::to_string(i + 1) + "\", client = \"" + clients_[i] +
               "\", peer = \"" + peer + "\" },\n";
  }
  for (std::size_t i = 0; i < count; ++i) {
    std::ofstream file(settings(i));
    file << "[cluster]\nname = \"test\"\n"
         << of(more.clusters, i) << "members = [\n"
         << members << "]\n[node]\nname = \"n" << i + 1 << "\"\ndata_directory = \""
         << data_directory(i) << "\"\ndrain_delay_ms = 0\n"
         << of(more.nodes, i) << of(more.others, i);
  }
}

Daemons::~Daemons() {
  for (std::size_t i = 0; i < pids_.size(); ++i) {
    if (pids_[i] != 0) end(i, SIGKILL);
  }
}

std::string Daemons::settings(std::size_t node) const {
  return directory_ / ("n" + std::to_string(node + 1) + ".toml");
}
std::string Daemons::log(std::size_t node) const { return read_file(settings(node) + ".log"); }
std::string Daemons::data_directory(std::size_t node) const {
  return directory_ / ("n" + std::to_string(node + 1));
}

void Daemons::start(std::size_t node, const std::vector<std::string>& flags) {
  start(QUIPUD_PATH, node, flags);
}

void Daemons::start_next_release(std::size_t node) { start(QUIPUD_NEXT_PATH, node, {}); }

void Daemons::start(const char* program, std::size_t node, const std::vector<std::string>& flags) {
  const std::string log = settings(node) + ".log";
  std::vector<std::string> arguments{program, "--config", settings(node)};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  pids_[node] = spawn(arguments, log, log);
}

void Daemons::start_all() {
  for (std::size_t i = 0; i < pids_.size(); ++i) start(i);
}

void Daemons::signal(std::size_t node, int number) const { ::kill(pids_[node], number); }

void Daemons::pause(std::size_t node) const {
  signal(node, SIGSTOP);
  int status = 0;
  if (::waitpid(pids_[node], &status, WUNTRACED) != pids_[node] || !WIFSTOPPED(status)) {
    throw std::runtime_error("it does not stop");
  }
}

int Daemons::end(std::size_t node, int number) {
  signal(node, number);
  return wait_for(std::exchange(pids_[node], 0));
}

bool Daemons::all_ready() {
  return eventually([&] {
    for (std::size_t i = 0; i < pids_.size(); ++i) {
      const Finished get =
          run({QUIPU_CLI_PATH, "get", "x", "--timeout", "1s", "--node", clients_[i]});
      if (pids_[i] == 0) continue;
      if (get.exit_code != 0 || state(i).starts_with("comparing")) return false;
    }
    return true;
  });
}

nlohmann::json Daemons::own_status(std::size_t node) const {
  const Finished said =
      run({QUIPU_CLI_PATH, "cluster", "status", "--node", clients_[node], "-o", "json"});
  const nlohmann::json status = nlohmann::json::parse(said.out);
  if (status.at("members").empty()) return nlohmann::json::object();
  for (const auto& member : status.at("members")) {
    if (member.at("name") == "n" + std::to_string(node + 1)) return member;
  }
  throw std::runtime_error("no such member in the status");
}

std::string Daemons::state(std::size_t node) const { return own_status(node).value("state", ""); }

std::uint64_t Daemons::stat(std::size_t node, const std::string& name) const {
  return own_status(node).at("stats").at(name).get<std::uint64_t>();
}

}  // namespace quipu::test
