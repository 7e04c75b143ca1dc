#include "storage/entry_index.h"

#include <algorithm>

#include "protocol/check.h"

namespace quipu {
namespace {

// The order in which a partition is visited: nearly that of its stored keys.
struct EntryName {
  std::uint8_t leaf;
  ShardRef ref;
  explicit EntryName(const Entry& entry) : leaf(entry.leaf()), ref(entry.ref()) {}
  EntryName(std::uint8_t in, const ShardRef& of) : leaf(in), ref(of) {}
  bool operator<(const EntryName& other) const {
    return leaf != other.leaf ? leaf < other.leaf : ref < other.ref;
  }
};

template <class Index, class Pointer, class Wanted>
void collect(Index& index, Partition partition, std::vector<Pointer>& entries, Wanted wanted) {
  entries.clear();
  index.for_each(partition, [&](auto& entry) {
    if (!entry.is_bottom() && wanted(entry)) entries.push_back(&entry);
  });
  std::sort(entries.begin(), entries.end(),
            [](const Entry* a, const Entry* b) { return EntryName(*a) < EntryName(*b); });
}

}  // namespace

void EntryIndex::rekey(HashKey placement) {
  QUIPU_CHECK(occupied_.empty(), "entries are placed by the key that they were inserted under",
              inserted_);
  placement_ = placement;
}

Entry* EntryIndex::insert(const Placement& placement, const ShardRef& ref,
                          const ShardState& state) {
  PartitionTable& home = table(placement);
  QUIPU_CHECK(home.find(placement, ref) == nullptr, "a shard has one entry", ref.key, ref.shard);
  Entry* const entry = Entry::create(slab_, actors_, placement, ref, state);
  ++inserted_;
  on_created(*entry);
  table_bytes_ -= home.bytes();
  home.insert(placement, entry);
  table_bytes_ += home.bytes();
  occupied_.insert(placement.partition());
  return entry;
}

Entry* EntryIndex::resize(const Placement& placement, Entry* old, const ShardState& state) {
  Entry* const now = Entry::create(slab_, actors_, placement, old->ref(), state);
  on_destroyed(*old);
  on_created(*now);
  now->set(old->flags() & (Entry::kOpen | Entry::kWhole | Entry::kLocal | Entry::kUsed));
  now->set_journaled(Entry::Journaled::by_name);  // an alias means a place in memory
  table(placement).replace(placement, old, now);
  if (old->has(Entry::kOpen)) {
    stubs_.push_back({old, old->size()});  // freed with the open record
    old->move_to(now);
  } else {
    old->destroy(slab_);
  }
  QUIPU_CHECK(now->dirty(), "an entry that moves is in no checkpoint", now->ref().key);
  return now;
}

StatesInMemory EntryIndex::in_memory(Kind kind) const {
  if (kind != Kind::sum) return of_kinds_[static_cast<std::size_t>(kind)];
  StatesInMemory sums{inserted_ - destroyed_, slab_.used()};
  for (const Stub& stub : stubs_) sums.bytes -= stub.size;
  for (const StatesInMemory& others : of_kinds_) sums -= others;
  return sums -= absent_;
}

void EntryIndex::free_stubs() {
  for (const Stub& stub : stubs_) slab_.free(stub.entry, stub.size);
  stubs_.clear();
}

void EntryIndex::collect_dirty(Partition partition, const std::optional<ShardKey>& after,
                               std::vector<Entry*>& entries) {
  std::optional<EntryName> last;
  if (after) {
    const Placement put = place(*after);
    QUIPU_CHECK(put.partition() == partition, "a walk goes on in the partition that it began in",
                partition, put.partition());
    last.emplace(put.leaf(), *after);
  }
  collect(*this, partition, entries, [&last](const Entry& entry) {
    return entry.dirty() && (!last || *last < EntryName(entry));
  });
}

void EntryIndex::collect_from(Partition partition, std::uint8_t leaf,
                              std::vector<const Entry*>& entries) const {
  collect(*this, partition, entries, [leaf](const Entry& entry) { return entry.leaf() >= leaf; });
}

void EntryIndex::collect_leaf(Partition partition, std::uint8_t leaf,
                              std::vector<const Entry*>& entries) const {
  collect(*this, partition, entries, [leaf](const Entry& entry) { return entry.leaf() == leaf; });
}

}  // namespace quipu
