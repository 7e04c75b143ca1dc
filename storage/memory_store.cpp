#include "storage/memory_store.h"

namespace quipu {
namespace {

using Map = std::map<std::string, std::string, std::less<>>;

void apply(const Batch& batch, Map& to) {
  for (const auto& [key, value] : batch.puts) to.insert_or_assign(key, value);
  for (const std::string& key : batch.deletes) to.erase(key);
}

}  // namespace

Status MemoryStore::write(const Batch& batch) {
  if (!failed_ && disk_.fault == MemoryDisk::Fault::full) {
    return {Code::storage_full, "the simulated disk is full"};
  }
  failed_ = failed_ || disk_.fault == MemoryDisk::Fault::failed_sync;
  if (failed_) return {Code::storage_failed, "a simulated sync failed"};
  apply(batch, disk_.sync ? disk_.durable : seen_);
  return {};
}

Result<std::optional<std::string>> MemoryStore::read(std::string_view key) {
  const Map& seen = disk_.sync ? disk_.durable : seen_;
  const auto at = seen.find(key);
  if (at == seen.end()) return std::optional<std::string>();
  return std::optional(at->second);
}

Status MemoryStore::scan(std::string_view from, std::string_view to, const Visit& visit) {
  const Map& seen = disk_.sync ? disk_.durable : seen_;
  for (auto at = seen.lower_bound(from); at != seen.end() && at->first < to; ++at) {
    if (Status status = visit(at->first, at->second); !status.ok()) return status;
  }
  return {};
}

}  // namespace quipu
