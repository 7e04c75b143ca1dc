// life.h: counters that end, and why what ended stays ended.
//
// Replicas that were away still hold a counter that ended, and a merge would bring it back.
// (Cassandra refuses a TTL on counters for that reason.) So each copy carries its own end, and
// each cell says when it was born. A stale copy then ends by itself, or loses its cells where it
// meets a copy that knows of the end.
//
//   life    = {ended, deadline (stamp, at), latest, once};  each cell has a birth, `born`
//   join    = the greatest ended, (stamp, at) and latest; once if either has it; of each actor the
//             cell with the greater birth, at equal births the join of the cells (lattice.h);
//             then the cells that were born before `ended` are dropped
//   realize = if the deadline is in force and has passed: ended := at, and the same drop
//
// Realizing only moves up in the lattice, so each replica may do it at any time, by its own clock.
// A deadline that has passed is not removed: that would make the join depend on the order.
//
// A counter with a life of zeros and no births is plain: it never ends, and pays for none of this.
// A copy of it carries no end. So its life has `once` as soon as it has a life at all.
//
// When a spent state (an end, no cells, no deadline in force) may be forgotten: Sweep.
#pragma once

#include <algorithm>
#include <optional>

#include "protocol/instant.h"
#include "protocol/state.h"

namespace quipu {

// More than twice the allowed difference of two clocks, plus the age of any message.
inline constexpr Wall::duration kLifeGrace = std::chrono::seconds(10);

// The wall time, for those who judge dates. A node whose clock is not trusted judges none.
class Calendar {
 public:
  Calendar() = default;
  Calendar(const Calendar&) = default;
  Calendar& operator=(const Calendar&) = default;
  virtual ~Calendar() = default;
  // nullopt: this node's clock is not trusted.
  [[nodiscard]] virtual std::optional<Wall> date(Instant now) const = 0;
  // What the clock shows, trusted or not.
  [[nodiscard]] virtual Wall at(Instant now) const = 0;
};

[[nodiscard]] bool is_plain(const ShardState& state);
[[nodiscard]] inline bool in_force(const Life& life) { return life.at > life.ended; }
// The deadline is in force and has passed: the counter has ended, whether or not it was realized.
[[nodiscard]] inline bool is_over(const Life& life, Wall date) {
  return in_force(life) && life.at <= date;
}
// Nothing is left but the knowledge of an end.
[[nodiscard]] bool is_spent(const ShardState& state);

// ---- changes: all of them but begin_again() move up ----
// Returns whether anything has changed.
bool realize(ShardState& state, Wall date);
// Realizes two copies before they are joined: else a later deadline would take the place of one
// that has passed, and the cells of that life would count in the next. A node that does not know
// the date looks at the other copy. If all of its cells were born after the deadline, the deadline
// has passed, and realizing it costs none of them. If the other copy knows that the life of a
// deadline had ended before, that deadline is void and not realized. (This is no part of the join:
// that would depend on the order.) Returns whether `a` has changed.
bool realize_both(ShardState& a, ShardState& b, const std::optional<Wall>& date);
// EXPIRE, and PERSIST with `at` = Wall{}. REQUIRES: `at` is later than `date` and `ended`, or none.
// The same deadline once more in one millisecond changes nothing: the stamp of a counter that gets
// thousands a second must not run ahead of the clock.
void set_deadline(Life& life, Wall date, Wall at);
// Ends the life, and with it what this copy has not seen.
void end(ShardState& state, Wall date);
// Gives the next life, which begins together with that end, a deadline. REQUIRES: as above.
void set_deadline_of_next(Life& life, Wall at);
// Undoes all since the last end. REQUIRES: no record has shown any of it. (So it may move down.)
void begin_again(ShardState& state, Wall date);
// Drops the cells that were born before the end. Returns whether there were any.
bool drop_dead(ShardState& state);
// The join of `from` into `into`, without that drop.
bool join(Life& into, const Life& from);
// Drops what a slice (storage/kinds/kind.h) has of lives that its counter's first shard does not
// show: each part of a slice has the birth of the first shard's part in which it counts.
void keep_lives(ShardState& slice, const ShardState& first);

// ---- forgetting ----
// From when on a copy without `once` may be forgotten: each copy anywhere has ended by itself.
[[nodiscard]] inline Wall forgettable_from(const Life& life) {
  return std::max({life.ended, life.at, life.latest}) + kLifeGrace;
}

}  // namespace quipu
