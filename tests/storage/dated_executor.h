// dated_executor.h: an executor whose date the test sets.
#pragma once

#include <gtest/gtest.h>

#include <optional>

#include "tests/storage/executors.h"
#include "tests/storage/samples.h"
#include "tests/storage/today.h"

namespace quipu::test {

class DatedExecutor : public testing::Test {
 protected:
  DatedExecutor() { executor_.judge_dates_by(today_); }

  Applied add_for(ShardRef ref, Wall::duration ttl, std::int64_t amount = 1) {
    Change change{.kind = OpKind::add, .ref = ref, .amount = amount};
    change.ttl = ttl;
    return apply(executor_, change);
  }
  Applied expire(ShardRef ref, Wall at) {
    return apply(executor_,
                 {.kind = OpKind::expire, .ref = ref, .amount = at.time_since_epoch().count()});
  }
  void pass(Wall::duration time) { today_.wall += time; }
  // As a cluster of one sweeps.
  void sweep(Executor& executor) {
    for (std::uint16_t p = 0; p < kPartitions; ++p) {
      if (executor.map().due(Partition{p}) > today_.wall) continue;
      const Executor::Settled alone{.offered = true, .room = 100, .heard_until = today_.wall};
      (void)executor.sweep(Partition{p}, alone);
    }
  }
  void sweep() { sweep(executor_); }
  Life life(ShardRef ref = kLikes) { return state(executor_, ref).life; }
  // The value by the date, as a read tells it.
  std::int64_t value_now(ShardRef ref = kLikes) {
    ShardState held = state(executor_, ref);
    realize(held, today_.wall);
    return static_cast<std::int64_t>(total(held.cells).sum);
  }
  bool is_held(ShardRef ref = kLikes) {
    return executor_.map().find(executor_.map().place(ref), ref) != nullptr;
  }

  Today today_;
  Executor executor_ = fresh_executor(1);
};

}  // namespace quipu::test
