#include "storage/entry.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <new>

namespace quipu {

std::uint32_t ActorNames::intern(ActorId actor) {
  if (2 * names_.size() >= slots_.size()) grow();
  std::uint32_t& number = slots_[slot(actor)];
  if (number == kNone) {
    names_.push_back(actor);
    number = static_cast<std::uint32_t>(names_.size() - 1);
  }
  return last_ = number;
}

std::size_t ActorNames::slot(ActorId actor) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = raw(actor) & mask;
  while (slots_[at] != kNone && names_[slots_[at]] != actor) at = (at + 1) & mask;
  return at;
}

void ActorNames::grow() {
  slots_.assign(std::max<std::size_t>(16, 2 * slots_.size()), kNone);
  for (std::uint32_t i = 0; i < names_.size(); ++i) slots_[slot(names_[i])] = i;
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

char* put48(char* at, std::uint64_t value) {
  at = put(at, static_cast<std::uint32_t>(value));
  return put(at, static_cast<std::uint16_t>(value >> 32));
}

template <class T>
T get(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace

Entry* Entry::create(Slab& slab, ActorNames& actors, const Placement& placement,
                     const ShardRef& ref, const ShardState& state) {
  auto* entry = new (slab.allocate(size_for(ref.key.size(), state))) Entry;
  entry->key_length_ = static_cast<std::uint16_t>(ref.key.size());
  entry->shard_ = ref.shard;
  entry->flags_ = 0;
  entry->leaf_ = placement.leaf();
  std::memcpy(entry->bytes() + kHeader, ref.key.data(), ref.key.size());
  entry->write(actors, state, [&](const char*) { return actors.last(); });
  return entry;
}

bool Entry::rewrite(ActorNames& actors, const ShardState& state) {
  if (size_for(key_length_, state) != size()) return false;
  write(actors, state, [](const char* at) { return get<std::uint32_t>(at) & kActorBits; });
  return true;
}

std::uint32_t Entry::form(const Cell& cell) {
  const bool narrow = CellRef::is_narrow(cell.commit, cell.sum) &&
                      CellRef::is_narrow(cell.cleared_commit, cell.cleared_sum);
  return (was_cleared(cell) ? kClearedBit : 0) | (narrow ? 0 : kWideBit);
}

std::size_t Entry::size_for(std::size_t key, const ShardState& state) {
  static_assert(kMaxCells <= std::numeric_limits<decltype(cells_)>::max());
  assert(state.cells.size() <= kMaxCells);
  std::size_t size = kHeader + key + (is_counted(state) ? 2 * sizeof(ShardIndex) : 0);
  for (const Cell& cell : state.cells) size += CellRef::width(form(cell));
  return Slab::rounded(size);
}

std::size_t Entry::size() const {
  const auto end = static_cast<std::size_t>(for_each_cell([](const CellRef&) {}) - bytes());
  return Slab::rounded(end + (has(kCounted) ? 2 * sizeof(ShardIndex) : 0));
}

// What stands behind the key. guess(at): what the actor of the cell to be written there
// may be called.
template <class Guess>
void Entry::write(ActorNames& actors, const ShardState& state, Guess guess) {
  cells_ = static_cast<std::uint16_t>(state.cells.size());
  clear(kCounted);
  CellRef at(bytes() + kHeader + key_length_);
  for (const Cell& cell : state.cells) {
    const std::uint32_t guessed = guess(at.at_);
    const bool right = actors.is(guessed, cell.actor);
    at.write((right ? guessed : actors.intern(cell.actor)) | form(cell), cell);
    at.at_ += at.width();
  }
  if (!is_counted(state)) return;
  set(kCounted);
  put(put(at.at_, state.count), state.usable);
}

// Returns where the cells end.
template <class Visit>
const char* Entry::for_each_cell(Visit&& visit) const {
  CellRef cell(const_cast<char*>(bytes()) + kHeader + key_length_);
  for (std::uint16_t i = 0; i < cells_; ++i) {
    visit(cell);
    cell.at_ += cell.width();
  }
  return cell.at_;
}

void Entry::CellRef::write(std::uint32_t head, const Cell& cell) {
  put(at_, head);
  store_pair(4, cell.commit, cell.sum);
  if (has(kClearedBit)) store_pair(4 + pair_width(), cell.cleared_commit, cell.cleared_sum);
}

void Entry::CellRef::set(Commit commit, std::int64_t sum) {
  assert(holds(commit, sum));
  store_pair(4, commit, sum);
}

void Entry::CellRef::store_pair(std::size_t offset, Commit commit, std::int64_t sum) {
  char* const at = at_ + offset;
  if (has(kWideBit)) {
    put(put(at, commit), sum);
  } else {
    put48(put48(at, raw(commit)), static_cast<std::uint64_t>(sum));
  }
}

Cell Entry::CellRef::cell(const ActorNames& actors) const {
  Cell cell{actors.name(actor()), commit(), sum(), {}, 0};
  if (has(kClearedBit)) {
    cell.cleared_commit = cleared_commit();
    cell.cleared_sum = cleared_sum();
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
    if (cell.has(kClearedBit)) {
      cleared = cell.cleared_commit();
      total.sum -= cell.cleared_sum();
    }
    total.exists = total.exists || cell.commit() > cleared;
  });
  return total;
}

Entry::CellRef Entry::find(std::uint32_t actor) {
  CellRef found(nullptr);
  for_each_cell([&](const CellRef& cell) {
    if (cell.actor() == actor) found = cell;
  });
  return found;
}

void Entry::move_to(Entry* now) {
  flags_ = kMoved;
  put(bytes() + kHeader, now);
}

Entry* Entry::moved_to() const { return get<Entry*>(bytes() + kHeader); }

}  // namespace quipu
