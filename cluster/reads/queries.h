// queries.h: answers questions about the bodies of counters, such as how many different elements
// several counters have together (storage/kinds/kind.h).
//
//   keys ──▶ the state of each: own memory, or a round ──▶ the kind's answer(all bodies)
//
// The first shard of a counter in slices says which slices a question is about. These are looked at
// next, in the same way.
//
// A range asks for one number for each step: that of all windows of the step together.
//
//   local, fresh   own memory; of other owners' counters, the state of a live owner
//   strong         a majority of each counter's owners, through the collector
//
// A local query is answered from the question cache if this node, with all of its reactors, answers
// for none of the counters. Otherwise it is asked each time: it must show what was just added
// through this node. So is a range.
//
// Bodies are joined here and never written: that is what a strong read's write-back does.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/gates/node_settings.h"
#include "cluster/reads/collector.h"
#include "cluster/reads/question_cache.h"
#include "cluster/reads/range_plan.h"
#include "cluster/reads/read_sources.h"
#include "cluster/replication/freshness.h"
#include "protocol/client_messages.h"

namespace quipu {

class Queries {
 public:
  // All must outlive it.
  Queries(const View& view, const Executor& executor, Outbound& out, Collector& collector,
          const Freshness& freshness, const NodeSettings& settings)
      : view_(view),
        executor_(executor),
        out_(out),
        collector_(collector),
        freshness_(freshness),
        settings_(settings),
        cache_(settings.question_bytes, settings.gossip_interval) {}

  // Answered by one QueryReply. REQUIRES: `level` is one.
  void on_query(Instant now, ClientId client, const Query& query, ReadLevel level);
  // Answered by one RangeReply. REQUIRES: the same, the kind is not the sum, and the node knows the
  // date.
  void on_range(Instant now, ClientId client, const RangeRequest& request, ReadLevel level);
  // Once per gossip interval: asks again the questions that are being read.
  void refresh(Instant now);
  [[nodiscard]] std::size_t size() const { return operations_.size(); }
  // Bytes of cached answers, about.
  [[nodiscard]] std::size_t cached_bytes() const { return cache_.used(); }
  // Where the values of all answered queries came from.
  [[nodiscard]] const ReadSources& sources() const { return sources_; }

 private:
  struct Operation {
    std::optional<ClientId> client{};  // none: it refreshes the cache
    std::uint64_t id = 0;
    Kind kind{};
    ReadLevel level{};
    Asked asked{};
    ReadSource source = ReadSource::memory;
    std::string words;
    std::size_t bytes = 0;           // of what is held; while it waits, also of the rest, about
    std::vector<ShardKey> shards;    // sorted
    std::vector<ShardKey> slices{};  // of these, once their first shards are held
    std::map<ShardKey, ShardState> held;  // of all these
    Instant as_of{};                      // the oldest of what is held
    bool age_unknown = false;
    bool complete = true;
    std::optional<OtherKind> other;  // one of the counters is of another kind
    std::optional<RangePlan> range;
    std::string key{};  // of a range
    Instant deadline{};
    std::optional<AskedQuestion> cached{};  // the cache may have its answer, or gets it
  };

  // From memory or the cache or after a round; then it is answered.
  void begin(Instant now, Operation operation, std::uint32_t timeout_ms);
  [[nodiscard]] bool may_be_cached(const Operation& operation) const;
  [[nodiscard]] bool is_answered_by_this_node(const ShardKey& shard) const;
  // What is in memory, until it is more than one query may read. Returns the counters that are not.
  [[nodiscard]] std::vector<ShardKey> look(Instant now, const std::vector<ShardKey>& shards,
                                           Operation& operation) const;
  [[nodiscard]] const QuestionAnswer* look_in_cache(Instant now, const AskedQuestion& question);
  // Asks for these, or shares the round that asks the same question now. False, and nothing is
  // changed: there is no room to wait.
  [[nodiscard]] bool ask(Operation& operation, Instant now, std::vector<ShardKey> unknown);
  // The first shards are held. Looks at the slices that the question is about, if there are any,
  // and answers.
  void go_on(Instant now, Operation operation);
  [[nodiscard]] std::vector<ShardKey> slices_of(const Operation& operation) const;
  void answer(Instant now, Operation& operation);

  // A shard's bodies, and what an answer needs beside them. Borrows.
  struct Seen {
    Life life{};
    std::vector<std::string_view> bodies{};
    DerivedPlace derived{};  // from the last body
  };
  // Looks into memory, and notes how old that is. Nothing: another node answers, or the shard is
  // not in memory.
  [[nodiscard]] std::optional<Seen> see(Instant now, const ShardKey& shard,
                                        Operation& operation) const;
  [[nodiscard]] static std::vector<Seen> seen_in(const Operation& operation);
  [[nodiscard]] bool answer_at_once(Instant now, Operation& operation);
  // The same, and adds the state.
  [[nodiscard]] bool take_held(Instant now, const ShardKey& shard, Operation& operation) const;
  void on_finished(Instant now, std::uint64_t number, const Collector::Finished& finished);
  [[nodiscard]] Status take(Instant now, const Collector::Finished& finished,
                            Operation& operation) const;
  [[nodiscard]] QuestionAnswer answer_of(Instant now, const Operation& operation,
                                         const std::vector<Seen>& seen) const;
  void tell(Instant now, const Operation& operation, const QuestionAnswer& answer);
  void answer_range(Instant now, const Operation& operation);
  // A younger answer than this may say that it is complete.
  [[nodiscard]] bool is_fresh(Instant now, Instant as_of) const {
    return now - as_of <= kCompleteIntervals * settings_.gossip_interval;
  }
  void realize_by(Instant now, ShardState& state) const;
  [[nodiscard]] bool has_ended(Instant now, const Life& life) const;
  void refuse(const Operation& operation, Code code, std::string why);

  const View& view_;
  const Executor& executor_;
  Outbound& out_;
  Collector& collector_;
  const Freshness& freshness_;
  const NodeSettings& settings_;
  QuestionCache cache_;
  std::map<std::uint64_t, Operation> operations_;  // that wait for a round
  std::size_t bytes_ = 0;                          // of these, about
  std::uint64_t next_ = 1;
  ReadSources sources_;
};

}  // namespace quipu
