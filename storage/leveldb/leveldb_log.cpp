#include "storage/leveldb/leveldb_log.h"

#include <algorithm>
#include <cstdint>

#include "protocol/check.h"
#include "storage/leveldb/leveldb_crc32c.h"

namespace quipu {
namespace {

constexpr std::size_t kBlock = 32768;
constexpr std::size_t kFragmentHeader = 7;
constexpr std::size_t kTypeAt = 6;

enum class FragmentType : std::uint8_t { full = 1, first = 2, middle = 3, last = 4 };

struct Fragment {
  FragmentType type;
  std::string_view payload;

  [[nodiscard]] bool begins() const {
    return type == FragmentType::full || type == FragmentType::first;
  }
  [[nodiscard]] bool ends() const {
    return type == FragmentType::full || type == FragmentType::last;
  }
};

std::uint32_t byte(std::string_view bytes, std::size_t at) {
  return static_cast<unsigned char>(bytes[at]);
}

std::uint32_t little_endian(std::string_view bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | byte(bytes, i);
  return value;
}

// The valid fragment at `at`. Zeros are not one: their type is 0.
std::optional<Fragment> fragment_at(std::string_view bytes, std::size_t at) {
  const std::size_t left_in_block = kBlock - at % kBlock;
  const std::string_view room = bytes.substr(std::min(at, bytes.size()), left_in_block);
  if (room.size() < kFragmentHeader) return std::nullopt;
  const std::uint32_t type = byte(room, kTypeAt);
  const std::size_t length = little_endian(room.substr(4, 2));
  if (type < 1 || type > 4 || kFragmentHeader + length > room.size()) return std::nullopt;
  const std::string_view guarded = room.substr(kTypeAt, 1 + length);
  if (little_endian(room.substr(0, 4)) != masked_crc32c(guarded)) return std::nullopt;
  return Fragment{FragmentType{static_cast<std::uint8_t>(type)}, guarded.substr(1)};
}

std::size_t skip_trailer(std::size_t at) {
  const std::size_t left_in_block = kBlock - at % kBlock;
  return left_in_block < kFragmentHeader ? at + left_in_block : at;
}

}  // namespace

std::optional<std::string> LevelDbLog::next() {
  std::string record;
  for (bool begun = false;; begun = true) {
    const std::size_t at = skip_trailer(at_);
    const std::optional<Fragment> fragment = fragment_at(bytes_, at);
    if (!fragment || fragment->begins() == begun) {
      ended_ = true;
      return std::nullopt;
    }
    record += fragment->payload;
    at_ = at + kFragmentHeader + fragment->payload.size();
    if (!fragment->ends()) continue;
    good_ = at_;
    QUIPU_CHECK(good_ <= bytes_.size(), "a record ends within its file", good_, bytes_.size());
    return record;
  }
}

// Looks at every byte, since a damaged length hides the start of the next fragment.
LevelDbLog::End LevelDbLog::end() const {
  QUIPU_CHECK(ended_, "what lies behind the records is known once all of them were read", good_);
  if (bytes_.find_first_not_of('\0', good_) == bytes_.npos) return End::whole;
  for (std::size_t at = at_; at + kFragmentHeader <= bytes_.size(); ++at) {
    const std::optional<Fragment> fragment = fragment_at(bytes_, at);
    if (fragment && fragment->begins()) return End::damaged;
  }
  return End::torn;
}

}  // namespace quipu
