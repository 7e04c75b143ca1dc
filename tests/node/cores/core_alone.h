// core_alone.h: the core of a cluster of one, over a store that writes nothing by itself.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "cluster/node_core.h"
#include "node/base/clock.h"
#include "node/clients/resp/resp_decisions.h"
#include "node/reactor/node_plan.h"
#include "storage/memory_store.h"

namespace quipu::test {

// `store` is new, and outlives it.
inline std::unique_ptr<NodeCore> core_alone(MemoryStore& store) {
  NodeOptions options;
  options.data_directory = "none";
  const Result<NodePlan> plan = plan_node(options);
  Random random(1);
  EXPECT_TRUE(initialize(store, new_meta(plan->owner(), NewStore::unmarked, random)).ok());
  auto executor = recover(store, plan->owner(), {}, random);
  EXPECT_TRUE(executor.ok());
  auto core = std::make_unique<NodeCore>(NodeClock::now(), wall_now(), plan->config, plan->self,
                                         plan->settings, std::move(*executor), random);
  static const RespDecider decider;
  core->decide_by(decider);
  return core;
}

}  // namespace quipu::test
