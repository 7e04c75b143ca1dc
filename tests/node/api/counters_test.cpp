// The calls about many counters, and add_and_read: each of them through an embedded node, and
// through a client of it.
#include "quipu/counters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <atomic>
#include <future>
#include <set>
#include <thread>

#include "quipu/client.h"
#include "tests/node/api/nodes.h"
#include "tests/node/clients/raw_connection.h"
#include "tests/node/eventually.h"
#include "tests/node/temporary_directory.h"

namespace quipu::test {
namespace {

using namespace std::chrono_literals;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

enum class Through : std::uint8_t { node, client };

std::string name_of_way(const testing::TestParamInfo<Through>& way) {
  return way.param == Through::node ? "Node" : "Client";
}

std::unique_ptr<Client> client_of(const Node& node) {
  auto client = Client::connect({.seeds = {node.client_address()}, .connect_timeout = kPatience});
  EXPECT_TRUE(client.ok()) << client.status().message();
  return client.ok() ? std::move(*client) : nullptr;
}

// Opens one node; `counters` reaches it as the parameter says.
class CountersTest : public testing::TestWithParam<Through> {
 protected:
  void SetUp() override { open(alone(directory_ / "data")); }

  void open(NodeOptions options) {
    node_ = open_node(std::move(options));
    ASSERT_NE(node_, nullptr);
    ASSERT_TRUE(node_->wait_ready(kPatience));
    if (GetParam() == Through::client) client_ = client_of(*node_);
  }
  Counters& counters() { return client_ != nullptr ? static_cast<Counters&>(*client_) : *node_; }

  // Ends what counters() is of. It must not be used then, but Counters of it may.
  void close() {
    client_.reset();
    node_.reset();
  }

  TemporaryDirectory directory_;
  std::unique_ptr<Node> node_;
  std::unique_ptr<Client> client_;
};

INSTANTIATE_TEST_SUITE_P(, CountersTest, testing::Values(Through::node, Through::client),
                         name_of_way);

std::vector<Code> codes(const std::vector<Status>& answers) {
  std::vector<Code> codes;
  for (const Status& status : answers) codes.push_back(status.code());
  return codes;
}

std::vector<Code> codes(const std::vector<Result<Reading>>& answers) {
  std::vector<Code> codes;
  for (const auto& reading : answers) codes.push_back(reading.status().code());
  return codes;
}

std::vector<Addition> additions(std::size_t count) {
  std::vector<Addition> items;
  for (std::size_t i = 0; i < count; ++i) items.push_back({"many:" + std::to_string(i), 1});
  return items;
}

// ---- add_and_read ----

TEST_P(CountersTest, AddAndReadAnswersTheTotalAfterTheAdd) {
  Counter likes = counters().counter("likes");
  std::int64_t total = 0;
  for (const Ack ack : {Ack::memory, Ack::disk, Ack::quorum}) {
    for (const std::int64_t amount : {5, -7, 0}) {
      total += amount;
      const Result<Added> added = likes.add_and_read(amount, {.ack = ack});
      ASSERT_TRUE(added.ok()) << added.status().message();
      ASSERT_TRUE(added->total.ok()) << added->total.status().message();
      EXPECT_EQ(*added->total, total);
    }
  }
}

TEST_P(CountersTest, AddAndReadOfASpreadCounterAnswersTheTotalOfAllItsShards) {
  Counter hot = counters().counter("hot");
  ASSERT_TRUE(hot.raise_shards(8).ok());
  for (std::int64_t i = 1; i <= 50; ++i) {
    const Result<Added> added = hot.add_and_read();
    ASSERT_TRUE(added.ok()) << added.status().message();
    ASSERT_TRUE(added->total.ok()) << added->total.status().message();
    EXPECT_EQ(*added->total, i);
  }
}

TEST_P(CountersTest, AddAndReadAndIncrOfARedisClientCountOnFromEachOther) {
  RawConnection redis(node_->client_address());
  Counter likes = counters().counter("likes");
  for (std::int64_t i = 1; i <= 10; i += 2) {
    EXPECT_EQ(*likes.add_and_read()->total, i);
    EXPECT_EQ(redis.reply_to("INCR likes"), ":" + std::to_string(i + 1) + "\r\n");
  }
}

TEST_P(CountersTest, AnAddAndReadThatIsRefusedChangesNothing) {
  Counter large = counters().counter("large");
  ASSERT_TRUE(large.add(INT64_MAX).ok());
  EXPECT_EQ(large.add_and_read(1).status().code(), Code::out_of_range);
  EXPECT_EQ(large.read()->value, INT64_MAX);
  EXPECT_EQ(counters().counter("").add_and_read().status().code(), Code::invalid_argument);
}

// The first answers of some are lost with the node. A retry finds the add counted, and its
// total has to be read.
TEST(Client, AddAndReadCountsOnceThroughARestartAndAlwaysHasATotal) {
  const TemporaryDirectory directory;
  NodeOptions options = alone(directory / "data");
  auto node = open_node(options);
  options.client_address = node->client_address();  // the same port again
  const auto client = client_of(*node);
  Counter likes = client->counter("likes");
  std::vector<std::future<Result<Added>>> adds;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 1'000; ++i)
      adds.push_back(likes.add_and_read_async(1, {.timeout = kPatience}));
    node.reset();
    node = open_node(options);
    ASSERT_NE(node, nullptr);
  }
  for (auto& add : adds) {
    const Result<Added> added = add.get();
    ASSERT_TRUE(added.ok()) << added.status().message();
    ASSERT_TRUE(added->total.ok()) << added->total.status().message();
    EXPECT_GE(*added->total, 1);
    EXPECT_LE(*added->total, 3'000);
  }
  EXPECT_EQ(likes.read()->value, 3'000);
}

// ---- add_many ----

TEST_P(CountersTest, AddManyAnswersEachItemForItself) {
  ASSERT_TRUE(counters().counter("full").add(INT64_MAX).ok());
  const std::vector<Status> answers = counters().add_many(
      {{"likes", 2}, {"", 1}, {"full", 1}, {"views"}, {std::string(513, 'k'), 1}, {"likes", 40}});
  EXPECT_THAT(codes(answers), ElementsAre(Code::ok, Code::invalid_argument, Code::out_of_range,
                                          Code::ok, Code::invalid_argument, Code::ok));
  EXPECT_EQ(counters().counter("likes").read()->value, 42);
  EXPECT_EQ(counters().counter("views").read()->value, 1);
  EXPECT_EQ(counters().counter("full").read()->value, INT64_MAX);
}

TEST_P(CountersTest, AddManyTakesABatchAndNotOneItemMore) {
  EXPECT_TRUE(counters().add_many({}).empty());
  EXPECT_THAT(codes(counters().add_many(additions(kMaxBatch))), Each(Code::ok));
  const std::vector<Status> refused = counters().add_many(additions(kMaxBatch + 1));
  ASSERT_EQ(refused.size(), kMaxBatch + 1);
  EXPECT_THAT(codes(refused), Each(Code::invalid_argument));
  EXPECT_EQ(counters().counter("many:0").read()->value, 1);
  EXPECT_FALSE(counters().counter("many:1024").read()->exists);
}

TEST_P(CountersTest, AddManyHasTheLevelAndTheAffinityOfTheCall) {
  ASSERT_TRUE(counters().counter("hot").raise_shards(8).ok());
  const AddOptions options{.ack = Ack::quorum, .affinity = "user:7"};
  const std::vector<Status> answers =
      counters().add_many({{"hot", 1}, {"hot", 2}, {"cold", 3}}, options);
  EXPECT_THAT(codes(answers), Each(Code::ok));
  EXPECT_EQ(counters().counter("hot").read({.level = ReadLevel::strong})->value, 3);
}

// The reactor must not begin before all items are there: so it is tried often.
TEST(Node, TheItemsOfOneAddManyShareARecordAndItsSync) {
  const TemporaryDirectory directory;
  const auto node = open_node(alone(directory / "data"));
  ASSERT_TRUE(node->wait_ready(kPatience));
  ASSERT_TRUE(node->counter("likes").add().ok());  // and so is what the start has sealed
  const auto records = [&] { return node->status()->members.front().figures.at("commit_durable"); };
  for (int round = 0; round < 30; ++round) {
    const std::uint64_t before = records();
    ASSERT_THAT(codes(node->add_many(additions(kMaxBatch))), Each(Code::ok));
    ASSERT_EQ(records(), before + 1);
  }
}

TEST(Client, TheItemsOfOneAddManyShareRecords) {
  const TemporaryDirectory directory;
  const auto node = open_node(alone(directory / "data"));
  const auto client = client_of(*node);
  ASSERT_TRUE(client->counter("likes").add().ok());  // and so there is a session
  const auto records = [&] { return node->status()->members.front().figures.at("commit_durable"); };
  const std::uint64_t before = records();
  ASSERT_THAT(codes(client->add_many(additions(kMaxBatch))), Each(Code::ok));
  // Their 120 KiB come in a few reads, and another session is opened for the last ones.
  EXPECT_LT(records(), before + kMaxBatch / 16);
}

// ---- read_many ----

TEST_P(CountersTest, ReadManyAnswersEachKeyForItself) {
  ASSERT_TRUE(counters().counter("likes").add(42).ok());
  Counter large = counters().counter("large");
  ASSERT_TRUE(large.raise_shards(2).ok());
  const std::string too_long(std::size_t{2} << 20, 'k');  // longer than a frame
  for (const ReadLevel level : {ReadLevel::local, ReadLevel::fresh, ReadLevel::strong}) {
    const auto readings = counters().read_many({"likes", "", "nothing", too_long, "likes", "large"},
                                               {.level = level});
    ASSERT_THAT(codes(readings), ElementsAre(Code::ok, Code::invalid_argument, Code::ok,
                                             Code::invalid_argument, Code::ok, Code::ok));
    EXPECT_EQ(readings[0]->value, 42);
    EXPECT_FALSE(readings[2]->exists);
    EXPECT_EQ(readings[4]->value, 42);
    EXPECT_EQ(readings[5]->shards, 2);
  }
}

TEST_P(CountersTest, ReadManyTakesABatchAndNotOneKeyMore) {
  std::vector<std::string> keys(kMaxBatch, std::string(512, 'k'));
  EXPECT_TRUE(counters().read_many({}).empty());
  EXPECT_THAT(codes(counters().read_many(keys)), Each(Code::ok));
  keys.emplace_back("one");
  const auto refused = counters().read_many(keys);
  ASSERT_EQ(refused.size(), kMaxBatch + 1);
  EXPECT_THAT(codes(refused), Each(Code::invalid_argument));
}

TEST_P(CountersTest, AKeyLongerThanAFrameIsRefusedAndTheNextReadIsAnswered) {
  const std::string too_long(std::size_t{2} << 20, 'k');
  EXPECT_EQ(counters().counter(too_long).read().status().code(), Code::invalid_argument);
  EXPECT_EQ(counters().counter("").read().status().code(), Code::invalid_argument);
  EXPECT_TRUE(counters().counter("likes").read().ok());
}

// ---- list ----

TEST_P(CountersTest, AListHasEveryCounterOnceOverSeveralPages) {
  std::set<std::string> wanted;
  for (int i = 0; i < 2'500; ++i) {
    const std::string key = (i % 5 == 0 ? "views:" : "likes:") + std::to_string(i);
    counters().counter(key).add(1, {.ack = Ack::memory}, {});
    if (i % 5 != 0) wanted.insert(key);
  }
  ASSERT_TRUE(counters().counter("likes:last").add().ok());
  wanted.insert("likes:last");
  std::set<std::string> listed;
  int pages = 0;
  for (ListCursor at = ListCursor::begin; at != ListCursor::end; ++pages) {
    const ListPage page = counters().list({.prefix = "likes:", .cursor = at, .limit = 100});
    ASSERT_TRUE(page.status.ok()) << page.status.message();
    for (const std::string& key : page.keys) EXPECT_TRUE(listed.insert(key).second) << key;
    at = page.next;
  }
  EXPECT_GE(pages, 20);
  EXPECT_EQ(listed, wanted);
}

TEST_P(CountersTest, AListRefusesWhatNoListHas) {
  const ListOptions refused[] = {{.limit = 0},
                                 {.limit = kMaxPageKeys + 1},
                                 {.cursor = ListCursor{1'048'577}},
                                 {.prefix = std::string(513, 'p')}};
  for (const ListOptions& options : refused) {
    const ListPage page = counters().list(options);
    EXPECT_EQ(page.status.code(), Code::invalid_argument);
    EXPECT_EQ(page.next, options.cursor);
  }
  const ListPage end = counters().list({.cursor = ListCursor::end});
  EXPECT_TRUE(end.status.ok());
  EXPECT_TRUE(end.keys.empty());
  EXPECT_EQ(end.next, ListCursor::end);
}

TEST_P(CountersTest, AListWithoutTheOwnersOfSomeCountersSaysWhereItIsIncomplete) {
  std::vector<NodeOptions> cluster = cluster_of(2, directory_ / "cluster");
  for (NodeOptions& options : cluster) options.replication = 1;
  const auto other = open_node(cluster[1]);
  open(cluster[0]);
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(counters().counter("k" + std::to_string(i)).add(1, {.timeout = kPatience}).ok());
  ASSERT_TRUE(other->close().ok());
  ListCursor at = ListCursor::begin;
  ListPage page;
  while (at != ListCursor::end && page.status.ok()) {
    page = counters().list({.cursor = at, .timeout = 500ms});
    at = page.next;
  }
  ASSERT_EQ(page.status.code(), Code::unavailable);
  EXPECT_TRUE(page.keys.empty());
  EXPECT_LT(page.next, page.skip);
  EXPECT_LE(page.skip, ListCursor::end);
}

// ---- status ----

// Each with a client address that all know.
std::vector<NodeOptions> cluster_with_addresses(std::size_t count, const std::string& directory) {
  const std::vector<NodeOptions> spare = cluster_of(2 * count, directory);
  std::vector<NodeOptions> cluster(spare.begin(), spare.begin() + static_cast<long>(count));
  for (std::size_t i = 0; i < count; ++i) {
    cluster[i].members.resize(count);
    for (std::size_t k = 0; k < count; ++k)
      cluster[i].members[k].client_address = spare[0].members[count + k].peer_address;
    cluster[i].client_address = cluster[i].members[i].client_address;
  }
  return cluster;
}

TEST_P(CountersTest, TheStatusHasEveryMemberAndWhichOnesDoNotAnswer) {
  const auto cluster = cluster_with_addresses(3, directory_ / "cluster");
  const auto second = open_node(cluster[1]);
  auto third = open_node(cluster[2]);
  open(cluster[0]);
  ASSERT_TRUE(second->wait_ready(kPatience) && third->wait_ready(kPatience));

  const Result<ClusterStatus> all = counters().status();
  ASSERT_TRUE(all.ok()) << all.status().message();
  EXPECT_EQ(all->cluster, "quipu");
  EXPECT_EQ(all->replication, 3);
  ASSERT_EQ(all->members.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    const MemberStatus& member = all->members[i];
    EXPECT_EQ(member.name, "n" + std::to_string(i + 1));
    EXPECT_EQ(member.client_address, cluster[0].members[i].client_address);
    EXPECT_TRUE(member.reached.ok()) << member.reached.message();
    EXPECT_EQ(member.state, "ready");
    EXPECT_NE(member.store, 0u);
    EXPECT_EQ(member.peers.size(), 2u);
    EXPECT_TRUE(member.figures.contains("adds_executed"));
  }

  ASSERT_TRUE(third->close().ok());
  const Result<ClusterStatus> two = counters().status();
  ASSERT_TRUE(two.ok()) << two.status().message();
  EXPECT_TRUE(two->members[0].reached.ok());
  EXPECT_TRUE(two->members[1].reached.ok());
  EXPECT_EQ(two->members[2].reached.code(), Code::unavailable);
  EXPECT_THAT(two->members[2].reached.detail(), HasSubstr("refused"));
  EXPECT_TRUE(two->members[2].figures.empty());
}

TEST(Node, WithoutAClientPortItsOwnStatusIsKnownAndOthersAreNot) {
  const TemporaryDirectory directory;
  std::vector<NodeOptions> cluster = cluster_of(2, directory / "data");
  for (NodeOptions& options : cluster) options.client_address.clear();
  const Nodes nodes = open_all(cluster);
  const Result<ClusterStatus> status = nodes[0]->status();
  ASSERT_TRUE(status.ok()) << status.status().message();
  EXPECT_TRUE(status->members[0].reached.ok());
  EXPECT_EQ(status->members[0].client_address, "");
  EXPECT_EQ(status->members[1].reached.code(), Code::unavailable);
  EXPECT_THAT(status->members[1].reached.detail(), HasSubstr("client address is not known"));
}

TEST(Client, FindsAMemberWithoutAKnownAddressAtASeed) {
  const TemporaryDirectory directory;
  const Nodes nodes = open_all(cluster_of(3, directory / "data"));
  std::vector<std::string> seeds;
  for (const auto& node : nodes) seeds.push_back(node->client_address());
  auto client = Client::connect({.seeds = seeds, .connect_timeout = kPatience});
  ASSERT_TRUE(client.ok()) << client.status().message();
  const Result<ClusterStatus> status = (*client)->status();
  ASSERT_TRUE(status.ok()) << status.status().message();
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(status->members[i].reached.ok()) << status->members[i].reached.message();
    EXPECT_EQ(status->members[i].client_address, seeds[i]);
  }
}

// A member whose client port takes connections and says nothing.
class SilentMember : public CountersTest {
 protected:
  void SetUp() override {
    auto cluster = cluster_with_addresses(2, directory_ / "cluster");
    const auto local = listener_.local_endpoint();
    for (NodeMember& member : cluster[0].members) {
      if (member.name == "n2") member.client_address = "127.0.0.1:" + std::to_string(local.port());
    }
    node_ = open_node(cluster[0]);
    ASSERT_NE(node_, nullptr);
    if (GetParam() == Through::client) client_ = client_of(*node_);
  }

 private:
  asio::io_context io_;
  asio::ip::tcp::acceptor listener_{io_,
                                    asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(), 0)};
};

INSTANTIATE_TEST_SUITE_P(, SilentMember, testing::Values(Through::node, Through::client),
                         name_of_way);

TEST_P(SilentMember, IsInTheStatusAsOneThatDidNotAnswerInTime) {
  const Result<ClusterStatus> status = counters().status(2s);
  ASSERT_TRUE(status.ok()) << status.status().message();
  EXPECT_TRUE(status->members[0].reached.ok()) << status->members[0].reached.message();
  EXPECT_THAT(status->members[1].reached.detail(), HasSubstr("no answer in time"));
  for (std::size_t i = 0; i < kMaxStatusCalls; ++i)  // none of them stays under way
    EXPECT_NE(counters().status(20ms).status().code(), Code::overloaded);
}

TEST_P(SilentMember, OnlySoManyQuestionsForTheStatusWaitForIt) {
  std::vector<std::future<Result<ClusterStatus>>> waiting;
  for (std::size_t i = 0; i < kMaxStatusCalls; ++i) waiting.push_back(counters().status_async(1h));
  EXPECT_EQ(counters().status().status().code(), Code::overloaded);
  close();
  for (auto& one : waiting) EXPECT_EQ(one.get().status().code(), Code::unavailable);
}

TEST_P(SilentMember, DoesNotKeepItsQuestionsBeyondTheEnd) {
  std::future<Result<ClusterStatus>> status = counters().status_async(1h);
  close();
  EXPECT_EQ(status.get().status().code(), Code::unavailable);
}

// ---- forms, and the end ----

TEST_P(CountersTest, EachCallHasAFormWithAFuture) {
  Counter likes = counters().counter("likes");
  std::future<Status> added = likes.add_async(5);
  EXPECT_TRUE(added.get().ok());
  EXPECT_EQ(*likes.add_and_read_async(2).get()->total, 7);
  EXPECT_EQ(likes.read_async({.level = ReadLevel::strong}).get()->value, 7);
  EXPECT_TRUE(likes.reset_async().get().ok());
  EXPECT_THAT(codes(counters().add_many_async({{"likes", 3}, {"views", 4}}).get()), Each(Code::ok));
  EXPECT_EQ(counters().read_many_async({"likes"}).get().front()->value, 3);
  EXPECT_EQ(counters().list_async({.prefix = "views"}).get().status.code(), Code::ok);
  EXPECT_EQ(counters().status_async().get()->members.front().name, "dev");
}

TEST_P(CountersTest, EachCallHasAFormWithACallback) {
  std::promise<void> all;
  std::atomic<int> open = 4;
  const auto end = [&] {
    if (--open == 0) all.set_value();
  };
  counters().add_many({{"likes", 3}}, {}, [&](const std::vector<Status>& answers) {
    EXPECT_THAT(codes(answers), ElementsAre(Code::ok));
    counters().counter("likes").add_and_read(4, {}, [&](const Result<Added>& added) {
      EXPECT_EQ(*added->total, 7);
      end();
    });
  });
  counters().read_many({"a", "b"}, {}, [&](const std::vector<Result<Reading>>& readings) {
    EXPECT_THAT(codes(readings), ElementsAre(Code::ok, Code::ok));
    end();
  });
  counters().list({}, [&](const ListPage& page) {
    EXPECT_TRUE(page.status.ok());
    end();
  });
  counters().status(kPatience, [&](const Result<ClusterStatus>& status) {
    EXPECT_TRUE(status.ok());
    end();
  });
  all.get_future().wait();
  counters().add_many({{"likes", 1}}, {}, {});  // nobody asks for the answer
}

TEST_P(CountersTest, FormsThatWaitAndFuturesWouldDeadlockInACallbackAndDoNothing) {
  Counter likes = counters().counter("likes");
  std::promise<std::vector<Code>> told;
  likes.add(1, {}, [&](const Status&) {
    std::vector<Code> answers{likes.add_async().get().code(),
                              likes.reset_async().get().code(),
                              likes.add_and_read().status().code(),
                              likes.add_and_read_async().get().status().code(),
                              likes.read_async().get().status().code(),
                              counters().list().status.code(),
                              counters().list_async().get().status.code(),
                              counters().status().status().code(),
                              counters().status_async().get().status().code()};
    for (const auto& some : {codes(counters().add_many({{"likes", 1}, {"views", 1}})),
                             codes(counters().add_many_async({{"likes", 1}}).get()),
                             codes(counters().read_many({"likes", "views"})),
                             codes(counters().read_many_async({"likes"}).get())})
      answers.insert(answers.end(), some.begin(), some.end());
    told.set_value(std::move(answers));
  });
  const std::vector<Code> answers = told.get_future().get();
  EXPECT_EQ(answers.size(), 15u);
  EXPECT_THAT(answers, Each(Code::would_deadlock));
  EXPECT_EQ(likes.read()->value, 1);
}

TEST_P(CountersTest, ClosingAnswersEveryCallOnce) {
  std::atomic<int> answered = 0;
  std::thread caller([&] {
    for (int i = 0; i < 200; ++i) {
      counters().add_many(additions(20), {}, [&](const std::vector<Status>& answers) {
        if (answers.size() == 20) ++answered;
      });
      counters().read_many({"a", "b"}, {}, [&](const std::vector<Result<Reading>>& readings) {
        if (readings.size() == 2) ++answered;
      });
      counters().list({}, [&](const ListPage&) { ++answered; });
      counters().counter("likes").add_and_read(1, {}, [&](const Result<Added>&) { ++answered; });
    }
  });
  EXPECT_TRUE(node_->close().ok());
  caller.join();
  client_.reset();
  EXPECT_EQ(answered, 800);
}

TEST(Node, WhatIsAskedOfAClosedNodeIsUnavailable) {
  const TemporaryDirectory directory;
  const auto node = open_node(alone(directory / "data"));
  ASSERT_TRUE(node->close().ok());
  EXPECT_THAT(codes(node->add_many({{"a"}, {"b"}})),
              ElementsAre(Code::unavailable, Code::unavailable));
  EXPECT_THAT(codes(node->read_many({"a", ""})),
              ElementsAre(Code::unavailable, Code::invalid_argument));
  EXPECT_EQ(node->list().status.code(), Code::unavailable);
  EXPECT_EQ(node->list().next, ListCursor::begin);
  EXPECT_EQ(node->status().status().code(), Code::unavailable);
  EXPECT_EQ(node->counter("a").add_and_read().status().code(), Code::unavailable);
  EXPECT_EQ(node->counter("a").add_async().get().code(), Code::unavailable);
}

TEST(Counters, SayTheirVersion) {
  EXPECT_EQ(Node::version(), QUIPU_VERSION);
  EXPECT_EQ(Client::version(), Counters::version());
}

}  // namespace
}  // namespace quipu::test
