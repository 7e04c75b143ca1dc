// trace.h: what happened, as a number that is equal for two runs of one seed and, on request,
// as a story.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>

#include "protocol/instant.h"

namespace quipu::sim {

// The promises that a run checks. A name never changes its meaning.
enum class Invariant : std::uint8_t {
  none,
  never_counts_twice,
  counts_only_what_was_asked,
  refused_is_not_counted,
  strong_read_has_acked,
  strong_read_is_monotone,
  quorum_reset_clears,
  complete_read_is_complete,
  fresh_read_is_fresh,
  staleness_is_bounded,
  total_within_bounds,
  disk_ack_is_on_a_disk,
  quorum_ack_is_on_a_majority,
  closed_leaves_nothing,
  every_majority_has_all,
  sent_is_durable,
  acked_is_durable,
  one_commit_one_sum,
  actor_is_not_reused,
  usable_follows_count,
  merge_is_a_join,
  answers_agree,
  session_is_kept,
  eventual_add_needs_nobody,
  damage_is_refused,
  old_copy_is_noticed,
  replaced_store_ends,
  bounded,
  every_call_ends,
  doubts_end,
  all_ready_after_healing,
  owners_agree_after_healing,
  nothing_acked_is_lost,
  lists_are_whole,
  namespaces_agree,
  clocks_are_judged,
  ended_stays_ended,
  counts_in_one_life,
  purged_is_gone,
  actor_is_kept,
  actor_comes_back,
  doubtful_clock_dates_nothing,
  one_window_per_tier,
  settled_does_not_change,
  transactions_are_whole,
  decided_at_home,
  distinct_is_exact,
  derived_follows_its_body,
  items_count_once,
  works_after_healing,
  no_crash,
};
struct InvariantInfo {
  std::string_view name;
  std::string_view meaning;
};
[[nodiscard]] const InvariantInfo& describe(Invariant invariant);

struct Failure {
  Invariant invariant = Invariant::none;
  std::string what;
  [[nodiscard]] explicit operator bool() const { return invariant != Invariant::none; }
};

// Kinds of injected faults and of operations, for the summary of a run.
using Tally = std::map<std::string, std::uint64_t, std::less<>>;

class Trace {
 public:
  // Keeps the last `lines` of the story, or prints each at once.
  void keep(std::size_t lines) { keep_ = lines; }
  void follow(std::function<void(const std::string&)> reader) { reader_ = std::move(reader); }

  // `text` returns the line. It is called only if the story is wanted.
  template <class Text>
  void say(Instant at, Text&& text) {
    if (keep_ > 0 || reader_) line(at, text());
  }
  // The same for every message between nodes, only if these are wanted.
  void tell_messages() { messages_ = true; }
  [[nodiscard]] bool tells_messages() const { return messages_; }
  template <class Text>
  void say_message(Instant at, Text&& text) {
    if (messages_) line(at, text());
  }
  // Changes the number alone.
  void mark(std::uint64_t what) { hash_ = (hash_ ^ what) * 0x100000001b3U; }

  // Only the first failure counts.
  void fail(Instant at, Invariant invariant, std::string what);
  [[nodiscard]] const Failure& failure() const { return failure_; }

  [[nodiscard]] std::uint64_t hash() const { return hash_; }
  [[nodiscard]] const std::deque<std::string>& lines() const { return lines_; }
  Tally faults, operations;

 private:
  void line(Instant at, std::string text);

  std::size_t keep_ = 0;
  bool messages_ = false;
  std::function<void(const std::string&)> reader_;
  std::deque<std::string> lines_;
  std::uint64_t hash_ = 0xcbf29ce484222325U;
  Failure failure_;
};

}  // namespace quipu::sim
