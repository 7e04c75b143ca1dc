#include "storage/kinds/top.h"

#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "protocol/check.h"
#include "protocol/keyed_hash.h"
#include "protocol/varint.h"

namespace quipu {
namespace top {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are read as they are stored");

using Count = std::uint64_t;
constexpr Count kMostCount = std::numeric_limits<std::int64_t>::max();
constexpr Count kMostNarrow = std::numeric_limits<std::uint32_t>::max();  // of a count of 4 bytes

constexpr char kFormat = 1;  // a body's first byte

// Where a body and a summary have what.
constexpr std::size_t kKAt = 1, kWidthAt = 2, kDepthAt = 6, kDecayAt = 10, kSummariesAt = 18;
constexpr std::size_t kTotalAt = 8, kLengthAt = 16, kSlotsAt = 20;

// A unit is mark | index. No slot has the last index: it means the total alone, or the shape.
constexpr unsigned kIndexBits = 11;
constexpr Unit kNoSlot = (Unit{1} << kIndexBits) - 1;
static_assert(most_slots(kMostListed) <= kNoSlot);
static_assert(kSlotsAt + most_slots(kMostListed) * (2 + 8 + 8 + 1 + kMaxItem) <= kMaxShare);
static_assert(kMaxItem <= 0xff, "one byte of a slot has the length");

template <class Number>
Number load(const char* at) {
  Number number;
  std::memcpy(&number, at, sizeof number);
  return number;
}
template <class Number>
void store(char* at, Number number) {
  std::memcpy(at, &number, sizeof number);
}

// REQUIRES: both are at most kMostCount.
Count plus(Count a, Count b) { return std::min(a + b, kMostCount); }

// ---- shapes ----

auto order(const Shape& shape) {
  // The bits of doubles that are no less than 0 are in the order of the doubles.
  return std::tuple(shape.k, shape.width, shape.depth, std::bit_cast<std::uint64_t>(shape.decay));
}
bool is_less(const Shape& a, const Shape& b) { return order(a) < order(b); }

// A counter that began with an add has no shape. So a shape that was reserved at another node wins,
// even if its list is shorter than the usual one.
constexpr Shape kNotReserved{};
Shape meant(const Shape& shape) { return shape == kNotReserved ? kUsualShape : shape; }

// The bytes of a body before its summaries.
std::string head_of(const Shape& shape) {
  std::string head(kSummariesAt, kFormat);
  head[kKAt] = static_cast<char>(shape.k);
  store(head.data() + kWidthAt, shape.width);
  store(head.data() + kDepthAt, shape.depth);
  store(head.data() + kDecayAt, shape.decay);
  return head;
}

// REQUIRES: the body has a head. It may be no shape.
Shape shape_of(std::string_view body) {
  QUIPU_CHECK(body.size() >= kSummariesAt, "only a body with a head is read", body.size());
  return {.k = static_cast<std::uint8_t>(body[kKAt]),
          .width = load<std::uint32_t>(body.data() + kWidthAt),
          .depth = load<std::uint32_t>(body.data() + kDepthAt),
          .decay = load<double>(body.data() + kDecayAt)};
}

bool has_sound_head(std::string_view body) {
  if (body.size() < kSummariesAt || body.front() != kFormat) return false;
  const Shape shape = shape_of(body);
  return is_shape(shape) || order(shape) == order(kNotReserved);
}

// ---- summaries and slots ----

// Borrows: valid until the body changes its length.
struct Summary {
  ActorId actor{};
  Count total = 0;
  std::size_t at = 0;        // in the body
  std::string_view slots{};  // their bytes

  [[nodiscard]] std::size_t slots_at() const { return at + kSlotsAt; }
  [[nodiscard]] std::size_t end() const { return slots_at() + slots.size(); }
};

// Reads any bytes, but judges no slots. Nothing: there is none, or it is cut off.
std::optional<Summary> summary_at(std::string_view body, std::size_t at) {
  const std::string_view rest = body.substr(at);
  if (rest.size() < kSlotsAt) return std::nullopt;
  const std::size_t length = load<std::uint32_t>(rest.data() + kLengthAt);
  if (rest.size() - kSlotsAt < length) return std::nullopt;
  return Summary{.actor = ActorId{load<std::uint64_t>(rest.data())},
                 .total = load<std::uint64_t>(rest.data() + kTotalAt),
                 .at = at,
                 .slots = rest.substr(kSlotsAt, length)};
}

// Returns where they end. If that is not the end of the body, the body is not sound.
template <class Visitor>
std::size_t visit_summaries(std::string_view body, Visitor visit) {
  std::size_t at = kSummariesAt;
  while (const std::optional<Summary> summary = summary_at(body, at)) {
    visit(*summary);
    at = summary->end();
  }
  return at;
}

// REQUIRES: a sound body.
template <class Visitor>
void for_each_summary(std::string_view body, Visitor visit) {
  const std::size_t end = visit_summaries(body, visit);
  QUIPU_CHECK(end == body.size(), "only a sound body is read", end, body.size());
}

Unit mark_of(ActorId actor) {
  return static_cast<Unit>(raw(actor) * 0x9e3779b97f4a7c15 >> (32 + kIndexBits)) << kIndexBits;
}

struct Slot {
  std::uint32_t index = 0;
  Count count = 0;
  Count error = 0;
  std::string_view item{};

  [[nodiscard]] Count lower() const { return count - error; }
  // The greater one is the later one.
  [[nodiscard]] auto version() const { return std::tuple(count, error, item); }
};

// How the slots of a summary are written.
enum class Width : std::uint8_t { narrow = 4, wide = 8 };  // the bytes of a count
Width width_of(Count total) { return total > kMostNarrow ? Width::wide : Width::narrow; }
std::size_t item_at(Width width) { return 2 + 2 * static_cast<std::size_t>(width) + 1; }
std::size_t slot_size(Width width, std::string_view item) { return item_at(width) + item.size(); }

Count load_count(const char* at, Width width) {
  return width == Width::wide ? load<std::uint64_t>(at) : load<std::uint32_t>(at);
}
void store_count(char* at, Width width, Count count) {
  if (width == Width::wide) return store<std::uint64_t>(at, count);
  QUIPU_CHECK(count <= kMostNarrow, "no count is above the total", count);
  store(at, static_cast<std::uint32_t>(count));
}

void write_slot(char* to, Width width, const Slot& slot) {
  const auto bytes = static_cast<std::size_t>(width);
  store(to, static_cast<std::uint16_t>(slot.index));
  store_count(to + 2, width, slot.count);
  store_count(to + 2 + bytes, width, slot.error);
  to[2 + 2 * bytes] = static_cast<char>(slot.item.size());
  // Where a slot keeps its item, the item may be the bytes that are there.
  std::memmove(to + item_at(width), slot.item.data(), slot.item.size());
}

// The slots of a summary, in the order of their bytes.
class SlotReader {
 public:
  explicit SlotReader(const Summary& summary)
      : SlotReader(summary.slots, width_of(summary.total), summary.slots_at()) {}
  // `at`: where the slots are in the body.
  SlotReader(std::string_view slots, Width width, std::size_t at)
      : rest_(slots), width_(width), at_(at) {}

  // Reads any bytes. Nothing: there is none, or it is cut off.
  [[nodiscard]] std::optional<Slot> peek() const {
    const std::size_t head = item_at(width_), bytes = static_cast<std::size_t>(width_);
    if (rest_.size() < head) return std::nullopt;
    const char* const at = rest_.data();
    const std::size_t length = static_cast<std::uint8_t>(at[head - 1]);
    if (rest_.size() - head < length) return std::nullopt;
    return Slot{.index = load<std::uint16_t>(at),
                .count = load_count(at + 2, width_),
                .error = load_count(at + 2 + bytes, width_),
                .item = rest_.substr(head, length)};
  }
  void drop(const Slot& peeked) {
    const std::size_t size = slot_size(width_, peeked.item);
    rest_.remove_prefix(size);
    at_ += size;
  }
  std::optional<Slot> next() {
    const std::optional<Slot> slot = peek();
    if (slot) drop(*slot);
    return slot;
  }
  // Where the next one is in the body, or would be.
  [[nodiscard]] std::size_t at() const { return at_; }
  [[nodiscard]] bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
  Width width_;
  std::size_t at_;
};

// ---- changes of a body ----

// A slot that takes the place of bytes in the body: of the slot that had its index, or of none.
struct Change {
  std::size_t at = 0;
  std::size_t size = 0;  // of what was there
  Slot slot{};
};

// What a summary is raised to.
struct Raise {
  ActorId actor{};
  std::optional<Summary> held{};
  std::size_t at = 0;             // where it is in the body, or will be
  Count total = 0;                // no less than the held one
  std::vector<Change> changes{};  // by index, ascending

  [[nodiscard]] Width width() const { return width_of(total); }
  // What is held keeps its place and its size.
  [[nodiscard]] bool in_place() const {
    if (!held || width_of(held->total) != width()) return false;
    return std::ranges::all_of(changes, [this](const Change& change) {
      return change.size == slot_size(width(), change.slot.item);
    });
  }
};

void append_slot(std::string& to, Width width, const Slot& slot) {
  const std::size_t at = to.size();
  to.resize(at + slot_size(width, slot.item));
  write_slot(to.data() + at, width, slot);
}

std::string summary_of(std::string_view body, const Raise& raise) {
  const Width width = raise.width();
  const Width was = raise.held ? width_of(raise.held->total) : width;
  std::string bytes(kSlotsAt, '\0');
  std::size_t copied = raise.held ? raise.held->slots_at() : raise.at;
  const auto copy_up_to = [&](std::size_t end) {
    const std::string_view slots = body.substr(copied, end - copied);
    copied = end;
    if (was == width) {
      bytes += slots;
      return;
    }
    SlotReader reader(slots, was, 0);
    while (const std::optional<Slot> slot = reader.next()) append_slot(bytes, width, *slot);
  };
  for (const Change& change : raise.changes) {
    copy_up_to(change.at);
    append_slot(bytes, width, change.slot);
    copied += change.size;
  }
  if (raise.held) copy_up_to(raise.held->end());
  store(bytes.data(), raw(raise.actor));
  store(bytes.data() + kTotalAt, raise.total);
  store(bytes.data() + kLengthAt, static_cast<std::uint32_t>(bytes.size() - kSlotsAt));
  return bytes;
}

// The body after these raises. REQUIRES: ascending by actor.
std::string raised_body(std::string_view body, const Shape& shape, std::span<const Raise> raises) {
  std::string after = head_of(shape);
  after.reserve(body.size() + 2 * kMaxItem);
  std::size_t copied = std::min(kSummariesAt, body.size());
  for (const Raise& raise : raises) {
    after.append(body, copied, raise.at - copied).append(summary_of(body, raise));
    copied = raise.held ? raise.held->end() : raise.at;
  }
  return after.append(body, copied);
}

void raise_in_place(char* bytes, const Raise& raise) {
  store(bytes + raise.at + kTotalAt, raise.total);
  for (const Change& change : raise.changes)
    write_slot(bytes + change.at, raise.width(), change.slot);
}

void note_units(Edit& into, std::span<const Raise> raises) {
  for (const Raise& raise : raises) {
    const Unit mark = mark_of(raise.actor);
    if (raise.changes.empty()) into.note(mark | kNoSlot);
    for (const Change& change : raise.changes) into.note(mark | change.slot.index);
  }
}

// REQUIRES: something changes, and the shape is no less than before.
void commit(Edit& into, const Shape& shape, std::span<const Raise> raises) {
  const std::string_view before = into.body();
  const bool begins = before.empty();
  const bool same_shape = !begins && order(shape_of(before)) == order(shape);
  if (same_shape && std::ranges::all_of(raises, &Raise::in_place)) {
    char* const bytes = into.change();
    for (const Raise& raise : raises) raise_in_place(bytes, raise);
  } else {
    into.replace(raised_body(before, shape, raises));
  }
  if (begins) into.note_all();
  note_units(into, raises);
  if (raises.empty()) into.note(kNoSlot);  // an extract of any unit has the shape
}

// ---- the join ----

// Nothing, if it has no more than what is held. `at`: where it would be inserted.
std::optional<Raise> raise_to(const std::optional<Summary>& held, std::size_t at,
                              const Summary& theirs) {
  if (held && held->total == theirs.total && held->slots == theirs.slots) return std::nullopt;
  Raise raise{.actor = theirs.actor, .held = held, .at = at, .total = theirs.total};
  SlotReader own = held ? SlotReader(*held) : SlotReader({}, Width::narrow, at);
  SlotReader offered(theirs);
  if (held) raise.total = std::max(held->total, theirs.total);
  while (const std::optional<Slot> slot = offered.next()) {
    std::optional<Slot> met = own.peek();
    for (; met && met->index < slot->index; met = own.peek()) own.drop(*met);
    const std::size_t place = own.at();
    const bool meets = met && met->index == slot->index;
    if (meets) own.drop(*met);
    if (!meets || met->version() < slot->version())
      raise.changes.push_back({place, own.at() - place, *slot});
  }
  if (held && raise.total == held->total && raise.changes.empty()) return std::nullopt;
  return raise;
}

void join(Edit& into, std::string_view from) {
  if (into.body().empty()) {
    into.replace(std::string(from));
    into.note_all();
    return;
  }
  const std::string_view body = into.body();
  const Shape held_shape = shape_of(body), theirs = shape_of(from);
  std::vector<Raise> raises;
  std::size_t at = kSummariesAt;
  std::optional<Summary> held = summary_at(body, at);
  for_each_summary(from, [&](const Summary& offered) {
    while (held && held->actor < offered.actor) {
      at = held->end();
      held = summary_at(body, at);
    }
    const bool meets = held && held->actor == offered.actor;
    std::optional<Raise> raise = raise_to(meets ? held : std::nullopt, at, offered);
    if (raise) raises.push_back(std::move(*raise));
  });
  const bool greater = is_less(held_shape, theirs);
  if (!greater && raises.empty()) return;
  commit(into, greater ? theirs : held_shape, raises);
}

// ---- candidates: what several summaries have counted ----

struct Rank {
  Count upper = 0;
  std::string_view item{};
};
bool outranks(const Rank& a, const Rank& b) {
  return a.upper != b.upper ? a.upper > b.upper : a.item < b.item;
}

// The items that have a slot in some of the summaries. Borrows their bytes.
//
// Has a hash table of its own: with std::unordered_map, an increment beside two other actors takes
// three times as long.
class Candidates {
 public:
  static constexpr std::uint32_t kNone = ~0U;

  void add(const Summary& summary) {
    std::vector<std::uint32_t> met;
    Count floor = 0;
    SlotReader slots(summary);
    while (const std::optional<Slot> slot = slots.next()) {
      const std::uint32_t place = place_of(slot->item);
      Candidate& candidate = all_[place];
      if (candidate.count == 0) met.push_back(place);
      candidate.count = std::max(candidate.count, slot->count);
      candidate.lower = std::max(candidate.lower, slot->lower());
      floor = std::max(floor, slot->error);
    }
    floors_ = plus(floors_, floor);
    for (const std::uint32_t place : met) {
      Candidate& candidate = all_[place];
      // An old slot may have a count that is below the floor.
      candidate.excess = plus(candidate.excess, std::max(candidate.count, floor) - floor);
      candidate.lowers = plus(candidate.lowers, candidate.lower);
      candidate.count = candidate.lower = 0;
    }
  }

  // kNone: the item has no slot.
  [[nodiscard]] std::uint32_t find(std::string_view item) const {
    return all_.empty() ? kNone : buckets_[bucket_of(hash_of(item), item)];
  }
  [[nodiscard]] std::size_t size() const { return all_.size(); }
  [[nodiscard]] std::string_view item(std::uint32_t place) const { return all_[place].item; }
  [[nodiscard]] Count upper(std::uint32_t place) const {
    return place == kNone ? floors_ : plus(floors_, all_[place].excess);
  }
  [[nodiscard]] Count lower(std::uint32_t place) const {
    return place == kNone ? 0 : all_[place].lowers;
  }
  [[nodiscard]] Rank rank(std::uint32_t place) const { return {upper(place), item(place)}; }

 private:
  struct Candidate {
    std::string_view item{};
    std::uint64_t hash = 0;
    Count excess = 0;  // of the upper bounds above the floors, summed up
    Count lowers = 0;  // the sum of the lower bounds
    // In the summary that is being added, which may have the item twice.
    Count count = 0;
    Count lower = 0;
  };

  static std::uint64_t hash_of(std::string_view item) { return hash64(HashKey{}, item); }

  // Where the table has the item, or would have it.
  [[nodiscard]] std::size_t bucket_of(std::uint64_t hash, std::string_view item) const {
    const std::size_t mask = buckets_.size() - 1;
    std::size_t at = hash & mask;
    for (; buckets_[at] != kNone; at = (at + 1) & mask) {
      const Candidate& candidate = all_[buckets_[at]];
      if (candidate.hash == hash && candidate.item == item) break;
    }
    return at;
  }
  std::uint32_t place_of(std::string_view item) {
    if (2 * (all_.size() + 1) > buckets_.size()) grow();
    const std::uint64_t hash = hash_of(item);
    std::uint32_t& place = buckets_[bucket_of(hash, item)];
    if (place == kNone) {
      place = static_cast<std::uint32_t>(all_.size());
      all_.push_back({.item = item, .hash = hash});
    }
    return place;
  }
  void grow() {
    buckets_.assign(std::max<std::size_t>(1024, 2 * buckets_.size()), kNone);
    all_.reserve(buckets_.size() / 2);
    for (std::uint32_t place = 0; place < all_.size(); ++place)
      buckets_[bucket_of(all_[place].hash, all_[place].item)] = place;
  }

  std::vector<Candidate> all_;
  std::vector<std::uint32_t> buckets_;  // 2^n, at most half full; places
  Count floors_ = 0;                    // of all summaries
};

// ---- ops ----

// One summary while an op adds to it. Borrows the body and the words.
class Tally {
 public:
  // `held`: of the actor, if it has one. `elsewhere`: all other summaries of the counter.
  Tally(const std::optional<Summary>& held, std::size_t at, const Shape& shape,
        const Candidates& elsewhere)
      : elsewhere_(elsewhere),
        foreign_(elsewhere.size(), true),
        k_(meant(shape).k),
        most_slots_(most_slots(k_)),
        end_(static_cast<std::uint32_t>(at)) {
    if (!held) return;
    const std::size_t most = held->slots.size() / item_at(width_of(held->total)) + 1;
    own_.reserve(std::min<std::size_t>(most, most_slots_));
    keys_.reserve(own_.capacity());
    SlotReader slots(*held);
    for (;;) {
      const std::size_t begin = slots.at();
      const std::optional<Slot> slot = slots.next();
      if (!slot) break;
      push({.item = slot->item,
            .index = slot->index,
            .at = static_cast<std::uint32_t>(begin),
            .size = static_cast<std::uint16_t>(slots.at() - begin),
            .error = slot->error},
           {tail_before(slot->item.data() + slot->item.size(), slot->item.size()), slot->count});
    }
    end_ = static_cast<std::uint32_t>(slots.at());
  }

  // Returns the item that this pushed off the list. REQUIRES: a count above 0.
  std::optional<std::string_view> add(const Increment& increment) {
    const std::size_t at = find(increment.item);
    const bool has_slot = at != own_.size();
    const bool full = own_.size() >= most_slots_ || next_index() >= most_slots_;
    const std::size_t to = has_slot || !full ? at : last_of_least();
    const Count from = has_slot || full ? keys_[to].count : floor_;
    const Count count = from + increment.count;
    const auto expelled = expelled_by(increment.item, has_slot ? to : own_.size(), count);
    if (!has_slot && full) take(to, increment.item, from);
    if (!has_slot && !full)
      push({.item = increment.item, .index = next_index(), .at = end_, .error = from},
           {tail_of(increment.item), count});
    keys_[to].count = count;
    own_[to].changed = true;
    return expelled;
  }

  // By index, ascending.
  [[nodiscard]] std::vector<Change> changes() const {
    std::vector<Change> changes;
    for (std::size_t i = 0; i < own_.size(); ++i) {
      const Own& own = own_[i];
      if (!own.changed) continue;
      changes.push_back({own.at, own.size, {own.index, keys_[i].count, own.error, own.item}});
    }
    return changes;
  }

 private:
  struct Own {
    std::string_view item{};
    std::uint32_t index = 0;
    std::uint32_t place = Candidates::kNone;  // of the item, among those elsewhere
    std::uint32_t at = 0;                     // of what the body has in this slot
    std::uint16_t size = 0;
    bool changed = false;
    Count error = 0;
  };
  // What each increment scans, by slot.
  struct Key {
    std::uint64_t tail = 0;
    Count count = 0;
  };

  // Items with the same tail are mostly equal: it is made of the last 8 bytes and the length.
  static std::uint64_t tail_of(std::string_view item) {
    char padded[8] = {};
    const std::size_t size = std::min(item.size(), sizeof padded);
    std::memcpy(padded + sizeof padded - size, item.data() + item.size() - size, size);
    return tail_before(padded + sizeof padded, item.size());
  }
  // The tail of the item that ends here. REQUIRES: 8 bytes before `end` can be read, as in a slot.
  static std::uint64_t tail_before(const char* end, std::size_t size) {
    if (size == 0) return 0;
    const unsigned others = 64 - 8 * static_cast<unsigned>(std::min<std::size_t>(size, 8));
    return load<std::uint64_t>(end - 8) >> others ^ std::uint64_t{size} << 56;
  }

  // own_.size(): none.
  [[nodiscard]] std::size_t find(std::string_view item) const {
    const std::uint64_t tail = tail_of(item);
    for (std::size_t i = 0; i < keys_.size(); ++i)
      if (keys_[i].tail == tail && own_[i].item == item) return i;
    return own_.size();
  }

  // The slot that is given up. Of those with the least count, the item that is last in any list.
  // So it is not on the list: there are more slots than that has items. Where the list is full of
  // greater counts, any will do, and no items are compared.
  [[nodiscard]] std::size_t last_of_least() const {
    Count least = keys_[0].count;
    for (const Key& key : keys_) least = std::min(least, key.count);
    std::size_t greater = 0;
    for (const Key& key : keys_) greater += key.count > least ? 1 : 0;
    std::size_t last = keys_.size();
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      if (keys_[i].count > least) continue;
      if (greater >= k_) return i;
      if (last == keys_.size() || own_[i].item > own_[last].item) last = i;
    }
    return last;
  }

  void set_foreign(const Own& own, bool is_foreign) {
    if (own.place != Candidates::kNone) foreign_[own.place] = is_foreign;
  }
  void push(const Own& pushed, const Key& key) {
    Own& own = own_.emplace_back(pushed);
    if (elsewhere_.size() > 0) own.place = elsewhere_.find(own.item);
    set_foreign(own, false);
    keys_.push_back(key);
    floor_ = std::max(floor_, own.error);
  }
  void take(std::size_t at, std::string_view item, Count error) {
    Own& own = own_[at];
    set_foreign(own, true);
    own.item = item;
    own.error = error;
    own.place = elsewhere_.find(item);
    set_foreign(own, false);
    keys_[at].tail = tail_of(item);
    floor_ = std::max(floor_, error);
  }

  [[nodiscard]] std::uint32_t next_index() const {
    return own_.empty() ? 0 : own_.back().index + 1;
  }

  // All candidates of the counter.
  template <class Visitor>
  void for_each_rank(Visitor visit) const {
    for (std::size_t i = 0; i < own_.size(); ++i)
      visit(Rank{plus(std::max(keys_[i].count, floor_), elsewhere_.upper(own_[i].place)),
                 own_[i].item});
    for (std::uint32_t place = 0; place < foreign_.size(); ++place)
      if (foreign_[place])
        visit(Rank{plus(floor_, elsewhere_.upper(place)), elsewhere_.item(place)});
  }

  // Before the change: which item will this one push off the list, once it has this count in its
  // slot? `at`: its slot; own_.size(): none.
  [[nodiscard]] std::optional<std::string_view> expelled_by(std::string_view item, std::size_t at,
                                                            Count count) const {
    const bool has_slot = at != own_.size();
    const std::uint32_t place = has_slot ? own_[at].place : elsewhere_.find(item);
    const bool is_candidate = has_slot || place != Candidates::kNone;
    const Count others = elsewhere_.upper(place);
    const Rank now{plus(std::max(count, floor_), others), item};
    const Rank before{plus(has_slot ? std::max(keys_[at].count, floor_) : floor_, others), item};
    std::size_t candidates = 0, greater = 0;
    for_each_rank([&](const Rank& rank) {
      ++candidates;
      greater += rank.upper > now.upper ? 1 : 0;
    });
    if (candidates < k_ || greater >= k_)
      return std::nullopt;  // as a rule, before items are compared
    std::size_t ahead_now = 0, ahead_before = 0;
    for_each_rank([&](const Rank& rank) {
      ahead_now += outranks(rank, now) ? 1 : 0;
      ahead_before += outranks(rank, before) ? 1 : 0;
    });
    const bool was_listed = is_candidate && ahead_before < k_;
    if (was_listed || ahead_now >= k_) return std::nullopt;
    std::vector<Rank> ranks;
    ranks.reserve(candidates);
    for_each_rank([&](const Rank& rank) { ranks.push_back(rank); });
    const auto last = ranks.begin() + (k_ - 1);
    std::nth_element(ranks.begin(), last, ranks.end(), outranks);
    return last->item;
  }

  const Candidates& elsewhere_;
  std::vector<bool> foreign_;  // of the items elsewhere: whether it has no slot here
  std::uint32_t k_;
  std::uint32_t most_slots_;
  std::uint32_t end_;     // of the summary's slots, in the body
  std::vector<Own> own_;  // by index, ascending
  std::vector<Key> keys_;
  Count floor_ = 0;
};

// A counter, as an actor sees it that changes it.
struct View {
  Shape shape = kNotReserved;  // the greatest
  std::optional<Summary> own{};
  std::size_t place = kSummariesAt;  // of its summary
  Candidates elsewhere{};
};

View view_of(std::string_view body, const KindOp& op) {
  View view;
  const auto see_shape = [&](std::string_view any) {
    if (is_less(view.shape, shape_of(any))) view.shape = shape_of(any);
  };
  if (!op.like.empty()) see_shape(op.like);
  for (const std::string_view other : op.others) {
    see_shape(other);
    for_each_summary(other, [&](const Summary& summary) { view.elsewhere.add(summary); });
  }
  if (!body.empty()) {
    see_shape(body);
    for_each_summary(body, [&](const Summary& summary) {
      if (summary.actor < op.actor) view.place = summary.end();
      if (summary.actor == op.actor)
        view.own = summary;
      else
        view.elsewhere.add(summary);
    });
  }
  if (body.empty()) view.place = 0;
  return view;
}

Code begin_counter(Edit& into, std::string_view words, std::string& reply) {
  const std::optional<Shape> shape = take_shape(words);
  if (!shape || !words.empty()) return Code::invalid_argument;
  if (!is_shape(*shape)) return Code::out_of_range;
  const bool exists = !into.body().empty();
  if (!exists) {
    into.replace(head_of(*shape));
    into.note_all();
  }
  reply.assign(1, exists ? '\0' : '\1');
  return Code::ok;
}

// The increments of these words, on a summary with this total, which they raise.
Code read_increments(std::string_view words, Count& total, std::vector<Increment>& read) {
  while (!words.empty()) {
    const std::optional<std::string_view> item = take_item(words);
    const std::optional<std::uint64_t> count = take_varint(words);
    if (!item || !count) return Code::invalid_argument;
    read.push_back({*item, *count});
  }
  if (read.size() > kMaxItems) return Code::out_of_range;
  for (const Increment& each : read) {
    if (each.count > kMostCount - total) return Code::out_of_range;
    total += each.count;
  }
  return Code::ok;
}

Code add(Edit& into, const KindOp& op, std::string_view words, std::string& reply) {
  const View view = view_of(into.body(), op);
  Raise raise{.actor = op.actor,
              .held = view.own,
              .at = view.place,
              .total = view.own ? view.own->total : 0};
  const Count before = raise.total;
  std::vector<Increment> increments;
  if (const Code code = read_increments(words, raise.total, increments); code != Code::ok)
    return code;
  Tally tally(view.own, view.place, view.shape, view.elsewhere);
  std::string expelled;
  for (const Increment& each : increments) {
    const auto item = each.count > 0 ? tally.add(each) : std::nullopt;
    expelled += item ? '\1' : '\0';
    if (item) append_item(expelled, *item);
  }
  raise.changes = tally.changes();
  const std::span<const Raise> raises(&raise, raise.total > before ? 1 : 0);
  if (!raises.empty() || into.body().empty()) commit(into, view.shape, raises);
  reply = std::move(expelled);
  return Code::ok;
}

Code apply(Edit& into, const KindOp& op, std::string& reply) {
  QUIPU_CHECK(op.actor != ActorId{}, "a summary has an actor");
  if (op.words.empty()) return Code::invalid_argument;
  const std::string_view rest = op.words.substr(1);
  if (op.words.front() == kBegin) return begin_counter(into, rest, reply);
  if (op.words.front() == kAdd) return add(into, op, rest, reply);
  return Code::invalid_argument;
}

// ---- the other rules ----

bool has_sound_slots(const Summary& summary, std::uint32_t most) {
  SlotReader slots(summary);
  std::uint32_t least_index = 0;
  while (const std::optional<Slot> slot = slots.next()) {
    if (slot->index < least_index || slot->index >= most) return false;
    if (slot->error >= slot->count || slot->count > summary.total) return false;
    if (slot->item.size() > kMaxItem) return false;
    least_index = slot->index + 1;
  }
  return slots.at_end();
}

bool sound(std::string_view body) {
  if (!has_sound_head(body)) return false;
  const std::uint32_t most = most_slots(shape_of(body).k);
  bool all_sound = true;
  ActorId before{};
  const std::size_t end = visit_summaries(body, [&](const Summary& summary) {
    all_sound = all_sound && before < summary.actor && summary.total >= 1 &&
                summary.total <= kMostCount && has_sound_slots(summary, most);
    before = summary.actor;
  });
  return all_sound && end == body.size();
}

std::string extract(std::string_view body, std::span<const Unit> units) {
  std::string some(body.substr(0, kSummariesAt));
  for_each_summary(body, [&](const Summary& summary) {
    std::vector<std::uint32_t> wanted;  // indexes
    for (const Unit unit : units)
      if ((unit & ~kNoSlot) == mark_of(summary.actor)) wanted.push_back(unit & kNoSlot);
    if (wanted.empty()) return;
    std::ranges::sort(wanted);
    Raise extracted{.actor = summary.actor, .total = summary.total};
    SlotReader slots(summary);
    while (const std::optional<Slot> slot = slots.next())
      if (std::ranges::binary_search(wanted, slot->index))
        extracted.changes.push_back({.slot = *slot});
    some += summary_of({}, extracted);
  });
  return some;
}

// Has the least shape that allows its slots. So a body that has these slots is no less than it.
std::string share(std::string_view body, ActorId actor) {
  std::string own;
  for_each_summary(body, [&](const Summary& summary) {
    if (summary.actor != actor) return;
    std::uint32_t last = 0;
    SlotReader slots(summary);
    while (const std::optional<Slot> slot = slots.next()) last = slot->index;
    Shape least = kNotReserved;
    while (most_slots(least.k) <= last) ++least.k;
    own = head_of(least).append(body, summary.at, summary.end() - summary.at);
  });
  return own;
}

// ---- answers ----

// What some bodies say together.
struct Together {
  Shape shape = kNotReserved;  // the greatest
  Count total = 0;
  Candidates candidates{};

  explicit Together(std::span<const std::string_view> bodies) {
    for (const std::string_view body : bodies) {
      if (is_less(shape, shape_of(body))) shape = shape_of(body);
      for_each_summary(body, [&](const Summary& summary) {
        total = plus(total, summary.total);
        candidates.add(summary);
      });
    }
    shape = meant(shape);
  }
};

// The places of the k candidates with the greatest upper bounds, in order, and of the next one.
// Fewer, if there are fewer.
std::vector<std::uint32_t> ranking(const Together& all) {
  std::vector<std::uint32_t> places(all.candidates.size());
  for (std::uint32_t i = 0; i < places.size(); ++i) places[i] = i;
  const std::size_t most = std::min<std::size_t>(all.shape.k + 1, places.size());
  const auto is_before = [&](std::uint32_t a, std::uint32_t b) {
    return outranks(all.candidates.rank(a), all.candidates.rank(b));
  };
  std::ranges::partial_sort(places, places.begin() + static_cast<std::ptrdiff_t>(most), is_before);
  places.resize(most);
  return places;
}

void answer_list(const Together& all, std::string& reply) {
  const Candidates& candidates = all.candidates;
  const std::vector<std::uint32_t> places = ranking(all);
  // What no item beside the list exceeds.
  const std::uint32_t next = places.size() > all.shape.k ? places.back() : Candidates::kNone;
  const std::size_t listed = std::min<std::size_t>(all.shape.k, places.size());
  for (const std::uint32_t place : std::span(places).first(listed)) {
    append_item(reply, candidates.item(place));
    append_varint(reply, candidates.upper(place));
    append_varint(reply, candidates.lower(place));
    reply += candidates.lower(place) >= candidates.upper(next) ? '\1' : '\0';
  }
}

Code answer_about(const Together& all, std::string_view items, std::string& reply) {
  std::vector<std::uint32_t> listed = ranking(all);
  listed.resize(std::min<std::size_t>(listed.size(), all.shape.k));
  std::string standings;
  while (!items.empty()) {
    const std::optional<std::string_view> item = take_item(items);
    if (!item) return Code::invalid_argument;
    const std::uint32_t place = all.candidates.find(*item);
    standings += std::ranges::find(listed, place) != listed.end() ? '\1' : '\0';
    append_varint(standings, all.candidates.upper(place));
    append_varint(standings, all.candidates.lower(place));
  }
  reply = std::move(standings);
  return Code::ok;
}

Code answer(std::span<const std::string_view> bodies, std::string_view question,
            std::string& reply) {
  const bool about = !question.empty() && question.front() == kAbout;
  if (!about && question != kTotalQuestion && question != kListQuestion &&
      question != kInfoQuestion)
    return Code::invalid_argument;
  const Together all(bodies);
  if (about) return answer_about(all, question.substr(1), reply);
  reply.clear();
  if (question == kListQuestion)
    answer_list(all, reply);
  else if (question == kInfoQuestion)
    append_shape(reply, bodies.empty() ? Shape{} : all.shape);
  else
    append_varint(reply, all.total);
  return Code::ok;
}

}  // namespace
}  // namespace top

const KindRules kTop{"top",      top::sound,  top::join, top::extract,
                     top::apply, top::answer, top::share};

}  // namespace quipu
