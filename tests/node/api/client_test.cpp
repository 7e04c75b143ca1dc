// The remote client, through its public face, against nodes in this process.
#include "quipu/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "tests/node/api/nodes.h"
#include "tests/node/eventually.h"
#include "tests/node/temporary_directory.h"

namespace quipu::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

std::unique_ptr<Client> connect_to(std::vector<std::string> seeds) {
  auto client = Client::connect({.seeds = std::move(seeds), .connect_timeout = kPatience});
  if (!client.ok()) {
    ADD_FAILURE() << client.status().message();
    return nullptr;
  }
  return std::move(*client);
}

// Adds 1, `count` times, at once; tells how many ended in which code.
class ManyAdds {
 public:
  void start(Counter counter, int count, std::chrono::milliseconds timeout = kPatience) {
    open_ += count;
    for (int i = 0; i < count; ++i) {
      counter.add(1, {.timeout = timeout}, [this](Status status) {
        (status.ok() ? ok_ : failed_) += 1;
        if (status.outcome() == Outcome::unknown) unknown_ += 1;
        open_ -= 1;
      });
    }
  }
  [[nodiscard]] bool finished() const {
    return eventually([this] { return open_ == 0; }, 2 * std::chrono::milliseconds(kPatience));
  }
  [[nodiscard]] int ok() const { return ok_; }
  [[nodiscard]] int failed() const { return failed_; }
  [[nodiscard]] int unknown() const { return unknown_; }  // of the failed

 private:
  std::atomic<int> open_ = 0, ok_ = 0, failed_ = 0, unknown_ = 0;
};

TEST(Client, CountsAndReadsAtEveryLevel) {
  const TemporaryDirectory directory;
  const auto node = open_node(alone(directory / "data"));
  const auto client = connect_to({node->client_address()});
  Counter likes = client->counter("likes:42");
  std::int64_t total = 0;
  for (const Ack ack : {Ack::memory, Ack::disk, Ack::quorum}) {
    total -= 5;
    ASSERT_TRUE(likes.add(-5, {.ack = ack}).ok());
    for (const ReadLevel level : {ReadLevel::local, ReadLevel::fresh, ReadLevel::strong}) {
      const Result<Reading> reading = likes.read({.level = level});
      ASSERT_TRUE(reading.ok()) << reading.status().message();
      EXPECT_EQ(reading->value, total);
      EXPECT_TRUE(reading->exists);
    }
  }
}

TEST(Client, ResetsAllShardsOfASpreadCounter) {
  const TemporaryDirectory directory;
  const auto node = open_node(alone(directory / "data"));
  const auto client = connect_to({node->client_address()});
  Counter hot = client->counter("hot");
  const Status raised = hot.raise_shards(8);
  ASSERT_TRUE(raised.ok()) << raised.message();
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(hot.add(1).ok());
  const Result<Reading> before = hot.read();
  EXPECT_EQ(before->value, 100);
  EXPECT_EQ(before->shards, 8);
  const Status reset = hot.reset();
  ASSERT_TRUE(reset.ok()) << reset.message();
  EXPECT_EQ(hot.read()->value, 0);
}

TEST(Client, AddsOfManyAffinitiesCountTogether) {
  const TemporaryDirectory directory;
  const auto node = open_node(alone(directory / "data"));
  const auto client = connect_to({node->client_address()});
  Counter hot = client->counter("hot");
  ASSERT_TRUE(hot.raise_shards(8).ok());
  for (int i = 0; i < 20; ++i) {
    const Status added = hot.add(1, {.affinity = "user:" + std::to_string(i)});
    ASSERT_TRUE(added.ok()) << added.message();
  }
  EXPECT_EQ(hot.read({.level = ReadLevel::strong})->value, 20);
}

TEST(Client, SaysWhatIsWrongWithItsSeeds) {
  EXPECT_EQ(Client::connect({}).status().code(), Code::invalid_argument);
  const auto malformed = Client::connect({.seeds = {"localhost"}});
  EXPECT_EQ(malformed.status().code(), Code::invalid_argument);
  EXPECT_THAT(malformed.status().detail(), HasSubstr("has no port"));
  const auto nobody = Client::connect({.seeds = {"127.0.0.1:1"}, .connect_timeout = 100ms});
  EXPECT_EQ(nobody.status().code(), Code::unavailable);
  EXPECT_THAT(nobody.status().detail(), HasSubstr("127.0.0.1:1"));
  // Named even if nothing is known of it yet.
  const auto hasty = Client::connect({.seeds = {"quipu.invalid:7"}, .connect_timeout = 1ms});
  EXPECT_THAT(hasty.status().detail(), HasSubstr("quipu.invalid:7"));
}

TEST(Client, ASeedMayBeAListWithCommas) {
  const TemporaryDirectory directory;
  const auto node = open_node(alone(directory / "data"));
  const auto client = connect_to({"127.0.0.1:1, " + node->client_address()});
  ASSERT_TRUE(client);
  EXPECT_TRUE(client->counter("k").add(1).ok());
  EXPECT_EQ(Client::connect({.seeds = {node->client_address() + ","}}).status().code(),
            Code::invalid_argument);
}

TEST(Client, TheLongestTimeoutIsNotOver) {
  constexpr std::chrono::milliseconds kForEver = std::chrono::milliseconds::max();
  const TemporaryDirectory directory;
  const auto node = open_node(alone(directory / "data"));
  const auto client =
      Client::connect({.seeds = {node->client_address()}, .connect_timeout = kForEver});
  ASSERT_TRUE(client.ok()) << client.status().message();
  EXPECT_TRUE((*client)->counter("likes").add(1, {.timeout = kForEver}).ok());
  EXPECT_TRUE((*client)->counter("likes").read({.timeout = kForEver}).ok());
}

TEST(Client, RefusesKeysThatCannotBe) {
  const TemporaryDirectory directory;
  const auto node = open_node(alone(directory / "data"));
  const auto client = connect_to({node->client_address()});
  EXPECT_EQ(client->counter("").add().code(), Code::invalid_argument);
  EXPECT_EQ(client->counter(std::string(513, 'k')).add().code(), Code::invalid_argument);
  EXPECT_TRUE(client->counter(std::string(512, 'k')).add().ok());
}

TEST(Client, ABlockingCallInACallbackWouldDeadlock) {
  const TemporaryDirectory directory;
  const auto node = open_node(alone(directory / "data"));
  const auto client = connect_to({node->client_address()});
  Counter likes = client->counter("likes");
  std::promise<Code> inner;
  likes.add(1, {}, [&](Status) { inner.set_value(likes.add(1).code()); });
  EXPECT_EQ(inner.get_future().get(), Code::would_deadlock);
  EXPECT_EQ(likes.read()->value, 1);
}

TEST(Client, ACallbackMayCallBackAndEvenEndTheClient) {
  const TemporaryDirectory directory;
  const auto node = open_node(alone(directory / "data"));
  auto client = connect_to({node->client_address()});
  Counter likes = client->counter("likes");
  std::promise<Status> second;
  likes.add(1, {}, [&](Status) {
    likes.add(1, {}, [&](Status status) {
      client.reset();
      second.set_value(status);
    });
  });
  EXPECT_TRUE(second.get_future().get().ok());
}

TEST(Client, ACounterThatOutlivesItsClientAnswersUnavailable) {
  const TemporaryDirectory directory;
  const auto node = open_node(alone(directory / "data"));
  auto client = connect_to({node->client_address()});
  Counter likes = client->counter("likes");
  ASSERT_TRUE(likes.add(1).ok());
  client.reset();
  EXPECT_EQ(likes.add(1).code(), Code::unavailable);
  EXPECT_EQ(likes.read().status().code(), Code::unavailable);
}

TEST(Client, EndsCallsThatStillWaitWhenItIsClosed) {
  const TemporaryDirectory directory;
  auto node = open_node(alone(directory / "data"));
  auto client = connect_to({node->client_address()});
  Counter likes = client->counter("likes");
  ASSERT_TRUE(likes.add(1).ok());
  node.reset();
  ManyAdds adds;
  adds.start(likes, 100);
  client.reset();
  ASSERT_TRUE(adds.finished());
  EXPECT_EQ(adds.failed(), 100);
}

TEST(Client, ThreadsShareItAndTheirAddsAllCount) {
  const TemporaryDirectory directory;
  const auto node = open_node(alone(directory / "data"));
  const auto client = connect_to({node->client_address()});
  std::vector<std::thread> threads;
  std::atomic<int> ok = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      Counter likes = client->counter("likes");
      for (int n = 0; n < 100; ++n) ok += likes.add(1).ok() ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ok, 800);
  EXPECT_EQ(client->counter("likes").read()->value, 800);
}

TEST(Client, MoreAddsThanAWindowHoldsAreAllCountedOnce) {
  const TemporaryDirectory directory;
  const auto node = open_node(alone(directory / "data"));
  const auto client = connect_to({node->client_address()});
  ManyAdds adds;
  adds.start(client->counter("likes"), 20'000);
  ASSERT_TRUE(adds.finished());
  EXPECT_EQ(adds.ok(), 20'000);
  EXPECT_EQ(client->counter("likes").read()->value, 20'000);
}

TEST(Client, ANodeThatRestartsUnderLoadCountsEveryAddOnce) {
  const TemporaryDirectory directory;
  NodeOptions options = alone(directory / "data");
  auto node = open_node(options);
  options.client_address = node->client_address();  // the same port again
  const auto client = connect_to({options.client_address});
  ManyAdds adds;
  for (int round = 0; round < 3; ++round) {
    adds.start(client->counter("likes"), 5'000);
    node.reset();
    node = open_node(options);
    ASSERT_NE(node, nullptr);
  }
  ASSERT_TRUE(adds.finished());
  EXPECT_EQ(adds.ok(), 15'000);
  EXPECT_EQ(client->counter("likes").read()->value, 15'000);
}

TEST(Client, GoesOnThroughAnotherNodeWhenItsOwnGoes) {
  const TemporaryDirectory directory;
  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<std::string> seeds;
  for (NodeOptions& options : cluster_of(3, directory / "data"))
    nodes.push_back(open_node(options));
  for (const auto& node : nodes) {
    ASSERT_TRUE(node->wait_ready(kPatience));
    seeds.push_back(node->client_address());
  }
  const auto client = connect_to(seeds);
  Counter likes = client->counter("likes");
  ASSERT_TRUE(likes.add(1, {.ack = Ack::quorum}).ok());
  ManyAdds adds;
  adds.start(likes, 1'000, 2s);  // some may wait for the node that goes
  nodes[0].reset();
  // What was sent before the loss was noticed may wait for it, too.
  int ok = 1, unknown = 0;
  const auto add_at_quorum = [&] {
    const Status added = likes.add(1, {.ack = Ack::quorum, .timeout = 500ms});
    ok += added.ok() ? 1 : 0;
    unknown += added.outcome() == Outcome::unknown ? 1 : 0;
    return added.ok();
  };
  EXPECT_TRUE(eventually(add_at_quorum));
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(add_at_quorum());
  EXPECT_TRUE(adds.finished());
  const Result<Reading> reading = likes.read({.level = ReadLevel::strong});
  ASSERT_TRUE(reading.ok()) << reading.status().message();
  EXPECT_GE(reading->value, ok + adds.ok());
  EXPECT_LE(reading->value, ok + adds.ok() + unknown + adds.unknown());
}

}  // namespace
}  // namespace quipu::test
