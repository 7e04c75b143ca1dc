#include "storage/shard_map.h"

namespace quipu {
namespace {

std::uint32_t kind_bit(Kind kind) { return std::uint32_t{1} << static_cast<unsigned>(kind); }

}  // namespace

ShardMap::ShardMap(HashKey placement, const MemoryLimit& limit)
    : index_(placement),
      ledger_(index_),
      eviction_(limit, index_, ledger_),
      due_(kPartitions, kNeverDue),
      kinds_(kPartitions) {}

void ShardMap::rekey(HashKey placement) {
  index_.rekey(placement);
  ledger_.rekey();
}

// ---- looking ----

bool ShardMap::read(const Placement& placement, const ShardRef& ref, ShardState& state) const {
  const Entry* entry = find(placement, ref);
  if (entry == nullptr || entry->is_bottom()) {
    state.cells.clear();
    state.parts.clear();
    state.shard_count = state.usable_shards = 1;
    state.life = {};
    return false;
  }
  index_.unpack(*entry, state);
  return true;
}

Total ShardMap::total(const ShardRef& ref) const {
  const Entry* entry = find(place(ref), ref);
  return entry == nullptr ? Total{} : entry->total();
}

ShardIndex ShardMap::told_usable(const Placement& placement, const ShardRef& ref) const {
  const Entry* entry = find(placement, ref);
  if (entry == nullptr || !entry->has(Entry::kHasShardCount)) return 1;
  ShardState state;
  index_.unpack(*entry, state);
  return state.usable_shards;
}

std::vector<ShardKey> ShardMap::under_other_kinds(const ShardRef& ref,
                                                  const Placement& placement) const {
  std::vector<ShardKey> others;
  const std::uint32_t kinds = kinds_[raw(placement.partition())];
  if ((kinds == 0 && is_sum(ref.shard)) || !is_first(ref.shard)) return others;
  for (const Kind kind : kKinds) {
    const bool held = kind == Kind::sum || (kinds & kind_bit(kind)) != 0;
    if (held && kind != kind_of(ref.shard))
      others.push_back({std::string(ref.key), shard_of(kind)});
  }
  return others;
}

// ---- changing ----

inline void ShardMap::list_open(Entry* entry) {
  open_.push_back(entry);
  open_bytes_ += entry->size();
}

void ShardMap::touch(const Placement& placement, Entry* entry, std::uint8_t flags) {
  QUIPU_CHECK((flags & ~(Entry::kWhole | Entry::kLocal)) == 0, "a change is whole, local or both",
              flags);
  ledger_.on_change(placement.partition());
  if (!entry->dirty()) {
    ledger_.on_dirty(placement, *entry);
    entry->set_journaled(Entry::Journaled::by_name);
  }
  if (!entry->has(Entry::kOpen)) list_open(entry);
  entry->set(static_cast<std::uint8_t>(Entry::kOpen | flags));
}

void ShardMap::put(const Placement& placement, const ShardRef& ref, const ShardState& state,
                   std::uint8_t flags) {
  Entry* entry = index_.find(placement, ref);
  if (entry == nullptr) {
    entry = insert(placement, ref, state);
    entry->mark_used();
    entry->set_journaled(Entry::Journaled::by_name);
    ledger_.on_new_dirty(placement.partition(), *entry);
    list_open(entry);
    entry->set(static_cast<std::uint8_t>(Entry::kOpen | flags));
  } else {
    const bool at_rest = entry->marked(Entry::kAtRest);
    touch(placement, entry, flags);
    // What holds nothing is made anew, not rewritten: the index counts where entries are made.
    const bool held = !entry->is_bottom();
    if (held) ledger_.on_gone(placement.partition(), *entry);
    if (!held || !entry->rewrite(index_.actors(), state)) {
      const std::size_t before = entry->size();
      entry = index_.resize(placement, entry, state);
      ledger_.on_resized(before, entry->size());
      open_bytes_ += entry->size();
    }
    if (at_rest) entry->mark(Entry::kAtRest);
  }
  QUIPU_CHECK(entry->has(Entry::kOpen) && entry->dirty(),
              "what is put is in the open record, and in no checkpoint", ref.key, entry->flags());
  held(placement, ref, state);
}

void ShardMap::held(const Placement& placement, const ShardRef& ref, const ShardState& state) {
  ledger_.on_held(placement.partition(), shows_counter(ref, state), is_spent(state));
  if (has_shard_count(state)) spread_.insert(placement.partition());
  if (!is_sum(ref.shard) && is_first(ref.shard))
    kinds_[raw(placement.partition())] |= kind_bit(kind_of(ref.shard));
  note_due(placement.partition(), state);
}

Entry* ShardMap::insert(const Placement& placement, const ShardRef& ref, const ShardState& state) {
  const Partition partition = placement.partition();
  if (index_.size(partition) == DigestLedger::kFew) ledger_.keep_leaves(partition);
  return index_.insert(placement, ref, state);
}

void ShardMap::mark_clean(Partition partition, Entry* entry, Commit put_by) {
  QUIPU_CHECK(!entry->has(Entry::kOpen), "only what is sealed is put", partition, entry->ref().key);
  QUIPU_CHECK(entry->dirty(), "only what has changed since the last checkpoint is put again",
              partition, entry->ref().key);
  eviction_.on_put(partition, put_by);
  ledger_.on_clean(partition, *entry);
  entry->set_journaled(Entry::Journaled::nothing);
  entry->mark(Entry::kAtRest);
}

void ShardMap::drop(Partition partition) {
  QUIPU_CHECK(!has_open(), "open entries are sealed before a partition is dropped", partition);
  eviction_.drop(partition);
  ledger_.drop(partition);
  index_.retain(partition, [](const Entry&) { return false; });
  spread_.erase(partition);
  due_[raw(partition)] = kNeverDue;
  QUIPU_CHECK(index_.size(partition) == 0 && ledger_.size(partition) == 0,
              "nothing of a partition that was dropped is held", partition, index_.size(partition));
}

// ---- counters that end ----

Wall ShardMap::due_of(const Life& life, bool is_spent) {
  if (in_force(life)) return life.at;
  return is_spent ? life.ended + kLifeGrace : kNeverDue;
}

void ShardMap::note_due(Partition partition, const ShardState& state) {
  if (state.life == Life{}) return;
  note_due(partition, due_of(state.life, is_spent(state)));
}

void ShardMap::put_realized(Entry* entry, const ShardState& state) {
  QUIPU_CHECK(!entry->has(Entry::kOpen), "what is open is realized after its seal",
              entry->ref().key);
  const Placement placement = place(entry->ref());
  const bool at_rest = entry->marked(Entry::kAtRest);
  ledger_.on_change(placement.partition());
  if (!entry->dirty()) ledger_.on_dirty(placement, *entry);
  entry->set_journaled(Entry::Journaled::by_name);
  ledger_.on_gone(placement.partition(), *entry);
  if (!entry->rewrite(index_.actors(), state)) {
    const std::size_t before = entry->size();
    entry = index_.resize(placement, entry, state);
    ledger_.on_resized(before, entry->size());
  }
  if (at_rest) entry->mark(Entry::kAtRest);
  held(placement, entry->ref(), state);
}

// Returns whether the entry goes. Where the store alone may hold a state of the leaf, memory must
// know that it does not hold this one. (It is evicted only when the delete is durable.)
bool ShardMap::forget(Partition partition, Entry* entry) {
  QUIPU_CHECK(!entry->has(Entry::kOpen) && (entry->is_dated() || entry->is_window()),
              "only sealed states of what ended are forgotten", entry->ref().key);
  ledger_.on_forgotten(partition, *entry);
  if (eviction_.resident(LeafId{partition, entry->leaf()})) return true;
  const Placement placement = place(entry->ref());
  index_.resize(placement, entry, ShardState{})->set_journaled(Entry::Journaled::nothing);
  return false;
}

// ---- what is in the store alone ----

void ShardMap::load(const ShardRef& ref, const ShardState& state) {
  QUIPU_CHECK(state != ShardState{}, "a state that is loaded holds something", ref.key, ref.shard);
  const Placement placement = place(ref);
  if (eviction_.room_to_load(placement.partition())) {
    insert(placement, ref, state)->mark(Entry::kAtRest);
  } else {
    eviction_.mark({placement.partition(), placement.leaf()});
  }
  held(placement, ref, state);
  // Last, since either may begin to keep the leaves of the earlier states.
  ledger_.on_loaded(placement, ref, state);
}

void ShardMap::restore(const ShardRef& ref, const std::optional<ShardState>& state) {
  const Placement placement = place(ref);
  if (resident(placement, ref)) return;
  QUIPU_CHECK(!state || state->cells.size() <= kMaxCells,
              "a stored state was checked when it was read", ref.key);
  QUIPU_CHECK(!state || *state != ShardState{}, "the store holds no empty states", ref.key,
              ref.shard);
  insert(placement, ref, state.value_or(ShardState{}))->mark(Entry::kAtRest);
  if (state) note_due(placement.partition(), *state);
}

}  // namespace quipu
