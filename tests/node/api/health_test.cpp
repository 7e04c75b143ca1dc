// What a node says of its health.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "quipu/node.h"
#include "tests/node/api/nodes.h"
#include "tests/node/eventually.h"
#include "tests/node/temporary_directory.h"

namespace quipu::test {
namespace {

using std::chrono::milliseconds;

TEST(NodeHealth, IsReadyWithTurnsWhileItServes) {
  const TemporaryDirectory directory;
  const auto node = open_node(alone(directory / "data"));
  ASSERT_TRUE(node->wait_ready(kPatience));
  const NodeHealth health = node->health();
  EXPECT_TRUE(health.ready) << health.waits_for;
  EXPECT_EQ(health.waits_for, "");
  EXPECT_LT(health.since_turn, kPatience);
}

TEST(NodeHealth, SaysWhatItWaitsFor) {
  const TemporaryDirectory directory;
  NodeOptions options = alone(directory / "data");
  options.members = {{.name = options.name, .peer_address = "127.0.0.1:1"},
                     {.name = "absent", .peer_address = "127.0.0.1:2"}};
  options.peer_address = "127.0.0.1:0";
  const auto node = open_node(options);
  ASSERT_NE(node, nullptr);
  EXPECT_FALSE(node->health().ready);
  EXPECT_TRUE(eventually([&] {
    return node->health().waits_for.find("absent") != std::string::npos;
  })) << node->health().waits_for;
}

TEST(NodeHealth, TellsThatAReactorIsStuckWithoutWaitingForIt) {
  const TemporaryDirectory directory;
  const auto node = open_node(alone(directory / "data"));
  ASSERT_TRUE(node->wait_ready(kPatience));
  std::promise<void> go_on;
  node->counter("likes").add(1, {}, [&](const Status&) { go_on.get_future().wait(); });
  EXPECT_TRUE(eventually([&] { return node->health().since_turn > milliseconds(1'500); }));
  go_on.set_value();
  EXPECT_TRUE(eventually([&] { return node->health().since_turn < milliseconds(1'500); }));
}

}  // namespace
}  // namespace quipu::test
