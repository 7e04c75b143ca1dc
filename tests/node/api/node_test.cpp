// An embedded node, through its public face.
#include "quipu/node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <future>
#include <optional>

#include "tests/node/api/nodes.h"
#include "tests/node/eventually.h"
#include "tests/node/temporary_directory.h"

namespace quipu::test {
namespace {

using testing::HasSubstr;

TEST(Node, CountsAndReadsAtEveryLevel) {
  const TemporaryDirectory directory;
  const auto node = open_node(alone(directory / "data"));
  ASSERT_NE(node, nullptr);
  ASSERT_TRUE(node->wait_ready(kPatience));
  Counter likes = node->counter("likes:42");
  std::int64_t total = 0;
  for (const Ack ack : {Ack::memory, Ack::disk, Ack::quorum}) {
    total += 5;
    ASSERT_TRUE(likes.add(5, {.ack = ack}).ok());
    for (const ReadLevel level : {ReadLevel::local, ReadLevel::fresh, ReadLevel::strong}) {
      const Result<Reading> reading = likes.read({.level = level});
      ASSERT_TRUE(reading.ok()) << reading.status().message();
      EXPECT_EQ(reading->value, total);
      EXPECT_TRUE(reading->exists);
      EXPECT_TRUE(reading->complete);
    }
  }
}

TEST(Node, ACounterThatNobodyAddedToReadsAsZero) {
  const TemporaryDirectory directory;
  const auto node = open_node(alone(directory / "data"));
  ASSERT_TRUE(node->wait_ready(kPatience));
  const Result<Reading> reading = node->counter("nobody").read();
  ASSERT_TRUE(reading.ok());
  EXPECT_EQ(reading->value, 0);
  EXPECT_FALSE(reading->exists);
}

TEST(Node, HoldsMoreCountersThanItsMemoryLimit) {
  constexpr std::int64_t kCounters = 20'000;
  const TemporaryDirectory directory;
  NodeOptions options = alone(directory / "data");
  options.memory_limit = std::size_t{1} << 20;
  for (std::int64_t round = 1; round <= 2; ++round) {
    const auto node = open_node(options);
    ASSERT_NE(node, nullptr);
    ASSERT_TRUE(node->wait_ready(kPatience));
    for (std::int64_t i = 0; i < kCounters; ++i) {
      const Status added = node->counter("k" + std::to_string(i)).add(i + 1, {.ack = Ack::memory});
      ASSERT_TRUE(added.ok()) << added.message();
    }
    for (std::int64_t i = 0; i < kCounters; i += 11) {
      const Result<Reading> reading = node->counter("k" + std::to_string(i)).read();
      ASSERT_TRUE(reading.ok()) << reading.status().message();
      ASSERT_EQ(reading->value, round * (i + 1)) << i;
    }
  }
}

TEST(Node, ResetClearsAndCountingGoesOn) {
  const TemporaryDirectory directory;
  const auto node = open_node(alone(directory / "data"));
  ASSERT_TRUE(node->wait_ready(kPatience));
  Counter likes = node->counter("likes");
  ASSERT_TRUE(likes.add(41).ok());
  ASSERT_TRUE(likes.reset().ok());
  EXPECT_EQ(likes.read()->value, 0);
  ASSERT_TRUE(likes.add(-2).ok());
  EXPECT_EQ(likes.read()->value, -2);
}

TEST(Node, RaisedShardsCountTogether) {
  const TemporaryDirectory directory;
  const auto node = open_node(alone(directory / "data"));
  ASSERT_TRUE(node->wait_ready(kPatience));
  Counter hot = node->counter("hot");
  ASSERT_TRUE(hot.add(1).ok());
  ASSERT_TRUE(hot.raise_shards(8).ok());
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(hot.add(1).ok());
  const Result<Reading> reading = hot.read({.level = ReadLevel::strong});
  ASSERT_TRUE(reading.ok());
  EXPECT_EQ(reading->value, 51);
  EXPECT_EQ(reading->shards, 8);
}

TEST(Node, AddsOfManyAffinitiesCountTogetherAndTheNamesNeedNotOutliveTheCall) {
  const TemporaryDirectory directory;
  const auto node = open_node(alone(directory / "data"));
  ASSERT_TRUE(node->wait_ready(kPatience));
  Counter hot = node->counter("hot");
  ASSERT_TRUE(hot.raise_shards(8).ok());
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(hot.add(1, {.affinity = "user:" + std::to_string(i)}).ok());
    hot.add(1, {.affinity = "user:" + std::to_string(i)}, {});
  }
  ASSERT_TRUE(hot.add(1, {.ack = Ack::quorum, .affinity = "user:0"}).ok());
  EXPECT_EQ(hot.read({.level = ReadLevel::strong})->value, 41);
}

TEST(Node, BadRequestsAreNotApplied) {
  const TemporaryDirectory directory;
  const auto node = open_node(alone(directory / "data"));
  ASSERT_TRUE(node->wait_ready(kPatience));
  EXPECT_EQ(node->counter("").add(1).code(), Code::invalid_argument);
  EXPECT_EQ(node->counter(std::string(513, 'k')).add(1).code(), Code::invalid_argument);
  EXPECT_EQ(node->counter(std::string(513, 'k')).read().status().code(), Code::invalid_argument);
  EXPECT_TRUE(node->counter(std::string(512, 'k')).add(1).ok());
  Counter large = node->counter("large");
  ASSERT_TRUE(large.add(INT64_MAX).ok());
  EXPECT_EQ(large.add(1).code(), Code::out_of_range);
  EXPECT_EQ(large.read()->value, INT64_MAX);
}

TEST(Node, CallbacksRunOnceEachAndInTheEndAllIsCounted) {
  const TemporaryDirectory directory;
  const auto node = open_node(alone(directory / "data"));
  ASSERT_TRUE(node->wait_ready(kPatience));
  Counter likes = node->counter("likes");
  constexpr int kAdds = 20'000;
  std::atomic<int> counted{0};
  std::atomic<int> refused{0};
  for (int i = 0; i < kAdds; ++i) {
    likes.add(1, {}, [&](const Status& status) { ++(status.ok() ? counted : refused); });
  }
  ASSERT_TRUE(eventually([&] { return counted + refused == kAdds; }));
  EXPECT_EQ(refused, 0);
  EXPECT_EQ(likes.read()->value, kAdds);
}

TEST(Node, ManyThreadsCountTogether) {
  const TemporaryDirectory directory;
  const auto node = open_node(alone(directory / "data"));
  ASSERT_TRUE(node->wait_ready(kPatience));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([counter = node->counter("likes")]() mutable {
      for (int i = 0; i < 100; ++i) EXPECT_TRUE(counter.add(1).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(node->counter("likes").read()->value, 400);
}

TEST(Node, ABlockingCallInACallbackWouldDeadlock) {
  const TemporaryDirectory directory;
  const auto node = open_node(alone(directory / "data"));
  ASSERT_TRUE(node->wait_ready(kPatience));
  Counter likes = node->counter("likes");
  std::promise<std::vector<Code>> codes;
  likes.add(1, {}, [&](const Status&) {
    codes.set_value({likes.add(1).code(), likes.read().status().code(), likes.reset().code(),
                     likes.raise_shards(2).code(), node->close().code(), node->wait().code()});
  });
  EXPECT_THAT(codes.get_future().get(), testing::Each(Code::would_deadlock));
  EXPECT_EQ(likes.read()->value, 1);
}

TEST(Node, ACallbackMayCallAgain) {
  const TemporaryDirectory directory;
  const auto node = open_node(alone(directory / "data"));
  ASSERT_TRUE(node->wait_ready(kPatience));
  Counter likes = node->counter("likes");
  std::promise<std::int64_t> value;
  likes.add(1, {}, [&](const Status&) {
    likes.add(1, {}, [&](const Status&) {
      likes.read({}, [&](const Result<Reading>& reading) { value.set_value(reading->value); });
    });
  });
  EXPECT_EQ(value.get_future().get(), 2);
}

TEST(Node, ACallbackMayEvenEndTheNode) {
  const TemporaryDirectory directory;
  auto node = open_node(alone(directory / "data"));
  ASSERT_TRUE(node->wait_ready(kPatience));
  Counter likes = node->counter("likes");
  std::promise<void> ended;
  likes.add(1, {.ack = Ack::memory}, [&](const Status&) {
    node.reset();
    ended.set_value();
  });
  ended.get_future().wait();
  EXPECT_EQ(likes.add(1).code(), Code::unavailable);
  std::unique_ptr<Node> again;
  EXPECT_TRUE(eventually([&] {
    auto opened = Node::open(alone(directory / "data"));
    if (opened.ok()) again = std::move(*opened);
    return opened.ok();
  }));
  ASSERT_TRUE(again->wait_ready(kPatience));
  EXPECT_EQ(again->counter("likes").read()->value, 1);
}

TEST(Node, TheLongestTimeoutIsNotOver) {
  constexpr std::chrono::milliseconds kForEver = std::chrono::milliseconds::max();
  const TemporaryDirectory directory;
  const std::vector<NodeOptions> cluster = cluster_of(2, directory.path());
  const auto first = open_node(cluster[0]);
  std::future<bool> ready =
      std::async(std::launch::async, [&] { return first->wait_ready(kForEver); });
  const auto second = open_node(cluster[1]);
  EXPECT_TRUE(ready.get());
  EXPECT_TRUE(first->counter("likes").add(1, {.timeout = kForEver}).ok());
  EXPECT_TRUE(first->counter("likes").read({.timeout = kForEver}).ok());
}

TEST(Node, WhatWasAcknowledgedIsThereAfterReopening) {
  const TemporaryDirectory directory;
  for (int start = 1; start <= 3; ++start) {
    const auto node = open_node(alone(directory / "data"));
    ASSERT_TRUE(node->wait_ready(kPatience));
    ASSERT_TRUE(node->counter("likes").add(10).ok());
    EXPECT_EQ(node->counter("likes").read()->value, 10 * start);
    EXPECT_TRUE(node->close().ok());
  }
}

// Acknowledged at memory only, so nothing but the graceful stop makes it durable, which has
// less time than there is to the next gossip.
TEST(Node, ClosingMakesEverythingDurable) {
  const TemporaryDirectory directory;
  {
    NodeOptions options = alone(directory / "data");
    options.gossip_interval = std::chrono::seconds(10);
    const auto node = open_node(options);
    ASSERT_TRUE(node->wait_ready(kPatience));
    for (int i = 0; i < 1000; ++i) {
      ASSERT_TRUE(node->counter("key" + std::to_string(i % 10)).add(1, {.ack = Ack::memory}).ok());
    }
  }
  const auto node = open_node(alone(directory / "data"));
  ASSERT_TRUE(node->wait_ready(kPatience));
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(node->counter("key" + std::to_string(i)).read()->value, 100);
  }
}

TEST(Node, ClosingAnswersEveryCallOnce) {
  const TemporaryDirectory directory;
  const auto node = open_node(alone(directory / "data"));
  ASSERT_TRUE(node->wait_ready(kPatience));
  Counter likes = node->counter("likes");
  std::atomic<int> answered{0};
  std::atomic<int> odd{0};
  std::thread caller([&] {
    for (int i = 0; i < 5000; ++i) {
      likes.add(1, {}, [&](const Status& status) {
        ++answered;
        if (!status.ok() && status.code() != Code::unavailable) ++odd;
      });
    }
  });
  EXPECT_TRUE(node->close().ok());
  caller.join();
  EXPECT_EQ(answered, 5000);
  EXPECT_EQ(odd, 0);
}

TEST(Node, ACounterOutlivesItsNode) {
  const TemporaryDirectory directory;
  std::optional<Counter> likes;
  {
    const auto node = open_node(alone(directory / "data"));
    likes = node->counter("likes");
  }
  EXPECT_EQ(likes->add(1).code(), Code::unavailable);
  EXPECT_EQ(likes->read().status().code(), Code::unavailable);
  Code told = Code::ok;
  likes->add(1, {}, [&](const Status& status) { told = status.code(); });
  EXPECT_EQ(told, Code::unavailable);
}

TEST(Node, WaitReturnsWhenItIsClosed) {
  const TemporaryDirectory directory;
  const auto node = open_node(alone(directory / "data"));
  std::future<Status> waited = std::async(std::launch::async, [&] { return node->wait(); });
  EXPECT_TRUE(node->close().ok());
  EXPECT_TRUE(waited.get().ok());
  EXPECT_TRUE(node->close().ok());
  EXPECT_FALSE(node->counter("likes").add(1).ok());
}

TEST(Node, ASecondNodeOnItsDirectoryCannotStart) {
  const TemporaryDirectory directory;
  const auto node = open_node(alone(directory / "data"));
  const auto second = Node::open(alone(directory / "data"));
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), Code::cannot_start);
  EXPECT_THAT(second.status().message(), HasSubstr("in use by process"));
}

TEST(Node, ASecondNodeOnItsPortCannotStartAndLeavesNothingLocked) {
  const TemporaryDirectory directory;
  const auto node = open_node(alone(directory / "data"));
  NodeOptions options = alone(directory / "other");
  options.client_address = node->client_address();
  const auto second = Node::open(options);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), Code::cannot_start);
  EXPECT_THAT(second.status().message(),
              HasSubstr(node->client_address() + " is in use: stop what"));
  EXPECT_NE(open_node(alone(directory / "other")), nullptr);
}

TEST(Node, ContradictoryOptionsAreRefused) {
  const TemporaryDirectory directory;
  NodeOptions open_to_all = alone(directory / "data");
  open_to_all.client_address = "0.0.0.0:0";
  NodeOptions not_a_member = alone(directory / "data");
  not_a_member.members = {
      {.name = "other", .peer_address = "127.0.0.1:1", .client_address = {}, .zone = {}}};
  NodeOptions nowhere = alone("");
  for (const NodeOptions& options : {open_to_all, not_a_member, nowhere}) {
    EXPECT_EQ(Node::open(options).status().code(), Code::invalid_argument);
  }
  EXPECT_FALSE(std::filesystem::exists(directory.path() / "data"));
}

// A hash of all settings could only say that one of them has changed.
TEST(Node, SaysWhichSettingDoesNotFitTheData) {
  const TemporaryDirectory directory;
  std::vector<NodeOptions> cluster = cluster_of(2, directory.path());
  { const Nodes nodes = open_all(cluster); }
  const NodeOptions& sound = cluster[0];
  const auto refusal = [](const NodeOptions& options) {
    const auto node = Node::open(options);
    EXPECT_FALSE(node.ok());
    return node.ok() ? "" : node.status().detail();
  };
  const auto expect = [&](auto change, const std::string& words) {
    NodeOptions options = sound;
    change(options);
    EXPECT_THAT(refusal(options), HasSubstr("was made with other settings: " + words + ": "));
  };
  expect([](NodeOptions& o) { o.cluster = "shop"; }, "the cluster's name is shop and was quipu");
  expect([](NodeOptions& o) { o.replication = 1; }, "cluster.replication is 1 and was 3");
  expect([](NodeOptions& o) { o.name = "n2"; }, "the node's name is n2 and was n1");
  expect([](NodeOptions& o) { o.members[1].peer_address = "127.0.0.1:1"; },
         "the peer of member n2 is 127.0.0.1:1 and was " + sound.members[1].peer_address);
  expect([](NodeOptions& o) { o.members[1].weight = 7; }, "the weight of member n2 is 7 and was 1");
  expect([](NodeOptions& o) { o.members[1].name = "n3"; },
         "member n3 is new; member n2 is missing");
  expect([](NodeOptions& o) { o.members[0].zone = o.members[1].zone = "a"; },
         R"(the zone of member n1 is a and was ""; the zone of member n2 is a and was "")");
  EXPECT_TRUE(Node::open(sound).ok());
}

// As one that an earlier build made.
TEST(Node, OpensDataThatDoesNotSayItsSettingsAndNotesThem) {
  const TemporaryDirectory directory;
  NodeOptions options = alone(directory / "data");
  open_node(options).reset();
  std::ofstream(directory / "data/held-a-store", std::ios::trunc).close();
  NodeOptions renamed = options;
  renamed.name = "other";
  EXPECT_THAT(Node::open(renamed).status().detail(), HasSubstr("belongs to another cluster"));
  open_node(options).reset();
  EXPECT_THAT(Node::open(renamed).status().detail(),
              HasSubstr("the node's name is other and was dev"));
}

TEST(Node, WhatTheDataSaysOfItsSettingsForgesNoLine) {
  const TemporaryDirectory directory;
  NodeOptions options = alone(directory / "data");
  open_node(options).reset();
  std::ofstream(directory / "data/held-a-store", std::ios::trunc)
      << "id=7 cluster=\"a\\nb\" node=dev\nmember=\x1b[2J\n\"=\n";
  options.name = "other";
  const std::string said = Node::open(options).status().message();
  EXPECT_THAT(said, HasSubstr(R"(is quipu and was "a\nb")"));
  EXPECT_TRUE(std::all_of(said.begin(), said.end(), [](char c) { return c >= ' ' || c < 0; }));
}

TEST(Node, LogsToItsOptionsOnly) {
  const TemporaryDirectory directory;
  std::mutex mutex;
  std::vector<std::string> said;
  NodeOptions options = alone(directory / "data");
  options.log = [&](LogLevel, std::string_view message, std::string_view) {
    const std::lock_guard lock(mutex);
    said.emplace_back(message);
  };
  testing::internal::CaptureStderr();
  open_node(options).reset();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_THAT(said, testing::IsSupersetOf({"store recovered", "ready", "closed"}));
}

}  // namespace
}  // namespace quipu::test
