// entry_index.h: the entries of all shards in memory, by name, and the memory they take.
//
// One table for each partition (partition_table.h), whose entries lie in one slab. An open
// entry that must change its size leaves a stub, since records and lists still point at it.
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
};

}  // namespace quipu
