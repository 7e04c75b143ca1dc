#include "node/users/refusal_log.h"

#include <algorithm>
#include <utility>

namespace quipu {

std::optional<std::uint64_t> RefusalLog::admit(Instant now, std::string_view address) {
  if (now >= second_ + kEvery) {
    second_ = now;
    in_second_ = 0;
  }
  auto at = logged_.find(address);
  if (in_second_ == kMostASecond || (at != logged_.end() && now < at->second + kEvery)) {
    ++unlogged_;
    return std::nullopt;
  }
  if (at == logged_.end()) {
    if (logged_.size() == kMaxAddresses)
      logged_.erase(
          std::ranges::min_element(logged_, {}, [](const auto& one) { return one.second; }));
    at = logged_.emplace(std::string(address), now).first;
  }
  at->second = now;
  ++in_second_;
  return std::exchange(unlogged_, 0);
}

}  // namespace quipu
