#include "storage/entry.h"

#include <algorithm>
#include <limits>
#include <new>

#include "protocol/check.h"

namespace quipu {

std::uint32_t ActorNames::intern(ActorId actor) {
  const auto known =
      numbers_.find(raw(actor), [&](std::uint32_t number) { return names_[number] == actor; });
  if (known) return expected_ = *known;
  expected_ = static_cast<std::uint32_t>(names_.size());
  names_.push_back(actor);
  numbers_.insert(raw(actor), expected_);
  return expected_;
}

namespace {

bool was_cleared(const Cell& cell) {
  return cell.cleared_commit != Commit{} || cell.cleared_sum != 0;
}

template <class T>
char* put(char* at, T value) {
  std::memcpy(at, &value, sizeof value);
  return at + sizeof value;
}

char* put40(char* at, std::uint64_t value) {
  at = put(at, static_cast<std::uint32_t>(value));
  return put(at, static_cast<std::uint8_t>(value >> 32));
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
  const Layout layout = Entry::layout(actors, ref, state);
  auto* entry = new (slab.allocate(layout.size)) Entry;
  entry->lengths_ = static_cast<std::uint16_t>(ref.key.size());
  entry->flags_ = layout.small ? kSmall : 0;
  entry->leaf_ = placement.leaf();
  if (layout.apart) {
    entry->lengths_ = static_cast<std::uint16_t>(entry->lengths_ | kApart << kKeyBits);
    put(entry->bytes() + 4, ref.shard);
  }
  std::memcpy(entry->bytes() + entry->header(), ref.key.data(), ref.key.size());
  entry->write(actors, state, [&](const CellRef&) { return actors.expected(); });
  QUIPU_CHECK(entry->size() == layout.size, "an entry is as large as its piece of memory", ref.key,
              entry->size(), layout.size);
  return entry;
}

bool Entry::rewrite(ActorNames& actors, const ShardState& state) {
  const Layout layout = Entry::layout(actors, ref(), state);
  if (layout.apart != apart() || layout.small != has(kSmall) || layout.size != size()) return false;
  write(actors, state, [](const CellRef& at) { return at.actor(); });
  QUIPU_CHECK(size() == layout.size, "an entry that is rewritten keeps its size", ref().key, size(),
              layout.size);
  return true;
}

std::uint32_t Entry::form(const Cell& cell) {
  const bool narrow = CellRef::fit<48>(cell.commit, cell.sum) &&
                      CellRef::fit<48>(cell.cleared_commit, cell.cleared_sum);
  return (was_cleared(cell) ? kClearedBit : 0) | (narrow ? 0 : kWideBit);
}

// Small if all actor numbers are small: looking up those of the cells takes longer.
Entry::Layout Entry::layout(const ActorNames& actors, const ShardRef& ref,
                            const ShardState& state) {
  static_assert(kMaxCells <= std::numeric_limits<std::uint16_t>::max());
  static_assert(kMaxKey < 1u << kKeyBits);
  QUIPU_CHECK(state.cells.size() <= kMaxCells, "a state beyond the limit was refused earlier",
              ref.key, state.cells.size());
  QUIPU_CHECK(!ref.key.empty() && ref.key.size() <= kMaxKey && ref.shard < kMaxShards,
              "a name out of bounds is refused before", ref.key.size(), ref.shard);
  Layout layout{.apart = ref.shard != 0 || state.cells.size() >= kApart,
                .small = actors.size() + state.cells.size() <= kSmallActors,
                .size = 0};
  std::size_t large = 0;
  for (const Cell& cell : state.cells) {
    layout.small = layout.small && !was_cleared(cell) && CellRef::fit<40>(cell.commit, cell.sum);
    large += CellRef::width(form(cell));
  }
  const std::size_t cells = layout.small ? state.cells.size() * kSmallCell : large;
  layout.size = Slab::rounded((layout.apart ? 8 : 4) + ref.key.size() + cells +
                              (has_shard_count(state) ? 2 * sizeof(ShardIndex) : 0));
  return layout;
}

void Entry::set_cells(std::size_t count) {
  if (apart()) {
    put(bytes() + 6, static_cast<std::uint16_t>(count));
  } else {
    QUIPU_CHECK(count < kApart, "the number of cells fits its 6 bits", count);
    lengths_ = static_cast<std::uint16_t>(key_length() | count << kKeyBits);
  }
}

std::size_t Entry::large_cells_end() const {
  return static_cast<std::size_t>(for_each_cell([](const CellRef&) {}) - bytes());
}

// The part behind the key. guess(cell): a guess at the number of the cell's actor.
template <class Guess>
void Entry::write(ActorNames& actors, const ShardState& state, Guess guess) {
  set_cells(state.cells.size());
  clear(kHasShardCount);
  CellRef at(first_cell(), has(kSmall));
  for (const Cell& cell : state.cells) {
    const std::uint32_t guessed = guess(at);
    const bool right = actors.is(guessed, cell.actor);
    at.write((right ? guessed : actors.intern(cell.actor)) | (at.small_ ? 0 : form(cell)), cell);
    at.at_ += at.width();
  }
  if (has_shard_count(state)) {
    set(kHasShardCount);
    at.at_ = put(put(at.at_, state.shard_count), state.usable_shards);
  }
  QUIPU_CHECK(static_cast<std::size_t>(at.at_ - bytes()) <= size(), "a state fits its entry",
              ref().key, size());
}

// Returns the end of the cells. Small cells, as nearly all are, have a loop of their own.
template <class Visit>
const char* Entry::for_each_cell(Visit&& visit) const {
  char* at = const_cast<Entry*>(this)->first_cell();
  const std::size_t count = cells();
  if (has(kSmall)) {
    for (const char* const end = at + count * kSmallCell; at != end; at += kSmallCell)
      visit(CellRef(at, true));
    return at;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const CellRef cell(at, false);
    visit(cell);
    at += cell.width();
  }
  return at;
}

void Entry::CellRef::write(std::uint32_t head, const Cell& cell) {
  if (small_) {
    QUIPU_CHECK(head < kSmallActors, "a small cell names its actor by 16 bits", head);
    put(at_, static_cast<std::uint16_t>(head));
    return set(cell.commit, cell.sum);
  }
  put(at_, head);
  store_pair(4, cell.commit, cell.sum);
  if (has(kClearedBit)) store_pair(4 + pair_width(), cell.cleared_commit, cell.cleared_sum);
}

void Entry::CellRef::set(Commit commit, std::int64_t sum) {
  QUIPU_CHECK(holds(commit, sum), "a cell changes in place only if it has room", commit, sum);
  if (!small_) return store_pair(4, commit, sum);
  put40(put40(at_ + 2, raw(commit)), static_cast<std::uint64_t>(sum));
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
  state.shard_count = state.usable_shards = 1;
  const char* end =
      for_each_cell([&](const CellRef& cell) { state.cells.push_back(cell.cell(actors)); });
  if (has(kHasShardCount)) {
    state.shard_count = get<ShardIndex>(end);
    state.usable_shards = get<ShardIndex>(end + sizeof(ShardIndex));
    QUIPU_CHECK(state.usable_shards >= 1 && state.usable_shards <= state.shard_count,
                "adds may use only shards that the counter has", state.usable_shards,
                state.shard_count);
  }
}

void Entry::CellRef::add_to(Total& total) const {
  Commit cleared{};
  total.sum += sum();
  if (!small_ && has(kClearedBit)) {
    cleared = cleared_commit();
    total.sum -= cleared_sum();
  }
  total.exists = total.exists || commit() > cleared;
}

Total Entry::total() const {
  Total total;
  for_each_cell([&](const CellRef& cell) { cell.add_to(total); });
  return total;
}

Entry::Tally Entry::tally(std::uint32_t actor) {
  Tally tally;
  for_each_cell([&](const CellRef& cell) {
    if (cell.actor() == actor) tally.cell = cell;
    cell.add_to(tally.total);
  });
  return tally;
}

Entry::CellRef Entry::find(std::uint32_t actor) {
  CellRef found;
  for_each_cell([&](const CellRef& cell) {
    if (cell.actor() == actor) found = cell;
  });
  return found;
}

Entry::CellRef Entry::find_only(Commit commit) {
  CellRef found;
  std::size_t count = 0;
  for_each_cell([&](const CellRef& cell) {
    if (cell.commit() != commit) return;
    found = cell;
    ++count;
  });
  return count == 1 ? found : CellRef{};
}

void Entry::move_to(Entry* now) {
  QUIPU_CHECK(size() >= kStubPointer + sizeof now && now != this, "a stub fits where an entry was",
              size());
  flags_ = kStub;
  put(bytes() + kStubPointer, now);
}

Entry* Entry::current() {
  Entry* entry = this;
  while (entry->flags_ == kStub) entry = get<Entry*>(entry->bytes() + kStubPointer);
  return entry;
}

}  // namespace quipu
