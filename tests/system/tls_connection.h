// tls_connection.h: a blocking TLS connection, for tests that keep one open.
#pragma once

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <memory>
#include <string>

#include "node/tls/tls_stream.h"

namespace quipu::test {

class TlsConnection {
 public:
  using Context = std::shared_ptr<const TlsContext>;
  // To "127.0.0.1:port", from an address of loopback. Does the handshake, for the host localhost.
  // open() is false if it fails.
  TlsConnection(const std::string& to, const Context& context,
                const std::string& from = "127.0.0.1");

  [[nodiscard]] bool open() const { return open_; }
  // False: the connection has ended.
  bool send(const std::string& text);
  // The line that follows this request, without its end. Empty: the connection has ended.
  [[nodiscard]] std::string line_after(const std::string& request);

 private:
  [[nodiscard]] bool flush();
  [[nodiscard]] std::size_t receive(std::span<std::byte> room);

  asio::io_context io_;
  asio::ip::tcp::socket socket_{io_};
  std::unique_ptr<TlsStream> tls_;
  std::string unread_;
  bool open_ = false;
};

}  // namespace quipu::test
