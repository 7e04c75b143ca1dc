// ends.h: clients whose counters end, and what must come of it.
//
//   living   each add says how long the counter lives if the add creates it. Adds come in bursts,
//            so their lives can be told apart
//   expiring adds first, then deadlines that are set, moved and taken back, and resets
//
// Half of the adds are decisions (cluster/changes/decision.h): an add and its deadline, or a new
// value.
//
// Where the seed has elements, half of the counters are no sums, and no decisions are about these.
// Half of their adds have a token, and go through two nodes. Births of bodies are rounded down, so
// what a node adds that has not heard of an end may count into the life that ended, for up to 2 s.
//
// In half of these seeds, further counters of the kind `distinct` begin anew in one moment: an add,
// a reset and an add at one owner. Nothing else changes them meanwhile, so the second add must
// last.
//
// The i-th add adds 4^i, as on the ledger's witness keys: a total shows which adds are in it.
//
//   sum               the total
//   frequency, top    the count of their one item. Its cells soon take more than 32 bits
//   distinct          the i-th add adds an element with a register of its own. The checks see a
//                     body as a total that has these digits
//
// The checks know nothing of births and merges. They follow from when an add was asked and
// answered, and from how far apart two trusted clocks can be.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "quipu/kind.h"
#include "tests/simulator/actor_watch.h"
#include "tests/simulator/elements.h"
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
  [[nodiscard]] std::size_t counters() const { return keys_.size() + again_.size(); }
  // Those of the kind `distinct`.
  [[nodiscard]] std::vector<std::string> keys_of_elements() const;

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
    // How often it was sent, how often it was answered, and with a refusal.
    std::size_t sent = 1, answered = 0, refusals = 0;
  };
  struct Key {
    std::string name;
    Duration ttl{};  // zero: expiring
    Instant burst_ends{}, next_burst{};
    Wall watched{};  // the deadline that was watched last
    std::vector<Add> adds;
    Instant since{};  // for one that is only watched
    Kind kind = Kind::sum;
    [[nodiscard]] bool is_sum() const { return kind == Kind::sum; }
    [[nodiscard]] ShardRef ref() const { return {name, shard_of(kind)}; }
    [[nodiscard]] bool lives() const { return ttl != Duration::zero(); }
  };

  struct Session {  // with an executor
    Serial serial{};
    std::uint64_t next = 1;
  };

  void act();
  void add(std::size_t key);
  void begin_in_slices(const Key& key, SimNode& node);
  void open_again();
  void begin_again(const Key& key, SimNode& node);
  [[nodiscard]] bool executes(const SimNode& node, const Key& key) const;
  [[nodiscard]] Token token(const Key& key);
  // That was just acked at quorum. Nothing, or who has not got it, though it must.
  [[nodiscard]] std::string who_lacks(const Key& key, std::size_t digit) const;
  void on_added(std::size_t key, std::size_t digit, Ack ack, const Done& done);
  [[nodiscard]] SimNode* not_owner_of(const Key& key, SimNode* other);
  [[nodiscard]] std::string decision(const Key& key, std::int64_t amount);
  void change(std::size_t key);
  void read(std::size_t key);
  void read(std::size_t key, SimNode& node, ReadLevel level);
  void watch_the_end(std::size_t key, Wall deadline);
  void expire(std::size_t key, SimNode& node, Wall at, Ack ack);
  void query(std::size_t key, SimNode& node, ReadLevel level);
  [[nodiscard]] static std::int64_t digits_of(const Key& key, const std::string& body);
  [[nodiscard]] static std::int64_t total_in(const Key& key, const std::string& reply);
  [[nodiscard]] Duration apart_for(const Key& key) const;
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
  Random kind_draws_;
  Random again_draws_;
  Random slice_draws_;
  const bool begins_again_;
  Duration apart_{};  // the most between two trusted clocks
  std::deque<Key> keys_;
  std::deque<Key> again_;  // until the end, when they are among the others
  ActorWatch actors_;
  std::map<StoreId, Session> sessions_;
  std::size_t unended_ = 0;
  bool stopped_ = false;
};

}  // namespace quipu::sim
