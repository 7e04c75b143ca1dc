// disk.h: a disk that is slow, full, or dies, and what a power cut leaves of it.
//
//   sealed records ──▶ in flight ──a sync──▶ durable
//
// As LevelDB's log on a real disk: what is in flight lies in sectors of 512 bytes,
// of which a cut keeps any; a record survives whole or not at all, and only if all
// before it did.
#pragma once

#include <deque>
#include <map>
#include <vector>

#include "protocol/random.h"
#include "storage/executor.h"
#include "storage/memory_store.h"
#include "tests/simulator/oracle.h"
#include "tests/storage/load_all.h"

namespace quipu::sim {

inline constexpr Duration kUsualSync = std::chrono::milliseconds(3);  // at most

inline constexpr std::size_t kTail = 3;  // writes that can be lost though they were synced

class Disk {
 public:
  Disk(MemberIndex node, Oracle& oracle, Random random)
      : node_(node), oracle_(oracle), random_(random) {}

  // ---- of the machine ----
  // Syncs take up to so long.
  void be_slow(Duration most) { slowest_ = most; }
  void be_full(bool full) { full_ = full; }
  void fail_next_sync() { fails_ = true; }
  void fail_no_sync() { fails_ = false; }
  [[nodiscard]] const MemoryDisk& bytes() const { return disk_; }
  // REQUIRES: powered off.
  void replace(MemoryDisk by);
  // From now on it remembers what the last few writes replaced.
  void remember_tail() { remembers_ = true; }
  // As it would be had it lost the last so many writes, or all that it remembers.
  // REQUIRES: powered off.
  [[nodiscard]] MemoryDisk without_tail(std::size_t writes) const;
  // Flips one bit of a stored value; false if there is none.
  bool flip_bit();

  // ---- of the node's process ----
  // What the store is opened on.
  [[nodiscard]] Store& open();
  void write(Sealed sealed) { queued_.push_back(std::move(sealed)); }
  // As the storage thread reads, whatever it is writing.
  [[nodiscard]] Result<Loaded> load(HashKey placement, LoadRequest request) {
    return load_all(*store_, placement, std::move(request));
  }
  // How long a read takes until it sees the disk, or from there on.
  [[nodiscard]] Duration read_time();
  // Begins the next sync if none is under way: how long it takes; nothing: not now.
  [[nodiscard]] std::optional<Duration> begin();
  // What found no room may be tried again.
  void retry() { busy_ = false; }
  struct Ended {
    enum class What { durable, full, failed } what;
    Commit commit{};  // durable up to here
  };
  [[nodiscard]] Ended end();
  // The process or the power is gone: what was in flight is torn.
  void crash();

 private:
  void tear();
  void remember(const Batch& batch);

  // By key: what was there before.
  using Replaced = std::map<std::string, std::optional<std::string>>;

  MemberIndex node_;
  Oracle& oracle_;
  Random random_;
  MemoryDisk disk_;
  std::optional<MemoryStore> store_;
  std::deque<Sealed> queued_;
  std::vector<Sealed> writing_;
  std::deque<Replaced> tail_;  // oldest write first
  bool remembers_ = false;
  bool busy_ = false;
  bool full_ = false;
  bool fails_ = false;
  Duration slowest_ = kUsualSync;
};

}  // namespace quipu::sim
