// anti_entropy.h: finds and fetches what replication missed.
//
// Each node pulls from each peer with which it shares partitions. The peer pulls for itself.
// So each side only asks, compares and merges:
//
//   idle ─▶ root ─differs─▶ partitions ─(a second look later)─▶ leaves ─▶ keys ─▶ states ─▶ idle
//
// A routine pull follows only differences that remain a second later, since under load
// replicas always differ by what is on its way. An urgent pull (after a new link, or when the
// peer lost its outbox) follows everything at once. When it ends, everything that the peer
// held when it began is durable here. A new owner is filled, and a rebuilt node heals, in the
// same way.
//
// One question is open at a time, and questions are spaced so that answers take no more than
// the configured share of the link. A message that does not answer the open question ends the
// pull, unfinished: an answer to another question repairs nothing.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "cluster/gates/node_settings.h"
#include "cluster/gates/outbound.h"
#include "cluster/membership/view.h"
#include "protocol/instant.h"
#include "protocol/random.h"

namespace quipu {

class AntiEntropy {
 public:
  // All must outlive it.
  AntiEntropy(Instant now, const View& view, Executor& executor, Outbound& out,
              const NodeSettings& settings, Random random);

  // Everything that this peer holds must be pulled. `epoch` is what to report afterwards
  // (Freshness). Restarts a pull that is under way with this peer.
  void urge(Instant now, MemberIndex peer, std::uint64_t epoch);
  void on_link_lost(MemberIndex peer);
  void on_pulled(Instant now, MemberIndex from, const Pulled& answer);
  void on_tick(Instant now);

  // An urgent pull that ended, and its last merge is durable.
  struct Repaired {
    MemberIndex peer;
    std::uint64_t epoch;
    bool whole;  // the peer's copy was in sync all the while
  };
  [[nodiscard]] std::vector<Repaired> take_repaired(Commit durable);
  // A pull for that peer and epoch has ended, and is not durable yet.
  [[nodiscard]] bool about_to_repair(MemberIndex peer, std::uint64_t epoch) const;

  [[nodiscard]] Instant deadline() const;
  struct Counts {
    std::uint64_t pulls = 0, shards_repaired = 0, bytes_pulled = 0;
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }
  // When a pull of that peer ended last. None: no pull has.
  [[nodiscard]] std::optional<Instant> finished(MemberIndex peer) const { return finished_[peer]; }

 private:
  enum class Stage { idle, root, partitions, second_look, leaves, keys, states };
  struct Pulling {
    Stage stage = Stage::idle;
    bool urgent = false;
    std::uint64_t epoch = 0;
    bool whole = true;                 // all answers so far came from a copy in sync
    Instant next{};                    // when to begin, or to ask the next question
    std::optional<Pull> asked;         // the open question
    std::deque<Partition> partitions;  // still to compare
    std::deque<Partition> differing;   // found so far
    std::deque<LeafId> leaves;
    std::optional<ShardKey> after;  // in the first of them: everything up to here was answered
    std::deque<ShardKey> shards;
  };

  void begin(Instant now, MemberIndex peer);
  void ask(MemberIndex peer);
  void schedule(Instant now, Pulling& pulling);
  [[nodiscard]] bool answers(const Pull& asked, const Pulled& answer) const;
  [[nodiscard]] LeafId leaf_of(const ShardKey& shard) const;
  void compare_partitions(MemberIndex peer, const Pulled& answer);
  void compare_leaves(Pulling& pulling, const Pulled& answer);
  void compare_keys(Pulling& pulling, const Pulled& answer);
  std::size_t take_states(Pulling& pulling, const Pulled& answer);
  void advance(Instant now, MemberIndex peer);
  void all_shared(MemberIndex peer, std::deque<Partition>& partitions) const;
  void finish(Instant now, MemberIndex peer);

  const View& view_;
  Executor& executor_;
  Outbound& out_;
  const NodeSettings& settings_;
  Random random_;
  std::vector<Pulling> peers_;
  std::vector<std::optional<Instant>> finished_;  // by peer
  std::uint64_t next_id_;
  struct Merged {
    Repaired repaired;
    Commit commit;  // repaired once this is durable
  };
  std::vector<Merged> merged_;
  Counts counts_;
};

}  // namespace quipu
