#include "tests/chaos/namespaces.h"

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "tests/system/process.h"

namespace quipu::chaos {
namespace {

constexpr int kClientPort = 7400;
constexpr int kPeerPort = 7401;

std::string host(std::size_t place) {
  return "198.18.0." + (place == kClients ? "254" : std::to_string(place + 1));
}

int open_own_namespace() {
  const int fd = ::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw std::runtime_error("cannot open /proc/thread-self/ns/net");
  return fd;
}

bool write_file(const char* path, const std::string& text) {
  std::ofstream file(path);
  file << text << std::flush;
  return file.good();
}

bool raise_loopback() {
  ifreq loopback{};
  std::strcpy(loopback.ifr_name, "lo");
  loopback.ifr_flags = IFF_UP;
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const bool done = socket >= 0 && ::ioctl(socket, SIOCSIFFLAGS, &loopback) == 0;
  if (socket >= 0) ::close(socket);
  return done;
}

std::string leave_for_private_world() {
  constexpr int kWorlds = CLONE_NEWNET | CLONE_NEWNS;
  const uid_t user = ::getuid();
  const gid_t group = ::getgid();
  if (::unshare(kWorlds) != 0) {
    // Who is not root may be, in a world of his own.
    if (::unshare(kWorlds | CLONE_NEWUSER) != 0) {
      return std::string("no namespaces for this user: ") + std::strerror(errno);
    }
    if (!write_file("/proc/self/setgroups", "deny") ||
        !write_file("/proc/self/uid_map", "0 " + std::to_string(user) + " 1") ||
        !write_file("/proc/self/gid_map", "0 " + std::to_string(group) + " 1")) {
      return "cannot map this user in a namespace";
    }
  }
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    return std::string("cannot make the mounts private: ") + std::strerror(errno);
  }
  if (!raise_loopback()) return std::string("cannot raise lo: ") + std::strerror(errno);
  return "";
}

// Half of it would be worse than nothing: a new network without lo, say.
std::string try_in_a_child() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string why = leave_for_private_world();
    const bool told = ::write(ends[1], why.data(), why.size()) >= 0;
    ::_exit(told && why.empty() ? 0 : 1);
  }
  ::close(ends[1]);
  std::array<char, 256> why{};
  const ssize_t length = ::read(ends[0], why.data(), why.size());
  ::close(ends[0]);
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) return "no child to try it in";
  if (status == 0) return "";
  if (length <= 0) return "a child that tried it ended without a word";
  return {why.data(), static_cast<std::size_t>(length)};
}

}  // namespace

std::string enter_private_world() {
  const std::string why_not = try_in_a_child();
  return why_not.empty() ? leave_for_private_world() : why_not;
}

Namespaces::Namespaces(std::filesystem::path directory, std::uint64_t seed)
    : directory_(std::move(directory)) {
  namespaces_.fill(-1);
  namespaces_[kClients] = open_own_namespace();
  test::run_or_throw({"ip", "link", "add", "bridge", "type", "bridge"});
  test::run_or_throw({"ip", "address", "add", host(kClients) + "/24", "dev", "bridge"});
  test::run_or_throw({"ip", "link", "set", "bridge", "up"});
  for (std::size_t node = 0; node < kNodes; ++node) make_place(node);
  for (std::size_t place = 0; place < kPlaces; ++place) make_proxy(place, seed + place);
  try {
    disturb({});
    calm();
  } catch (const std::runtime_error& error) {
    why_undisturbed_ = std::string("nftables cannot redirect here: ") + error.what();
  }
}

Namespaces::~Namespaces() {
  for (auto& proxy : proxies_) proxy.reset();
  for (const int fd : namespaces_) {
    if (fd >= 0) ::close(fd);
  }
}

// A thread leaves for a new namespace, and the descriptor keeps that alive.
void Namespaces::make_place(std::size_t place) {
  const std::string name = "n" + std::to_string(place + 1);
  std::exception_ptr failed;
  std::thread([&] {
    try {
      if (::unshare(CLONE_NEWNET) != 0) throw std::runtime_error("no network namespace");
      namespaces_[place] = open_own_namespace();
      test::run_or_throw({"ip", "link", "set", "lo", "up"});
      // The process's own namespace is that of its first thread, the clients'.
      test::run_or_throw({"ip", "link", "add", "eth0", "type", "veth", "peer", "name", name,
                          "netns", std::to_string(::getpid())});
      test::run_or_throw({"ip", "address", "add", host(place) + "/24", "dev", "eth0"});
      test::run_or_throw({"ip", "link", "set", "eth0", "up"});
    } catch (...) {
      failed = std::current_exception();
    }
  }).join();
  if (failed) std::rethrow_exception(failed);
  test::run_or_throw({"ip", "link", "set", name, "master", "bridge", "up"});
  nft(place,
      "table inet chaos {\n set deaf_to { type ipv4_addr; }\n"
      " chain input {\n  type filter hook input priority 0;\n  ip saddr @deaf_to drop\n }\n}\n");
}

void Namespaces::make_proxy(std::size_t place, std::uint64_t seed) {
  using asio::ip::make_address_v4;
  proxies_[place] = std::make_unique<Proxy>(
      weather_, Proxy::Options{.enter = [this, place] { enter(place); },
                               .who = [place](std::uint16_t) { return place; },
                               .mark = true,
                               .seed = seed});
  const int port = place == kClients ? kClientPort : kPeerPort;
  for (std::size_t to = 0; to < kNodes; ++to) {
    if (to == place) continue;
    ports_[place][to] = proxies_[place]->add(
        {.listen = {make_address_v4("0.0.0.0"), 0},
         .target = {make_address_v4(host(to)), static_cast<std::uint16_t>(port)},
         .to = to});
  }
}

void Namespaces::enter(std::size_t place) const {
  if (::setns(namespaces_[place], CLONE_NEWNET) != 0) {
    throw std::runtime_error("cannot enter a network namespace");
  }
}

void Namespaces::nft(std::size_t place, const std::string& rules) const {
  const std::string file = directory_ / ("rules-" + std::to_string(place) + ".nft");
  std::ofstream(file) << rules;
  enter(place);
  const test::Finished done = test::run({"nft", "-f", file});
  enter(kClients);
  std::filesystem::remove(file);
  if (done.exit_code != 0) {
    throw std::runtime_error("nft: " + done.err.substr(0, done.err.find('\n')));
  }
}

Network::Addresses Namespaces::dialed(std::size_t node) const {
  return {host(node) + ":" + std::to_string(kClientPort),
          host(node) + ":" + std::to_string(kPeerPort)};
}

pid_t Namespaces::start(std::size_t node, const std::vector<std::string>& arguments,
                        const std::string& log) {
  enter(node);
  const pid_t pid = test::spawn(arguments, log, log);
  enter(kClients);
  return pid;
}

void Namespaces::cut(std::size_t from, std::size_t to) {
  nft(to, "add element inet chaos deaf_to { " + host(from) + " }\n");
}

void Namespaces::heal() {
  for (std::size_t node = 0; node < kNodes; ++node) nft(node, "flush set inet chaos deaf_to\n");
}

std::string Namespaces::detour(std::size_t place) const {
  const std::string port = std::to_string(place == kClients ? kClientPort : kPeerPort);
  std::string redirect, reset;
  for (std::size_t to = 0; to < kNodes; ++to) {
    if (to == place) continue;
    const std::string match = "  meta mark != " + std::to_string(kProxyMark) + " ip daddr " +
                              host(to) + " tcp dport " + port;
    redirect += match + " redirect to :" + std::to_string(ports_[place][to]) + "\n";
    reset += match + " reject with tcp reset\n";
  }
  return "table ip detour {\n"
         " chain to_proxy {\n  type nat hook output priority -100;\n" +
         redirect +
         " }\n"
         " chain existing {\n  type filter hook output priority 0;\n" +
         reset + " }\n}\n";
}

void Namespaces::disturb(Disturbance disturbance) {
  weather_.delay_ms = disturbance.delay_ms;
  weather_.lost_in_100 = disturbance.lost_in_100;
  for (std::size_t place = 0; place < kPlaces; ++place) nft(place, detour(place));
}

void Namespaces::calm() {
  for (std::size_t place = 0; place < kPlaces; ++place) nft(place, "delete table ip detour\n");
  weather_.delay_ms = 0;
  weather_.lost_in_100 = 0;
  for (const auto& proxy : proxies_) proxy->hang_up();
}

std::string Namespaces::describe() const {
  return "5 network namespaces on a bridge, cut by nftables, delayed by a proxy";
}

}  // namespace quipu::chaos
