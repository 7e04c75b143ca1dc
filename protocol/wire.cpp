#include "protocol/wire.h"

#include <algorithm>

namespace quipu {

Builder& fresh_builder() {
  static thread_local Builder builder;
  builder.Clear();
  return builder;
}

Offset<Bytes> build_bytes(Builder& builder, std::string_view bytes) {
  if (bytes.empty()) return 0;
  return builder.CreateVector(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

Offset<flatbuffers::String> build_text(Builder& builder, std::string_view text) {
  if (text.empty()) return 0;
  return builder.CreateString(text.data(), text.size());
}

void Reader::refuse(const char* field, std::string_view problem) {
  if (!ok()) return;
  problem_.append(name_).append(": ").append(field).append(" ").append(problem);
}

std::string_view Reader::view(const Bytes* from) {
  if (from == nullptr) return {};
  return {reinterpret_cast<const char*>(from->Data()), from->size()};
}

std::string Reader::text(const char* field, const flatbuffers::String* from) {
  if (from == nullptr || !pay(field, from->size())) return {};
  return {from->c_str(), from->size()};
}

bool Reader::pay(const char* field, std::size_t bytes) {
  if (bytes > unpaid_) {
    refuse(field, "shares its bytes with another field");
    return false;
  }
  unpaid_ -= bytes;
  return true;
}

// The verifier asserts that its input is below 2 GiB, and reads it through pointers that must
// be aligned.
bool Reader::admissible() const {
  constexpr std::size_t kLongest = std::size_t{1} << 30;
  const bool aligned =
      reinterpret_cast<std::uintptr_t>(bytes_.data()) % alignof(std::uint64_t) == 0;
  return aligned && bytes_.size() >= 8 && bytes_.size() < kLongest;
}

bool Reader::only_padding(std::size_t from) const {
  const std::span<const std::byte> rest = bytes_.subspan(from);
  return rest.size() < 8 &&
         std::all_of(rest.begin(), rest.end(), [](std::byte byte) { return byte == std::byte{0}; });
}

bool Reader::aligned(const char* field, const void* data, std::size_t alignment) {
  if (reinterpret_cast<std::uintptr_t>(data) % alignment == 0) return true;
  refuse(field, "is misaligned");
  return false;
}

}  // namespace quipu
