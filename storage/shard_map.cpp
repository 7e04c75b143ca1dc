#include "storage/shard_map.h"

#include <algorithm>

namespace quipu {
namespace {

// Every owner must compute the same digest, so its key follows from the cluster's.
HashKey derive_digest_key(HashKey placement) { return HashKey{hash64(placement, "digest")}; }

// The order in which a partition is walked: nearly that of its stored keys.
struct Name {
  std::uint8_t leaf;
  ShardRef ref;
  explicit Name(const Entry& entry) : leaf(entry.leaf()), ref(entry.ref()) {}
  Name(std::uint8_t in, const ShardRef& of) : leaf(in), ref(of) {}
  bool operator<(const Name& other) const {
    return leaf != other.leaf ? leaf < other.leaf : ref < other.ref;
  }
};

}  // namespace

ShardMap::ShardMap(HashKey placement, const MemoryLimit& limit)
    : placement_(placement),
      digest_key_(derive_digest_key(placement)),
      parts_(kPartitions),
      limit_(limit) {}

void ShardMap::rekey(HashKey placement) {
  placement_ = placement;
  digest_key_ = derive_digest_key(placement);
}

bool ShardMap::read(const Placement& placement, const ShardRef& ref, ShardState& state) const {
  const Entry* entry = find(placement, ref);
  if (entry == nullptr || entry->is_bottom()) {
    state.cells.clear();
    state.count = state.usable = 1;
    return false;
  }
  unpack(*entry, state);
  return true;
}

Total ShardMap::total(const ShardRef& ref) const {
  const Entry* entry = find(place(ref), ref);
  return entry == nullptr ? Total{} : entry->total();
}

ShardIndex ShardMap::told_usable(const Placement& placement, const ShardRef& ref) const {
  const Entry* entry = find(placement, ref);
  if (entry == nullptr || !entry->has(Entry::kCounted)) return 1;
  ShardState state;
  unpack(*entry, state);
  return state.usable;
}

Hash128 ShardMap::hash(const Entry& entry) const {
  ShardState state;
  unpack(entry, state);
  return hash_state(digest_key_, entry.ref(), state);
}

void ShardMap::touch(const Placement& placement, Entry* entry, std::uint8_t flags) {
  Part& home = part(placement);
  home.summed = false;
  if (!entry->dirty()) {
    entry->set_journaled(Entry::Journaled::by_name);
    if (!entry->is_bottom()) home.clean.remove(placement.leaf(), hash(*entry));
    count_dirty(placement, *entry);
  }
  if (!entry->has(Entry::kOpen)) {
    open_.push_back(entry);
    open_bytes_ += entry->size();
  }
  entry->set(static_cast<std::uint8_t>(Entry::kOpen | flags));
}

void ShardMap::put(const Placement& placement, const ShardRef& ref, const ShardState& state,
                   std::uint8_t flags) {
  Part& home = part(placement);
  if (Entry* const old = home.table.find(placement, ref)) {
    touch(placement, old, flags);
    if (old->shows_counter()) --home.counters;
    if (!old->is_bottom()) --home.states, --size_;
    count(placement, old->rewrite(actors_, state) ? *old : *resized(home, placement, old, state));
    return;
  }
  Entry* const now = Entry::create(slab_, actors_, placement, ref, state);
  insert(home, placement, now);
  count(placement, *now);
  count_dirty(placement, *now);
  open_bytes_ += now->size();
  now->set(static_cast<std::uint8_t>(Entry::kOpen | Entry::kUsed | flags));
  now->set_journaled(Entry::Journaled::by_name);
  open_.push_back(now);
}

// Of an open entry, one in its place.
Entry* ShardMap::resized(Part& home, const Placement& placement, Entry* old,
                         const ShardState& state) {
  Entry* const now = Entry::create(slab_, actors_, placement, old->ref(), state);
  open_bytes_ += now->size();
  dirty_bytes_ += now->size();
  dirty_bytes_ -= old->size();
  now->set(old->flags() & (Entry::kOpen | Entry::kWhole | Entry::kLocal | Entry::kUsed));
  now->set_journaled(Entry::Journaled::by_name);
  home.table.replace(placement, old, now);
  stubs_.push_back({old, old->size()});
  old->move_to(now);
  return now;
}

void ShardMap::insert(Part& home, const Placement& placement, Entry* entry) {
  if (home.table.size() == kFew) keep_leaves(home);
  ++inserted_;
  table_bytes_ -= home.table.bytes();
  home.table.insert(placement, entry);
  entries_in_.insert(placement.partition());
  table_bytes_ += home.table.bytes();
}

// REQUIRES: what the digest covers is in memory.
void ShardMap::keep_leaves(Part& home) {
  if (home.clean.leaves() != nullptr) return;
  Digest::Leaves leaves{};
  add_hashes(home, leaves, [](const Entry& entry) { return !entry.dirty(); });
  home.clean.keep(leaves);
  leaf_bytes_ += home.clean.bytes();
}

template <class Wanted>
void ShardMap::add_hashes(const Part& home, Digest::Leaves& leaves, Wanted wanted) const {
  ShardState state;
  home.table.for_each([&](const Entry* entry) {
    if (!wanted(*entry)) return;
    unpack(*entry, state);
    leaves[entry->leaf()] += hash_state(digest_key_, entry->ref(), state);
  });
}

void ShardMap::count(const Placement& placement, const Entry& entry) {
  Part& home = part(placement);
  if (entry.shows_counter()) ++home.counters;
  home.spread |= entry.has(Entry::kCounted);
  home.summed = false;
  ++home.states;
  ++size_;
  held_in_.insert(placement.partition());
}

void ShardMap::count_dirty(const Placement& placement, const Entry& entry) {
  ++part(placement).dirty;
  ++dirty_;
  dirty_bytes_ += entry.size();
  dirty_in_.insert(placement.partition());
}

void ShardMap::load(const ShardRef& ref, const ShardState& state) {
  const Placement placement = place(ref);
  Part& home = part(placement);
  Entry* const entry = Entry::create(slab_, actors_, placement, ref, state);
  count(placement, *entry);
  // What is left makes room for what is needed first.
  const bool room = limit_.bytes == 0 || footprint() <= limit_.bytes - limit_.bytes / 4;
  if (room || !limit_.evictable.contains(placement.partition())) {
    insert(home, placement, entry);
  } else {
    set_evicted(home, placement.leaf());
    entry->destroy(slab_);
  }
  // Last, since either may begin to keep the leaves of what was there before.
  home.clean.add(placement.leaf(), hash_state(digest_key_, ref, state));
}

// ---- what is in the store alone ----

void ShardMap::set_evicted(Part& home, std::uint8_t leaf) {
  if (home.evicted == nullptr) {
    keep_leaves(home);
    home.evicted = std::make_unique<std::bitset<kLeaves>>();
  }
  home.evicted->set(leaf);
  evicted_ = true;
}

void ShardMap::restore(const ShardRef& ref, const std::optional<ShardState>& state) {
  const Placement placement = place(ref);
  Part& home = part(placement);
  if (resident(placement, ref)) return;
  insert(home, placement,
         Entry::create(slab_, actors_, placement, ref, state.value_or(ShardState{})));
}

void ShardMap::set_resident(LeafId leaf) {
  if (Part& home = parts_[raw(leaf.partition)]; home.evicted != nullptr)
    home.evicted->reset(leaf.leaf);
}

// The clock of second chances (CLOCK, Corbató 1968), whose hand moves from partition
// to partition.
void ShardMap::evict(Partition partition, Commit put_by) {
  Part& home = parts_[raw(partition)];
  if (!limit_.evictable.contains(partition) || home.put_by > put_by) return;
  if (home.dirty == home.table.size()) return;
  table_bytes_ -= home.table.bytes();
  home.table.retain([&](Entry* entry) {
    if (entry->dirty()) return true;
    if (entry->has(Entry::kUsed)) {
      entry->clear(Entry::kUsed);
      return true;
    }
    if (!entry->is_bottom()) set_evicted(home, entry->leaf());
    entry->destroy(slab_);
    return false;
  });
  table_bytes_ += home.table.bytes();
  if (home.table.size() == 0) entries_in_.erase(partition);
}

void ShardMap::free_stubs() {
  for (const Stub& stub : stubs_) slab_.free(stub.entry, stub.size);
  stubs_.clear();
}

template <class Wanted>
void ShardMap::collect(Partition partition, std::vector<Entry*>& entries, Wanted wanted) const {
  entries.clear();
  for_each(partition, [&](Entry* entry) {
    if (!entry->is_bottom() && wanted(*entry)) entries.push_back(entry);
  });
  std::sort(entries.begin(), entries.end(),
            [](const Entry* a, const Entry* b) { return Name(*a) < Name(*b); });
}

void ShardMap::collect_dirty(Partition partition, const std::optional<ShardKey>& after,
                             std::vector<Entry*>& entries) const {
  std::optional<Name> last;
  if (after) last.emplace(place(*after).leaf(), *after);
  collect(partition, entries,
          [&last](const Entry& entry) { return entry.dirty() && (!last || *last < Name(entry)); });
}

void ShardMap::collect_from(Partition partition, std::uint8_t leaf,
                            std::vector<Entry*>& entries) const {
  collect(partition, entries, [leaf](const Entry& entry) { return entry.leaf() >= leaf; });
}

void ShardMap::collect_leaf(Partition partition, std::uint8_t leaf,
                            std::vector<Entry*>& entries) const {
  collect(partition, entries, [leaf](const Entry& entry) { return entry.leaf() == leaf; });
}

void ShardMap::mark_clean(Partition partition, Entry* entry, Commit put_by) {
  Part& home = parts_[raw(partition)];
  entry->set_journaled(Entry::Journaled::nothing);
  home.put_by = put_by;
  dirty_bytes_ -= entry->size();
  home.clean.add(entry->leaf(), hash(*entry));
  home.summed = false;
  if (--home.dirty == 0) dirty_in_.erase(partition);
  --dirty_;
}

Hash128 ShardMap::digest(Partition partition) const {
  const Part& home = parts_[raw(partition)];
  if (home.dirty == 0) return home.clean.sum();
  if (home.summed) return home.sum;
  home.sum = home.clean.sum();
  for_each(partition, [&](const Entry* entry) {
    if (entry->dirty()) home.sum += hash(*entry);
  });
  home.summed = true;
  return home.sum;
}

Digest::Leaves ShardMap::leaves(Partition partition) const {
  const Part& home = parts_[raw(partition)];
  const bool kept = home.clean.leaves() != nullptr;
  Digest::Leaves leaves = kept ? *home.clean.leaves() : Digest::Leaves{};
  if (kept && home.dirty == 0) return leaves;
  add_hashes(home, leaves, [kept](const Entry& entry) { return !kept || entry.dirty(); });
  return leaves;
}

void ShardMap::drop(Partition partition) {
  Part& home = parts_[raw(partition)];
  assert(home.evicted == nullptr);
  for_each(partition, [&](Entry* entry) {
    if (entry->dirty()) dirty_bytes_ -= entry->size();
    entry->destroy(slab_);
  });
  size_ -= home.states;
  dirty_ -= home.dirty;
  table_bytes_ -= home.table.bytes();
  leaf_bytes_ -= home.clean.bytes();
  home = Part{};
  for (Partitions* of : {&held_in_, &entries_in_, &dirty_in_}) of->erase(partition);
}

}  // namespace quipu
