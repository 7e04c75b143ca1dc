// frame.h: how messages stand on a TCP stream, on both ports.
//
//   0      1        2       4         8           16
//   | 'Q'  | version | type  | length  | checksum  | payload, length bytes …
//   u8       u8       u16     u32       u64          a FlatBuffers table, zero-padded to 8
//
// Little-endian. The checksum is XXH3-64 of bytes 0-7 and the payload, seeded
// with the salt: 0 on the client port and for Hello and Refusal, the cluster id
// for everything else between peers, so that another cluster's frames fail here.
//
// Invariant: a frame that is too long, of another version or with a length that
// is not a multiple of 8 is refused from its header alone, before any of its
// payload is buffered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quipu/status.h"

namespace quipu {

inline constexpr std::uint8_t kFrameMagic = 'Q';
inline constexpr std::uint8_t kFrameVersion = 1;
inline constexpr std::size_t kFrameHeader = 16;
inline constexpr std::size_t kMaxFrame = std::size_t{1} << 20;  // header included

enum class FrameType : std::uint16_t {
  // client port, requests
  op = 1,
  read = 2,
  list = 3,
  config = 4,
  status = 5,
  // client port, answers
  done = 101,
  values = 102,
  keys = 103,
  config_reply = 104,
  status_reply = 105,
  refusal = 106,  // both ports
  // peer port
  hello = 201,
  delta = 202,
  delta_ack = 203,
  beat = 204,
  forward = 205,
  forwarded = 206,
  collect = 207,
  collected = 208,
  write_back = 209,
  written_back = 210,
  pull = 211,
  pulled = 212,
};

// Appends one frame to `out`. REQUIRES: kFrameHeader + payload fits kMaxFrame.
void append_frame(std::string& out, FrameType type, std::span<const std::byte> payload,
                  std::uint64_t salt = 0);

// Cuts a byte stream into frames. Not thread-safe; one per connection.
class FrameDecoder {
 public:
  struct Frame {
    FrameType type;
    std::span<const std::byte> payload;  // 8-aligned; valid until prepare()
  };

  // Room for at least `want` bytes to be read into; then tell how many came.
  [[nodiscard]] std::span<std::byte> prepare(std::size_t want);
  void commit(std::size_t read);

  // The next whole frame; nothing if more bytes are needed; protocol_error if
  // the stream is not ours, after which it must be closed.
  [[nodiscard]] Result<std::optional<Frame>> next(std::uint64_t salt = 0);

  [[nodiscard]] std::size_t buffered() const { return end_ - begin_; }

  // Gives back the room that nothing is in, of a decoder that may wait for long.
  void fit();
  // Bytes of memory, room included.
  [[nodiscard]] std::size_t held() const { return words_.capacity() * sizeof(std::uint64_t); }

 private:
  std::vector<std::uint64_t> words_;  // the buffer, aligned for FlatBuffers
  std::size_t begin_ = 0;             // bytes; always a multiple of 8
  std::size_t end_ = 0;
};

}  // namespace quipu
