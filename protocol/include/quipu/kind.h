// kind.h: what a counter computes. Part of the name of each of its shards, so no merge ever meets
// two kinds. The numbers are stored and sent, and never change their meaning.
#pragma once

#include <array>
#include <cstdint>

namespace quipu {

enum class Kind : std::uint8_t {
  sum = 0,        // signed sums: what a counter is unless something else is said
  distinct = 1,   // how many different elements (HyperLogLog)
  frequency = 2,  // how often each element came (Count-Min)
  top = 3,        // which items are the most frequent (SpaceSaving)
  // 4 and 5 are reserved for bounded and throttle
  maximum = 6,  // the greatest number
};
// All that this build knows, ascending.
inline constexpr std::array kKinds{Kind::sum, Kind::distinct, Kind::frequency, Kind::top,
                                   Kind::maximum};
inline constexpr Kind kLastKind = kKinds.back();

// As on the command line and in JSON. REQUIRES: it is one of kKinds.
[[nodiscard]] constexpr const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::sum:
      return "sum";
    case Kind::distinct:
      return "distinct";
    case Kind::frequency:
      return "frequency";
    case Kind::top:
      return "top";
    case Kind::maximum:
      return "maximum";
  }
  return "";
}

}  // namespace quipu
