// coordinator.h: carries out changes.
//
//   op ─▶ which shard? ─▶ which executor? ─▶ here: executor ─▶ memory / disk / quorum
//                                         └─▶ elsewhere: forwarder
//
// Adds and resets of one shard with a token go to the executor that the token names, and to
// no other. Without a token, this node executes for the shards that it owns, forwards to a live
// owner of the others, and executes by itself if it can reach no owner: any member may hold any
// shard's state. In a namespace with `decide = home`, the first owner that is up executes
// (View::home). A decision needs an owner: if none is up, it is refused (decision.h).
//
// Larger changes are made of these: a reset of a whole counter is one reset per shard, and a
// raised number of shards is two writes to a majority.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "cluster/changes/decision.h"
#include "cluster/changes/executor_choice.h"
#include "cluster/changes/forwarder.h"
#include "cluster/changes/owned_op.h"
#include "cluster/changes/shard_choice.h"
#include "cluster/gates/node_settings.h"
#include "cluster/gates/residency.h"
#include "cluster/membership/wall_clock.h"
#include "cluster/reads/collector.h"
#include "cluster/reads/reads.h"
#include "cluster/replication/quorum_waits.h"
#include "cluster/replication/replicator.h"
#include "storage/kinds/units.h"

namespace quipu {

class Coordinator {
 public:
  struct Parts {  // all must outlive it
    const View& view;
    Executor& executor;
    Outbound& out;
    Collector& collector;
    Reads& reads;
    Replicator& replicator;
    QuorumWaits& waits;
    Forwarder& forwarder;
    Residency& residency;
    const WallClock& clock;
    const NodeSettings& settings;
  };
  Coordinator(Parts parts, Random random)
      : parts_(parts),
        choice_(parts.view, parts.executor, parts.reads, random),
        executors_(parts.view, parts.executor) {}

  // The ops of one client, or of one Forward; each is answered by one Done.
  void on_ops(Instant now, Origin::Kind kind, std::uint64_t who, std::span<const Op> ops);
  // Its executor went away before the op was sent, or its disk is full: it may go elsewhere.
  void reroute(Instant now, const OwnedOp& op, const Origin& origin, Instant deadline);
  // The outcome of an op whose origin is an operation of this coordinator.
  void on_outcome(Instant now, std::uint64_t operation, Done&& done);
  void on_storage_full(bool full);
  // Carries out decisions, and must outlive this. Without one, decisions are refused.
  void decide_by(const Decider& decider) { decider_ = &decider; }
  // Whether this node, by itself and at once, would decide about all of these counters.
  // `first` is one of them: the key of their op.
  [[nodiscard]] bool decides(std::string_view first, std::span<const std::string_view> keys) const;
  // Once per gossip interval.
  void on_tick(Instant now);
  // Memory is filling up: clients are not read, and forwarded ops are refused.
  void on_swamped(bool swamped) { swamped_ = swamped; }
  // From now on, other nodes' changes go to other executors. Those of this node's own clients are
  // still carried out.
  void begin_closing();

  [[nodiscard]] std::size_t size() const { return waiting_ + wholes_.size() + again_.size(); }
  // By Ack: plain adds of clients, executed at once by add_here() and apply_here().
  using PlainAdds = std::array<std::uint64_t, 4>;
  struct Counts {
    // Without the plain ones.
    std::uint64_t adds_executed = 0, resets_executed = 0, expiries_executed = 0,
                  decisions_executed = 0, refused = 0, forwarded = 0;
    PlainAdds plain_adds{};
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  // An op on its way to its executor.
  struct Job {
    Op op;
    Placement placement;  // of its shard; if it may be any shard: of the first
    Origin origin;
    Instant deadline{};
  };
  // How a job continues once the round that it waits for has ended.
  using Next = void (Coordinator::*)(Instant now, const Job& job,
                                     const Collector::Finished& finished);
  // An op that is done once several others are: a reset of all shards of a counter, or the waits
  // for a majority of an add that counts in windows.
  struct Whole {
    Origin origin;
    std::size_t open = 0;
    std::size_t applied = 0;
    Done worst;
    const char* if_partly = "";  // why it is in doubt then
  };
  // A retry of an add that counted in windows earlier, in which of them nobody knows. It waits
  // until a majority has all that this node had done up to its commit.
  struct Again {
    Origin origin;
    Partition partition{};
    Commit commit{};
    Instant deadline{};
    Done done;
  };
  // A new counter that is to be spread.
  struct Spread {
    std::string key;
    ShardIndex shards = 1;
  };
  using Spreads = std::map<std::uint64_t, Spread>;

  void on_op_by_namespace(Instant now, Op op, const Placement& placement, Origin origin);
  [[nodiscard]] bool would_create(const ShardRef& shard, const Placement& placement) const;
  void spread(std::string_view key);
  void start_spreads(Instant now);
  void on_spread(Instant now, std::uint64_t operation, Code code);
  void wait_behind_all(Spreads::node_type spread);
  [[nodiscard]] bool add_here(const Op& op, const Placement& placement, const Origin& origin);
  [[nodiscard]] bool apply_here(const Op& op, const Placement& placement, const Origin& origin);
  void route(Instant now, Job job);
  void route_by_token(Instant now, const Job& job);
  void route_by_owner(Instant now, Job job);
  void route_together(Instant now, const Job& job, const std::vector<std::string_view>& keys);
  void open_session(const Job& job);
  void execute(Instant now, const Job& job);
  void add_if_usable(Instant now, const Job& job);
  void observe(Instant now, const Job& job);
  [[nodiscard]] std::optional<MemberIndex> other_holder(StoreId store) const;
  void forward(const Job& job, MemberIndex executor);
  void apply(const Job& job, Code refuse = Code::ok);
  void take(const Job& job, Code refuse);
  [[nodiscard]] Needs missing(const Job& job) const;
  void park(const Job& job, Needs needs);
  void go_on(Instant now, Job job);
  void decide(const Job& job, Code refuse);
  // `rests_on`: of bodies, the units that a majority must hold. None: all.
  void conclude(const Job& job, const Applied& applied, std::string reply = {},
                const Units& rests_on = {});
  void wait_for_majority(const Job& job, const Applied& applied, const Units& rests_on, Done done);
  void answer_reached(Instant now);

  // Rounds, and the jobs that continue after them.
  [[nodiscard]] Collector::Then then(const Job& job, Next next);
  void collect(Instant now, Collector::Mode mode, ShardIndex shard, const Job& job, Next next);
  void write_count(const Job& job, ShardIndex usable, Next next);
  [[nodiscard]] bool ends(const Job& job) const;
  void start_raise(const Job& job);
  void raise_usable(Instant now, const Job& job, const Collector::Finished& counted);
  void end_raise(Instant now, const Job& job, const Collector::Finished& usable);
  void add_as_told(Instant now, const Job& job, const Collector::Finished& first_shard);
  void choose_as_told(Instant now, const Job& job, const Collector::Finished& first_shard);
  void go_on_as_observed(Instant now, const Job& job, const Collector::Finished& observed);
  void reset_each_shard(Instant now, const Job& job, const Collector::Finished& first_shard);

  void refuse(const Origin& origin, Code code, std::string detail);
  [[nodiscard]] Code reason_to_refuse(const Job& job) const;
  [[nodiscard]] static Code reason_to_refuse(const Op& op, const Collector::Finished& first_shard);
  // No room for so many more operations that wait.
  [[nodiscard]] bool full(std::size_t more = 1) const;
  // This node closes, and another node asks it.
  [[nodiscard]] bool is_left_to_others(const Origin& origin) const;
  [[nodiscard]] std::vector<std::string_view> keys_of(const Op& op) const;
  [[nodiscard]] bool has_windows(const Op& op, std::string_view key) const;
  [[nodiscard]] std::vector<ShardKey> others_of(const Op& op) const;
  [[nodiscard]] Placement place(const Op& op) const;
  [[nodiscard]] Job job_of(const Op& op, const Origin& origin, Instant deadline) const {
    return {op, place(op), origin, deadline};
  }

  Parts parts_;
  ShardChoice choice_;
  ExecutorChoice executors_;
  const Decider* decider_ = nullptr;
  bool storage_full_ = false;
  bool swamped_ = false;
  bool closing_ = false;
  std::size_t waiting_ = 0;  // jobs that wait for a round
  std::map<std::uint64_t, Whole> wholes_;
  std::vector<Again> again_;
  Spreads spreads_;          // that wait, by number
  Spreads started_spreads_;  // whose raise is under way, by operation
  std::uint64_t next_operation_ = 1;
  Counts counts_;
};

// Why an op is invalid on every executor; nullptr: it is valid.
[[nodiscard]] const char* objection(const Op& op);

}  // namespace quipu
