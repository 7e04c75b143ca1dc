#include "storage/lineage.h"

#include <algorithm>

#include "protocol/check.h"

namespace quipu {
namespace {

bool within(std::span<const LineageStart> lineage, Commit last, const VersionEntry& seen) {
  for (std::size_t i = 0; i < lineage.size(); ++i) {
    if (lineage[i].boot != seen.boot) continue;
    const bool newest = i + 1 == lineage.size();
    return newest ? seen.commit <= last : seen.commit < lineage[i + 1].first;
  }
  return false;
}

// Adds a boot that is not held yet. Without room it replaces its store's oldest boot, if it is
// later. True if it was added.
bool take_in(std::vector<VersionEntry>& held, const VersionEntry& fresh) {
  std::size_t boots = 0;
  auto oldest = held.end();
  for (auto at = held.begin(); at != held.end(); ++at) {
    if (at->store != fresh.store) continue;
    ++boots;
    if (oldest == held.end() || at->commit < oldest->commit) oldest = at;
  }
  if (boots < kBootsPerStore && held.size() < kMaxVersionEntries) {
    held.push_back(fresh);
    return true;
  }
  if (oldest == held.end() || fresh.commit <= oldest->commit) return false;
  *oldest = fresh;
  return true;
}

}  // namespace

LineageCheck check_lineage(std::span<const LineageStart> lineage, Commit last, StoreId store,
                           std::span<const VersionEntry> seen) {
  QUIPU_CHECK(lineage.empty() || lineage.back().first <= next(last),
              "a store has sealed all records before its newest start", lineage.back().first, last);
  for (const VersionEntry& version_entry : seen) {
    if (version_entry.store == store && !within(lineage, last, version_entry))
      return LineageCheck::rolled_back;
  }
  return LineageCheck::confirmed;
}

bool merge_versions(std::vector<VersionEntry>& held, std::span<const VersionEntry> seen) {
  bool changed = false;
  // What a store wrote may hold more than this build keeps.
  const std::size_t most = std::max(held.size(), kMaxVersionEntries);
  for (const VersionEntry& version_entry : seen) {
    const auto at = std::find_if(held.begin(), held.end(), [&](const VersionEntry& row) {
      return row.store == version_entry.store && row.boot == version_entry.boot;
    });
    if (at != held.end()) {
      changed |= at->commit < version_entry.commit;
      at->commit = std::max(at->commit, version_entry.commit);
    } else {
      changed |= take_in(held, version_entry);
    }
  }
  QUIPU_CHECK(held.size() <= most, "what is remembered of stores is bounded", held.size(), most);
  return changed;
}

}  // namespace quipu
