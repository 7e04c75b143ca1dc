// reads.h: answers reads at their level.
//
//   shard 0 of every key ──shard count──▶ the other shards ──▶ one sum per key
//
//   local   own memory; other owners' counters from the rollup cache
//   fresh   own memory; other owners' counters from a live owner, now
//   strong  a majority of each shard's owners, through the collector
//
// Shard 0 comes first because it alone says how many shards there are.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/gates/node_settings.h"
#include "cluster/reads/range_plan.h"
#include "cluster/reads/read_sources.h"
#include "cluster/reads/rollup_cache.h"
#include "cluster/replication/freshness.h"
#include "protocol/client_messages.h"

namespace quipu {

class Reads {
 public:
  // All must outlive it.
  Reads(const View& view, const Executor& executor, Outbound& out, Collector& collector,
        const Freshness& freshness, const NodeSettings& settings);

  // `level`: that of level_of().
  void on_read(Instant now, ClientId client, const Read& read, ReadLevel level);
  // Answered by one RangeReply. REQUIRES: the node knows the date.
  void on_range(Instant now, ClientId client, const RangeRequest& request, ReadLevel level);
  // A read that names no level has the highest that the namespaces of its keys say.
  [[nodiscard]] ReadLevel level_of(ReadLevel level, std::span<const std::string_view> keys) const;
  [[nodiscard]] ReadLevel level_of(std::string_view key) const;
  // At `local`, the values that are in this node's memory. For the other keys Value::shards is
  // 0, and nothing else is set: ask on_read for them.
  void read_now(Instant now, std::span<const std::string_view> keys, std::span<Value> values) const;
  // Once per gossip interval: asks again for counters that are being read.
  void refresh(Instant now);

  // How many shards of the counter adds may use, if this node knows.
  [[nodiscard]] std::optional<ShardIndex> usable(Instant now, std::string_view key);
  // Asks an owner of the first shard for that. Joins a round that already asks.
  void ask_usable(Instant now, std::string_view key, Instant deadline, Collector::Then then);

  [[nodiscard]] std::size_t size() const { return operations_.size(); }
  [[nodiscard]] std::size_t cached() const { return cache_.size(); }
  // Where the values of all answered reads came from. Reads through read_now() are not counted.
  [[nodiscard]] const ReadSources& sources() const { return sources_; }

 private:
  struct Operation {
    ClientId client{};
    std::uint64_t id = 0;
    ReadLevel level{};
    Asked asked{};
    ReadSource source = ReadSource::memory;
    Instant deadline{};
    std::vector<std::string> keys;
    std::vector<Value> refused;  // by key: a code that is not ok
    std::map<ShardKey, Piece> pieces;
    std::set<RoundId> waiting;
    std::size_t bytes = 0;  // its part of Reads::bytes_, taken when it began to wait
    bool rest = false;      // beyond shard 0
    Code failed = Code::ok;
    std::optional<RangePlan> range;  // then it has one key, and its windows are wanted, too
  };
  using Operations = std::map<std::uint64_t, Operation>;

  // About how much memory the operation takes in its current phase.
  [[nodiscard]] static std::size_t cost(const Operation& operation);
  // Whether there is room for it while it waits for other nodes; if so, takes the room.
  [[nodiscard]] bool may_wait(Operation& operation);
  Operations::iterator begin(Instant now, ClientId client, std::uint64_t id, ReadLevel level,
                             std::uint32_t timeout_ms);
  void finish(Operation& operation, Instant now);
  void erase(Operations::iterator at);
  void advance(Instant now, Operations::iterator at);
  bool gather(Instant now, std::uint64_t number, Operation& operation);
  [[nodiscard]] std::vector<ShardKey> wanted(const Operation& operation) const;
  std::optional<Piece> at_hand(Instant now, Operation& operation, const ShardKey& shard);
  [[nodiscard]] bool answer_range_now(Instant now, ClientId client, const RangeRequest& request,
                                      const RangePlan& plan);
  template <class PieceOf>
  [[nodiscard]] RangeReply range(Instant now, std::string_view key, ReadLevel level,
                                 ShardIndex shards, const RangePlan& plan, PieceOf piece_of) const;
  [[nodiscard]] bool answers_itself(const Placement& shard) const;
  [[nodiscard]] Piece held(Instant now, const Age& age, const Entry* entry) const;
  [[nodiscard]] bool has_ended(Instant now, Wall ends) const;
  [[nodiscard]] std::uint64_t expires_in(Instant now, Wall ends) const;
  bool answer_now(Instant now, ClientId client, const Read& read);
  void ask(Instant now, std::uint64_t number, Operation& operation,
           const std::vector<ShardKey>& shards);
  RoundId collect(Instant now, Collector::Mode mode, std::vector<ShardKey> shards,
                  Instant deadline);
  void on_finished(Instant now, Collector::Mode mode, const Collector::Finished& finished);
  template <class PieceOf>
  [[nodiscard]] Value value(Instant now, ReadLevel level, ShardIndex shards,
                            PieceOf piece_of) const;
  [[nodiscard]] Value value(Instant now, const Operation& operation, std::size_t key) const;
  void refuse(const Read& read, ClientId client, Asked asked, Code code, const char* why);

  const View& view_;
  const Executor& executor_;
  Outbound& out_;
  Collector& collector_;
  const Freshness& freshness_;
  const NodeSettings& settings_;
  RollupCache cache_;
  Operations operations_;
  std::multimap<RoundId, std::uint64_t> waiters_;
  std::size_t bytes_ = 0;  // of waiting operations, about
  std::uint64_t next_ = 1;
  ReadSources sources_;
};

}  // namespace quipu
