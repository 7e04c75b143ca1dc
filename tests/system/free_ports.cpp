#include "tests/system/free_ports.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>

namespace quipu::test {

// Held open together, so that no two are the same.
std::vector<int> free_ports(std::size_t count) {
  std::vector<int> sockets, ports;
  for (std::size_t i = 0; i < count; ++i) {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    sockaddr any{};
    std::memcpy(&any, &address, sizeof any);
    socklen_t length = sizeof any;
    if (::bind(fd, &any, sizeof any) != 0 || ::getsockname(fd, &any, &length) != 0)
      throw std::runtime_error("no port");
    std::memcpy(&address, &any, sizeof address);
    sockets.push_back(fd);
    ports.push_back(ntohs(address.sin_port));
  }
  for (const int fd : sockets) ::close(fd);
  return ports;
}

}  // namespace quipu::test
