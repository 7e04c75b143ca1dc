// collector.h: collects states from owners, and writes states to owners.
//
//   majority:  ask all owners ──▶ majority answered ──identical?──▶ the answer
//                                       └──▶ write the join to a majority ──▶ the answer
//   one:       ask a live owner ──▶ the answer; ask the others, too, if its link is lost
//              or it is silent for an interval
//   write:     write given states to a majority
//
// The write-back is ABD's rule (Attiya, Bar-Noy, Dolev 1995) on a lattice: after it, no later
// collect can see less. Overlapping collects may each see an add that the other does not. So
// this is monotone in real time but not linearizable.
//
// An answer counts towards a majority only if the replica has our fence and its copy is in
// sync. Owners without a complete, useful answer are asked again each interval until the
// deadline. When our own fence changes, everything is asked again.
//
// For states with bodies, it asks a majority for hashes first. If a majority has the same hash, it
// asks one of them for the state, this node if it is one. Else it asks all for their states.
//
// A write-back names the starts that answered. If replicas refuse it because one of these has
// ended, and no majority is left, the round collects again.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "cluster/gates/outbound.h"
#include "cluster/gates/residency.h"
#include "cluster/gates/task_queue.h"
#include "cluster/membership/view.h"
#include "cluster/reads/owner_set.h"
#include "protocol/duration_histogram.h"
#include "protocol/instant.h"

namespace quipu {

enum class RoundId : std::uint64_t {};

class Collector {
 public:
  // All must outlive it.
  Collector(const View& view, const Executor& executor, Outbound& out, Residency& residency,
            TaskQueue& tasks);

  // In the order of `shards`. no_quorum: the deadline passed. A round in mode one never fails;
  // states that no live owner answered are missing.
  struct Finished {
    RoundId round;
    Code code = Code::ok;
    std::vector<ShardKey> shards;
    std::vector<ShardState> states;
    std::vector<bool> missing;
    std::vector<std::optional<OtherKind>> others;  // what some owner has in place of the shard
    std::vector<VersionEntry> versions;            // of the stores that wrote these states
    // mode one: the worst of the answering nodes' own views, as of the time of asking
    Instant asked{};
    std::uint32_t age_ms = 0;
    bool complete = true;
  };

  // A round knows its askers. When it ends it calls each, as a task, once this node's states of
  // its shards are in memory: they may be newer than a peer's answer.
  using Then = std::function<void(Instant now, const Finished& finished)>;
  enum class Mode { one, majority };
  RoundId collect(Instant now, Mode mode, std::vector<ShardKey> shards, Instant deadline,
                  Then then);
  RoundId write(std::vector<ShardKey> shards, std::vector<ShardState> states, Instant deadline,
                Then then);
  // One more asker of the same. REQUIRES: the earlier askers were not called yet.
  void join(RoundId round, Then then);

  void on_collected(Instant now, MemberIndex from, const Collected& answer);
  void on_written(MemberIndex from, const WrittenBack& answer);
  void on_link_lost(MemberIndex member);
  // Config or pins changed: discards all answers, and asks again.
  void on_fence_changed();
  void on_tick(Instant now);

  [[nodiscard]] std::size_t size() const { return rounds_.size() + ended_.size(); }
  // From when a round asked until it knew a shard's state: from one owner, or from a majority. One
  // observation for each shard.
  struct Durations {
    DurationHistogram one, majority;
  };
  [[nodiscard]] const Durations& durations() const { return durations_; }

 private:
  enum class Phase { one, collecting, writing };
  struct Shard {
    Partition partition{};
    bool by_home = false;  // its changes go to the counter's home, so that knows them first
    ShardState state;      // the join so far
    bool answered = false;
    bool identical = true;  // all counted answers were the same
    OwnerSet holders{};     // answered, or hold the join
    OwnerSet asked{};       // have an ask outstanding
    OwnerSet refused{};     // took no write in this interval
    bool resolved = false;
    std::optional<OtherKind> other;
    // Used for a state with bodies, in mode majority:
    bool by_hash = false;  // hashes are asked for, and these came
    std::vector<std::pair<Hash128, OwnerSet>> hashes;
    std::optional<std::pair<Hash128, OwnerSet>> agreed;  // then one of these owners is asked
  };
  struct Round {
    Phase phase = Phase::collecting;
    Instant deadline{};
    std::vector<ShardKey> shards;
    std::vector<Shard> work;
    std::vector<VersionEntry> versions;
    std::vector<BootId> boots;  // of the starts that answered; empty: the states were given
    std::size_t unresolved = 0;
    std::uint32_t age_ms = 0;
    bool complete = true;
    Instant asked{};
    Instant collected{};  // … when the states that it has were asked for
    std::vector<Then> askers;
    bool ticked = false;  // an interval has ended since
    bool slow = false;    // another one has: in mode one, all owners are asked
  };
  struct Ask {
    RoundId round{};
    Phase phase{};  // answers to questions of an earlier phase are ignored
    MemberIndex member = 0;
    std::vector<std::size_t> shards;  // positions in the round
    bool by_hash = false;
  };
  using Rounds = std::map<RoundId, Round>;

  RoundId start(Round round, Then then);
  void pursue(RoundId id, Round& round);
  void ask(RoundId id, Round& round, MemberIndex member, std::vector<std::size_t> shards);
  [[nodiscard]] bool wants(const Round& round, const Shard& shard, MemberIndex member) const;
  [[nodiscard]] OwnerSet only(const Shard& shard, MemberIndex member) const {
    return {view_.owners(shard.partition), member};
  }
  std::optional<Ask> take_ask(std::uint64_t id, MemberIndex from);
  void forget_answered_asks();
  void count(Shard& shard, Round& round, OwnerSet holders);
  [[nodiscard]] OwnerSet told_hashes(const Shard& shard) const;
  void take_hash(Shard& shard, const Hash128& hash, MemberIndex from);
  void weigh_hashes(Shard& shard) const;
  void take_state(Round& round, std::size_t i, const DeltaEntry& entry, MemberIndex from);
  [[nodiscard]] MemberIndex to_be_asked(const Shard& shard) const;
  [[nodiscard]] bool take_answer(Shard& shard, const DeltaEntry& entry) const;
  void advance(RoundId id);
  void begin(Round& round, Phase phase);
  void begin_anew(Instant now, Round& round);
  [[nodiscard]] bool has_what_is_old(Instant now, const Round& round) const;
  [[nodiscard]] bool writes_in_vain(const Round& round) const;
  void finish(RoundId id, Code code);
  struct Result {
    Finished finished;
    std::vector<Then> askers;
  };
  void tell(Instant now, const std::shared_ptr<Result>& result, Residency::Turn turn);

  const View& view_;
  const Executor& executor_;
  Outbound& out_;
  Residency& residency_;
  TaskQueue& tasks_;
  Rounds rounds_;
  std::map<RoundId, std::shared_ptr<Result>> ended_;  // their askers were not called yet
  std::map<std::uint64_t, Ask> asks_;
  Durations durations_;
  std::uint64_t next_id_;
};

}  // namespace quipu
