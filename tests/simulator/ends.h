// ends.h: clients whose counters end, and what must come of it.
//
//   living   each add says how long the counter lives if the add creates it. Adds come in bursts,
//            so their lives can be told apart
//   expiring adds first, then deadlines that are set, moved and taken back, and resets
//
// Half of the adds are decisions (cluster/changes/decision.h): an add and its deadline, or a new
// value.
//
// The i-th add of a counter adds 4^i, as on the ledger's witness keys: a total shows which adds are
// in it. The checks know nothing of births and merges. They follow from when an add was asked and
// answered, and from how far apart two trusted clocks can be.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "tests/simulator/actor_watch.h"
#include "tests/simulator/ledger.h"
#include "tests/simulator/node.h"
#include "tests/simulator/options.h"

namespace quipu::sim {

// No other counter has this prefix. The oracle, which knows of no ends, leaves these out.
inline constexpr std::string_view kEndsPrefix = "ends:";

class EndsClients {
 public:
  // All must outlive it.
  EndsClients(const Shared& shared, const std::vector<SimNode*>& nodes, const Ledger& ledger,
              const Options& options);

  // Until stop().
  void work();
  void stop() { stopped_ = true; }
  [[nodiscard]] std::size_t counters() const { return keys_.size(); }

  // ---- once nothing fails any more ----
  // Gives every counter that has none a deadline, in a moment.
  void end_all();
  [[nodiscard]] bool all_have_an_end() const { return unended_ == 0; }
  // From then on each has ended, whatever trusted clock one asks.
  [[nodiscard]] Instant all_ended() const;
  // Nothing, or a node that shows one of them in a read.
  [[nodiscard]] std::string who_shows() const;
  // Nothing, or a node that holds one of them, in memory or at rest.
  [[nodiscard]] std::string who_holds() const;
  // From now on the last two are about that counter, too. It never had an end before.
  void watch(std::string key);

 private:
  struct Add {
    Instant begun{};
    Instant latest{};  // when it was carried out, at the latest
    bool refused = false;
    Instant acked = kNever;  // at quorum
    Instant shown = kNever;  // by a strong read
    Instant gone = kNever;   // by a later one
  };
  struct Key {
    std::string name;
    Duration ttl{};  // zero: expiring
    Instant burst_ends{}, next_burst{};
    Wall watched{};  // the deadline that was watched last
    std::vector<Add> adds;
    Instant since{};  // for one that is only watched
    [[nodiscard]] bool lives() const { return ttl != Duration::zero(); }
  };

  void act();
  void add(std::size_t key);
  [[nodiscard]] SimNode* not_owner_of(const Key& key, SimNode* other);
  [[nodiscard]] std::string decision(const Key& key, std::int64_t amount);
  void change(std::size_t key);
  void read(std::size_t key);
  void read(std::size_t key, SimNode& node, ReadLevel level);
  void watch_the_end(std::size_t key, Wall deadline);
  void expire(std::size_t key, SimNode& node, Wall at, Ack ack);
  void check(std::size_t key, const SimNode& node, ReadLevel level, const Value& value,
             Instant begun, bool trusted);
  [[nodiscard]] Instant ended(const Key& key, std::size_t digit) const;
  [[nodiscard]] bool must_show(const Key& key, std::size_t digit, Instant begun,
                               Instant answered) const;
  [[nodiscard]] bool excused(const Key& key) const;
  void fail(Invariant invariant, std::string what) const {
    shared_.trace.fail(shared_.time.now(), invariant, std::move(what));
  }

  Shared shared_;
  const std::vector<SimNode*>& nodes_;
  const Ledger& ledger_;
  const Options& options_;
  Random random_;
  Random decisions_;
  Duration apart_{};  // the most between two trusted clocks
  std::deque<Key> keys_;
  ActorWatch actors_;
  std::size_t unended_ = 0;
  bool stopped_ = false;
};

}  // namespace quipu::sim
