// sockets.h: what Asio lacks for TCP sockets and their addresses.
#pragma once

#include <asio/error.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <string>

namespace quipu {

// Moves a non-blocking socket to another io_context. Any thread, if none waits on the socket. If
// that fails, it is closed.
[[nodiscard]] asio::ip::tcp::socket moved_to(asio::io_context& io, asio::ip::tcp::socket socket);

// The socket has no bytes, or no room, now.
[[nodiscard]] inline bool is_later(const asio::error_code& error) {
  return error == asio::error::would_block || error == asio::error::try_again;
}

// Not a loopback address, if the socket is not connected any more.
[[nodiscard]] asio::ip::address remote_address(const asio::ip::tcp::socket& socket);

// Also of IPv4 in IPv6, "::ffff:127.0.0.1".
[[nodiscard]] bool is_loopback(const asio::ip::address& address);

// The bytes by which the connections of one host are counted. For IPv6, the /64: one host may have
// all its addresses.
[[nodiscard]] std::string source_of(const asio::ip::address& address);

}  // namespace quipu
