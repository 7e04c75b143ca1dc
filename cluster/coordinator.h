// coordinator.h: carries out what changes things.
//
//   op ─▶ which shard? ─▶ who executes? ─▶ here: executor ─▶ memory / disk / quorum
//                                      └─▶ elsewhere: forwarder
//
// Adds and resets of one shard with a token go to the executor that the token
// names, and to no other. Without one, this node executes for the shards that it
// owns, forwards to a live owner of the others, and executes by itself if no owner
// is to be reached: any member may hold any shard's state.
//
// Larger things are made of these: a reset of a whole counter is one reset per
// shard; a raised shard count is two writes to a majority.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cluster/collector.h"
#include "cluster/forwarder.h"
#include "cluster/node_settings.h"
#include "cluster/quorum_waits.h"
#include "cluster/reads.h"
#include "cluster/replicator.h"
#include "protocol/random.h"

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
    const NodeSettings& settings;
  };
  Coordinator(Parts parts, Random random) : parts_(parts), random_(random) {}

  // The ops of one client, or of one Forward; each is answered by one Done.
  void on_ops(Instant now, Origin::Kind kind, std::uint64_t who, std::span<const Op> ops);
  // Its executor went away before it was sent: it may go elsewhere.
  void reroute(Instant now, const Forwarder::Unsent& unsent);
  void on_finished(Instant now, const Collector::Finished& finished);
  void on_internal(Instant now, Outbound::Internal internal);
  void on_storage_full(bool full) { storage_full_ = full; }
  // Memory is filling up: clients are not read, and what is forwarded is refused.
  void on_swamped(bool swamped) { swamped_ = swamped; }

  [[nodiscard]] std::size_t size() const { return rounds_.size() + resets_.size(); }
  struct Counts {
    std::uint64_t adds_executed = 0, resets_executed = 0, refused = 0, forwarded = 0;
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  // An op that waits for a round, and what is to be done with the result.
  enum class Step { learn_usable, observe_reset, count_for_reset, raise_count, raise_usable };
  struct Waiting {
    Step step{};
    Op op;  // its key borrows `key`
    std::string key;
    Origin origin;
    Instant deadline{};
  };
  // A reset of all shards of a counter.
  struct WholeReset {
    Origin origin;
    std::size_t open = 0;
    std::size_t applied = 0;
    Done worst;
  };
  struct Job {
    Origin origin;
    Op op;
    Instant deadline{};
  };

  void route(Instant now, const Op& op, const Placement& placement, const Origin& origin);
  void route_by_token(Instant now, const Op& op, const Origin& origin, Instant deadline);
  void route_by_owner(Instant now, Op op, const Placement& placement, const Origin& origin,
                      Instant deadline);
  void open_session(const Op& op, const Origin& origin, Instant deadline);
  void execute(Instant now, const Op& op, const Origin& origin, Instant deadline);
  void carry_out(Instant now, const Op& op, const Origin& origin, Instant deadline);
  void forward(const Op& op, MemberIndex executor, const Origin& origin, Instant deadline);
  void enqueue(const Op& op, const Origin& origin, Instant deadline, Code refuse = Code::ok);
  void run_queue();
  void conclude(const Job& job, const Applied& applied);
  void start_raise(const Op& op, const Origin& origin, Instant deadline);
  void continue_raise(const Waiting& waiting, Code code);
  void reset_whole(Instant now, const Waiting& waiting, const Collector::Finished& finished);
  void wait_for(RoundId round, Step step, const Op& op, const Origin& origin, Instant deadline);
  void refuse(const Origin& origin, Code code, std::string detail);
  [[nodiscard]] ShardIndex choose_shard(std::string_view key, const Placement& first);
  [[nodiscard]] Code reason_to_refuse(const Op& op, Partition partition) const;
  [[nodiscard]] static Code reason_to_refuse(const Op& op, const Collector::Finished& first_shard);
  [[nodiscard]] bool full() const;  // no room for one more operation that waits
  [[nodiscard]] Placement place(const Op& op) const;

  Parts parts_;
  Random random_;
  bool storage_full_ = false;
  bool swamped_ = false;
  std::map<RoundId, Waiting> rounds_;
  std::map<std::uint64_t, WholeReset> resets_;
  std::uint64_t next_reset_ = 1;
  std::vector<Job> jobs_;  // adds and resets to be applied together
  std::vector<Change> changes_;
  std::vector<Applied> applied_;
  Counts counts_;
};

// What is wrong with an op whoever is to execute it; nullptr: nothing.
[[nodiscard]] const char* objection(const Op& op);

}  // namespace quipu
