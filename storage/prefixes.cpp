#include "storage/prefixes.h"

#include "protocol/check.h"
#include "protocol/keyed_hash.h"
#include "protocol/namespace.h"
#include "protocol/state_codec.h"
#include "storage/stored_keys.h"

namespace quipu {
namespace {

constexpr HashKey kPrefixHash{0x70726566};  // the same on all members, for ever

}  // namespace

std::uint16_t PrefixSet::bit_of(std::string_view key) {
  return static_cast<std::uint16_t>(hash64(kPrefixHash, namespace_of(key)) % kBits);
}

void PrefixSet::insert(std::uint16_t bit) {
  if (added_.size() >= kMost || bits_.test(bit)) return;
  bits_.set(bit);
  added_.push_back(bit);
  open_.insert(static_cast<std::uint8_t>(bit / kPageBits));
}

void PrefixSet::put_open(Batch& batch) {
  for (const std::uint8_t page : open_) {
    std::vector<std::uint8_t> bytes(kPageBits / 8);
    for (std::size_t i = 0; i < kPageBits; ++i) {
      if (bits_.test(page * kPageBits + i))
        bytes[i / 8] = static_cast<std::uint8_t>(bytes[i / 8] | 1u << i % 8);
    }
    std::string key = stored::prefixes(page);
    std::string value = encode_prefixes(key, bytes);
    batch.puts.push_back({std::move(key), std::move(value)});
  }
  open_.clear();
}

void PrefixSet::load(std::uint8_t page, std::span<const std::uint8_t> bytes) {
  QUIPU_CHECK(bytes.size() == kPageBits / 8, "a page was checked when it was read", bytes.size());
  for (std::size_t i = 0; i < kPageBits; ++i) {
    if ((bytes[i / 8] >> i % 8 & 1) != 0) insert(static_cast<std::uint16_t>(page * kPageBits + i));
  }
  open_.clear();
}

}  // namespace quipu
