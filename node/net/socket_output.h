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

#include "cluster/gates/commit_gate.h"
#include "protocol/ids.h"

namespace quipu {

class SocketOutput {
 public:
  // Where to append whole frames.
  [[nodiscard]] std::string& tail() { return bytes_; }
  void append(std::string&& frames);

  [[nodiscard]] std::size_t waiting() const { return bytes_.size() - sent_; }
  // Bytes of memory.
  [[nodiscard]] std::size_t room() const { return bytes_.capacity(); }

  // ---- what must not be said yet ----
  // Where the next byte goes, counted from the connection's first.
  [[nodiscard]] std::uint64_t position() const { return flushed_ + waiting(); }
  // Whatever was or will be appended from there on waits for this commit, or a later
  // one that it is told to wait for.
  void hold(std::uint64_t from, Commit until);
  void release(Commit durable);
  // May go as soon as the socket takes it.
  [[nodiscard]] std::size_t free() const;

  enum class Flushed { all, some, broken };  // of what is free
  // REQUIRES: `socket` is non-blocking.
  [[nodiscard]] Flushed flush(asio::ip::tcp::socket& socket);

 private:
  void forget_sent();

  std::string bytes_;
  std::size_t sent_ = 0;       // of bytes_
  std::uint64_t flushed_ = 0;  // of all bytes ever
  CommitGate<std::uint64_t> gate_;  // positions, ascending: from there on bytes wait
};

}  // namespace quipu
