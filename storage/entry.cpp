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

// ---- times ----

// 2020. A narrow time counts from here, so that 0 is none, and 5 bytes last until 2054.
constexpr std::int64_t kEpoch = 1'577'836'800'000;
constexpr std::size_t kNarrowTime = 5, kWideTime = 8;

// ---- bodies ----

constexpr std::size_t kPartLength = 4, kRoomLength = 2;
constexpr std::size_t kMostRoom = 128;
// A short body is read as fast as what would be derived from it.
constexpr std::size_t kLeastDerivedFrom = 128;

std::size_t derived_size(std::size_t body) {
  return body < kLeastDerivedFrom ? 0 : DerivedPlace::kBytes;
}

bool is_timeless(const Life& life) { return life == Life{.once = life.once}; }

bool is_narrow(Wall time) {
  const std::int64_t ms = time.time_since_epoch().count();
  return ms == 0 || (ms > kEpoch && ms - kEpoch < std::int64_t{1} << 40);
}

char* put_time(char* at, bool wide, Wall time) {
  const std::int64_t ms = time.time_since_epoch().count();
  if (wide) return put(at, ms);
  return put40(at, ms == 0 ? 0 : static_cast<std::uint64_t>(ms - kEpoch));
}

// Moves `at` behind it.
Wall take_time(const char*& at, bool wide) {
  std::int64_t ms = 0;
  if (wide) {
    ms = get<std::int64_t>(at);
    at += kWideTime;
  } else {
    const std::uint64_t low = get<std::uint32_t>(at);
    const std::uint64_t narrow = low | std::uint64_t{get<std::uint8_t>(at + 4)} << 32;
    ms = narrow == 0 ? 0 : static_cast<std::int64_t>(narrow) + kEpoch;
    at += kNarrowTime;
  }
  return Wall{std::chrono::milliseconds(ms)};
}

}  // namespace

Entry* Entry::create(Slab& slab, ActorNames& actors, const Placement& placement,
                     const ShardRef& ref, const ShardState& state) {
  const Layout layout = Entry::layout(actors, ref, state);
  auto* entry = new (slab.allocate(layout.size)) Entry;
  entry->lengths_ = static_cast<std::uint16_t>(ref.key.size());
  entry->flags_ = layout.small && !layout.dated ? kSmall : 0;
  entry->leaf_ = placement.leaf();
  if (layout.apart) {
    entry->lengths_ = static_cast<std::uint16_t>(entry->lengths_ | kApart << kKeyBits);
    put(entry->bytes() + 4, ref.shard);
  }
  std::memcpy(entry->bytes() + entry->header(), ref.key.data(), ref.key.size());
  entry->write(actors, state, layout, [&](const CellRef&) { return actors.expected(); });
  QUIPU_CHECK(entry->size() == layout.size, "an entry is as large as its piece of memory", ref.key,
              entry->size(), layout.size);
  return entry;
}

bool Entry::rewrite(ActorNames& actors, const ShardState& state) {
  Layout layout = Entry::layout(actors, ref(), state);
  const std::size_t held = size();
  // What grew or shrank a little stays in its place.
  const bool fits = layout.content <= held && held - layout.content <= held / 4 + kMostRoom &&
                    held - layout.content <= std::numeric_limits<std::uint16_t>::max();
  if (layout.bodies && has_bodies() && fits) layout.size = held;
  const bool same = layout.apart == apart() && layout.dated == is_dated() &&
                    (layout.dated || layout.small == has(kSmall)) && layout.size == held;
  if (!same) return false;
  write(actors, state, layout, [](const CellRef& at) { return at.actor(); });
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
  static_assert(kMaxName < 1u << kKeyBits);
  QUIPU_CHECK(state.cells.size() <= kMaxCells, "a state beyond the limit was refused earlier",
              ref.key, state.cells.size());
  QUIPU_CHECK(is_name(ref), "a name out of bounds is refused before", ref.key.size(), ref.shard);
  const bool bodies = !is_sum(ref.shard);
  QUIPU_CHECK(bodies ? state.cells.empty() : state.parts.empty(),
              "a sum has cells, and each other kind has parts", ref.key, ref.shard);
  const bool dated = !is_plain(state) || !state.parts.empty();
  Layout layout{.apart = dated || ref.shard != 0 || state.cells.size() >= kApart,
                .dated = dated,
                .small = actors.size() + state.cells.size() <= kSmallActors,
                .wide_times = false,
                .bodies = bodies && dated,
                .content = 0,
                .size = 0};
  std::size_t large = 0, times = 0;
  for (const Cell& cell : state.cells) {
    layout.small = layout.small && !was_cleared(cell) && CellRef::fit<40>(cell.commit, cell.sum);
    large += CellRef::width(form(cell));
  }
  if (dated) {
    const Life& life = state.life;
    for (const Wall time : {life.ended, life.stamp, life.at, life.latest})
      layout.wide_times |= !is_narrow(time);
    for (const Cell& cell : state.cells) layout.wide_times |= !is_narrow(cell.born);
    for (const Part& part : state.parts) layout.wide_times |= !is_narrow(part.born);
    const std::size_t of_life = is_timeless(life) ? 0 : life.latest != life.at ? 4 : 3;
    times = (of_life + state.cells.size() + state.parts.size()) *
                (layout.wide_times ? kWideTime : kNarrowTime) +
            1;  // the marks
  }
  std::size_t cells = layout.small ? state.cells.size() * kSmallCell : large;
  for (const Part& part : state.parts)
    cells += kPartLength + derived_size(part.body.size()) + part.body.size();
  layout.content = (layout.apart ? 8 : 4) + ref.key.size() + times + cells +
                   (dated || has_shard_count(state) ? 2 * sizeof(ShardIndex) : 0) +
                   (layout.bodies ? kRoomLength : 0);
  layout.size =
      Slab::rounded(layout.content + (layout.bodies ? std::min(layout.content / 8, kMostRoom) : 0));
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
  const char* const end = is_dated() ? for_each_dated([](const CellRef&, const char*) {})
                                     : for_each_cell([](const CellRef&) {});
  if (!has_bodies()) return static_cast<std::size_t>(end - bytes());
  const auto room = get<std::uint16_t>(end + 2 * sizeof(ShardIndex));
  return static_cast<std::size_t>(end - bytes()) + kRoomLength + room;
}

// The part behind the key. guess(cell): a guess at the number of the cell's actor.
template <class Guess>
void Entry::write(ActorNames& actors, const ShardState& state, const Layout& layout, Guess guess) {
  set_cells(state.cells.size() + state.parts.size() + (layout.dated ? kDated : 0));
  clear(kHasShardCount);
  CellRef at(layout.dated ? write_life(state.life, layout) : first_cell(), layout.small);
  for (const Cell& cell : state.cells) {
    const std::uint32_t guessed = guess(at);
    const bool right = actors.is(guessed, cell.actor);
    at.write((right ? guessed : actors.intern(cell.actor)) | (at.small_ ? 0 : form(cell)), cell);
    at.at_ += at.width();
    if (layout.dated) at.at_ = put_time(at.at_, layout.wide_times, cell.born);
  }
  for (const Part& part : state.parts) {
    at.at_ = put_time(at.at_, layout.wide_times, part.born);
    at.at_ = put(at.at_, static_cast<std::uint32_t>(part.body.size()));
    if (const std::size_t derived = derived_size(part.body.size()); derived > 0) {
      DerivedPlace(at.at_).forget();
      at.at_ += derived;
    }
    at.at_ = std::copy(part.body.begin(), part.body.end(), at.at_);
  }
  if (layout.dated || has_shard_count(state)) {
    set(kHasShardCount);
    at.at_ = put(put(at.at_, state.shard_count), state.usable_shards);
  }
  if (layout.bodies) at.at_ = put(at.at_, static_cast<std::uint16_t>(layout.size - layout.content));
  QUIPU_CHECK(static_cast<std::size_t>(at.at_ - bytes()) <= size(), "a state fits its entry",
              ref().key, size());
}

// Returns the beginning of the cells.
char* Entry::write_life(const Life& life, const Layout& layout) {
  const bool latest = life.latest != life.at;
  const bool timeless = is_timeless(life);
  set_marks((life.once ? kOnce : 0) | (latest ? kHasLatest : 0) | (timeless ? kTimeless : 0) |
            (layout.wide_times ? kWideTimes : 0) | (layout.small ? 0 : kLargeCells));
  char* at = first_cell() + 1;
  if (timeless) return at;
  for (const Wall time : {life.ended, life.stamp, life.at})
    at = put_time(at, layout.wide_times, time);
  return latest ? put_time(at, layout.wide_times, life.latest) : at;
}

Life Entry::read_life() const {
  const bool wide = (marks() & kWideTimes) != 0;
  const char* at = bytes() + header() + key_length() + 1;
  Life life;
  life.once = (marks() & kOnce) != 0;
  if ((marks() & kTimeless) != 0) return life;
  life.ended = take_time(at, wide);
  life.stamp = take_time(at, wide);
  life.at = take_time(at, wide);
  life.latest = (marks() & kHasLatest) != 0 ? take_time(at, wide) : life.at;
  return life;
}

// Where the cells or parts begin.
const char* Entry::behind_life() const {
  const std::size_t times = (marks() & kTimeless) != 0 ? 0 : (marks() & kHasLatest) != 0 ? 4 : 3;
  const std::size_t width = (marks() & kWideTimes) != 0 ? kWideTime : kNarrowTime;
  return bytes() + header() + key_length() + 1 + times * width;
}

// visit(part). Returns the end of the parts.
template <class Visit>
const char* Entry::for_each_part(Visit&& visit) const {
  const bool wide = (marks() & kWideTimes) != 0;
  const char* at = behind_life();
  for (std::size_t i = part_count(); i > 0; --i) {
    const Wall born = take_time(at, wide);
    const auto length = get<std::uint32_t>(at);
    at += kPartLength;
    const std::size_t derived = derived_size(length);
    auto* const bytes = const_cast<char*>(at);
    visit(PartRef{born, {bytes + derived, length}, DerivedPlace(derived > 0 ? bytes : nullptr)});
    at += derived + length;
  }
  return at;
}

std::vector<Entry::PartRef> Entry::parts() {
  QUIPU_CHECK(has_bodies(), "only a kind beside the sum has bodies", ref().key);
  std::vector<PartRef> all;
  for_each_part([&](const PartRef& part) { all.push_back(part); });
  return all;
}

std::vector<std::string_view> Entry::bodies() const {
  QUIPU_CHECK(has_bodies(), "only a kind beside the sum has bodies", ref().key);
  std::vector<std::string_view> all;
  for_each_part([&](const PartRef& part) { all.emplace_back(part.body.data(), part.body.size()); });
  return all;
}

Entry::PartRef Entry::last_part() {
  QUIPU_CHECK(has_bodies(), "only a kind beside the sum has bodies", ref().key);
  PartRef last;
  for_each_part([&](const PartRef& part) { last = part; });
  return last;
}

DerivedPlace Entry::last_derived() const {
  QUIPU_CHECK(has_bodies(), "only a kind beside the sum has bodies", ref().key);
  DerivedPlace last;
  for_each_part([&](const PartRef& part) { last = part.derived; });
  return last;
}

// visit(cell, where its birth is). Returns the end of the cells, or of the parts, if it has those.
template <class Visit>
const char* Entry::for_each_dated(Visit&& visit) const {
  if (!is_sum(load16(4))) return for_each_part([](const PartRef&) {});
  const std::size_t time = (marks() & kWideTimes) != 0 ? kWideTime : kNarrowTime;
  const bool small = (marks() & kLargeCells) == 0;
  char* at = const_cast<char*>(behind_life());
  for (std::size_t i = load16(6) - kDated; i > 0; --i) {
    const CellRef cell(at, small);
    const std::size_t width = cell.width();
    visit(cell, at + width);
    at += width + time;
  }
  return at;
}

bool Entry::has_more_shards() const {
  const char* const counts = for_each_dated([](const CellRef&, const char*) {});
  return get<ShardIndex>(counts) > 1 || get<ShardIndex>(counts + sizeof(ShardIndex)) > 1;
}

bool Entry::spent() const {
  const Life life = read_life();
  return load16(6) == kDated && life.ended != Wall{} && !in_force(life) && !has_more_shards();
}

bool Entry::show() {
  if (!is_dated() || (marks() & kOnce) != 0 || load16(6) == kDated || in_force(read_life()))
    return false;
  // A plain one counts as shown without a mark, as a plain sum does.
  if (has_bodies() && read_life() == Life{} && last_part().born == Wall{}) return false;
  set_marks(marks() | kOnce);
  return true;
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

template <bool kOfDated, class Visit>
void Entry::for_each_cell_of(Visit&& visit) const {
  if constexpr (kOfDated) {
    for_each_dated([&](const CellRef& cell, const char*) { visit(cell); });
  } else {
    for_each_cell(visit);
  }
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
  Cell cell{actors.name(actor()), commit(), sum(), {}, 0, {}};
  if (has(kClearedBit)) {
    cell.cleared_commit = cleared_commit();
    cell.cleared_sum = cleared_sum();
  }
  return cell;
}

void Entry::unpack(const ActorNames& actors, ShardState& state) const {
  state.cells.clear();
  state.parts.clear();
  state.shard_count = state.usable_shards = 1;
  state.life = life();
  const bool wide = is_dated() && (marks() & kWideTimes) != 0;
  const char* const end =
      has_bodies() ? for_each_part([&](const PartRef& part) {
        state.parts.push_back({part.born, std::string(part.body.begin(), part.body.end())});
      })
      : is_dated()
          ? for_each_dated([&](const CellRef& cell, const char* born) {
              state.cells.push_back(cell.cell(actors));
              state.cells.back().born = take_time(born, wide);
            })
          : for_each_cell([&](const CellRef& cell) { state.cells.push_back(cell.cell(actors)); });
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

// The hot ones look at a flag to leave dated entries to code of their own.
template <bool kOfDated>
Total Entry::total_of() const {
  Total total;
  for_each_cell_of<kOfDated>([&](const CellRef& cell) { cell.add_to(total); });
  return total;
}

Total Entry::total() const {
  if (is_dated_by_flag()) [[unlikely]]
    return has_bodies() ? Total{0, part_count() > 0} : total_of<true>();
  return total_of<false>();
}

Entry::Tally Entry::tally(std::uint32_t actor) {
  Tally tally;
  for_each_cell([&](const CellRef& cell) {
    if (cell.actor() == actor) tally.cell = cell;
    cell.add_to(tally.total);
  });
  return tally;
}

template <bool kOfDated>
Entry::CellRef Entry::find_in(std::uint32_t actor) const {
  CellRef found;
  for_each_cell_of<kOfDated>([&](const CellRef& cell) {
    if (cell.actor() == actor) found = cell;
  });
  return found;
}

Entry::CellRef Entry::find(std::uint32_t actor) {
  if (is_dated_by_flag()) [[unlikely]]
    return find_in<true>(actor);
  return find_in<false>(actor);
}

template <bool kOfDated>
Entry::CellRef Entry::find_only_in(Commit commit) const {
  CellRef found;
  std::size_t count = 0;
  for_each_cell_of<kOfDated>([&](const CellRef& cell) {
    if (cell.commit() != commit) return;
    found = cell;
    ++count;
  });
  return count == 1 ? found : CellRef{};
}

Entry::CellRef Entry::find_only(Commit commit) {
  if (is_dated_by_flag()) [[unlikely]]
    return find_only_in<true>(commit);
  return find_only_in<false>(commit);
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
