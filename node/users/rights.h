// rights.h: what a request needs of its user, and what a user has.
//
//   request ─▶ Rights that it needs ─┐
//   user ────▶ Rights that it has ───┴─▶ missing_of(): none, nearly always, found by one test
//
// Both are sets of bits. A user's set has derived bits, too (users.cpp), so that a request can need
// "count or reset", or every key there is.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace quipu {

class Rights {
 public:
  Rights() = delete;  // so that no row of a table can leave them out
  constexpr explicit Rights(std::uint16_t bits) : bits_(bits) {}

  [[nodiscard]] constexpr Rights operator|(Rights other) const {
    return Rights(static_cast<std::uint16_t>(bits_ | other.bits_));
  }
  [[nodiscard]] constexpr Rights missing_of(Rights needed) const {
    return Rights(static_cast<std::uint16_t>(needed.bits_ & ~bits_));
  }
  [[nodiscard]] constexpr bool has(Rights needed) const { return missing_of(needed).none(); }
  [[nodiscard]] constexpr bool none() const { return bits_ == 0; }
  [[nodiscard]] constexpr std::uint16_t bits() const { return bits_; }
  bool operator==(const Rights&) const = default;

 private:
  std::uint16_t bits_;
};

// Before authentication, too.
inline constexpr Rights kNoRight{0};
// Each user has this.
inline constexpr Rights kAuthenticated{1};
// The permissions of the users file.
inline constexpr Rights kMayRead{2};
inline constexpr Rights kMayCount{4};
inline constexpr Rights kMayReset{8};
inline constexpr Rights kMayObserve{16};
inline constexpr Rights kMayAdminister{32};
// Derived: count or reset; any of these two or read.
inline constexpr Rights kMayChange{64};
inline constexpr Rights kMayTouch{128};
// All keys. Without it, a request needs a permitted prefix of each key that it names.
inline constexpr Rights kEveryKey{256};
inline constexpr Rights kAllRights{511};

struct PermissionName {
  std::string_view name;
  Rights rights;
};
inline constexpr std::array kPermissions{
    PermissionName{"read", kMayRead}, PermissionName{"count", kMayCount},
    PermissionName{"reset", kMayReset}, PermissionName{"observe", kMayObserve},
    PermissionName{"admin", kMayAdminister}};

// For people, of what a user lacks: "reset", "count and reset", "count or reset", "all keys". The
// derived rights are named only where nothing else is missing.
[[nodiscard]] std::string names_of(Rights missing);

}  // namespace quipu
