#include "node/net/rejected_connections.h"

#include <array>
#include <asio/buffer.hpp>
#include <utility>

#include "node/base/sockets.h"
#include "node/tls/tls_stream.h"
#include "protocol/frame.h"
#include "protocol/message_codec.h"
#include "protocol/resp.h"

namespace quipu {

void RejectedConnections::add(asio::ip::tcp::socket socket, const Reason& why) {
  if (connections_.size() >= most_) return;
  const Number number = next_++;
  Connection& connection =
      connections_.try_emplace(number, std::move(socket), why, NodeClock::now() + time_)
          .first->second;
  connection.late.async_wait([this, number](const asio::error_code& error) {
    if (!error) connections_.erase(number);
  });
  wait(number, connection);
}

void RejectedConnections::wait(Number number, Connection& connection) {
  connection.socket.async_wait(asio::ip::tcp::socket::wait_read,
                               [this, number](const asio::error_code& error) {
                                 if (!error) on_readable(number);
                               });
}

// Input is read and discarded: closing a connection with unread input would reset it, and lose
// the error that was sent.
void RejectedConnections::on_readable(Number number) {
  const auto at = connections_.find(number);
  if (at == connections_.end()) return;  // it is gone, and this was under way
  Connection& connection = at->second;
  std::array<std::byte, 4096> bytes;
  asio::error_code error;
  const std::size_t read = connection.socket.read_some(asio::buffer(bytes), error);
  if (error && !is_later(error)) {
    connections_.erase(at);
    return;
  }
  if (read > 0 && !std::exchange(connection.told, true)) tell(connection, bytes.front());
  wait(number, connection);
}

void RejectedConnections::tell(Connection& connection, std::byte first) {
  std::string text;  // empty for TLS, which makes nothing of plain text
  if (first == std::byte{kFrameMagic}) {
    encode(text, connection.why.native);
  } else if (first != std::byte{kTlsFirstByte}) {
    RespWriter(text, RespWriter::Version::resp2).error(connection.why.redis);
  }
  asio::error_code ignored;  // in one write, or not at all
  connection.socket.write_some(asio::buffer(text), ignored);
  connection.socket.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
}

}  // namespace quipu
