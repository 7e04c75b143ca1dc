// derived.h: two numbers that follow from a body and make its most frequent answer cheap.
//
// They stand beside the body in memory. They are not stored, sent or hashed, so no two nodes need
// agree about them. A change of the body forgets them, unless the kind keeps them up (Edit).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>

namespace quipu {

// What they mean is up to the kind (KindRules::derivation).
struct Derived {
  std::uint64_t sum = 0;
  std::uint32_t count = 0;  // never the greatest
  friend bool operator==(const Derived&, const Derived&) = default;
};

// Where they are, in some owner's bytes. Those need not be aligned.
class DerivedPlace {
 public:
  static constexpr std::size_t kBytes = sizeof(std::uint64_t) + sizeof(std::uint32_t);

  // Null: there is no place, and so nothing is known.
  explicit DerivedPlace(char* at = nullptr) : at_(at) {}

  // Nothing: not known.
  [[nodiscard]] std::optional<Derived> get() const {
    if (at_ == nullptr) return std::nullopt;
    Derived known;
    std::memcpy(&known.sum, at_, sizeof known.sum);
    std::memcpy(&known.count, at_ + sizeof known.sum, sizeof known.count);
    return known.count == kUnknown ? std::nullopt : std::optional(known);
  }
  void set(const Derived& known) const {
    if (at_ == nullptr) return;
    std::memcpy(at_, &known.sum, sizeof known.sum);
    std::memcpy(at_ + sizeof known.sum, &known.count, sizeof known.count);
  }
  void forget() const { set({0, kUnknown}); }

 private:
  static constexpr std::uint32_t kUnknown = std::numeric_limits<std::uint32_t>::max();

  char* at_;
};

}  // namespace quipu
