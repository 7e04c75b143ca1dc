// sockets.h: what Asio lacks for TCP sockets and their addresses.
#pragma once

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <string>

namespace quipu {

// Moves a non-blocking socket to another io_context, from the calling thread. If that fails, it is
// closed.
[[nodiscard]] asio::ip::tcp::socket moved_to(asio::io_context& io, asio::ip::tcp::socket socket);

// Not a loopback address, if the socket is not connected any more.
[[nodiscard]] asio::ip::address remote_address(const asio::ip::tcp::socket& socket);

// Also of IPv4 in IPv6, "::ffff:127.0.0.1".
[[nodiscard]] bool is_loopback(const asio::ip::address& address);

// The bytes by which the connections of one host are counted. Of IPv6 the /64: a host may have
// that many addresses.
[[nodiscard]] std::string source_of(const asio::ip::address& address);

}  // namespace quipu
