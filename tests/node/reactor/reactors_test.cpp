// Nodes of several reactors: how they are planned, and that clients see one node.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <set>
#include <string>
#include <thread>

#include "node/reactor/node_plan.h"
#include "quipu/client.h"
#include "tests/node/api/nodes.h"
#include "tests/node/clients/raw_connection.h"
#include "tests/node/eventually.h"
#include "tests/node/temporary_directory.h"

namespace quipu::test {
namespace {

using testing::HasSubstr;

NodeOptions planned(std::size_t nodes, std::uint8_t reactors) {
  NodeOptions options;
  options.data_directory = "none";
  options.name = "n0";
  options.reactors = reactors;
  for (std::size_t i = 0; i < nodes; ++i) {
    options.members.push_back({.name = "n" + std::to_string(i),
                               .peer_address = "127.0.0.1:" + std::to_string(8000 + i),
                               .client_address = "127.0.0.1:" + std::to_string(9000 + i),
                               .zone = {}});
  }
  return options;
}

std::string node_of(const std::string& member) { return member.substr(0, member.find('/')); }

TEST(ReactorPlan, ReactorsAreMembersWithPortsOfTheirOwn) {
  const NodeOptions options = planned(2, 3);
  std::set<std::string> told;
  const Result<NodePlan> first = plan_node(options);
  ASSERT_TRUE(first.ok()) << first.status().message();
  for (const Member& member : first->config.members)
    told.insert(member.name + ' ' + member.peer_address + ' ' + member.client_address);
  EXPECT_THAT(told,
              testing::ElementsAre(
                  "n0 127.0.0.1:8000 127.0.0.1:9000", "n0/1 127.0.0.1:8100 127.0.0.1:9000",
                  "n0/2 127.0.0.1:8200 127.0.0.1:9000", "n1 127.0.0.1:8001 127.0.0.1:9001",
                  "n1/1 127.0.0.1:8101 127.0.0.1:9001", "n1/2 127.0.0.1:8201 127.0.0.1:9001"));
  const Result<NodePlan> third = plan_node(options, 2);
  ASSERT_TRUE(third.ok());
  EXPECT_EQ(third->config.members[third->self].name, "n0/2");
  EXPECT_EQ(third->config.id, first->config.id);
  EXPECT_EQ(to_string(*third->peer), "127.0.0.1:8200");
}

TEST(ReactorPlan, NoTwoOfANodeOwnTheSame) {
  for (const std::size_t nodes : {2, 3, 4, 5}) {
    const Result<NodePlan> plan = plan_node(planned(nodes, 4));
    ASSERT_TRUE(plan.ok());
    const OwnerTable& owners = plan->config.owners;
    EXPECT_EQ(owners.replication(), std::min<std::size_t>(nodes, 3));
    for (std::uint16_t p = 0; p < kPartitions; ++p) {
      std::set<std::string> holders;
      for (const MemberIndex owner : owners.of(Partition{p}))
        holders.insert(node_of(plan->config.members[owner].name));
      ASSERT_EQ(holders.size(), owners.replication()) << "partition " << p;
    }
  }
}

TEST(ReactorPlan, OneReactorFoundsTheClusterThatItAlwaysDid) {
  const Result<NodePlan> one = plan_node(planned(3, 1));
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(one->config.members.size(), 3u);
  for (const Member& member : one->config.members) EXPECT_EQ(member.zone, "");
  EXPECT_NE(one->config.id, plan_node(planned(3, 2))->config.id);
}

TEST(ReactorPlan, WhatANodeMayHoldItsReactorsShare) {
  NodeOptions options = planned(1, 4);
  options.memory_limit = std::size_t{64} << 20;
  const Result<NodePlan> plan = plan_node(options, 3);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->settings.memory_limit, std::size_t{16} << 20);
  EXPECT_EQ(plan->settings.checkpoint.journal_bytes, std::size_t{64} << 20);
  options.memory_limit = 3;  // not none, though it cannot be shared
  EXPECT_THAT(plan_node(options).status().detail(), HasSubstr("memory_limit, for each reactor,"));
  options.memory_limit = 0;
  EXPECT_EQ(plan_node(options)->settings.memory_limit, 0U);
}

TEST(ReactorPlan, SaysWhatCannotBe) {
  NodeOptions crowded = planned(3, 2);
  for (NodeMember& member : crowded.members) member.zone = member.name == "n0" ? "a" : "b";
  EXPECT_THAT(plan_node(crowded).status().detail(),
              HasSubstr("there must be a zone for each of 3 replicas, and there are 2"));
  NodeOptions high = planned(3, 64);
  high.members[1].peer_address = "127.0.0.1:65000";
  EXPECT_THAT(plan_node(high).status().detail(),
              HasSubstr("127.0.0.1:65000 leaves no port for reactor 6, 65600"));
  EXPECT_THAT(plan_node(planned(3, 0)).status().detail(), HasSubstr("reactors is 0"));
  EXPECT_TRUE(plan_node(planned(41, 25)).ok());  // 1,025
  EXPECT_THAT(plan_node(planned(17, 64)).status().detail(),
              HasSubstr("17 nodes of 64 reactors each are 1088 members"));
  NodeOptions little = planned(3, 64);
  little.checkpoint_bytes = 1 << 20;
  EXPECT_THAT(plan_node(little).status().detail(),
              HasSubstr("checkpoint_bytes, for each reactor, is 16384: choose 65536"));
  NodeOptions twice = planned(2, 2);
  twice.members[1].peer_address = "127.0.0.1:8100";
  EXPECT_THAT(plan_node(twice).status().detail(), HasSubstr("127.0.0.1:8100"));
}

NodeOptions several(const TemporaryDirectory& directory) {
  NodeOptions options = alone(directory / "data");
  options.reactors = 3;
  return options;
}

std::vector<NodeOptions> two_reactors_each(std::size_t nodes, const TemporaryDirectory& directory) {
  std::vector<NodeOptions> cluster = cluster_of(nodes, directory.path());
  for (NodeOptions& options : cluster) options.reactors = 2;
  return cluster;
}

std::string key(int i) { return "k" + std::to_string(i); }

// Answers of one connection come from three reactors, in any order, and some stand behind
// others whose commits are older.
TEST(Reactors, PipelinesAreAnsweredInTheirOrderEachTime) {
  const TemporaryDirectory directory;
  const auto node = open_node(several(directory));
  ASSERT_TRUE(node->wait_ready(kPatience));
  RawConnection client(node->client_address());
  for (int round = 1; round <= 200; ++round) {
    std::string requests;
    std::string expected;
    for (int i = 0; i < 16; ++i) {
      const std::string value = std::to_string(round);
      requests += "INCR " + key(i) + "\r\nGET " + key(i) + "\r\nGET none\r\nPING\r\n";
      expected += ":" + value + "\r\n$" + std::to_string(value.size()) + "\r\n" + value +
                  "\r\n$-1\r\n+PONG\r\n";
    }
    ASSERT_EQ(client.replies_to(requests), expected);
  }
}

TEST(Reactors, WhatOneConnectionWritesAnyOtherReads) {
  const TemporaryDirectory directory;
  const auto node = open_node(several(directory));
  ASSERT_TRUE(node->wait_ready(kPatience));
  std::vector<std::unique_ptr<RawConnection>> clients;
  for (int i = 0; i < 6; ++i)
    clients.push_back(std::make_unique<RawConnection>(node->client_address()));
  for (int i = 0; i < 60; ++i)
    EXPECT_EQ(clients[static_cast<std::size_t>(i) % 6]->reply_to("INCRBY " + key(i) + " 5"),
              ":5\r\n");
  for (const auto& client : clients) {
    for (int i = 0; i < 60; ++i) ASSERT_EQ(client->reply_to("GET " + key(i)), "$1\r\n5\r\n");
    EXPECT_EQ(client->reply_to("MGET k0 k1 k2 nothing k3"),
              "*5\r\n$1\r\n5\r\n$1\r\n5\r\n$1\r\n5\r\n$-1\r\n$1\r\n5\r\n");
    EXPECT_EQ(client->reply_to("DBSIZE"), ":60\r\n");
  }
  // INFO adds up all reactors.
  EXPECT_TRUE(eventually([&] {
    const std::string info = clients[0]->reply_to("INFO");
    return info.find("connected_clients:6\r\n") != info.npos &&
           info.find("db0:keys=60,") != info.npos;
  }));
  std::set<std::string> ids;
  for (const auto& client : clients) ids.insert(client->reply_to("CLIENT ID"));
  EXPECT_EQ(ids.size(), 6u);
}

TEST(Reactors, CountersOfThisProgramAreExactAndOutliveARestart) {
  const TemporaryDirectory directory;
  constexpr int kThreads = 3;
  constexpr int kAdds = 300;
  {
    const auto node = open_node(several(directory));
    ASSERT_TRUE(node->wait_ready(kPatience));
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < kAdds; ++i)
          EXPECT_TRUE(node->counter(key(i % 10)).add(1, {.ack = Ack::quorum}).ok());
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  const auto node = open_node(several(directory));
  ASSERT_TRUE(node->wait_ready(kPatience));
  for (const ReadLevel level : {ReadLevel::local, ReadLevel::fresh, ReadLevel::strong}) {
    for (int i = 0; i < 10; ++i) {
      const Result<Reading> reading = node->counter(key(i)).read({.level = level});
      ASSERT_TRUE(reading.ok()) << reading.status().message();
      EXPECT_EQ(reading->value, kThreads * kAdds / 10);
    }
  }
}

// Through any of its reactors, and through a client that is connected to one of them.
TEST(Reactors, CallsAboutManyCountersReachThoseOfAllReactors) {
  const TemporaryDirectory directory;
  const NodeOptions options = several(directory);
  const auto node = open_node(options);
  ASSERT_TRUE(node->wait_ready(kPatience));
  const auto client = Client::connect({.seeds = {node->client_address()}});
  ASSERT_TRUE(client.ok());
  std::int64_t rounds = 0;
  for (Counters* const counters :
       {static_cast<Counters*>(node.get()), static_cast<Counters*>(client->get())}) {
    std::vector<Addition> items;
    std::vector<std::string> keys;
    for (int i = 0; i < 100; ++i) {
      items.push_back({key(i), i});
      keys.push_back(key(i));
    }
    ++rounds;
    for (const Status& added : counters->add_many(items))
      EXPECT_TRUE(added.ok()) << added.message();
    // What tokens have put elsewhere, its owner hears of within the gossip interval.
    EXPECT_TRUE(eventually([&] {
      const Result<Added> added = counters->counter(key(7)).add_and_read(0);
      return added.ok() && added->total.ok() && *added->total == 7 * rounds;
    }));
    EXPECT_TRUE(eventually([&] {
      const auto readings = counters->read_many(keys);
      for (std::size_t i = 0; i < readings.size(); ++i) {
        if (!readings[i].ok() || readings[i]->value != static_cast<std::int64_t>(i) * rounds)
          return false;
      }
      return true;
    }));
    std::set<std::string> listed;
    for (ListCursor at = ListCursor::begin; at != ListCursor::end;) {
      const ListPage page = counters->list({.cursor = at});
      ASSERT_TRUE(page.status.ok()) << page.status.message();
      listed.insert(page.keys.begin(), page.keys.end());
      at = page.next;
    }
    EXPECT_EQ(listed, std::set<std::string>(keys.begin(), keys.end()));
    const Result<ClusterStatus> status = counters->status();
    ASSERT_TRUE(status.ok()) << status.status().message();
    EXPECT_EQ(status->members.size(), options.reactors);
    for (const MemberStatus& member : status->members)
      EXPECT_TRUE(member.reached.ok()) << member.name << ' ' << member.reached.message();
  }
}

TEST(Reactors, AClientWithTokensFindsWhatItWrote) {
  const TemporaryDirectory directory;
  const auto node = open_node(several(directory));
  ASSERT_TRUE(node->wait_ready(kPatience));
  for (int c = 0; c < 3; ++c) {
    const auto client = Client::connect({.seeds = {node->client_address()}});
    ASSERT_TRUE(client.ok());
    for (int i = 0; i < 30; ++i) {
      ASSERT_TRUE((*client)->counter(key(i)).add(1).ok());
      // At once, unless the executor was so slow that the client asked another.
      EXPECT_TRUE(eventually([&] {
        const Result<Reading> reading = (*client)->counter(key(i)).read();
        return reading.ok() && reading->value == c + 1;
      })) << key(i);
    }
  }
}

// It has a reactor to itself, which must go on with what the others ask of it.
TEST(Reactors, AClientThatReadsNothingHoldsUpNobody) {
  const TemporaryDirectory directory;
  const auto node = open_node(several(directory));
  ASSERT_TRUE(node->wait_ready(kPatience));
  RawConnection first(node->client_address());
  EXPECT_EQ(first.reply_to("PING"), "+PONG\r\n");  // of the first reactor
  std::vector<std::unique_ptr<RawConnection>> silent;
  for (int i = 0; i < 2; ++i) {
    silent.push_back(std::make_unique<RawConnection>(node->client_address()));
    ASSERT_EQ(silent.back()->reply_to("PING"), "+PONG\r\n");
  }
  std::string requests;
  for (int i = 0; i < 2'000; ++i) requests += "COMMAND DOCS\r\n";
  for (const auto& client : silent) {
    ASSERT_TRUE(client->send(requests));  // more replies than any socket takes
  }
  for (int i = 0; i < 60; ++i) ASSERT_EQ(first.reply_to("INCR " + key(i)), ":1\r\n");
}

TEST(Reactors, ACallbackOfAnyMayMakeNoBlockingCallOfAny) {
  const TemporaryDirectory directory;
  const auto node = open_node(several(directory));
  ASSERT_TRUE(node->wait_ready(kPatience));
  std::atomic<int> refused = 0, done = 0;
  for (int i = 0; i < 20; ++i) {
    node->counter(key(i)).add(1, {}, [&](const Status& added) {
      EXPECT_TRUE(added.ok());
      for (int k = 0; k < 20; ++k)
        refused += node->counter(key(k)).add(1).code() == Code::would_deadlock ? 1 : 0;
      ++done;
    });
  }
  EXPECT_TRUE(eventually([&] { return done == 20; }));
  EXPECT_EQ(refused, 400);
}

TEST(Reactors, ARebuildReplacesTheStoreThatIsLostAndNoOther) {
  const TemporaryDirectory directory;
  std::vector<NodeOptions> cluster = two_reactors_each(2, directory);
  Nodes nodes = open_all(cluster);
  // Ready is who has met enough of the members, not yet each that owns the same.
  Status added;
  EXPECT_TRUE(eventually([&] {
    added = nodes[0]->counter("likes").add(7, {.ack = Ack::quorum});
    return added.code() != Code::no_quorum;
  }));
  ASSERT_TRUE(added.ok()) << added.message();
  nodes[1].reset();
  namespace fs = std::filesystem;
  const fs::path data = cluster[1].data_directory;
  fs::remove_all(data / "reactor-1" / "store");
  cluster[1].rebuild = true;
  nodes[1] = open_node(cluster[1]);
  ASSERT_TRUE(nodes[1]->wait_ready(kPatience));
  EXPECT_FALSE(fs::exists(data / "store.broken-1"));
  EXPECT_TRUE(eventually([&] {
    const Result<Reading> reading = nodes[1]->counter("likes").read({.level = ReadLevel::strong});
    return reading.ok() && reading->value == 7;
  }));
}

TEST(Reactors, NoneIsNoNode) {
  const TemporaryDirectory directory;
  NodeOptions none = several(directory);
  none.reactors = 0;
  EXPECT_EQ(Node::open(none).status().code(), Code::invalid_argument);
}

TEST(Reactors, TheirNumberIsFixedWhenTheClusterIsFounded) {
  const TemporaryDirectory directory;
  { const auto node = open_node(several(directory)); }
  NodeOptions fewer = several(directory);
  fewer.reactors = 2;
  const auto node = Node::open(fewer);
  ASSERT_FALSE(node.ok());
  EXPECT_EQ(node.status().code(), Code::cannot_start);
  EXPECT_THAT(node.status().detail(), HasSubstr("reactors"));
}

TEST(Reactors, OfAnotherNodeTakeOverWhereOneWasStopped) {
  const TemporaryDirectory directory;
  std::vector<NodeOptions> cluster = two_reactors_each(3, directory);
  Nodes nodes = open_all(cluster);
  const auto add_everywhere = [&](Node& node) {
    for (int i = 0; i < 20; ++i) {
      ASSERT_TRUE(
          eventually([&] { return node.counter(key(i)).add(1, {.ack = Ack::quorum}).ok(); }));
    }
  };
  add_everywhere(*nodes[0]);
  nodes[2].reset();
  add_everywhere(*nodes[1]);
  for (const auto& node : {nodes[0].get(), nodes[1].get()}) {
    for (int i = 0; i < 20; ++i) {
      const Result<Reading> reading = node->counter(key(i)).read({.level = ReadLevel::strong});
      ASSERT_TRUE(reading.ok()) << reading.status().message();
      EXPECT_GE(reading->value, 2);  // an add in doubt may have counted, and was tried again
    }
  }
}

}  // namespace
}  // namespace quipu::test
