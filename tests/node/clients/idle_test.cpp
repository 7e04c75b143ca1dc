// A client that is silent for ClientPortOptions::idle goes, unless it is us who owe a word.
#include <gtest/gtest.h>

#include <chrono>

#include "tests/node/api/nodes.h"
#include "tests/node/clients/raw_connection.h"
#include "tests/node/eventually.h"
#include "tests/node/temporary_directory.h"

namespace quipu::test {
namespace {

NodeOptions impatient(NodeOptions options) {
  options.client_port.idle = std::chrono::seconds(1);
  return options;
}

std::string strong_read(std::uint32_t timeout_ms) {
  Read read;
  read.id = 1;
  read.level = ReadLevel::strong;
  read.timeout_ms = timeout_ms;
  read.keys = {"a"};
  std::string frame;
  encode(frame, read);
  return frame;
}

// Each of these returns when the other side has closed, or fails the test after a while.
TEST(Idle, WhoeverIsSilentIsDisconnectedWhateverItSpeaks) {
  const TemporaryDirectory directory;
  const auto node = open_node(impatient(alone(directory / "data")));
  ASSERT_TRUE(node->wait_ready(kPatience));
  RawConnection silent(node->client_address());
  RawConnection redis(node->client_address());
  RawConnection native(node->client_address());
  EXPECT_EQ(redis.reply_to("INCR a"), ":1\r\n");
  ASSERT_TRUE(native.send(strong_read(0)));
  EXPECT_TRUE(native.receive().has_value());
  EXPECT_EQ(silent.receive_text(), "");
  EXPECT_EQ(redis.receive_text(), "");
  EXPECT_FALSE(native.receive().has_value());
}

// One of two owners is gone. A strong read waits for it until its deadline.
TEST(Idle, WhoeverWaitsForAnAnswerGetsItFirst) {
  const TemporaryDirectory directory;
  std::vector<std::unique_ptr<Node>> nodes;
  for (const NodeOptions& one : cluster_of(2, directory / "data"))
    nodes.push_back(open_node(impatient(one)));
  for (const auto& node : nodes) ASSERT_TRUE(node->wait_ready(kPatience));
  nodes.pop_back();
  RawConnection redis(nodes[0]->client_address());
  RawConnection native(nodes[0]->client_address());
  const auto asked = std::chrono::steady_clock::now();
  ASSERT_TRUE(native.send(strong_read(3000)));
  ASSERT_TRUE(redis.send("QUIPU.GET a STRONG\r\n"));
  const auto answer = native.receive();
  ASSERT_TRUE(answer.has_value());
  const Result<Values> values = decode_values(std::as_bytes(std::span(answer->payload)));
  ASSERT_TRUE(values.ok());
  EXPECT_EQ(values->values.at(0).code, Code::no_quorum);
  EXPECT_GE(std::chrono::steady_clock::now() - asked, std::chrono::seconds(3));
  EXPECT_TRUE(redis.receive_text("\r\n").starts_with("-UNAVAILABLE no_quorum"));
  EXPECT_FALSE(native.receive().has_value());
  EXPECT_EQ(redis.receive_text(), "");
}

}  // namespace
}  // namespace quipu::test
