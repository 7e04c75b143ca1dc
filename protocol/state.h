// state.h: the shapes of stored and replicated state.
//
// storage/lattice.h defines what they *mean* (merge, reset, value). Here they are plain
// data, so that records, gossip, write-backs and handoffs share one form.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/ids.h"
#include "protocol/wall.h"
#include "quipu/status.h"

namespace quipu {

// The contribution of one actor to one shard. Only the actor's own node changes
// (commit, sum). Any node may raise the cleared pair. `born`: when the actor began it, in a counter
// with an end; else Wall{}.
struct Cell {
  ActorId actor{};
  Commit commit{};
  std::int64_t sum = 0;
  Commit cleared_commit{};
  std::int64_t cleared_sum = 0;
  Wall born{};
  bool operator==(const Cell&) const = default;
};

// What it takes in a message, and its birth, if it has one.
inline constexpr std::size_t kCellBytes = 40, kBirthBytes = 16;

// What a shard of a kind beside the sum has in place of cells (storage/kinds/kind.h). Parts are
// sorted by birth, each birth once; mostly there is one. `born` is Wall{} unless the counter has an
// end.
struct Part {
  Wall born{};
  std::string body{};  // not empty

  bool operator==(const Part&) const = default;
};

// The most parts of a state, and the most bytes of their bodies together.
inline constexpr std::size_t kMaxParts = 64;
inline constexpr std::size_t kMaxBodies = std::size_t{16} << 20;

// When a counter ends. All zero for a plain counter, which never ends (storage/life.h has the
// rules). Wall{}: never.
struct Life {
  Wall ended{};   // the latest end that is known. Cells that were born earlier do not count
  Wall stamp{};   // when the deadline was set last …
  Wall at{};      // … and the time that it says. It is in force while it is later than `ended`
  Wall latest{};  // the greatest `at` that there ever was
  bool once = false;  // a record once showed cells without a deadline in force
  bool operator==(const Life&) const = default;
};

// Cells are sorted by actor, each actor once. `shard_count` and `usable_shards` are used on shard 0
// alone: how many shards reads collect, and how many adds may use.
struct ShardState {
  std::vector<Cell> cells{};
  ShardIndex shard_count = 1;
  ShardIndex usable_shards = 1;
  Life life{};
  std::vector<Part> parts{};
  bool operator==(const ShardState&) const = default;
};

// "Store S, in its start B, has reached commit C", as seen by a holder of its cells. The
// version vector is made of these. It reveals a store that came back from an old copy.
struct VersionEntry {
  StoreId store{};
  BootId boot{};
  Commit commit{};
  bool operator==(const VersionEntry&) const = default;
};

// One shard of a Delta. Borrows: valid during the call that receives it.
struct DeltaEntry {
  ShardRef ref;
  ShardIndex shard_count;
  ShardIndex usable_shards;
  std::span<const Cell> cells{};
  Life life{};
  std::span<const Part> parts{};
};
[[nodiscard]] inline DeltaEntry as_entry(const ShardRef& ref, const ShardState& state) {
  return {ref, state.shard_count, state.usable_shards, state.cells, state.life, state.parts};
}

// Parts as bytes: | birth | length | body |, the first two as varints; and back. False: these bytes
// are none. `from` loses what was taken.
void append_part(std::string& to, const Part& part);
[[nodiscard]] bool take_part(std::string_view& from, Part& part);

// Shard states for a disk or a peer, as a structure of arrays. Almost every freshly changed
// cell carries the delta's own commit, was never cleared and has no birth. Such a cell takes its
// sum and an index (10 B, not 40).
class Delta {
 public:
  Delta() = default;
  explicit Delta(Commit commit) : commit_(commit) {}

  void push(const ShardRef& ref, const ShardState& state) { push(as_entry(ref, state)); }
  void push(const DeltaEntry& entry);

  [[nodiscard]] Commit commit() const { return commit_; }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] bool empty() const { return entries_.empty(); }
  [[nodiscard]] bool has_parts() const { return !parts_.empty(); }

  // Approximate encoded size.
  [[nodiscard]] std::size_t bytes() const;

  // In the order of push. REQUIRES for each call: there is one more.
  class Cursor {
   public:
    explicit Cursor(const Delta& delta) : delta_(delta) {}
    // The result is valid until the next call.
    [[nodiscard]] DeltaEntry next();
    // The name alone. Call either this or next() on one cursor.
    [[nodiscard]] ShardRef next_ref();

   private:
    [[nodiscard]] std::span<const Part> next_parts(std::size_t count);

    const Delta& delta_;
    std::size_t entry_ = 0, key_ = 0, sum_ = 0, cell_ = 0, life_ = 0, part_ = 0;
    std::vector<Cell> scratch_;
    std::vector<Part> parts_;
  };
  template <class Visit>
  void for_each(Visit&& visit) const {
    Cursor cursor(*this);
    for (std::size_t i = 0; i < size(); ++i) visit(cursor.next());
  }

  std::vector<VersionEntry> versions{};

 private:
  friend struct StateCodec;
  static constexpr std::uint16_t kNoSum = 0xffff;

  struct Packed {
    std::uint16_t key_length;
    ShardIndex shard;
    ShardIndex count;
    ShardIndex usable;
    std::uint16_t actor;  // index into actors_ of the packed cell; kNoSum: none
    std::uint16_t cells;  // how many full cells follow; of a kind beside the sum: how many parts
  };
  struct LifeOf {
    std::uint32_t entry;
    Life life;
  };

  std::uint16_t index_of(ActorId actor);

  Commit commit_{};
  std::vector<ActorId> actors_;
  std::vector<std::uint16_t> slots_;  // actors_, hashed, while pushing: 2^n; kNoSum: free
  std::string keys_;
  std::vector<Packed> entries_;
  std::vector<std::int64_t> sums_;
  std::vector<Cell> cells_;
  std::string parts_;          // as append_part() writes them
  std::vector<LifeOf> lives_;  // of the entries that have one, in order
  std::size_t births_ = 0;     // of the cells: how many
};

// ---- exactly once (RIFL, Lee et al. 2015) ----

inline constexpr std::size_t kLanes = 64;  // a token's lane is partition mod kLanes

// Names one change, so that it counts once no matter how often it is sent.
struct Token {
  StoreId store{};  // the executor and its memory; 0: no token
  Serial serial{};
  std::uint64_t number = 0;  // counts up from 1 in a serial
  std::uint64_t floor = 0;   // the client never sends a number below this again
  bool operator==(const Token&) const = default;
};

struct TokenEntry {
  std::uint64_t number = 0;
  std::uint32_t fingerprint = 0;  // of the arguments
  Code code = Code::ok;           // ok, or the final refusal that a retry also gets
  std::uint8_t lane = 0;
  bool operator==(const TokenEntry&) const = default;
};

// In a record: what was added to a serial. At rest: everything in one of its lanes.
struct TokenRecord {
  Serial serial{};
  std::uint64_t floor = 0;
  std::vector<TokenEntry> entries{};  // ascending
  bool operator==(const TokenRecord&) const = default;
};

// One durable write of one node's changes. Replaying it means merging it.
//
// A shard's name takes more bytes than its change. So a record with a shard in which only
// one cell changed also gives it an alias. Later records use the alias for that cell
// (storage/journal_aliases.h).
struct Record {
  // The new sum of a cell with an alias from an earlier record, under this record's commit.
  struct Aliased {
    Alias alias{};
    std::int64_t sum = 0;
    bool operator==(const Aliased&) const = default;
  };
  Delta delta{};
  std::vector<TokenRecord> tokens{};
  std::vector<Alias> aliases{};  // for the delta's shards, in order; none: Alias{}, or too few
  std::vector<Aliased> aliased{};
  // What earlier records have of these is void: the node gave them up. Before the delta.
  std::vector<Partition> dropped{};
};

// ---- what a store knows about itself and its cluster ----

struct LineageStart {
  BootId boot{};
  Commit first{};  // the first commit of that start
  bool operator==(const LineageStart&) const = default;
};

// The store that a member counts with. Its replacement has the next generation.
struct Pin {
  NodeId node{};
  StoreId store{};
  std::uint64_t generation = 0;
  bool operator==(const Pin&) const = default;
};

// Founding and pins: members must agree on these before and while they count.
struct Pins {
  bool founded = false;
  std::vector<Pin> founding{};     // by node id; store 0 while unknown
  std::vector<Pin> current{};      // by node id; equals founding until a replacement
  std::vector<StoreId> retired{};  // stores that were replaced, sorted
  bool operator==(const Pins&) const = default;
};

struct Meta {
  ClusterId cluster{};
  NodeId node{};
  StoreId store{};
  bool marked = false;  // rebuilt or rolled back: must be filled to be in sync
  std::vector<LineageStart> lineage{};
  Pins pins{};
  std::vector<NodeId> filled_from{};  // sources that a marked store has merged completely
  Commit journal_first{1};            // the oldest record that must still exist
  std::vector<VersionEntry> versions{};
  bool operator==(const Meta&) const = default;
};

}  // namespace quipu
