// socket_output.h: bytes that wait to be written to one socket.
//
//   tail() ── frames, as they come ──▶ flush(), once per batch ──▶ socket
//
// Writes never block and need no callback of their own. Bytes that the socket does not accept
// now are kept, and the owner flushes again when it is writable. The owner uses waiting() to
// limit them. Reactor thread.
#pragma once

#include <string>

#include "cluster/gates/commit_gate.h"
#include "node/net/channel.h"
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

  // ---- bytes that must wait for a commit ----
  // The position of the next byte, counted from the connection's first.
  [[nodiscard]] std::uint64_t position() const { return flushed_ + waiting(); }
  // All bytes appended from there on wait for this commit, or for a later one given to another
  // call.
  void hold(std::uint64_t from, Commit until);
  void release(Commit durable);
  // May be sent as soon as the socket accepts it.
  [[nodiscard]] std::size_t free() const;

  enum class Flushed { all, some, broken };  // how much of what may be sent
  [[nodiscard]] Flushed flush(Channel& channel);

 private:
  void forget_sent();

  std::string bytes_;
  std::size_t sent_ = 0;            // of bytes_
  std::uint64_t flushed_ = 0;       // of all bytes ever
  CommitGate<std::uint64_t> gate_;  // positions, ascending: bytes from there on wait
};

}  // namespace quipu
