// entry.h: one shard's state in memory, packed.
//
//   | hash 4 | key length 2 | shard 2 | cells 2 | units 2 | flags 1 | leaf 1 | zero 2 |
//   | cells: actor index 4, commit 8, sum 8, and where cleared: commit 8, sum 8 |
//   | count 2, usable 2 (only where set) | key |
//
// A counter with one cell and a 14-byte key takes 56 bytes, so most fit one cache
// line; in a general-purpose map it takes well over 100.
//
// The plain form is ShardState; only the hot path works on the packed one. An
// entry that must grow is written anew elsewhere (see PartitionTable::replace).
#pragma once

#include <cstring>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "protocol/keyed_hash.h"
#include "protocol/state.h"
#include "storage/lattice.h"
#include "storage/slab.h"

namespace quipu {

// Actors by a small number, in the order in which they were first met.
class ActorNames {
 public:
  [[nodiscard]] std::uint32_t intern(ActorId actor);
  [[nodiscard]] ActorId name(std::uint32_t index) const { return names_[index]; }
  // Whether that is its number, which is cheaper to see than to find.
  [[nodiscard]] bool is(std::uint32_t index, ActorId actor) const {
    return index < names_.size() && names_[index] == actor;
  }
  // The last that was asked for: neighbours mostly have the same writer.
  [[nodiscard]] std::uint32_t last() const { return last_; }

 private:
  std::vector<ActorId> names_;
  std::unordered_map<ActorId, std::uint32_t> indices_;  // never iterated
  std::uint32_t last_ = 0;
};

class Entry {
 public:
  enum Flag : std::uint8_t {
    kOpen = 1,   // changed since the last seal
    kWhole = 2,  // … in more than the own cell
    kLocal = 4,  // … by this node, so the peers must be told
    kDirty = 8,  // changed since it was last put by a checkpoint
    kCounted = 16,
    kMoved = 32,  // a forwarding stub: the entry is at moved_to()
    kUsed = 64,   // looked up since eviction last came by
  };

  static Entry* create(Slab& slab, ActorNames& actors, const Placement& placement, ShardRef ref,
                       const ShardState& state);
  void destroy(Slab& slab) { slab.free(this, units_); }
  // Holds that state from now on; false, and nothing happens, if it needs another size.
  [[nodiscard]] bool rewrite(ActorNames& actors, const ShardState& state);

  // Most entries stand on two lines of the cache.
  void prefetch() const {
    __builtin_prefetch(this);
    __builtin_prefetch(bytes() + 48);
  }

  // The low half of the shard's placement.
  [[nodiscard]] std::uint32_t hash() const { return hash_; }
  [[nodiscard]] std::uint8_t leaf() const { return leaf_; }
  [[nodiscard]] ShardRef ref() const {
    return {{bytes() + size() - key_length_, key_length_}, shard_};
  }
  [[nodiscard]] std::size_t size() const { return std::size_t{units_} * Slab::kUnit; }  // bytes
  [[nodiscard]] bool is(ShardRef other) const { return ref() == other; }
  [[nodiscard]] bool has(Flag flag) const { return (flags_ & flag) != 0; }
  void set(std::uint8_t flags) { flags_ = static_cast<std::uint8_t>(flags_ | flags); }
  void clear(std::uint8_t flags) { flags_ = static_cast<std::uint8_t>(flags_ & ~flags); }
  [[nodiscard]] std::uint8_t flags() const { return flags_; }

  void unpack(const ActorNames& actors, ShardState& state) const;
  [[nodiscard]] Total total() const;
  // Holds nothing: it stands for a shard that is known not to be in the store.
  [[nodiscard]] bool is_bottom() const { return cells_ == 0 && !has(kCounted); }
  // Whether its counter exists: shard 0 counts something since its last clear, or
  // says that there are other shards, which may. The others say nothing by themselves.
  [[nodiscard]] bool shows_counter() const {
    return shard_ == 0 && (has(kCounted) || total().exists);
  }

  // A cell in place. Valid until the entry is destroyed.
  class CellRef {
   public:
    explicit operator bool() const { return at_ != nullptr; }
    [[nodiscard]] std::int64_t sum() const { return load<std::int64_t>(12); }
    // Counts `amount` under `commit`. REQUIRES: the sum does not overflow.
    void add(std::int64_t amount, Commit commit) {
      store(4, raw(commit));
      store(12, sum() + amount);
    }
    [[nodiscard]] Cell cell(const ActorNames& actors) const;

   private:
    friend class Entry;
    explicit CellRef(char* at) : at_(at) {}
    template <class T>
    [[nodiscard]] T load(std::size_t offset) const {
      T value;
      std::memcpy(&value, at_ + offset, sizeof value);
      return value;
    }
    template <class T>
    void store(std::size_t offset, T value) {
      std::memcpy(at_ + offset, &value, sizeof value);
    }
    [[nodiscard]] bool cleared() const { return (load<std::uint32_t>(0) & kClearedBit) != 0; }
    [[nodiscard]] std::size_t width() const { return cleared() ? kClearedCell : kPlainCell; }
    char* at_;
  };
  // The cell of an actor; false if it has none.
  [[nodiscard]] CellRef find(std::uint32_t actor);

  // Leaves a stub here for whoever still points at this entry.
  void move_to(Entry* now);
  [[nodiscard]] Entry* moved_to() const;

 private:
  static constexpr std::uint32_t kClearedBit = std::uint32_t{1} << 31;
  static constexpr std::size_t kPlainCell = 20;
  static constexpr std::size_t kClearedCell = 36;
  static constexpr std::size_t kHeader = 16;

  Entry() = default;
  [[nodiscard]] static std::size_t units(std::size_t key, const ShardState& state);
  template <class Guess>
  void write(ActorNames& actors, const ShardState& state, Guess guess);
  [[nodiscard]] char* bytes() { return reinterpret_cast<char*>(this); }
  [[nodiscard]] const char* bytes() const { return reinterpret_cast<const char*>(this); }
  template <class Visit>
  const char* for_each_cell(Visit&& visit) const;

  static constexpr std::size_t bytes_of(std::size_t cells) {
    return kHeader + kMaxKey + 4 + cells * kClearedCell;
  }

  std::uint32_t hash_;
  std::uint16_t key_length_;
  ShardIndex shard_;
  std::uint16_t cells_;
  std::uint16_t units_;
  std::uint8_t flags_;
  std::uint8_t leaf_;
  [[maybe_unused]] std::uint8_t zero_[2];
};

static_assert(sizeof(Entry) == 16);

// What a shard may hold. An add begins no cell beyond kMaxWriters, so two copies
// that each have all of those still merge; only who made more than kMaxCells in
// sum, apart, is refused. Far beyond any real shard: a cell begins when a store
// does, or after a start that its peers did not confirm.
inline constexpr std::size_t kMaxWriters = 4096;
inline constexpr std::size_t kMaxCells = 8192;
static_assert(2 * kMaxWriters <= kMaxCells);

}  // namespace quipu
