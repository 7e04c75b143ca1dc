// kind.h: the seam for kinds of counters beside the sum.
//
// The state of such a counter is a body: bytes, in one canonical form for each content. A kind is a
// pair of files in this folder with five functions over bodies (and three that most kinds do
// without: share, slices and derivation), and a row in kind.cpp:
//
//   sound    any bytes may come from a disk or a peer: are they a body?
//   join     the least upper bound of two bodies. Commutative, associative, idempotent
//   extract  a small body with some units. Joined into any state, it makes of these units what a
//            join of the whole body makes of them. So a delta is a body (Almeida et al. 2018,
//            "Delta state replicated data types")
//   apply    an executor's change. It moves up: the result is no less than before. It notes the
//            units that it changes, and those that it found great enough (Edit::rest_on)
//   answer   a question about bodies that are summed up, such as those of several keys
//
// The answer to the empty question is one number: its 64 bits as a varint. A range of windows asks
// it of each step.
//
// An empty string is no body: the bottom, with which a join changes nothing.
//
// The words of an op, a question and the replies are bytes that only their kind understands. The
// kind's header has functions that make and read them.
//
// The sum is no row of the table: its state is cells (storage/lattice.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/ids.h"
#include "protocol/state.h"
#include "quipu/kind.h"
#include "quipu/status.h"
#include "storage/kinds/derived.h"
#include "storage/kinds/edit.h"
#include "storage/kinds/units.h"

namespace quipu {

struct KindOp {
  std::string_view words;  // from anywhere: apply() judges them
  unsigned precision = 0;  // of a body that begins here, as its namespace says; 0: the usual
  ActorId actor{};         // of a kind with shares: who applies it
  // The counter's bodies of other births. They do not change, but what the reply tells counts them.
  std::span<const std::string_view> others{};
  // Where a window begins here, the body of its counter; for a slice, the body of the first shard.
  // They take over the size or shape.
  std::string_view like{};
  ShardIndex slice = 0;  // of a counter in slices
};

// A counter whose state is too large for one shard is in slices: slice i is its shard with the
// index i, and lies where the first one lies. One record changes them together. The first one alone
// says that the counter exists, how many slices there are, and in which lives they count: each part
// of a slice has the birth of one of its parts.
[[nodiscard]] inline ShardKey slice_at(const ShardRef& first, ShardIndex slice) {
  return {std::string(first.key), static_cast<ShardIndex>(first.shard + slice)};
}
struct SliceWords {
  ShardIndex slice = 0;  // from 1
  std::string words{};
};
struct SliceRules {
  // Which one it is. REQUIRES: sound(body).
  std::uint32_t (*slice)(std::string_view body);
  // How many a counter has beside these bodies of its first shard. 0: it is not in slices.
  std::uint32_t (*count)(std::span<const std::string_view> firsts);
  // Which words each slice gets from an op on the first shard. `first`: its body, or empty.
  std::vector<SliceWords> (*split)(std::string_view first, const KindOp& op);
  // The slices that a question, or the reply to such words, needs. Ascending.
  std::vector<ShardIndex> (*asked)(std::span<const std::string_view> firsts,
                                   std::string_view question_or_words);
  // The reply to words, once all slices have taken theirs. `bodies`: the first, and those asked.
  std::string (*tell)(std::span<const std::string_view> bodies, std::string_view words);
};

// The most bytes that one actor's share of a body takes. So a body with the shares of 64 actors is
// no longer than a state may be (kMaxBodies), and a join need not refuse.
inline constexpr std::size_t kMaxShare = std::size_t{256} << 10;
static_assert(64 * kMaxShare <= kMaxBodies);

// Of a kind whose number is asked often, and takes long to find.
struct Derivation {
  // Nothing: these two numbers do not say enough about this body. REQUIRES: sound(body).
  std::optional<Derived> (*derive)(std::string_view body);
  // The answer to the empty question about this body alone: the same number as that of answer().
  std::uint64_t (*number)(std::string_view body, const Derived& derived);
};

struct KindRules {
  const char* name;
  // A body is never empty.
  bool (*sound)(std::string_view body);
  // REQUIRES: both are sound; `into` may also be empty. Notes the units that changed.
  void (*join)(Edit& into, std::string_view from);
  // REQUIRES: sound(body). Units that the body does not have are left out.
  std::string (*extract)(std::string_view body, std::span<const Unit> units);
  // Begins a body if there is none. Not ok: nothing was changed.
  Code (*apply)(Edit& into, const KindOp& op, std::string& reply);
  // REQUIRES: all are sound. There may be none. Not ok: the question is none of this kind.
  Code (*answer)(std::span<const std::string_view> bodies, std::string_view question,
                 std::string& reply);
  // Only of a kind in which each actor has units of its own, which only it changes: a small body
  // with those of one actor. Empty: it has none. So a counter should have few writers: its home
  // executes what no token binds to another node.
  std::string (*share)(std::string_view body, ActorId actor) = nullptr;
  const SliceRules* slices = nullptr;  // null: each counter is in one shard
  const Derivation* derivation = nullptr;
};

// REQUIRES: this build knows the kind, and it is not the sum.
[[nodiscard]] const KindRules& rules_of(Kind kind);

// The answer to a question about one body. What stands beside it answers the empty one, and is
// derived first if it is not known. REQUIRES: sound(body).
[[nodiscard]] Code answer_alone(const KindRules& rules, std::string_view body, DerivedPlace derived,
                                std::string_view question, std::string& reply);

}  // namespace quipu
