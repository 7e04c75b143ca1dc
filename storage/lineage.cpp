#include "storage/lineage.h"

#include <algorithm>

#include "protocol/check.h"

namespace quipu {
namespace {

bool within(std::span<const LineageStart> lineage, Commit last, const Sighting& seen) {
  for (std::size_t i = 0; i < lineage.size(); ++i) {
    if (lineage[i].boot != seen.boot) continue;
    const bool newest = i + 1 == lineage.size();
    return newest ? seen.commit <= last : seen.commit < lineage[i + 1].first;
  }
  return false;
}

// Adds a boot that is not held yet. Without room it replaces its store's oldest boot, if it is
// later. True if it was added.
bool take_in(std::vector<Sighting>& held, const Sighting& fresh) {
  std::size_t boots = 0;
  auto oldest = held.end();
  for (auto at = held.begin(); at != held.end(); ++at) {
    if (at->store != fresh.store) continue;
    ++boots;
    if (oldest == held.end() || at->commit < oldest->commit) oldest = at;
  }
  if (boots < kBootsPerStore && held.size() < kMaxSightings) {
    held.push_back(fresh);
    return true;
  }
  if (oldest == held.end() || fresh.commit <= oldest->commit) return false;
  *oldest = fresh;
  return true;
}

}  // namespace

Testimony judge(std::span<const LineageStart> lineage, Commit last, StoreId store,
                std::span<const Sighting> seen) {
  QUIPU_CHECK(lineage.empty() || lineage.back().first <= next(last),
              "a store has sealed all records before its newest start", lineage.back().first, last);
  for (const Sighting& sighting : seen) {
    if (sighting.store == store && !within(lineage, last, sighting)) return Testimony::rolled_back;
  }
  return Testimony::confirmed;
}

bool merge_sightings(std::vector<Sighting>& held, std::span<const Sighting> seen) {
  bool changed = false;
  // What a store wrote may hold more than this build keeps.
  const std::size_t most = std::max(held.size(), kMaxSightings);
  for (const Sighting& sighting : seen) {
    const auto at = std::find_if(held.begin(), held.end(), [&](const Sighting& row) {
      return row.store == sighting.store && row.boot == sighting.boot;
    });
    if (at != held.end()) {
      changed |= at->commit < sighting.commit;
      at->commit = std::max(at->commit, sighting.commit);
    } else {
      changed |= take_in(held, sighting);
    }
  }
  QUIPU_CHECK(held.size() <= most, "what is remembered of stores is bounded", held.size(), most);
  return changed;
}

}  // namespace quipu
