#include "tests/simulator/trace.h"

#include <array>
#include <cstdio>

#include "tests/simulator/timeline.h"

namespace quipu::sim {
namespace {

constexpr std::array<InvariantInfo, 51> kInvariants = {{
    {"none", ""},
    {"never_counts_twice", "an add counts at most once, however often it was sent"},
    {"counts_only_what_was_asked", "no total holds an add that nobody made"},
    {"refused_is_not_counted", "an add that was answered 'not applied' is in no total, ever"},
    {"strong_read_has_acked", "a strong read counts every add acked at quorum before it began"},
    {"strong_read_is_monotone",
     "a strong read sees all that any strong read saw which ended before it began"},
    {"quorum_reset_clears",
     "a quorum reset removes what was acked at quorum before it began, for good"},
    {"complete_read_is_complete",
     "a local read that says complete has all that was acked before its age"},
    {"fresh_read_is_fresh", "a fresh read counts what each owner's disk had before it began"},
    {"staleness_is_bounded",
     "while nothing fails, a local read shows what was acked a few gossip intervals before"},
    {"total_within_bounds", "a total is within what acked and doubtful adds allow"},
    {"disk_ack_is_on_a_disk", "what was acked at disk is on some node's disk"},
    {"quorum_ack_is_on_a_majority", "what was acked at quorum is on a majority of the disks"},
    {"closed_leaves_nothing",
     "when a node has closed, the other owners that it reached have all that it counted"},
    {"every_majority_has_all",
     "at each moment, whichever majority answers, a strong read would be right"},
    {"sent_is_durable", "no state leaves a node before it is durable there"},
    {"acked_is_durable", "no state that came is acked before it is durable"},
    {"one_commit_one_sum", "equal (shard, actor, commit) means equal sum everywhere, for ever"},
    {"actor_is_not_reused",
     "nobody counts on under an actor of which others hold what its own disk lost"},
    {"usable_follows_count",
     "adds may use a shard only once a majority knows that reads must collect it"},
    {"merge_is_a_join", "merge is commutative, associative and idempotent on live states"},
    {"answers_agree", "two answers to one token do not contradict each other"},
    {"session_is_kept", "a number above its session's floor is known, unless sessions are few"},
    {"eventual_add_needs_nobody", "an add at memory or disk is never refused for want of others"},
    {"damage_is_refused", "a store with a flipped bit never opens"},
    {"old_copy_is_noticed",
     "a disk that came back older than its peers know never goes by its old name"},
    {"replaced_store_ends",
     "a store that another was put in for carries out nothing, once told so"},
    {"bounded", "no queue grows beyond its bound"},
    {"every_call_ends", "every call is answered, once"},
    {"doubts_end", "after healing, what became of a change is known while its store exists"},
    {"all_ready_after_healing", "30 s after the last fault every node is ready and filled"},
    {"owners_agree_after_healing", "30 s after the last fault all owners hold the same"},
    {"nothing_acked_is_lost", "what was acked is counted in the end, unless its disk was lost"},
    {"lists_are_whole",
     "after healing, each counter that exists is listed once, none else is, and all are counted"},
    {"namespaces_agree",
     "after healing all nodes hold the same definitions, and no acked change of one is lost"},
    {"clocks_are_judged",
     "no node trusts a wrong wall clock, and after healing each trusts its own"},
    {"ended_stays_ended", "no node with a trusted clock shows what has ended"},
    {"counts_in_one_life",
     "an add to a counter that ends counts in one life, once, and until its end"},
    {"purged_is_gone", "what has ended is soon in no memory, on no disk and in no list"},
    {"actor_is_kept", "while no disk loses anything, an executor goes on under its actor"},
    {"actor_comes_back",
     "once all owners confirmed it, a store counts under the actor on its disk"},
    {"doubtful_clock_dates_nothing",
     "a node that does not trust its clock changes nothing that ends"},
    {"one_window_per_tier", "an add counts in one window of each tier, that of its time"},
    {"settled_does_not_change", "once a count is called settled, later answers give the same"},
    {"transactions_are_whole", "all that a transaction changes survives a crash, or nothing"},
    {"decided_at_home",
     "what is decided at home is decided there, so no limit is exceeded while the home stays"},
    {"distinct_is_exact",
     "a counter of elements has each register of those acknowledged, and no other than of those "
     "sent"},
    {"derived_follows_its_body",
     "a node counts the elements in its memory as if it looked at each register"},
    {"items_count_once",
     "an increment of an item is in its counter once, if it was acknowledged, and never twice"},
    {"works_after_healing", "after healing, adds and reads of every level are carried out"},
    {"no_crash", "no node meets what it cannot handle, and no check fails"},
}};
static_assert(static_cast<std::size_t>(Invariant::no_crash) + 1 == kInvariants.size());

}  // namespace

const InvariantInfo& describe(Invariant invariant) {
  return kInvariants[static_cast<std::size_t>(invariant)];
}

void Trace::line(Instant at, std::string text) {
  char when[32];
  const auto since = std::chrono::duration<double>(at - Timeline::kStart).count();
  std::snprintf(when, sizeof when, "%10.6f  ", since);
  std::string whole = when + std::move(text);
  if (reader_) reader_(whole);
  if (keep_ == 0) return;
  lines_.push_back(std::move(whole));
  if (lines_.size() > keep_) lines_.pop_front();
}

void Trace::fail(Instant at, Invariant invariant, std::string what) {
  if (failure_) return;
  say(at, [&] { return "BROKEN " + std::string(describe(invariant).name) + ": " + what; });
  failure_ = {invariant, std::move(what)};
}

}  // namespace quipu::sim
