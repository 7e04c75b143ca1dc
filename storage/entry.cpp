#include "storage/entry.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <new>

namespace quipu {

std::uint32_t ActorNames::intern(ActorId actor) {
  const auto [at, fresh] = indices_.try_emplace(actor, static_cast<std::uint32_t>(names_.size()));
  if (fresh) names_.push_back(actor);
  return at->second;
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
  static_assert(bytes_of(kMaxCells) <= std::numeric_limits<decltype(units_)>::max() * Slab::kUnit);
  assert(state.cells.size() <= kMaxCells);
  std::size_t size = kHeader + ref.key.size() + (is_counted(state) ? 4 : 0);
  for (const Cell& cell : state.cells) size += was_cleared(cell) ? kClearedCell : kPlainCell;
  const std::size_t units = (size + Slab::kUnit - 1) / Slab::kUnit;

  auto* entry = new (slab.allocate(units)) Entry;
  entry->hash_ = static_cast<std::uint32_t>(placement.hash);
  entry->leaf_ = placement.leaf();
  entry->key_length_ = static_cast<std::uint16_t>(ref.key.size());
  entry->shard_ = ref.shard;
  entry->cells_ = static_cast<std::uint16_t>(state.cells.size());
  entry->units_ = static_cast<std::uint16_t>(units);
  entry->flags_ = is_counted(state) ? kCounted : 0;

  char* at = entry->bytes() + kHeader;
  for (const Cell& cell : state.cells) {
    const bool cleared = was_cleared(cell);
    at = put(at, actors.intern(cell.actor) | (cleared ? kClearedBit : 0));
    at = put(at, cell.commit);
    at = put(at, cell.sum);
    if (!cleared) continue;
    at = put(at, cell.cleared_commit);
    at = put(at, cell.cleared_sum);
  }
  if (is_counted(state)) put(put(at, state.count), state.usable);
  std::memcpy(entry->bytes() + entry->size() - ref.key.size(), ref.key.data(), ref.key.size());
  return entry;
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
