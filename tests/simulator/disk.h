// disk.h: a disk that is slow, full, or dies, and what a power cut leaves on it.
//
//   sealed records ──▶ in flight ──a sync──▶ durable
//
// Like LevelDB's log on a real disk: data in flight is in sectors of 512 bytes, and a cut keeps
// any of them. A record survives as a whole or not at all, and only if all before it did.
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

inline constexpr std::size_t kTail = 3;  // writes that can be lost although they were synced

class Disk {
 public:
  Disk(MemberIndex node, Oracle& oracle, Random random)
      : node_(node), oracle_(oracle), random_(random) {}

  // ---- of the machine ----
  // Syncs take up to this long.
  void be_slow(Duration most) { slowest_ = most; }
  void be_full(bool full) { full_ = full; }
  void fail_next_sync() { fails_ = true; }
  void fail_no_sync() { fails_ = false; }
  [[nodiscard]] const MemoryDisk& bytes() const { return disk_; }
  // REQUIRES: powered off.
  void replace(MemoryDisk by);
  // From now on it remembers what the last few writes replaced.
  void remember_tail() { remembers_ = true; }
  // Its content without the last writes, this many or all that it remembers.
  // REQUIRES: powered off.
  [[nodiscard]] MemoryDisk without_tail(std::size_t writes) const;
  // Flips one bit of a stored value; false if there is none.
  bool flip_bit();

  // ---- of the node's process ----
  // The store is opened on this.
  [[nodiscard]] Store& open();
  void write(Sealed sealed) { queued_.push_back(std::move(sealed)); }
  // Like a read of the storage thread, during any write.
  [[nodiscard]] Result<Loaded> load(HashKey placement, LoadRequest request) {
    return load_all(*store_, placement, std::move(request));
  }
  // How long a read takes until it sees the disk, or after that.
  [[nodiscard]] Duration read_time();
  // Begins the next sync if none is under way, and returns its time. Nothing: not now.
  [[nodiscard]] std::optional<Duration> begin();
  // Writes that found no room may be tried again.
  void retry() { busy_ = false; }
  struct Ended {
    enum class What { durable, full, failed } what;
    Commit commit{};  // durable up to here
  };
  [[nodiscard]] Ended end();
  // The process or the power is gone: writes in flight are torn.
  void crash();

 private:
  void tear();
  void remember(const Batch& batch);

  // By key: the earlier value.
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
