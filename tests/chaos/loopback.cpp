#include "tests/chaos/loopback.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "tests/system/free_ports.h"
#include "tests/system/process.h"

namespace quipu::chaos {
namespace {

std::string loopback(std::uint16_t port) { return "127.0.0.1:" + std::to_string(port); }

// The inode of the socket that is bound to the port and connected; empty: none.
std::string socket_of(std::uint16_t port) {
  std::ifstream table("/proc/net/tcp");
  std::string line;
  std::getline(table, line);
  while (std::getline(table, line)) {
    std::istringstream fields(line);
    std::vector<std::string> field(10);
    for (std::string& one : field) fields >> one;
    const std::string listening = "0A";
    if (field[3] == listening || field[1].size() < 5) continue;
    if (std::stoul(field[1].substr(field[1].find(':') + 1), nullptr, 16) == port) return field[9];
  }
  return "";
}

bool has_socket(pid_t pid, const std::string& inode) {
  std::error_code error;
  const std::filesystem::path files = "/proc/" + std::to_string(pid) + "/fd";
  for (const auto& file : std::filesystem::directory_iterator(files, error)) {
    if (std::filesystem::read_symlink(file, error) == "socket:[" + inode + "]") return true;
  }
  return false;
}

}  // namespace

Loopback::Loopback(std::uint64_t seed) {
  const std::vector<int> ports = test::free_ports(2 * kNodes);
  proxy_ = std::make_unique<Proxy>(
      weather_,
      Proxy::Options{
          .enter = {}, .who = [this](std::uint16_t port) { return who_has(port); }, .seed = seed});
  const auto in_front_of = [this](std::uint16_t port, std::size_t node) {
    const asio::ip::address host = asio::ip::make_address("127.0.0.1");
    return proxy_->add({.listen = {host, 0}, .target = {host, port}, .to = node});
  };
  for (std::size_t node = 0; node < kNodes; ++node) {
    listened_[node] = {static_cast<std::uint16_t>(ports[2 * node]),
                       static_cast<std::uint16_t>(ports[2 * node + 1])};
    dialed_[node] = {in_front_of(listened_[node].client, node),
                     in_front_of(listened_[node].peer, node)};
  }
}

Network::Addresses Loopback::dialed(std::size_t node) const {
  return {loopback(dialed_[node].client), loopback(dialed_[node].peer)};
}
Network::Addresses Loopback::listened(std::size_t node) const {
  return {loopback(listened_[node].client), loopback(listened_[node].peer)};
}

pid_t Loopback::start(std::size_t node, const std::vector<std::string>& arguments,
                      const std::string& log) {
  return pids_[node] = test::spawn(arguments, log, log);
}

std::size_t Loopback::who_has(std::uint16_t port) const {
  const std::string inode = socket_of(port);
  for (std::size_t node = 0; node < kNodes && !inode.empty(); ++node) {
    if (has_socket(pids_[node], inode)) return node;
  }
  return kClients;
}

void Loopback::heal() {
  for (auto& row : weather_.cut) {
    for (auto& one : row) one = false;
  }
}

void Loopback::disturb(Disturbance disturbance) {
  weather_.delay_ms = disturbance.delay_ms;
  weather_.lost_in_100 = disturbance.lost_in_100;
}

void Loopback::calm() {
  disturb({});
  proxy_->hang_up();
}

}  // namespace quipu::chaos
