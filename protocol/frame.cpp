#include "protocol/frame.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>
#include <utility>

#include "protocol/check.h"
#include "protocol/keyed_hash.h"

namespace quipu {
namespace {

// The header as on the stream. The checksum is 0 while it is computed.
struct Header {
  std::uint8_t magic;
  std::uint8_t version;
  std::uint16_t type;
  std::uint32_t length;
  std::uint64_t checksum;
};
static_assert(sizeof(Header) == kFrameHeader);
static_assert(std::endian::native == std::endian::little,
              "Header is copied as it stands in memory");
constexpr std::size_t kChecksumAt = offsetof(Header, checksum);

constexpr std::size_t padded(std::size_t size) { return (size + 7) & ~std::size_t{7}; }

bool is_known(FrameType type) {
  switch (type) {
    case FrameType::op:
    case FrameType::read:
    case FrameType::list:
    case FrameType::config:
    case FrameType::status:
    case FrameType::size:
    case FrameType::namespaces:
    case FrameType::range:
    case FrameType::query:
    case FrameType::authenticate:
    case FrameType::done:
    case FrameType::values:
    case FrameType::keys:
    case FrameType::config_reply:
    case FrameType::status_reply:
    case FrameType::refusal:
    case FrameType::sized:
    case FrameType::namespaces_reply:
    case FrameType::range_reply:
    case FrameType::query_reply:
    case FrameType::authenticated:
    case FrameType::hello:
    case FrameType::delta:
    case FrameType::delta_ack:
    case FrameType::beat:
    case FrameType::forward:
    case FrameType::forwarded:
    case FrameType::collect:
    case FrameType::collected:
    case FrameType::write_back:
    case FrameType::written_back:
    case FrameType::pull:
    case FrameType::pulled:
    case FrameType::list_part:
    case FrameType::listed_part:
    case FrameType::count_keys_part:
    case FrameType::key_count_part:
    case FrameType::definitions:
    case FrameType::prefixes:
      return true;
  }
  return false;
}

bool follows_handshake(FrameType type) { return type > FrameType::hello; }

// The handshake messages of the peer port have no salt, as on the client port.
std::uint64_t salt_of(FrameType type, std::uint64_t salt) {
  return follows_handshake(type) ? salt : 0;
}

// Bytes 0-7 and the payload are hashed, but they are not adjacent, and hashing in pieces costs
// several times as much. So a copy of the header's first half takes the checksum's place in
// the meantime.
std::uint64_t checksum(char* frame, std::size_t size, std::uint64_t salt) {
  std::uint64_t kept;
  std::memcpy(&kept, frame + kChecksumAt, sizeof kept);
  std::memcpy(frame + kChecksumAt, frame, kChecksumAt);
  const std::string_view hashed(frame + kChecksumAt, size - kChecksumAt);
  const std::uint64_t hash = hash64(HashKey{salt}, hashed);
  std::memcpy(frame + kChecksumAt, &kept, sizeof kept);
  return hash;
}

Status refused(std::string why) { return {Code::protocol_error, std::move(why)}; }

Status check(const Header& header, std::uint64_t salt) {
  const std::uint64_t size = kFrameHeader + std::uint64_t{header.length};
  const bool greets = is_greeting(FrameType{header.type});
  const FrameVersions spoken =
      greets ? FrameVersions{kGreetingVersion, kGreetingVersion} : spoken_versions();
  if (!spoken.contain(FrameVersion{header.version})) {
    return refused("frame of version " + std::to_string(header.version) + ": this side speaks " +
                   std::to_string(raw(spoken.from)) + " to " + std::to_string(raw(spoken.to)));
  }
  const bool by_member = salt != 0 && follows_handshake(FrameType{header.type});
  if (const std::size_t most = by_member ? kMaxPeerFrame : kMaxFrame; size > most) {
    return refused("frame of " + std::to_string(size) + " bytes: the limit is " +
                   std::to_string(most));
  }
  if (header.length % 8 != 0) {
    return refused("frame with a payload of " + std::to_string(header.length) +
                   " bytes: not a multiple of 8");
  }
  if (!is_known(FrameType{header.type})) {
    return refused("frame of unknown type " + std::to_string(header.type));
  }
  return {};
}

}  // namespace

void append_frame(std::string& out, FrameType type, std::span<const std::byte> payload,
                  FrameVersion version, std::uint64_t salt) {
  const std::size_t length = padded(payload.size());
  const std::size_t size = kFrameHeader + length;
  QUIPU_CHECK(size <= (follows_handshake(type) ? kMaxPeerFrame : kMaxFrame),
              "a frame fits its reader's limit", size);
  const Header header{kFrameMagic, raw(is_greeting(type) ? kGreetingVersion : version),
                      static_cast<std::uint16_t>(type), static_cast<std::uint32_t>(length), 0};
  const std::size_t begin = out.size();
  out.reserve(begin + size);  // to grow once
  out.append(reinterpret_cast<const char*>(&header), sizeof header);
  out.append(reinterpret_cast<const char*>(payload.data()), payload.size());
  out.append(length - payload.size(), '\0');
  const std::uint64_t sum = checksum(out.data() + begin, size, salt_of(type, salt));
  std::memcpy(out.data() + begin + kChecksumAt, &sum, sizeof sum);
}

Result<std::optional<Frame>> next_frame(ReadBuffer& in, std::uint64_t salt) {
  const std::optional<Frame> incomplete;
  if (in.buffered() == 0) return incomplete;
  char* const at = in.unread_bytes();
  // Check the first byte: a stranger may wait for an answer after less than a header.
  if (static_cast<std::uint8_t>(*at) != kFrameMagic) {
    return refused("not Quipu's protocol: a frame begins with byte 0xfe");
  }
  if (in.buffered() < kFrameHeader) return incomplete;
  Header header;
  std::memcpy(&header, at, sizeof header);
  if (Status status = check(header, salt); !status.ok()) return status;
  const std::size_t size = kFrameHeader + header.length;
  if (in.buffered() < size) return incomplete;
  QUIPU_CHECK(reinterpret_cast<std::uintptr_t>(at) % 8 == 0,
              "frames begin at multiples of 8, as only frames were consumed", in.buffered());
  const FrameType type{header.type};
  if (checksum(at, size, salt_of(type, salt)) != header.checksum) {
    return refused("frame with a wrong checksum: damaged on the way, or of another cluster");
  }
  in.consume(size);
  return std::optional<Frame>(
      {type,
       FrameVersion{header.version},
       {reinterpret_cast<const std::byte*>(at) + kFrameHeader, header.length}});
}

}  // namespace quipu
