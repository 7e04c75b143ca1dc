// Two reactors' crossings on one thread, each with a core whose store writes nothing
// unless told: what the one asks, the other answers.
#include "node/cores/core_router.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <asio/io_context.hpp>
#include <map>

#include "node/base/clock.h"
#include "node/reactor/node_plan.h"
#include "storage/memory_store.h"
#include "tests/node/cores/core_alone.h"

namespace quipu::test {
namespace {

constexpr ClientId kClient{7};

// A cluster of its own, which owns all; so it answers whatever it is asked.
class Side {
 public:
  Side() { port.set(core_alone(store_)); }

  // What the reactor does at the end of a batch; with `durable`, until all is written.
  void finish(bool durable) {
    do {
      const Effects effects = port.finish_batch(NodeClock::now());
      for (const Effects::Reply& reply : effects.replies) {
        if (reply.client == CoreRouter::kPendingCalls) {
          router.on_pending_answer(reply.answer);
        } else if (reply.client == CoreRouter::kPartialReads) {
          router.on_part(reply.answer);
        } else {
          answers.push_back(reply.answer);
        }
      }
      if (effects.released != Commit{}) router.on_released(effects.released);
      for (const Sealed& sealed : effects.writes) {
        if (!durable) continue;
        const CorePort::Event event(port);
        event->on_durable(NodeClock::now(), sealed.commit, event.effects());
      }
    } while (!port.effects().replies.empty() || port.effects().released != Commit{});
    router.flush();
  }

  asio::io_context io;
  CoreHolder port{router, {.now = [] {}, .later = [] {}}};
  CoreRouter router{io, port, [this](ClientId client, const Answer& answer) {
                      EXPECT_EQ(client, kClient);
                      answers.push_back(answer);
                    }};
  std::vector<Answer> answers;  // to kClient

 private:
  MemoryDisk disk_;
  MemoryStore store_{disk_};
};

class Crossings : public testing::Test {
 protected:
  Crossings() {
    NodeOptions options;
    options.data_directory = "none";
    options.reactors = 2;
    const Result<NodePlan> first = plan_node(options, 0);
    const Result<NodePlan> second = plan_node(options, 1);
    EXPECT_TRUE(first.ok() && second.ok());
    const std::vector<CoreRouter*> all{&here_.router, &there_.router};
    const std::vector<MemberIndex> members{first->self, second->self};
    here_.router.meet(all, members, first->config, 0);
    there_.router.meet(all, members, first->config, 1);
    here_.router.set_serving(true);
    there_.router.set_serving(true);
    const HashKey placement = here_.port.core()->executor().map().placement_key();
    for (int i = 0; ours_.size() < 4 || theirs_.size() < 4; ++i) {
      const std::string key = "k" + std::to_string(i);
      const Partition partition = Placement(placement, {key, 0}).partition();
      const bool ours = first->config.owners.owns(first->self, partition);
      (ours ? ours_ : theirs_).push_back(key);
    }
  }

  void add(const std::string& key, std::uint64_t id, const Token& token = {}) {
    Op op;
    op.id = id;
    op.token = token;
    op.key = key;
    op.amount = static_cast<std::int64_t>(id);
    std::vector<AtOnce> known;
    here_.router.on_ops(NodeClock::now(), kClient, std::span(&op, 1), &known);
    for (AtOnce& one : known) here_.answers.emplace_back(std::move(one.done));
  }
  // Mail goes to and fro until there is none.
  void settle(bool durable = true) {
    here_.finish(durable);
    there_.finish(durable);
    while (there_.io.poll() + here_.io.poll() > 0) {
      here_.io.restart();
      there_.io.restart();
      there_.finish(durable);
      here_.finish(durable);
    }
    here_.io.restart();
    there_.io.restart();
  }
  [[nodiscard]] std::vector<std::pair<std::uint64_t, Code>> done() const {
    std::vector<std::pair<std::uint64_t, Code>> all;
    for (const Answer& answer : here_.answers) {
      if (const Done* one = std::get_if<Done>(&answer)) all.emplace_back(one->id, one->code);
    }
    return all;
  }

  using Told = std::vector<std::pair<std::uint64_t, Code>>;
  Side here_;
  Side there_;
  std::vector<std::string> ours_;  // keys
  std::vector<std::string> theirs_;
};

TEST_F(Crossings, WhatAnotherReactorOwnsIsCountedThereAndAnsweredHere) {
  add(ours_[0], 1);
  add(theirs_[0], 2);
  add(theirs_[1], 3);
  EXPECT_FALSE(here_.router.quiet());
  settle();
  EXPECT_THAT(done(),
              testing::UnorderedElementsAre(std::pair(1u, Code::ok), std::pair(2u, Code::ok),
                                            std::pair(3u, Code::ok)));
  EXPECT_EQ(here_.port.core()->executor().map().ledger().size(), 1u);
  EXPECT_EQ(there_.port.core()->executor().map().ledger().size(), 2u);
  EXPECT_TRUE(here_.router.quiet() && there_.router.quiet());
}

TEST_F(Crossings, NoAnswerLeavesBeforeItIsDurable) {
  add(theirs_[0], 1);
  settle(false);
  EXPECT_THAT(done(), testing::IsEmpty());
  EXPECT_FALSE(there_.router.quiet());
  there_.router.on_released(Commit{1'000});
  there_.router.flush();
  settle(false);
  EXPECT_THAT(done(), testing::ElementsAre(std::pair(1u, Code::ok)));
}

TEST_F(Crossings, AReadOfBothComesBackWholeAndInItsOrder) {
  for (std::uint64_t i = 0; i < 4; ++i) {
    add(ours_[i], 10 + i);
    add(theirs_[i], 20 + i);
  }
  settle();
  here_.answers.clear();
  here_.router.on_read(NodeClock::now(), kClient,
                       {.id = 5,
                        .level = ReadLevel::local,
                        .keys = {theirs_[1], ours_[2], theirs_[0], "nothing", ours_[3]}});
  settle();
  ASSERT_EQ(here_.answers.size(), 1u);
  const auto& values = std::get<Values>(here_.answers.front());
  EXPECT_EQ(values.id, 5u);
  std::vector<std::int64_t> told;
  for (const Value& value : values.values) told.push_back(value.value);
  EXPECT_THAT(told, testing::ElementsAre(21, 12, 20, 0, 13));
}

// A client's own changes are in what it reads next, wherever they are; in each of several
// pieces of mail.
TEST_F(Crossings, AReadSeesTheAddsBeforeItAndNoneBehind) {
  const auto read = [&](std::uint64_t id, std::vector<std::string_view> keys) {
    here_.router.on_read(NodeClock::now(), kClient,
                         {.id = id, .level = ReadLevel::local, .keys = std::move(keys)});
  };
  for (std::int64_t round = 0; round < 3; ++round) {
    here_.answers.clear();
    add(theirs_[0], 1);
    add(theirs_[1], 2);
    read(9, {theirs_[0], theirs_[1]});
    read(10, {theirs_[2]});
    add(theirs_[0], 4);
    read(11, {theirs_[0]});
    settle(false);
    std::map<std::uint64_t, std::vector<std::int64_t>> told;
    for (const Answer& answer : here_.answers) {
      const auto& values = std::get<Values>(answer);
      for (const Value& value : values.values) told[values.id].push_back(value.value);
    }
    const std::map<std::uint64_t, std::vector<std::int64_t>> expected{
        {9, {5 * round + 1, 2 * (round + 1)}}, {10, {0}}, {11, {5 * (round + 1)}}};
    EXPECT_EQ(told, expected);
  }
}

TEST_F(Crossings, WhatMemoryHereCannotTellIsNotTold) {
  add(theirs_[0], 1);
  add(ours_[0], 2);
  settle();
  const std::vector<std::string_view> keys{theirs_[0], ours_[0]};
  std::vector<Value> values(2);
  here_.router.read_now(NodeClock::now(), keys, values);
  EXPECT_EQ(values[0].shards, 0);
  EXPECT_EQ(values[1].value, 2);
}

TEST_F(Crossings, ACoreThatIsGivenUpOwesNobodyAnAnswer) {
  add(theirs_[0], 1);
  settle(false);
  here_.router.on_read(NodeClock::now(), kClient,
                       {.id = 2, .level = ReadLevel::local, .keys = {theirs_[0], ours_[0]}});
  here_.router.flush();
  there_.port.reset();
  there_.router.abandon({Code::in_doubt, "gone"}, {Code::unavailable, "gone"});
  add(theirs_[1], 3);  // while there is none
  settle(false);
  EXPECT_THAT(done(), testing::UnorderedElementsAre(std::pair(1u, Code::in_doubt),
                                                    std::pair(3u, Code::unavailable)));
  const auto values = std::find_if(here_.answers.begin(), here_.answers.end(), [](const Answer& a) {
    return std::holds_alternative<Values>(a);
  });
  ASSERT_NE(values, here_.answers.end());
  EXPECT_EQ(std::get<Values>(*values).values.front().code, Code::unavailable);
  EXPECT_TRUE(here_.router.quiet() && there_.router.quiet());
}

// Another's total would lack what only that one has.
TEST_F(Crossings, OneThatDoesNotServeSaysSoItself) {
  EXPECT_TRUE(here_.router.others_serve());
  there_.router.set_serving(false);
  EXPECT_FALSE(here_.router.others_serve());
  there_.port.reset();
  add(theirs_[0], 1);
  add(theirs_[0], 3,
      {.store = {}, .serial = Serial{1}, .number = 1, .floor = 0});  // it may be a retry
  here_.router.on_read(NodeClock::now(), kClient,
                       {.id = 2, .level = ReadLevel::local, .keys = {theirs_[0]}});
  settle();
  EXPECT_THAT(done(), testing::ElementsAre(std::pair(1u, Code::unavailable),
                                           std::pair(3u, Code::in_doubt)));
  ASSERT_EQ(here_.answers.size(), 3u);
  EXPECT_EQ(std::get<Values>(here_.answers.back()).values.front().code, Code::unavailable);
  EXPECT_EQ(here_.port.core()->executor().map().ledger().size(), 0u);
}

TEST_F(Crossings, NobodyIsReadWhileAnotherIsBehind) {
  EXPECT_FALSE(here_.router.busy());
  there_.router.set_paused(true);
  EXPECT_TRUE(here_.router.busy());
  there_.router.set_paused(false);
  EXPECT_FALSE(here_.router.busy());
  EXPECT_EQ(here_.io.poll(), 1u);  // it is told
  here_.io.restart();
  for (std::size_t i = 0; i < CoreRouter::kMaxAsked; ++i) add(theirs_[0], i + 1);
  EXPECT_TRUE(here_.router.busy());
  settle();
  EXPECT_FALSE(here_.router.busy());
  EXPECT_EQ(done().size(), CoreRouter::kMaxAsked);
}

}  // namespace
}  // namespace quipu::test
