#include "node/base/sockets.h"

#include <unistd.h>

namespace quipu {
namespace {

using asio::ip::tcp;

// IPv4 in IPv6 as IPv4.
asio::ip::address plain(const asio::ip::address& address) {
  if (!address.is_v6() || !address.to_v6().is_v4_mapped()) return address;
  return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
}

}  // namespace

tcp::socket moved_to(asio::io_context& io, tcp::socket socket) {
  tcp::socket moved(io);
  asio::error_code error;
  const tcp::endpoint endpoint = socket.local_endpoint(error);
  if (error) return moved;
  const int descriptor = socket.release(error);
  if (error) return moved;
  moved.assign(endpoint.protocol(), descriptor, error);
  if (error) {
    ::close(descriptor);
    return moved;
  }
  moved.non_blocking(true, error);
  return moved;
}

asio::ip::address remote_address(const tcp::socket& socket) {
  asio::error_code error;
  const tcp::endpoint remote = socket.remote_endpoint(error);
  return error ? asio::ip::address() : remote.address();
}

bool is_loopback(const asio::ip::address& address) { return plain(address).is_loopback(); }

std::string source_of(const asio::ip::address& address) {
  const asio::ip::address from = plain(address);
  if (from.is_v4()) {
    const auto bytes = from.to_v4().to_bytes();
    return {bytes.begin(), bytes.end()};
  }
  const auto bytes = from.to_v6().to_bytes();
  return {bytes.begin(), bytes.begin() + 8};
}

}  // namespace quipu
