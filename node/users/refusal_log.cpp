#include "node/users/refusal_log.h"

#include <algorithm>
#include <utility>

namespace quipu {

bool RefusalLog::admits(Instant now, std::string_view address, std::uint64_t& unlogged) {
  auto at = seen_.find(address);
  if (at != seen_.end() && now < at->second.logged + kEvery) {
    ++at->second.unlogged;
    return false;
  }
  if (at == seen_.end()) {
    if (seen_.size() == kMaxAddresses)
      seen_.erase(
          std::ranges::min_element(seen_, {}, [](const auto& one) { return one.second.logged; }));
    at = seen_.emplace(std::string(address), Seen{}).first;
  }
  at->second.logged = now;
  unlogged = std::exchange(at->second.unlogged, 0);
  return true;
}

}  // namespace quipu
