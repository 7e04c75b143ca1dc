// entry_index.h: the entries of all shards in memory, by name, and the memory they take.
//
// One table for each partition (partition_table.h), whose entries lie in one slab. An open
// entry that must change its size leaves a stub, since records and lists still point at it.
//
// It knows how many states of each kind are in memory. Entries of other kinds than the sum, and
// entries that hold nothing, are counted where they are made and destroyed. Sums are the rest, so
// an add to a sum pays nothing for this.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "protocol/check.h"
#include "protocol/partitions.h"
#include "storage/partition_table.h"

namespace quipu {

// The states of some shards, in memory.
struct StatesInMemory {
  std::size_t states = 0;
  std::size_t bytes = 0;  // of their entries: names, and room for growth, too

  StatesInMemory& operator+=(const StatesInMemory& more) {
    states += more.states;
    bytes += more.bytes;
    return *this;
  }
  StatesInMemory& operator-=(const StatesInMemory& less) {
    QUIPU_CHECK(states >= less.states && bytes >= less.bytes, "what goes was counted when it came",
                states, less.states, bytes, less.bytes);
    states -= less.states;
    bytes -= less.bytes;
    return *this;
  }
  bool operator==(const StatesInMemory&) const = default;
};

class EntryIndex {
 public:
  explicit EntryIndex(HashKey placement) : placement_(placement), tables_(kPartitions) {}

  // REQUIRES: it is empty. (The key is known once the cluster is founded.)
  void rekey(HashKey placement);
  [[nodiscard]] HashKey placement_key() const { return placement_; }
  [[nodiscard]] Placement place(const ShardRef& ref) const { return {placement_, ref}; }

  [[nodiscard]] Entry* find(const Placement& placement, const ShardRef& ref) {
    return table(placement).find(placement, ref);
  }
  [[nodiscard]] const Entry* find(const Placement& placement, const ShardRef& ref) const {
    return table(placement).find(placement, ref);
  }
  // Prefetches the memory of entries that will be looked up. Each step fetches what the next uses.
  void prefetch(std::span<const Placement> group) const {
    for (const Placement& one : group) fetch_ahead(&table(one));
    for (const Placement& one : group) table(one).prefetch_slot(one);
    for (const Placement& one : group) table(one).prefetch_entry(one);
  }

  // REQUIRES: find() gives nothing.
  Entry* insert(const Placement& placement, const ShardRef& ref, const ShardState& state);
  // Writes the entry again, with that state and the same flags. Leaves a stub if it is open.
  Entry* resize(const Placement& placement, Entry* old, const ShardState& state);
  void free_stubs();
  // Destroys those of the partition for which `keep` is false.
  template <class Keep>
  void retain(Partition partition, Keep&& keep) {
    PartitionTable& all = tables_[raw(partition)];
    QUIPU_CHECK(table_bytes_ >= all.bytes(), "the memory of each table was counted", partition,
                table_bytes_, all.bytes());
    table_bytes_ -= all.bytes();
    all.retain([&](Entry* entry) {
      if (keep(*entry)) return true;
      ++destroyed_;
      on_destroyed(*entry);
      entry->destroy(slab_);
      return false;
    });
    table_bytes_ += all.bytes();
    if (all.size() == 0) occupied_.erase(partition);
  }

  template <class Visit>
  void for_each(Partition partition, Visit&& visit) {
    tables_[raw(partition)].for_each([&](Entry* entry) { visit(*entry); });
  }
  template <class Visit>
  void for_each(Partition partition, Visit&& visit) const {
    tables_[raw(partition)].for_each([&](const Entry* entry) { visit(*entry); });
  }

  // The partition's entries that hold something, by leaf, key and index:
  // all that are dirty, or those of them behind `after`;
  void collect_dirty(Partition partition, const std::optional<ShardKey>& after,
                     std::vector<Entry*>& entries);
  // those from that leaf on;
  void collect_from(Partition partition, std::uint8_t leaf,
                    std::vector<const Entry*>& entries) const;
  // those of that leaf.
  void collect_leaf(Partition partition, std::uint8_t leaf,
                    std::vector<const Entry*>& entries) const;

  // How many shards have an entry, including those known not to be held.
  [[nodiscard]] std::size_t size(Partition partition) const {
    return tables_[raw(partition)].size();
  }
  // The partitions with any entry.
  [[nodiscard]] const Partitions& occupied() const { return occupied_; }
  // How many entries were ever made.
  [[nodiscard]] std::uint64_t inserted() const { return inserted_; }
  // What is in memory of that kind: all shards and windows.
  [[nodiscard]] StatesInMemory in_memory(Kind kind) const;
  // Bytes of entries and tables (about), and the same with the slab's free room.
  [[nodiscard]] std::size_t footprint() const { return slab_.used() + table_bytes_; }
  [[nodiscard]] std::size_t bytes() const { return slab_.reserved() + table_bytes_; }

  void unpack(const Entry& entry, ShardState& state) const { entry.unpack(actors_, state); }
  [[nodiscard]] ActorNames& actors() { return actors_; }
  [[nodiscard]] const ActorNames& actors() const { return actors_; }

 private:
  [[nodiscard]] PartitionTable& table(const Placement& placement) {
    return tables_[raw(placement.partition())];
  }
  [[nodiscard]] const PartitionTable& table(const Placement& placement) const {
    return tables_[raw(placement.partition())];
  }

  // Where the entry is counted. Nothing: it is a sum that holds something.
  [[nodiscard]] StatesInMemory* counted(const Entry& entry) {
    if (entry.is_bottom()) [[unlikely]]
      return &absent_;
    const ShardIndex shard = entry.ref().shard;
    return is_sum(shard) ? nullptr : &of_kinds_[static_cast<std::size_t>(kind_of(shard))];
  }
  void on_created(const Entry& entry) {
    if (StatesInMemory* const all = counted(entry)) [[unlikely]]
      *all += {1, entry.size()};
  }
  void on_destroyed(const Entry& entry) {
    if (StatesInMemory* const all = counted(entry)) [[unlikely]]
      *all -= {1, entry.size()};
  }

  HashKey placement_;
  Slab slab_;
  ActorNames actors_;
  std::vector<PartitionTable> tables_;
  struct Stub {
    Entry* entry;
    std::size_t size;
  };
  std::vector<Stub> stubs_;
  std::size_t table_bytes_ = 0;
  Partitions occupied_;
  std::uint64_t inserted_ = 0;
  std::uint64_t destroyed_ = 0;                                                     // of these
  std::array<StatesInMemory, static_cast<std::size_t>(kLastKind) + 1> of_kinds_{};  // but the sum
  StatesInMemory absent_;  // entries that hold nothing, of all kinds
};

}  // namespace quipu
