// What strangers may say on the two ports: it costs them their connection, and
// nobody else anything.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node/net/address.h"
#include "node/peers/peer_links.h"
#include "protocol/random.h"
#include "tests/node/api/nodes.h"
#include "tests/node/clients/raw_connection.h"
#include "tests/node/eventually.h"
#include "tests/node/temporary_directory.h"

namespace quipu::test {
namespace {

using testing::HasSubstr;

Op add_op(std::uint64_t id, std::string_view key) {
  Op op;
  op.id = id;
  op.key = key;
  op.amount = 1;
  return op;
}

std::string framed(const auto& message) {
  std::string frame;
  encode(frame, message);
  return frame;
}

std::span<const std::byte> bytes_of(const std::string& payload) {
  return std::as_bytes(std::span(payload));
}

// A node, and a well-behaved connection that must not notice anything.
class Port : public testing::Test {
 protected:
  Port() : node_(open_node(alone(directory_ / "data"))), witness_(node_->client_address()) {
    EXPECT_TRUE(node_->wait_ready(kPatience));
  }

  void expect_witness_served() {
    EXPECT_TRUE(witness_.send(framed(add_op(++last_id_, "witness"))));
    const auto answer = witness_.receive();
    ASSERT_TRUE(answer.has_value());
    ASSERT_EQ(answer->type, FrameType::done);
    const Result<Done> done = decode_done(bytes_of(answer->payload));
    ASSERT_TRUE(done.ok());
    EXPECT_EQ(done->id, last_id_);
    EXPECT_EQ(done->code, Code::ok);
  }

  TemporaryDirectory directory_;
  std::unique_ptr<Node> node_;
  RawConnection witness_;
  std::uint64_t last_id_ = 0;
};

TEST_F(Port, TakesNewLimitsWhileItServes) {
  expect_witness_served();
  EXPECT_EQ(node_->set_client_limits({.connections = 0}).code(), Code::invalid_argument);
  ASSERT_TRUE(node_->set_client_limits({.connections = 1, .idle = std::chrono::seconds(99)}).ok());
  RawConnection second(node_->client_address());  // accepted behind the new limits
  EXPECT_THAT(second.reply_to("*1\r\n$4\r\nPING\r\n"), HasSubstr("max number of clients"));
  expect_witness_served();  // it stays
  ASSERT_TRUE(node_->set_client_limits({.connections = 2, .idle = std::chrono::seconds(98)}).ok());
  RawConnection third(node_->client_address());
  EXPECT_THAT(third.reply_to("*3\r\n$6\r\nCONFIG\r\n$3\r\nGET\r\n$7\r\ntimeout\r\n"),
              HasSubstr("98"));
}

TEST_F(Port, AnswersEachRequestById) {
  RawConnection client(node_->client_address());
  Read read;
  read.id = 3;
  read.keys = {"likes", "nobody"};
  ASSERT_TRUE(client.send(framed(add_op(1, "likes")) + framed(add_op(2, "likes"))));
  for (const std::uint64_t id : {1u, 2u}) {
    const auto answer = client.receive();
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(decode_done(bytes_of(answer->payload))->id, id);
  }
  ASSERT_TRUE(client.send(framed(read)));
  const auto answer = client.receive();
  ASSERT_TRUE(answer.has_value());
  const Result<Values> values = decode_values(bytes_of(answer->payload));
  ASSERT_TRUE(values.ok());
  EXPECT_EQ(values->id, 3u);
  ASSERT_EQ(values->values.size(), 2u);
  EXPECT_EQ(values->values[0].value, 2);
  EXPECT_FALSE(values->values[1].exists);
}

TEST_F(Port, AnswersWhoItIsAndWhatItHolds) {
  RawConnection client(node_->client_address());
  expect_witness_served();
  ASSERT_TRUE(client.send(framed(ConfigRequest{7}) + framed(StatusRequest{8}) +
                          framed(List{9, "wit", 0, 10})));
  const Result<ConfigReply> config = decode_config_reply(bytes_of(client.receive()->payload));
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->id, 7u);
  EXPECT_TRUE(config->ready);
  ASSERT_EQ(config->members.size(), 1u);
  EXPECT_EQ(config->members[0].client_address, node_->client_address());
  const Result<StatusReply> status = decode_status_reply(bytes_of(client.receive()->payload));
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(status->id, 8u);
  EXPECT_EQ(status->state, "ready");
  const Result<Keys> keys = decode_keys(bytes_of(client.receive()->payload));
  ASSERT_TRUE(keys.ok());
  EXPECT_EQ(keys->id, 9u);
}

TEST(ClientPort, OnAllAddressesIsToldToClientsOnlyAsTheMembersNameIt) {
  for (const char* named : {"", "node-1.example:7400"}) {
    const TemporaryDirectory directory;
    NodeOptions options = cluster_of(1, directory / "data").front();
    options.client_address = "0.0.0.0:0";
    options.insecure = true;
    options.members.front().client_address = named;
    const auto node = open_node(options);
    const Result<Address> bound = parse_address(node->client_address());
    RawConnection client("127.0.0.1:" + std::to_string(bound->port));
    ASSERT_TRUE(client.send(framed(ConfigRequest{1})));
    const Result<ConfigReply> config = decode_config_reply(bytes_of(client.receive()->payload));
    ASSERT_TRUE(config.ok());
    EXPECT_EQ(config->members[0].client_address, named);
  }
}

TEST_F(Port, RequestsMayComeByteByByte) {
  RawConnection client(node_->client_address());
  for (const char byte : framed(add_op(5, "slow"))) ASSERT_TRUE(client.send({&byte, 1}));
  const auto answer = client.receive();
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(decode_done(bytes_of(answer->payload))->id, 5u);
}

TEST_F(Port, ThousandsOfPipelinedRequestsAreAllAnswered) {
  RawConnection client(node_->client_address());
  constexpr std::uint64_t kRequests = 5000;
  std::string frames;
  for (std::uint64_t id = 1; id <= kRequests; ++id) frames += framed(add_op(id, "likes"));
  ASSERT_TRUE(client.send(frames));
  for (std::uint64_t id = 1; id <= kRequests; ++id) {
    const auto answer = client.receive();
    ASSERT_TRUE(answer.has_value());
    const Result<Done> done = decode_done(bytes_of(answer->payload));
    ASSERT_TRUE(done.ok());
    ASSERT_EQ(done->id, id);
    ASSERT_EQ(done->code, Code::ok);
  }
  EXPECT_EQ(node_->counter("likes").read()->value, static_cast<std::int64_t>(kRequests));
}

TEST_F(Port, WhatIsNoRequestIsRefusedWithAReason) {
  std::string damaged = framed(add_op(1, "likes"));
  damaged.back() ^= 1;
  std::string other_version = framed(add_op(1, "likes"));
  other_version[1] = 99;
  std::string oversized = framed(add_op(1, "likes"));
  oversized[7] = 0x7f;  // the length's highest byte
  std::string odd_length = framed(add_op(1, "likes"));
  odd_length[4] = 1;
  std::string unknown_type = framed(add_op(1, "likes"));
  unknown_type[2] = 99;
  std::string no_table;
  append_frame(no_table, FrameType::op, {}, spoken_versions().to);
  std::string hello;
  encode_peer(hello, Hello{}, ClusterId{});

  struct Case {
    std::string bytes;
    const char* reason;
  };
  for (const auto& [bytes, reason] : {
           Case{damaged, "checksum"},
           Case{other_version, "version 99"},
           Case{oversized, "the limit is"},
           Case{odd_length, "multiple of 8"},
           Case{unknown_type, "unknown type 99"},
           Case{no_table, ""},
           Case{framed(Done{}), "not a request"},
           Case{framed(Values{}), "not a request"},
           Case{hello, "not a request"},
       }) {
    RawConnection stranger(node_->client_address());
    ASSERT_TRUE(stranger.send(bytes));
    const auto refusal = stranger.receive_until_closed();
    ASSERT_TRUE(refusal.has_value()) << reason;
    EXPECT_EQ(refusal->code, Code::protocol_error);
    EXPECT_THAT(refusal->detail, HasSubstr(reason));
    expect_witness_served();
  }
}

TEST_F(Port, WhatCameBeforeNonsenseIsStillDone) {
  RawConnection client(node_->client_address());
  ASSERT_TRUE(client.send(framed(add_op(1, "likes")) + "nonsense"));
  EXPECT_TRUE(client.receive_until_closed().has_value());
  EXPECT_TRUE(eventually([&] { return node_->counter("likes").read()->value == 1; }));
}

TEST_F(Port, AHalfFrameAndThenAnEndHurtsNobody) {
  const std::string frame = framed(add_op(1, "likes"));
  for (std::size_t length = 1; length < frame.size(); ++length) {
    RawConnection client(node_->client_address());
    ASSERT_TRUE(client.send(std::string_view(frame).substr(0, length)));
    client.shutdown_send();
    EXPECT_FALSE(client.receive_until_closed().has_value());
  }
  expect_witness_served();
  EXPECT_FALSE(node_->counter("likes").read()->exists);
}

TEST_F(Port, RandomBytesHurtNobody) {
  const std::uint64_t seed = testing::UnitTest::GetInstance()->random_seed() + 1u;
  SCOPED_TRACE("--gtest_random_seed=" + std::to_string(seed - 1));
  Random random(seed);
  const std::string sound = framed(add_op(1, "likes"));
  for (int i = 0; i < 100; ++i) {
    // Half of them a sound frame with one byte changed.
    std::string bytes = sound;
    if (i % 2 == 0) {
      bytes[random.below(bytes.size())] = static_cast<char>(random.next());
    } else {
      bytes.resize(random.below(200));
      for (char& byte : bytes) byte = static_cast<char>(random.next());
    }
    RawConnection stranger(node_->client_address());
    static_cast<void>(stranger.send(bytes));
    stranger.shutdown_send();
    static_cast<void>(stranger.receive_text());
  }
  expect_witness_served();
}

// The config is the largest answer to the smallest question.
TEST_F(Port, AClientThatFetchesNothingIsHeldBackAndNobodyElse) {
  RawConnection greedy(node_->client_address());
  std::thread asking([&] {
    std::string questions;
    for (std::uint64_t id = 0; id < 1000; ++id) questions += framed(ConfigRequest{id});
    static_cast<void>(greedy.send(questions));
  });
  for (int i = 0; i < 20; ++i) expect_witness_served();
  for (std::uint64_t id = 0; id < 1000; ++id) {
    const auto answer = greedy.receive();
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(decode_config_reply(bytes_of(answer->payload))->id, id);
  }
  asking.join();
}

TEST(PeerPort, NonsenseCostsAStrangerItsConnectionAndTheClusterNothing) {
  const TemporaryDirectory directory;
  std::vector<std::unique_ptr<Node>> nodes;
  for (const NodeOptions& options : cluster_of(3, directory.path()))
    nodes.push_back(open_node(options));
  for (const auto& node : nodes) ASSERT_TRUE(node->wait_ready(kPatience));

  std::string another_cluster;
  encode_peer(another_cluster, Heartbeat{}, ClusterId{12345});
  std::string client_frame = framed(add_op(1, "likes"));
  std::string empty_hello;
  encode_peer(empty_hello, Hello{}, ClusterId{});
  for (const std::string& bytes :
       {std::string("GET / HTTP/1.1\r\n\r\n"), another_cluster, client_frame, empty_hello}) {
    RawConnection stranger(nodes[0]->peer_address());
    ASSERT_TRUE(stranger.send(bytes));
    static_cast<void>(stranger.receive_until_closed());  // fails if it is not closed
  }
  EXPECT_TRUE(
      eventually([&] { return nodes[0]->counter("likes").add(1, {.ack = Ack::quorum}).ok(); }));
}

TEST(PeerPort, StrangersWhoSayNothingKeepNobodyOut) {
  const TemporaryDirectory directory;
  const std::vector<NodeOptions> cluster = cluster_of(2, directory.path());
  const auto node = open_node(cluster[0]);
  std::vector<std::unique_ptr<RawConnection>> silent;
  for (std::size_t i = 0; i < kMaxUnheardLinks; ++i) {
    silent.push_back(std::make_unique<RawConnection>(node->peer_address()));
  }
  RawConnection one_more(node->peer_address());
  ASSERT_TRUE(one_more.send("nonsense"));
  EXPECT_TRUE(one_more.receive_until_closed().has_value());   // it was heard
  static_cast<void>(silent.front()->receive_until_closed());  // the oldest made room
}

}  // namespace
}  // namespace quipu::test
