// Several nodes in one process, over real sockets.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>

#include "cluster/membership/config.h"
#include "quipu/client.h"
#include "tests/node/api/nodes.h"
#include "tests/node/clients/raw_connection.h"
#include "tests/node/eventually.h"
#include "tests/node/temporary_directory.h"

namespace quipu::test {
namespace {

using testing::HasSubstr;

bool reads(Node& node, const std::string& key, std::int64_t value, ReadLevel level) {
  const Result<Reading> reading = node.counter(key).read({.level = level});
  return reading.ok() && reading->value == value;
}

TEST(Cluster, CountsOnEveryNodeAndReadsTheSumOnEach) {
  const TemporaryDirectory directory;
  const Nodes nodes = open_all(cluster_of(3, directory.path()));
  for (const auto& node : nodes) {
    ASSERT_TRUE(
        eventually([&] { return node->counter("likes").add(1, {.ack = Ack::quorum}).ok(); }));
  }
  for (const auto& node : nodes) {
    EXPECT_TRUE(reads(*node, "likes", 3, ReadLevel::strong));
    EXPECT_TRUE(eventually([&] { return reads(*node, "likes", 3, ReadLevel::local); }));
  }
}

// Some of the answers come from the other node, and others stand behind them, whose commits
// are durable by then.
TEST(Cluster, PipelinesThatAreForwardedInPartAreAnsweredInTheirOrder) {
  const TemporaryDirectory directory;
  std::vector<NodeOptions> cluster = cluster_of(2, directory.path());
  for (NodeOptions& options : cluster) options.replication = 1;
  const Nodes nodes = open_all(cluster);
  RawConnection client(nodes[0]->client_address());
  ASSERT_TRUE(eventually([&] { return client.reply_to("DBSIZE") == ":0\r\n"; }));  // both are up
  for (int round = 1; round <= 100; ++round) {
    std::string requests;
    std::string expected;
    for (int i = 0; i < 16; ++i) {
      requests += "QUIPU.ADD k" + std::to_string(i) + " 1\r\n";
      expected += ":" + std::to_string(round) + "\r\n";
    }
    ASSERT_EQ(client.replies_to(requests), expected);
  }
}

TEST(Cluster, GoesOnWithoutOneNodeAndThatOneCatchesUp) {
  const TemporaryDirectory directory;
  const std::vector<NodeOptions> cluster = cluster_of(3, directory.path());
  Nodes nodes = open_all(cluster);
  ASSERT_TRUE(
      eventually([&] { return nodes[0]->counter("likes").add(1, {.ack = Ack::quorum}).ok(); }));
  nodes[2].reset();
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(nodes[0]->counter("likes").add(1, {.ack = Ack::quorum}).ok());
  }
  EXPECT_TRUE(reads(*nodes[1], "likes", 11, ReadLevel::strong));
  nodes[2] = open_node(cluster[2]);
  ASSERT_TRUE(nodes[2]->wait_ready(kPatience));
  EXPECT_TRUE(eventually([&] { return reads(*nodes[2], "likes", 11, ReadLevel::local); }));
}

TEST(Cluster, WithoutAMajorityEventualAddsGoOnAndQuorumAddsSayWhatIsKnown) {
  const TemporaryDirectory directory;
  Nodes nodes = open_all(cluster_of(3, directory.path()));
  ASSERT_TRUE(
      eventually([&] { return nodes[0]->counter("likes").add(1, {.ack = Ack::quorum}).ok(); }));
  nodes[1].reset();
  nodes[2].reset();
  Counter likes = nodes[0]->counter("likes");
  EXPECT_TRUE(likes.add(1).ok());
  const std::int64_t before = likes.read()->value;
  const Status quorum =
      likes.add(1, {.ack = Ack::quorum, .timeout = std::chrono::milliseconds(300)});
  // in_doubt if it did not know yet that it is alone: then the change stays here.
  EXPECT_THAT(quorum.code(), testing::AnyOf(Code::no_quorum, Code::in_doubt)) << quorum.message();
  EXPECT_EQ(likes.read()->value, before + (quorum.outcome() == Outcome::unknown ? 1 : 0));
  const Result<Reading> strong =
      likes.read({.level = ReadLevel::strong, .timeout = std::chrono::milliseconds(300)});
  EXPECT_EQ(strong.status().code(), Code::no_quorum) << strong.status().message();
}

// Each open socket, and whether a program that is started closes it. As /proc has it:
// other threads open and close theirs meanwhile.
std::map<int, bool> open_sockets() {
  std::map<int, bool> sockets;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string name = entry.path().filename();
    const std::string target = std::filesystem::read_symlink(entry.path(), gone);
    std::ifstream about("/proc/self/fdinfo/" + name);
    std::string word;
    while (about >> word && word != "flags:") {
    }
    if (gone || !target.starts_with("socket:") || !(about >> word)) continue;
    sockets[std::stoi(name)] = (std::stoul(word, nullptr, 8) & O_CLOEXEC) != 0;
  }
  return sockets;
}

TEST(Cluster, ProgramsThatItsProgramStartsHoldNoneOfItsSockets) {
  const std::map<int, bool> before = open_sockets();
  const TemporaryDirectory directory;
  const Nodes nodes = open_all(cluster_of(2, directory.path()));
  const auto client = Client::connect({.seeds = {nodes[0]->client_address()}});
  ASSERT_TRUE(client.ok());
  ASSERT_TRUE((*client)->counter("likes").add(1).ok());
  std::map<int, bool> sockets = open_sockets();
  for (const auto& [socket, closed] : before) sockets.erase(socket);
  EXPECT_GE(sockets.size(), 6u);  // four that listen, and a connection's both ends
  for (const auto& [socket, closed] : sockets) EXPECT_TRUE(closed) << socket;
}

// They are all of this machine. Two reactors of one node prove nothing to each other.
TEST(Cluster, ComparesTheClocksOfItsNodes) {
  for (const bool several : {false, true}) {
    const TemporaryDirectory directory;
    std::vector<NodeOptions> cluster = cluster_of(2, directory.path());
    for (NodeOptions& options : cluster) options.reactors = several ? 2 : 1;
    Nodes nodes = open_all(cluster);
    const auto compared = [&] {
      const Result<ClusterStatus> status = nodes[0]->status();
      const auto is_compared = [](const MemberStatus& member) {
        if (!member.reached.ok()) return member.name.starts_with("n2");  // it has no client port
        return member.clock && member.clock->count() < 100 && member.clock_trusted == true;
      };
      return status.ok() && std::ranges::all_of(status->members, is_compared);
    };
    EXPECT_TRUE(eventually(compared)) << several;
    nodes.clear();
    const auto alone = open_node(cluster[0]);
    ASSERT_TRUE(alone->wait_ready(kPatience));
    const Result<ClusterStatus> status = alone->status();
    ASSERT_TRUE(status.ok()) << status.status().message();
    EXPECT_THAT(status->members[0].clock_doubt, HasSubstr("not compared its clock"));
  }
}

TEST(Cluster, IsFoundedOnlyOnceEveryMemberWasSeen) {
  const TemporaryDirectory directory;
  const std::vector<NodeOptions> cluster = cluster_of(3, directory.path());
  const auto first = open_node(cluster[0]);
  const auto second = open_node(cluster[1]);
  EXPECT_FALSE(first->wait_ready(std::chrono::milliseconds(100)));
  EXPECT_EQ(first->counter("likes").add(1).code(), Code::unavailable);
  const auto third = open_node(cluster[2]);
  for (Node* node : {first.get(), second.get(), third.get()})
    EXPECT_TRUE(node->wait_ready(kPatience));
}

TEST(Cluster, ARebuiltNodeIsFilledFromItsPeers) {
  const TemporaryDirectory directory;
  std::vector<NodeOptions> cluster = cluster_of(3, directory.path());
  Nodes nodes = open_all(cluster);
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(eventually([&] {
      return nodes[0]->counter("key" + std::to_string(i)).add(i, {.ack = Ack::quorum}).ok();
    }));
  }
  nodes[2].reset();
  std::filesystem::remove_all(cluster[2].data_directory);
  cluster[2].rebuild = true;
  std::atomic<bool> told_filled{false};
  cluster[2].log = [&](LogLevel, std::string_view message, std::string_view) {
    if (message == "the new disk has been filled: it counts from now on") told_filled = true;
  };
  nodes[2] = open_node(cluster[2]);
  ASSERT_TRUE(nodes[2]->wait_ready(kPatience));
  EXPECT_TRUE(eventually([&] {
    for (int i = 0; i < 100; ++i) {
      if (!reads(*nodes[2], "key" + std::to_string(i), i, ReadLevel::local)) return false;
    }
    return true;
  }));
  EXPECT_TRUE(eventually([&] { return told_filled.load(); }));
  nodes[2].reset();  // it logs until then
}

// Three nodes, each of which dials those behind it. The first one's disk can go back to an
// older copy of itself.
class RolledBackFirst {
 public:
  RolledBackFirst() {
    std::ranges::sort(cluster_, {}, [](const NodeOptions& node) { return node_id(node.name); });
    cluster_[0].log = [this](LogLevel, std::string_view message, std::string_view) {
      if (message.find("new identity") != std::string_view::npos) ++noticed_;
    };
    for (std::size_t i = 0; i < cluster_.size(); ++i) open(i);
  }

  void open(std::size_t node) { nodes_[node] = open_node(cluster_[node]); }
  void close(std::size_t node) { nodes_[node].reset(); }
  // With the first closed.
  void copy_disk() {
    namespace fs = std::filesystem;
    fs::copy(cluster_[0].data_directory, directory_ / "copy", fs::copy_options::recursive);
  }
  void roll_back() {
    std::filesystem::remove_all(cluster_[0].data_directory);
    std::filesystem::rename(directory_ / "copy", cluster_[0].data_directory);
  }
  void add_at_first(int n) {
    ASSERT_TRUE(nodes_[0]->wait_ready(kPatience));
    ASSERT_TRUE(
        eventually([&] { return nodes_[0]->counter("likes").add(n, {.ack = Ack::quorum}).ok(); }));
  }
  [[nodiscard]] Node& node(std::size_t node) { return *nodes_[node]; }
  [[nodiscard]] int noticed() const { return noticed_; }

 private:
  const TemporaryDirectory directory_;
  std::vector<NodeOptions> cluster_ = cluster_of(3, directory_.path());
  std::atomic<int> noticed_{0};
  Nodes nodes_ = Nodes(3);  // last: they log until they end
};

// Its peers remember commits that it has forgotten, so it must not count on under
// its old name: its later adds would be taken for those forgotten ones.
TEST(Cluster, ADiskFromAnOldCopyTakesANewIdentityAndNoAddIsLost) {
  RolledBackFirst cluster;
  cluster.add_at_first(1);
  cluster.close(0);
  cluster.copy_disk();
  cluster.open(0);
  cluster.add_at_first(10);
  EXPECT_EQ(cluster.noticed(), 0);
  cluster.close(0);
  cluster.roll_back();
  cluster.open(0);
  EXPECT_TRUE(eventually([&] { return cluster.noticed() == 1; }));
  cluster.add_at_first(100);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(
        eventually([&] { return reads(cluster.node(i), "likes", 111, ReadLevel::strong); }));
  }
}

// The second node has not seen what the disk forgot; the third, which has, comes back only
// while the first closes and still waits for a majority for a read. (On a machine where that
// takes it longer than the first waits, this shows nothing.)
TEST(Cluster, ANodeThatLearnsWhileItClosesThatItsDiskWentBackCloses) {
  RolledBackFirst cluster;
  cluster.add_at_first(1);
  cluster.close(0);
  cluster.copy_disk();
  cluster.close(1);
  cluster.open(0);
  cluster.add_at_first(10);
  cluster.close(0);
  cluster.close(2);
  cluster.roll_back();
  cluster.open(1);
  cluster.open(0);
  cluster.add_at_first(100);
  cluster.close(1);
  cluster.node(0).counter("likes").read({.level = ReadLevel::strong},
                                        [](const Result<Reading>&) {});
  std::thread closing([&] { EXPECT_TRUE(cluster.node(0).close().ok()); });
  cluster.open(2);
  closing.join();
}

}  // namespace
}  // namespace quipu::test
