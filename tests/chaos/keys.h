// keys.h: the counters in use, shared by all clients, and what the next add to each is.
//
//   witness:1      30 adds; the i-th is by 4^i
//   plain:2        200 adds, from -20 to 40
//   counted:3      2,000 adds, each by 1, by the Redis clients alone
//   distinct:4     60 adds of 40 elements. Every other element is added twice in a row, so by two
//                  clients at one time, as a rule
//   frequency:5    64 adds to 4 items; the i-th of each is by 4^i
//   top:6          the same
//
// Several of most sorts are in use at one time. One that has all its adds is replaced by a new one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/random.h"

namespace quipu::chaos {

inline constexpr std::size_t kElements = 40;  // of a counter of the kind `distinct`
// The items of each counter of the kinds `frequency` and `top`. So few items share no cells, and
// all fit on the list (of 10): counts are exact.
inline constexpr std::array<std::string_view, 4> kItems{"a", "b", "c", "d"};

// Threads: any.
class Keys {
 public:
  struct Next {
    std::string key;
    std::int64_t amount = 0;
    bool ends = false;   // an add that creates it gives it a deadline, after the run
    std::string item{};  // or element; none: the key has a sum
  };
  // A witness's digits count up in the order of these calls. So do those of each item.
  Next next_witness(Random& random);
  Next next_plain(Random& random);
  // Always 1: so each missing acknowledged add is seen.
  Next next_counted();
  Next next_of_other_kind(Random& random);
  // One that is being added to, or one of late.
  [[nodiscard]] std::string any_sum(Random& random) const;
  [[nodiscard]] std::string any_of_other_kind(Random& random) const;

  // Elements are named prefix0, prefix1 and so on. REQUIRES: no add has been drawn.
  void name_elements(std::string prefix) { element_prefix_ = std::move(prefix); }

 private:
  static constexpr std::size_t kWitnesses = 4;  // at a time
  static constexpr std::size_t kPlain = 8;
  static constexpr std::size_t kOfOtherKinds = 6;  // of each kind a third
  static constexpr std::size_t kAddsPerPlain = 200;
  static constexpr std::size_t kAddsPerCounted = 2000;
  static constexpr std::size_t kAddsPerItem = 16;  // all amounts of 4 items together pass 2^32
  static constexpr std::size_t kAddsPerElements = kElements * 3 / 2;
  static constexpr std::size_t kRecent = 40;

  struct Current {
    std::string key;
    std::size_t adds = 0;
    bool ends = false;
  };
  Current& rotate(Current& current, std::string_view prefix, std::size_t most,
                  std::deque<std::string>& recent);

  mutable std::mutex mutex_;
  std::vector<Current> witnesses_{kWitnesses};
  std::vector<Current> plain_{kPlain};
  std::vector<Current> of_other_kinds_{kOfOtherKinds};
  Current counted_;
  std::deque<std::string> recent_, recent_of_other_kinds_;
  std::string element_prefix_;
  std::size_t made_ = 0;
};

}  // namespace quipu::chaos
