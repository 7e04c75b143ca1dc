#include "tests/system/free_ports.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>

namespace quipu::test {
namespace {

constexpr int kFirst = 10'000;

// Connections get ports from here on.
int first_of_connections() {
  int first = 0;
  std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> first;
  return std::clamp(first, kFirst + 1, 65'536);
}

template <class Address>
bool bind_to(int socket, const Address& address) {
  sockaddr_storage any{};
  std::memcpy(&any, &address, sizeof address);
  return ::bind(socket, reinterpret_cast<const sockaddr*>(&any), sizeof address) == 0;
}

bool is_free(int port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  const bool free = bind_to(socket, address);
  ::close(socket);
  return free;
}

// By an abstract name of a local socket, which the system frees when this process ends.
bool reserve(int port) {
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = "quipu-test-port-" + std::to_string(port);
  std::copy(name.begin(), name.end(), address.sun_path + 1);
  if (bind_to(socket, address)) return true;
  ::close(socket);
  return false;
}

}  // namespace

std::vector<int> free_ports(std::size_t count) {
  std::random_device random;
  std::uniform_int_distribution<int> any(kFirst, first_of_connections() - 1);
  std::vector<int> ports;
  for (int tries = 0; ports.size() < count; ++tries) {
    if (tries == 10'000) throw std::runtime_error("no port is free");
    const int port = any(random);
    if (reserve(port) && is_free(port)) ports.push_back(port);
  }
  return ports;
}

}  // namespace quipu::test
