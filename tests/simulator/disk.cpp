#include "tests/simulator/disk.h"

#include "protocol/state_codec.h"
#include "storage/stored_keys.h"
#include "tests/simulator/planted.h"

namespace quipu::sim {
namespace {

constexpr std::size_t kSector = 512;
constexpr Duration kFastestDisk = std::chrono::microseconds(100);

// What replaying a record that was cut off could make of it: some states, no tokens.
void cut_off(Sealed& sealed) {
  for (Batch::Put& put : sealed.batch.puts) {
    if (!stored::parse_record(put.key)) continue;
    Result<Record> record = decode_record(put.key, put.value);
    record->tokens.clear();
    put.value = encode_record(put.key, *record);
  }
}

}  // namespace

void Disk::replace(MemoryDisk by) {
  disk_ = std::move(by);
  tail_.clear();
  oracle_.on_disk_replaced(node_, disk_);
}

bool Disk::flip_bit() {
  if (disk_.durable.empty()) return false;
  auto at = disk_.durable.begin();
  std::advance(at, static_cast<std::ptrdiff_t>(random_.below(disk_.durable.size())));
  if (at->second.empty()) return false;
  const std::uint64_t bit = random_.below(at->second.size() * 8);
  at->second[bit / 8] = static_cast<char>(at->second[bit / 8] ^ (1 << bit % 8));
  return true;
}

void Disk::remember(const Batch& batch) {
  if (!remembers_) return;
  Replaced& replaced = tail_.emplace_back();
  const auto note = [&](const std::string& key) {
    const auto at = disk_.durable.find(key);
    replaced.try_emplace(key, at == disk_.durable.end() ? std::nullopt : std::optional(at->second));
  };
  for (const Batch::Put& put : batch.puts) note(put.key);
  for (const std::string& key : batch.deletes) note(key);
  if (tail_.size() > kTail) tail_.pop_front();
}

MemoryDisk Disk::without_tail(std::size_t writes) const {
  MemoryDisk older = disk_;
  for (auto write = tail_.rbegin(); write != tail_.rend() && writes > 0; ++write, --writes) {
    for (const auto& [key, value] : *write) {
      if (value) {
        older.durable.insert_or_assign(key, *value);
      } else {
        older.durable.erase(key);
      }
    }
  }
  return older;
}

// A start writes, too, and past that no tail is lost.
Store& Disk::open() {
  tail_.clear();
  disk_.fault = full_ ? MemoryDisk::Fault::full : MemoryDisk::Fault::none;
  return store_.emplace(disk_);
}

std::optional<Duration> Disk::begin() {
  if (busy_ || (writing_.empty() && queued_.empty())) return std::nullopt;
  busy_ = true;
  if (writing_.empty()) {  // else: what found no room
    writing_.assign(std::make_move_iterator(queued_.begin()),
                    std::make_move_iterator(queued_.end()));
    queued_.clear();
  }
  return read_time();
}

Duration Disk::read_time() {
  const auto spread = static_cast<std::uint64_t>((slowest_ - kFastestDisk).count());
  return kFastestDisk + Duration(static_cast<std::int64_t>(random_.below(spread + 1)));
}

Disk::Ended Disk::end() {
  disk_.fault = std::exchange(fails_, false) ? MemoryDisk::Fault::failed_sync
                : full_                      ? MemoryDisk::Fault::full
                                             : MemoryDisk::Fault::none;
  // One by one: some of them may be durable, and the rest not.
  while (!writing_.empty()) {
    if (disk_.fault == MemoryDisk::Fault::none) remember(writing_.front().batch);
    const Status written = store_->write(writing_.front().batch);
    if (written.code() == Code::storage_full) return {Ended::What::full, {}};
    if (!written.ok()) return {Ended::What::failed, {}};
    busy_ = false;
    const Commit commit = writing_.front().commit;
    oracle_.on_durable(node_, writing_.front().batch);
    writing_.erase(writing_.begin());
    if (writing_.empty()) return {Ended::What::durable, commit};
  }
  busy_ = false;
  return {Ended::What::durable, {}};
}

void Disk::crash() {
  tear();
  store_.reset();
  disk_.fault = MemoryDisk::Fault::none;
  queued_.clear();
  writing_.clear();
  busy_ = false;
}

// Any of the sectors in flight may have been written, in any order.
void Disk::tear() {
  if (!store_ || writing_.empty()) return;
  disk_.fault = MemoryDisk::Fault::none;
  MemoryStore platter(disk_);
  const std::uint64_t kept_in_16 = random_.below(17);
  for (Sealed& sealed : writing_) {
    const std::size_t sectors = sealed.batch.bytes() / kSector + 1;
    std::size_t kept = 0;
    while (kept < sectors && random_.below(16) < kept_in_16) ++kept;
    if (kept < sectors) {
      if (kept == 0 || !planted("partial_record_replayed")) return;
      cut_off(sealed);
    }
    remember(sealed.batch);
    (void)platter.write(sealed.batch);
    oracle_.on_durable(node_, sealed.batch);
    if (kept < sectors) return;
  }
}

}  // namespace quipu::sim
