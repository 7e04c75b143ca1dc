// entry.h: one shard's state in memory, packed.
//
//   | lengths 2 | flags 1 | leaf 1 | shard 2, cells 2 | key | cells | count 2, usable 2 |
//   lengths:        10 bits of the key; 6 of how many cells, or kApart: then the number of
//                   cells and the shard follow. Otherwise the shard is 0
//   a cell:         actor index 2, commit 5, sum 5, if all of the entry's fit (kSmall); else
//                   actor index 4, commit 6, sum 6  (8 and 8 if one of its numbers needs it),
//                   where cleared: commit and sum once more
//   count, usable:  only if set
//
// A state that is not plain (life.h) is laid out apart. The hot path finds no cells in it:
//
//   | the same 8, but cells ≥ kDated | key | marks 1 | ended, stamp, at, latest | cells | 2, 2 |
//   a time:         5 bytes, since 2020 (8 if one of the entry's needs it). `latest` only if it
//                   is not `at`. None of the four if all are 0: the marks say so
//   a cell:         as above, and its birth. The marks say whether cells are small
//
// A state with bodies (storage/kinds/kind.h) is laid out apart, too, with parts in place of cells:
//
//   | the same 8 … latest | parts | count 2, usable 2 | room 2 | room |
//   a part:         its birth, length 4, the body. Before a long body, what is derived from it 12
//                   (storage/kinds/derived.h)
//
// A body may be changed in place as long as its length stays (parts()). Room is left for bodies
// that grow, so that not each new element makes a new entry.
//
// A counter with one cell and a 16-byte key takes 32 bytes. A general-purpose map would take
// well over 100. Nothing inside is aligned.
//
// The plain form is ShardState. Only the hot path works on the packed one. An entry that must
// change its size is written again elsewhere (see PartitionTable::replace). Its old piece then
// serves only entries of its size. So a number that many counters outgrow would cost their
// memory twice: 2^39 is beyond most sums.
#pragma once

#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "protocol/check.h"
#include "protocol/keyed_hash.h"
#include "protocol/state.h"
#include "protocol/window.h"
#include "storage/fetch_ahead.h"
#include "storage/kinds/derived.h"
#include "storage/lattice.h"
#include "storage/life.h"
#include "storage/number_table.h"
#include "storage/slab.h"

namespace quipu {

// The limits of a shard. An add begins no cell beyond kMaxWriters, so two copies with that
// many cells each can still merge. A merge is refused only beyond kMaxCells together. Real
// shards are far below this: a cell begins with a store, or after a start that its peers did
// not confirm.
inline constexpr std::size_t kMaxWriters = 4096;
inline constexpr std::size_t kMaxCells = 8192;
static_assert(2 * kMaxWriters <= kMaxCells);

// Actors by a small number, in the order in which they were first seen.
class ActorNames {
 public:
  [[nodiscard]] std::uint32_t intern(ActorId actor);
  [[nodiscard]] ActorId name(std::uint32_t index) const {
    QUIPU_CHECK(index < names_.size(), "an actor's number exists", index, names_.size());
    return names_[index];
  }
  [[nodiscard]] std::size_t size() const { return names_.size(); }
  // Whether that is its number. This is cheaper than finding the number.
  [[nodiscard]] bool is(std::uint32_t index, ActorId actor) const {
    return index < names_.size() && names_[index] == actor;
  }
  // A guess at the next number: the last one that was interned (neighbours mostly have the same
  // writer), or the one given to expect().
  [[nodiscard]] std::uint32_t expected() const { return expected_; }
  void expect(std::uint32_t index) {
    QUIPU_CHECK(index < names_.size(), "only an actor that has a number is expected", index,
                names_.size());
    expected_ = index;
  }

 private:
  std::vector<ActorId> names_;
  NumberTable numbers_{1};  // actors are random, so that no secret is needed
  std::uint32_t expected_ = 0;
};

class Entry {
 public:
  enum Flag : std::uint8_t {
    kOpen = 1,           // changed since the last seal
    kWhole = 2,          // … in more than its own cell
    kLocal = 4,          // … by this node, so the peers must get it
    kHasShardCount = 8,  // set in every state that is not plain
    kUsed = 16,          // looked up since eviction last passed it
    kSmall = 32,
  };
  // What the journal has of the entry since a checkpoint last put it. If this is not nothing, the
  // entry is dirty. An alias is used until the next checkpoint but one begins, so two
  // generations of aliases are enough.
  enum class Journaled : std::uint8_t {
    nothing = 0,
    by_name = 64,
    alias_even = 128,
    alias_odd = 192,
  };

  static Entry* create(Slab& slab, ActorNames& actors, const Placement& placement,
                       const ShardRef& ref, const ShardState& state);
  void destroy(Slab& slab) {
    QUIPU_CHECK(!has(kOpen), "the list of what is open names no entry that was destroyed",
                ref().key);
    slab.free(this, size());
  }
  // Takes that state. Returns false, and changes nothing, if it needs another size.
  [[nodiscard]] bool rewrite(ActorNames& actors, const ShardState& state);

  // Most entries are on one line of the cache, or two.
  void prefetch() const {
    fetch_ahead(this);
    fetch_ahead(bytes() + 32);
  }

  [[nodiscard]] std::uint8_t leaf() const { return leaf_; }
  [[nodiscard]] ShardRef ref() const { return {{bytes() + header(), key_length()}, shard()}; }
  [[nodiscard]] std::size_t size() const {  // bytes
    const std::size_t cells_end =
        has(kSmall) ? header() + key_length() + cells() * kSmallCell : large_cells_end();
    return Slab::rounded(cells_end + (has(kHasShardCount) ? 2 * sizeof(ShardIndex) : 0));
  }
  [[nodiscard]] bool is(const ShardRef& other) const {
    const std::size_t length = key_length();
    return length == other.key.size() && shard() == other.shard &&
           std::memcmp(bytes() + header(), other.key.data(), length) == 0;
  }
  [[nodiscard]] bool has(Flag flag) const { return (flags_ & flag) != 0; }
  void set(std::uint8_t flags) { flags_ = static_cast<std::uint8_t>(flags_ | flags); }
  void clear(std::uint8_t flags) { flags_ = static_cast<std::uint8_t>(flags_ & ~flags); }
  [[nodiscard]] std::uint8_t flags() const { return flags_; }
  // Marks it as looked up: a hint for eviction, not part of its state.
  void mark_used() const {
    if (!has(kUsed)) flags_ = static_cast<std::uint8_t>(flags_ | kUsed);
  }
  // Whether it was looked up since the last call.
  [[nodiscard]] bool take_used() {
    const bool used = has(kUsed);
    clear(kUsed);
    return used;
  }
  [[nodiscard]] Journaled journaled() const { return Journaled{std::uint8_t(flags_ & kJournaled)}; }
  void set_journaled(Journaled how) {
    flags_ = static_cast<std::uint8_t>((flags_ & ~kJournaled) | static_cast<std::uint8_t>(how));
  }
  [[nodiscard]] bool dirty() const { return journaled() != Journaled::nothing; }
  // A number that no other entry of its slab has, or none.
  [[nodiscard]] Alias alias() const {
    return Alias{size() < Slab::kLarge ? Slab::number(this) : 0};
  }

  void unpack(const ActorNames& actors, ShardState& state) const;
  [[nodiscard]] Total total() const;
  // Holds nothing: it says that the shard is known not to be in the store.
  [[nodiscard]] bool is_bottom() const { return cells() == 0 && !has(kHasShardCount); }
  // Whether its counter has more shards than this, or soon may.
  [[nodiscard]] bool is_spread() const {
    return has(kHasShardCount) && (!is_dated() || has_more_shards());
  }
  // See shows_counter() below. A counter shows until it was realized: see shows_counter(date).
  [[nodiscard]] bool shows_counter() const {
    return is_first(shard()) && (is_spread() || total().exists);
  }

  // See protocol/window.h.
  [[nodiscard]] bool is_window() const { return apart() && quipu::is_window(load16(4)); }

  // ---- what is not plain ----
  [[nodiscard]] bool is_dated() const { return apart() && load16(6) >= kDated; }
  // It has bodies, and a life that may be Life{}.
  [[nodiscard]] bool has_bodies() const { return is_dated() && !is_sum(load16(4)); }
  // The bodies, oldest first, with their births. REQUIRES: has_bodies(). Valid until the entry is
  // rewritten or destroyed.
  struct PartRef {
    Wall born{};
    std::span<char> body{};
    DerivedPlace derived{};
  };
  [[nodiscard]] std::vector<PartRef> parts();
  [[nodiscard]] std::vector<std::string_view> bodies() const;
  // The last one. (Mostly there is no other.)
  [[nodiscard]] PartRef last_part();
  // What stands beside its body. To be filled in also where the entry does not change.
  [[nodiscard]] DerivedPlace last_derived() const;
  [[nodiscard]] std::size_t part_count() const { return load16(6) - std::size_t{kDated}; }

  // That of a plain entry is Life{}.
  [[nodiscard]] Life life() const { return is_dated() ? read_life() : Life{}; }
  [[nodiscard]] bool is_spent() const { return is_dated() && spent(); }
  // Whether it shows a counter at that time. (Nullopt: its clock judges no dates.)
  [[nodiscard]] bool shows_counter(const std::optional<Wall>& date) const {
    return shows_counter() && !(date && is_dated() && is_over(read_life(), *date) && !is_spread());
  }
  // A record shows it: with cells, and without a deadline in force, it is `once` from now on.
  // Returns whether that is new.
  bool show();
  // What this node knows of its copies. A new state forgets all but kAtRest.
  enum Mark : std::uint8_t {
    kAtRest = 16,   // a checkpoint may have put it
    kOffered = 32,  // a spent state, which all other owners were offered
  };
  // A plain one may be at rest, and has no other mark.
  [[nodiscard]] bool marked(Mark mark) const {
    return is_dated() ? (marks() & mark) != 0 : mark == kAtRest;
  }
  void mark(Mark mark) {  // nothing, for a plain one
    if (is_dated()) set_marks(marks() | mark);
  }
  void unmark(Mark mark) {
    if (is_dated()) set_marks(marks() & ~unsigned{mark});
  }

  // A cell in place. Valid until the entry is rewritten or destroyed.
  class CellRef {
   public:
    CellRef() = default;  // none
    explicit operator bool() const { return at_ != nullptr; }
    [[nodiscard]] Commit commit() const { return small_ ? Commit{load40(2)} : load_commit(4); }
    [[nodiscard]] std::int64_t sum() const {
      return small_ ? extended<40>(load40(7)) : load_sum(4 + commit_width());
    }
    // Whether there is room for these two.
    [[nodiscard]] bool holds(Commit commit, std::int64_t sum) const {
      return small_ ? fit<40>(commit, sum) : has(kWideBit) || fit<48>(commit, sum);
    }
    // REQUIRES: holds(commit, sum).
    void set(Commit commit, std::int64_t sum);
    [[nodiscard]] Cell cell(const ActorNames& actors) const;

   private:
    friend class Entry;
    CellRef(char* at, bool small) : at_(at), small_(small) {}
    // A number of this many bits, with its sign.
    template <int kBits>
    static std::int64_t extended(std::uint64_t low) {
      return static_cast<std::int64_t>(low << (64 - kBits)) >> (64 - kBits);
    }
    template <int kBits>
    static bool fit(Commit commit, std::int64_t sum) {
      return raw(commit) >> kBits == 0 && sum == extended<kBits>(static_cast<std::uint64_t>(sum));
    }
    template <class T>
    [[nodiscard]] T load(std::size_t offset) const {
      T value;
      std::memcpy(&value, at_ + offset, sizeof value);
      return value;
    }
    [[nodiscard]] std::uint64_t load40(std::size_t offset) const {
      return load<std::uint32_t>(offset) | std::uint64_t{load<std::uint8_t>(offset + 4)} << 32;
    }
    [[nodiscard]] std::uint64_t load48(std::size_t offset) const {
      return load<std::uint32_t>(offset) | std::uint64_t{load<std::uint16_t>(offset + 4)} << 32;
    }
    // The actor's number, and the cell's form.
    [[nodiscard]] std::uint32_t head() const {
      return small_ ? load<std::uint16_t>(0) : load<std::uint32_t>(0);
    }
    [[nodiscard]] bool has(std::uint32_t bit) const { return (head() & bit) != 0; }
    [[nodiscard]] std::uint32_t actor() const { return head() & kActorBits; }
    [[nodiscard]] std::size_t commit_width() const { return has(kWideBit) ? 8 : 6; }
    [[nodiscard]] Commit load_commit(std::size_t offset) const {
      if (has(kWideBit)) return load<Commit>(offset);
      return Commit{load48(offset)};
    }
    [[nodiscard]] std::int64_t load_sum(std::size_t offset) const {
      if (has(kWideBit)) return load<std::int64_t>(offset);
      return extended<48>(load48(offset));
    }
    // The size of one pair of commit and sum. A cleared cell has two.
    static std::size_t pair_width(std::uint32_t head) { return (head & kWideBit) != 0 ? 16 : 12; }
    static std::size_t width(std::uint32_t head) {
      return 4 + pair_width(head) * ((head & kClearedBit) != 0 ? 2 : 1);
    }
    [[nodiscard]] std::size_t pair_width() const { return pair_width(head()); }
    [[nodiscard]] std::size_t width() const { return small_ ? kSmallCell : width(head()); }
    [[nodiscard]] Commit cleared_commit() const { return load_commit(4 + pair_width()); }
    [[nodiscard]] std::int64_t cleared_sum() const {
      return load_sum(4 + pair_width() + commit_width());
    }
    void add_to(Total& total) const;
    void write(std::uint32_t head, const Cell& cell);
    void store_pair(std::size_t offset, Commit commit, std::int64_t sum);
    char* at_ = nullptr;
    bool small_ = false;
  };
  // The cell of an actor; false if it has none.
  [[nodiscard]] CellRef find(std::uint32_t actor);
  // The same, and the total of all cells.
  struct Tally;
  [[nodiscard]] Tally tally(std::uint32_t actor);
  // The cell with that commit. False if there is none, or by chance two.
  [[nodiscard]] CellRef find_only(Commit commit);

  // Leaves a stub here, for pointers to this entry.
  void move_to(Entry* now);
  // Itself, or the entry that replaced it.
  [[nodiscard]] Entry* current();

 private:
  static constexpr std::uint32_t kClearedBit = std::uint32_t{1} << 31;
  static constexpr std::uint32_t kWideBit = std::uint32_t{1} << 30;
  static constexpr std::uint32_t kActorBits = kWideBit - 1;
  static constexpr std::size_t kSmallCell = 12;
  static constexpr std::size_t kSmallActors = std::size_t{1} << 16;
  static constexpr unsigned kKeyBits = 10;
  static constexpr std::uint16_t kApart = 63;
  static constexpr std::uint8_t kJournaled = 192;
  static constexpr std::uint16_t kDated = 1u << 15;  // added to the number of cells
  static_assert(kMaxCells < kDated);
  // Marks of how a dated state is laid out.
  static constexpr std::uint8_t kOnce = 1, kHasLatest = 2, kWideTimes = 4, kLargeCells = 8,
                                kTimeless = 64;
  static constexpr std::uint8_t kStub = kWhole;  // alone, which no entry has
  static constexpr std::size_t kStubPointer = 8;

  // The layout of a state.
  struct Layout {
    bool apart;
    bool dated;
    bool small;  // its cells are
    bool wide_times;
    bool bodies;
    std::size_t content;  // bytes
    std::size_t size;     // the same, rounded, with room
  };

  Entry() = default;
  static std::uint32_t form(const Cell& cell);  // of kClearedBit and kWideBit
  static Layout layout(const ActorNames& actors, const ShardRef& ref, const ShardState& state);
  void set_cells(std::size_t count);
  [[nodiscard]] bool apart() const { return lengths_ >> kKeyBits == kApart; }
  [[nodiscard]] std::size_t header() const { return apart() ? 8 : 4; }
  [[nodiscard]] std::size_t key_length() const { return lengths_ & ((1u << kKeyBits) - 1); }
  [[nodiscard]] std::uint16_t load16(std::size_t offset) const {
    std::uint16_t value;
    std::memcpy(&value, bytes() + offset, sizeof value);
    return value;
  }
  [[nodiscard]] ShardIndex shard() const { return apart() ? load16(4) : ShardIndex{0}; }
  // Those that the hot path knows. A dated entry has none of these.
  [[nodiscard]] std::size_t cells() const {
    return !apart() ? lengths_ >> kKeyBits : is_dated() ? 0 : load16(6);
  }
  [[nodiscard]] std::size_t large_cells_end() const;
  [[nodiscard]] std::uint8_t marks() const {
    return static_cast<std::uint8_t>(bytes()[header() + key_length()]);
  }
  void set_marks(unsigned marks) { bytes()[header() + key_length()] = static_cast<char>(marks); }
  [[nodiscard]] Life read_life() const;
  [[nodiscard]] const char* behind_life() const;
  [[nodiscard]] bool has_more_shards() const;
  [[nodiscard]] bool spent() const;
  char* write_life(const Life& life, const Layout& layout);
  template <class Visit>
  const char* for_each_dated(Visit&& visit) const;
  template <class Visit>
  const char* for_each_part(Visit&& visit) const;
  [[nodiscard]] char* first_cell() { return bytes() + header() + key_length(); }
  template <class Guess>
  void write(ActorNames& actors, const ShardState& state, const Layout& layout, Guess guess);
  [[nodiscard]] char* bytes() { return reinterpret_cast<char*>(this); }
  [[nodiscard]] const char* bytes() const { return reinterpret_cast<const char*>(this); }
  template <class Visit>
  const char* for_each_cell(Visit&& visit) const;
  // Dated entries have code of their own, so that the others need not pay for it.
  template <bool kOfDated, class Visit>
  void for_each_cell_of(Visit&& visit) const;
  template <bool kOfDated>
  [[nodiscard]] Total total_of() const;
  template <bool kOfDated>
  [[nodiscard]] CellRef find_in(std::uint32_t actor) const;
  template <bool kOfDated>
  [[nodiscard]] CellRef find_only_in(Commit commit) const;
  [[nodiscard]] bool is_dated_by_flag() const { return has(kHasShardCount) && is_dated(); }

  std::uint16_t lengths_;
  mutable std::uint8_t flags_;  // for mark_used()
  std::uint8_t leaf_;
};

static_assert(sizeof(Entry) == 4);

struct Entry::Tally {
  CellRef cell;
  Total total;
};

// Whether adds may use more than shard 0, or soon may.
[[nodiscard]] inline bool has_shard_count(const ShardState& state) {
  return state.shard_count != 1 || state.usable_shards != 1;
}
// Whether its counter exists: shard 0 counts something since its last clear, or says that
// there are other shards, which may count something. Other shards alone do not show it.
[[nodiscard]] inline bool shows_counter(const ShardRef& ref, const ShardState& state) {
  return is_first(ref.shard) &&
         (has_shard_count(state) || total(state.cells).exists || !state.parts.empty());
}

}  // namespace quipu
