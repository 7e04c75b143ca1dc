// socket_output.h: bytes on their way to one socket.
//
//   tail() ── frames, as they come ──▶ flush(), once per batch ──▶ socket
//
// Writes never block and need no callback of their own: what the socket does not
// take now is kept, and the owner flushes again when it is writable. The owner
// looks at waiting() to bound it. Reactor thread.
#pragma once

#include <asio/ip/tcp.hpp>
#include <string>

namespace quipu {

class SocketOutput {
 public:
  // Where to append whole frames.
  [[nodiscard]] std::string& tail() { return bytes_; }
  void append(std::string&& frames);

  [[nodiscard]] std::size_t waiting() const { return bytes_.size() - sent_; }

  enum class Flushed { all, some, broken };
  // REQUIRES: `socket` is non-blocking.
  [[nodiscard]] Flushed flush(asio::ip::tcp::socket& socket);

 private:
  void forget_sent();

  std::string bytes_;
  std::size_t sent_ = 0;  // of bytes_
};

}  // namespace quipu
