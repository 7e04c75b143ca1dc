// frame.h: the layout of messages on a TCP stream, on both ports.
//
//   0      1        2       4         8           16
//   | 0xfe | version | type  | length  | checksum  | payload, length bytes …
//   u8       u8       u16     u32       u64          a FlatBuffers table, zero-padded to 8
//
// No text begins with that first byte, so a server with two protocols on one port can tell
// them apart.
//
// Little-endian. The checksum is XXH3-64 of bytes 0-7 and the payload, seeded
// with the salt: 0 on the client port and for Hello and Refusal, the cluster id
// for everything else between peers, so that another cluster's frames fail here.
//
// Hello and Refusal are of version 1 for ever, and never get another field: they are how two
// releases find out which versions both speak (release.h).
//
// Invariant: a frame that is too long, of a version that this side does not speak or with a length
// that is not a multiple of 8 is refused from its header alone, before its payload is buffered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "protocol/read_buffer.h"
#include "protocol/release.h"
#include "quipu/status.h"

namespace quipu {

inline constexpr std::uint8_t kFrameMagic = 0xfe;
inline constexpr FrameVersion kGreetingVersion{1};  // of Hello and Refusal
inline constexpr std::size_t kFrameHeader = 16;
inline constexpr std::size_t kMaxFrame = std::size_t{1} << 20;  // header included
// The limit between members, after their handshake. A body of kMaxBodies fits, and small states
// beside it.
inline constexpr std::size_t kMaxPeerFrame = std::size_t{17} << 20;

enum class FrameType : std::uint16_t {
  // client port, requests
  op = 1,
  read = 2,
  list = 3,
  config = 4,
  status = 5,
  size = 6,
  namespaces = 7,
  range = 8,
  query = 9,
  authenticate = 10,
  // client port, answers
  done = 101,
  values = 102,
  keys = 103,
  config_reply = 104,
  status_reply = 105,
  refusal = 106,  // both ports
  sized = 107,
  namespaces_reply = 108,
  range_reply = 109,
  query_reply = 110,
  authenticated = 111,
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
  list_part = 213,
  listed_part = 214,
  count_keys_part = 215,
  key_count_part = 216,
  definitions = 217,
  prefixes = 218,
};

[[nodiscard]] constexpr bool is_greeting(FrameType type) {
  return type == FrameType::hello || type == FrameType::refusal;
}

// Appends one frame to `out`. `version`: of its payload; a greeting has its own. REQUIRES:
// kFrameHeader + payload fits kMaxFrame; of a type that members send after their handshake,
// kMaxPeerFrame.
void append_frame(std::string& out, FrameType type, std::span<const std::byte> payload,
                  FrameVersion version, std::uint64_t salt = 0);

struct Frame {
  FrameType type;
  FrameVersion version;                // one that this build speaks; of a greeting, its own
  std::span<const std::byte> payload;  // 8-aligned; valid as long as the buffer's bytes are
};

// Cuts the next whole frame. Without the cluster's salt, which clients and strangers do not have,
// none is longer than kMaxFrame. Nothing: more bytes are needed. protocol_error: these are not
// our frames, and the connection must be closed.
// REQUIRES: only frames were consumed from `in` since it was empty.
[[nodiscard]] Result<std::optional<Frame>> next_frame(ReadBuffer& in, std::uint64_t salt = 0);

// For a connection that carries only frames.
class FrameDecoder : public ReadBuffer {
 public:
  using Frame = quipu::Frame;
  [[nodiscard]] Result<std::optional<Frame>> next(std::uint64_t salt = 0) {
    return next_frame(*this, salt);
  }
};

}  // namespace quipu
