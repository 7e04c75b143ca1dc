// workload.h: the clients' tasks and their results. Every task is in the ledger before it is
// sent, and every answer is checked when it comes.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "tests/simulator/ledger.h"
#include "tests/simulator/options.h"
#include "tests/simulator/oracle.h"

namespace quipu::sim {

struct Task {
  enum class What { add, reset, raise, read } what = What::add;
  std::string key;
  std::int64_t amount = 0;
  Ack ack{};
  ReadLevel level{};
  Duration timeout{};
  ShardIndex shards = 1;    // that a majority knew of when a read began
  std::uint32_t shown = 0;  // digits that each owner's disk had when a fresh read began
  Affinity affinity{};      // of an add
  Ledger::OpId op = 0;      // of an add or a reset
  Instant begun{};
};

// What an ack promises at least, whatever namespaces say.
[[nodiscard]] constexpr Ack promised(Ack level) {
  return level == Ack::by_default ? Ack::memory : level;
}

class Workload {
 public:
  // All must outlive it.
  Workload(Timeline& time, Trace& trace, Ledger& ledger, const Oracle& oracle,
           const ClusterConfig& config, const Options& options);

  // Nothing: there are no more tasks.
  [[nodiscard]] std::optional<Task> next(Random& client);
  void stop() { left_ = 0; }

  // An add or reset was answered at that level. `final`: no other copy of it can be executed any
  // more.
  enum class Finality { final, may_follow };
  void on_done(const Task& task, Ack level, Code code, Finality finality);
  // A reset with a token was acked at disk or better by that member's store. It is a reset of one
  // shard, so it promises nothing about the whole counter.
  void on_part_reset(const Task& task, MemberIndex executor) {
    ledger_.on_carried_out(task.op, time_.now(), executor);
  }
  void on_raised(const Task& task, Code code);
  // The acked number of a raise: no disk may lose it.
  [[nodiscard]] ShardIndex shards(const std::string& key) const;
  // A node answered then.
  void on_value(const Task& task, const Value& value, Instant answered);
  // Its token was reported as expired, though it was never below a floor.
  void check_session(const Task& task);
  void fail(Invariant invariant, const std::string& what) {
    trace_.fail(time_.now(), invariant, what);
  }
  [[nodiscard]] std::string describe(const Task& task) const;

 private:
  void choose_key(Random& random, Task& task);
  void check_disks(const Task& task, Ack level);
  void report(const Failure& failure);

  Timeline& time_;
  Trace& trace_;
  Ledger& ledger_;
  const Oracle& oracle_;
  const ClusterConfig& config_;
  const Options& options_;
  std::size_t left_;
  std::vector<std::string> open_;  // keys that take adds
  std::map<std::string, ShardIndex> raised_;
};

}  // namespace quipu::sim
