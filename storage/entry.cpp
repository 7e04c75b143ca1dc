#include "storage/entry.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <new>

namespace quipu {

std::uint32_t ActorNames::intern(ActorId actor) {
  const auto [at, fresh] = indices_.try_emplace(actor, static_cast<std::uint32_t>(names_.size()));
  if (fresh) names_.push_back(actor);
  return last_ = at->second;
}

namespace {

bool was_cleared(const Cell& cell) {
  return cell.cleared_commit != Commit{} || cell.cleared_sum != 0;
}

bool is_counted(const ShardState& state) { return state.count != 1 || state.usable != 1; }

template <class T>
char* put(char* at, T value) {
  std::memcpy(at, &value, sizeof value);
  return at + sizeof value;
}

template <class T>
T get(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace

// The key stands at the very end, so that ref() need not walk the cells.
Entry* Entry::create(Slab& slab, ActorNames& actors, const Placement& placement, ShardRef ref,
                     const ShardState& state) {
  const std::size_t taken = units(ref.key.size(), state);
  auto* entry = new (slab.allocate(taken)) Entry;
  entry->hash_ = static_cast<std::uint32_t>(placement.hash);
  entry->leaf_ = placement.leaf();
  entry->key_length_ = static_cast<std::uint16_t>(ref.key.size());
  entry->shard_ = ref.shard;
  entry->units_ = static_cast<std::uint16_t>(taken);
  entry->flags_ = 0;
  entry->write(actors, state, [&](const char*) { return actors.last(); });
  std::memcpy(entry->bytes() + entry->size() - ref.key.size(), ref.key.data(), ref.key.size());
  return entry;
}

bool Entry::rewrite(ActorNames& actors, const ShardState& state) {
  if (units(key_length_, state) != units_) return false;
  write(actors, state, [](const char* at) { return get<std::uint32_t>(at) & ~kClearedBit; });
  return true;
}

std::size_t Entry::units(std::size_t key, const ShardState& state) {
  static_assert(bytes_of(kMaxCells) <= std::numeric_limits<decltype(units_)>::max() * Slab::kUnit);
  assert(state.cells.size() <= kMaxCells);
  std::size_t size = kHeader + key + (is_counted(state) ? 4 : 0);
  for (const Cell& cell : state.cells) size += was_cleared(cell) ? kClearedCell : kPlainCell;
  return (size + Slab::kUnit - 1) / Slab::kUnit;
}

// All but the header's other fields and the key. guess(at): what the actor of the cell to
// be written there may be called.
template <class Guess>
void Entry::write(ActorNames& actors, const ShardState& state, Guess guess) {
  cells_ = static_cast<std::uint16_t>(state.cells.size());
  clear(kCounted);
  char* at = bytes() + kHeader;
  for (const Cell& cell : state.cells) {
    const bool cleared = was_cleared(cell);
    const std::uint32_t guessed = guess(at);
    const bool right = actors.is(guessed, cell.actor);
    const std::uint32_t actor = right ? guessed : actors.intern(cell.actor);
    at = put(at, actor | (cleared ? kClearedBit : 0));
    at = put(at, cell.commit);
    at = put(at, cell.sum);
    if (!cleared) continue;
    at = put(at, cell.cleared_commit);
    at = put(at, cell.cleared_sum);
  }
  if (!is_counted(state)) return;
  set(kCounted);
  put(put(at, state.count), state.usable);
}

// Returns where the cells end.
template <class Visit>
const char* Entry::for_each_cell(Visit&& visit) const {
  CellRef cell(const_cast<char*>(bytes()) + kHeader);
  for (std::uint16_t i = 0; i < cells_; ++i) {
    visit(cell);
    cell.at_ += cell.width();
  }
  return cell.at_;
}

Cell Entry::CellRef::cell(const ActorNames& actors) const {
  Cell cell{actors.name(load<std::uint32_t>(0) & ~kClearedBit), load<Commit>(4), sum(), {}, 0};
  if (cleared()) {
    cell.cleared_commit = load<Commit>(kPlainCell);
    cell.cleared_sum = load<std::int64_t>(kPlainCell + 8);
  }
  return cell;
}

void Entry::unpack(const ActorNames& actors, ShardState& state) const {
  state.cells.clear();
  state.count = state.usable = 1;
  const char* end =
      for_each_cell([&](const CellRef& cell) { state.cells.push_back(cell.cell(actors)); });
  if (has(kCounted)) {
    state.count = get<ShardIndex>(end);
    state.usable = get<ShardIndex>(end + sizeof(ShardIndex));
  }
}

Total Entry::total() const {
  Total total;
  for_each_cell([&](const CellRef& cell) {
    Commit cleared{};
    total.sum += cell.sum();
    if (cell.cleared()) {
      cleared = cell.load<Commit>(kPlainCell);
      total.sum -= cell.load<std::int64_t>(kPlainCell + 8);
    }
    total.exists = total.exists || cell.load<Commit>(4) > cleared;
  });
  return total;
}

Entry::CellRef Entry::find(std::uint32_t actor) {
  CellRef found(nullptr);
  for_each_cell([&](const CellRef& cell) {
    if ((cell.load<std::uint32_t>(0) & ~kClearedBit) == actor) found = cell;
  });
  return found;
}

void Entry::move_to(Entry* now) {
  flags_ = kMoved;
  put(bytes() + kHeader, now);
}

Entry* Entry::moved_to() const { return get<Entry*>(bytes() + kHeader); }

}  // namespace quipu
