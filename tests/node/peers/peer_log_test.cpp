// What a node's log says of its peers: one line for each event and peer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

#include "protocol/message_codec.h"
#include "tests/node/api/nodes.h"
#include "tests/node/clients/raw_connection.h"
#include "tests/node/eventually.h"
#include "tests/node/temporary_directory.h"

namespace quipu::test {
namespace {

using testing::HasSubstr;

// The lines from info on, "message field=value …".
class Lines {
 public:
  [[nodiscard]] auto sink() {
    return [this](LogLevel level, std::string_view message, std::string_view fields) {
      if (level == LogLevel::debug) return;
      const std::lock_guard lock(mutex_);
      lines_.push_back(std::string(message) + ' ' + std::string(fields));
    };
  }
  [[nodiscard]] std::vector<std::string> with(const std::string& text) {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> found;
    std::copy_if(lines_.begin(), lines_.end(), std::back_inserter(found),
                 [&](const std::string& line) { return line.find(text) != line.npos; });
    return found;
  }
  [[nodiscard]] bool come(const std::string& text, std::size_t times) {
    return eventually([&] { return with(text).size() == times; });
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

TEST(PeerLog, HasOneLineForEachPeerThatGoesOrReturnsAndForEachLossOfTheMajority) {
  const TemporaryDirectory directory;
  Lines lines;
  std::vector<NodeOptions> cluster = cluster_of(3, directory.path());
  cluster[0].log = lines.sink();
  Nodes nodes = open_all(cluster);
  EXPECT_TRUE(lines.come("peer is up peer=n2", 1));
  EXPECT_TRUE(lines.come("peer is up peer=n3", 1));

  // None, unless they took very long to find each other.
  const std::size_t down = lines.with("peer is down").size();
  const std::size_t lost = lines.with("no majority").size();

  // Both for the same reason, and at nearly the same time.
  nodes[1].reset();
  nodes[2].reset();
  EXPECT_TRUE(lines.come("peer is down", down + 2));
  EXPECT_THAT(lines.with("peer is down peer=n2").back(), HasSubstr("why="));
  EXPECT_THAT(lines.with("peer is down peer=n3").back(), HasSubstr("why="));
  EXPECT_TRUE(lines.come("no majority", lost + 1));
  EXPECT_THAT(lines.with("no majority").back(), HasSubstr("partitions=4096 of=4096"));

  nodes[1] = open_node(cluster[1]);
  EXPECT_TRUE(lines.come("peer is up peer=n2", 2));
  EXPECT_TRUE(lines.come("a majority of the owners is reachable again", lost + 1));
  EXPECT_EQ(lines.with("peer is down").size(), down + 2);
  EXPECT_EQ(lines.with("no majority").size(), lost + 1);
}

// The order of the members decides who dials whom: the last of the three dials nobody.
TEST(PeerLog, NamesAPeerThatIsNotThereAtTheStart) {
  for (std::size_t missing = 0; missing < 3; ++missing) {
    const TemporaryDirectory directory;
    std::vector<NodeOptions> cluster = cluster_of(3, directory.path());
    const std::size_t watched = (missing + 1) % 3;
    { const Nodes founded = open_all(cluster); }
    Lines lines;
    cluster[watched].log = lines.sink();
    Nodes nodes(3);
    for (std::size_t i = 0; i < 3; ++i) {
      if (i != missing) nodes[i] = open_node(cluster[i]);
    }
    ASSERT_TRUE(nodes[watched]->wait_ready(kPatience));
    EXPECT_TRUE(lines.come("peer=n" + std::to_string(missing + 1) + " ", 1));
  }
}

TEST(PeerLog, NamesAPeerThatIsRefusedOnceHoweverOftenItComes) {
  const TemporaryDirectory directory;
  Lines lines;
  std::vector<NodeOptions> cluster = cluster_of(2, directory.path());
  cluster[0].log = lines.sink();
  { const Nodes founded = open_all(cluster); }
  std::filesystem::remove_all(cluster[1].data_directory);  // its disk is lost
  Nodes nodes(2);
  nodes[0] = open_node(cluster[0]);
  nodes[1] = open_node(cluster[1]);
  const auto closed = [&] { return lines.with("peer link closed peer=n2").size(); };
  ASSERT_TRUE(eventually([&] { return closed() == 1; }));
  nodes[1].reset();
  nodes[1] = open_node(cluster[1]);  // comes again, as after its next attempts
  EXPECT_TRUE(lines.come("--rebuild", 1));
  EXPECT_EQ(closed(), 1u);
}

TEST(PeerLog, NamesAStrangerByItsHostWithoutThePortOfTheMoment) {
  const TemporaryDirectory directory;
  Lines lines;
  std::vector<NodeOptions> cluster = cluster_of(2, directory.path());
  cluster[0].log = lines.sink();
  const Nodes nodes = open_all(cluster);
  for (int i = 0; i < 3; ++i) {
    RawConnection stranger(nodes[0]->peer_address());
    std::string frame;
    encode_peer(frame, Hello{}, ClusterId{});
    ASSERT_TRUE(stranger.send(frame));
    static_cast<void>(stranger.receive_until_closed());
  }
  EXPECT_TRUE(lines.come("remote=127.0.0.1 ", 1));
  EXPECT_TRUE(lines.with("remote=127.0.0.1:").empty());
}

TEST(PeerLog, NamesThePeersThatLackChangesAtTheEnd) {
  const TemporaryDirectory directory;
  Lines lines;
  std::vector<NodeOptions> cluster = cluster_of(3, directory.path());
  cluster[0].log = lines.sink();
  Nodes nodes = open_all(cluster);
  ASSERT_TRUE(nodes[0]->counter("likes").add(1, {.ack = Ack::quorum}).ok());
  nodes[2].reset();
  ASSERT_TRUE(lines.come("peer is down peer=n3", 1));
  ASSERT_TRUE(nodes[0]->counter("likes").add(1, {.ack = Ack::disk}).ok());
  EXPECT_TRUE(nodes[0]->close().ok());  // n2 has all
  EXPECT_EQ(lines.with("stopped while members lack changes").size(), 1u);
  EXPECT_EQ(lines.with("members=n3").size(), 1u);
}

}  // namespace
}  // namespace quipu::test
