// refusal_log.h: which refused authentications to log: one a second for an address, so that
// nobody can fill the log. Bounded: beyond that many addresses, the longest silent one is
// forgotten. One thread's.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "node/base/clock.h"

namespace quipu {

class RefusalLog {
 public:
  static constexpr std::size_t kMaxAddresses = 1024;
  static constexpr std::chrono::seconds kEvery{1};

  // Whether to log one from this address. If so, `unlogged` is the number of those since the last.
  [[nodiscard]] bool admits(Instant now, std::string_view address, std::uint64_t& unlogged);

 private:
  struct Seen {
    Instant logged{};
    std::uint64_t unlogged = 0;
  };
  std::map<std::string, Seen, std::less<>> seen_;
};

}  // namespace quipu
