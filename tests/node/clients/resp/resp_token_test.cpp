// QUIPU.SESSION and QUIPU.ADD … TOKEN: the same words, sent again through any node, count once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/node/clients/resp/resp_conversation.h"

namespace quipu::test {
namespace {

using testing::MatchesRegex;
using testing::StartsWith;

constexpr const char* kSession = "\\$33\r\n[0-9a-f]{16}-[0-9a-f]{16}\r\n";

// Empty: there is none.
std::string open_session(RawConnection& client, const std::string& key) {
  const std::string reply = client.reply_to("QUIPU.SESSION " + key);
  EXPECT_THAT(reply, MatchesRegex(kSession));
  return reply.size() == 40 ? reply.substr(5, 33) : "";
}

class RespTokens : public Resp {};

TEST_P(RespTokens, TheSameWordsCountOnce) {
  RawConnection client = connect();
  const std::string session = open_session(client, "a");
  EXPECT_NE(open_session(client, "a"), session);
  const std::string first = "QUIPU.ADD a 5 TOKEN " + session + " 1";
  const std::string second = "quipu.add a -2 ack quorum token " + session + " 2";
  converse(connect(), {{first, ":5 "},
                       {first, ":5 "},
                       {second, ":3 "},
                       {first, ":3 "},  // the total as it is now
                       {second, ":3 "},
                       {"GET a", "$1 3 "}});
  // In a pipeline, and on another connection.
  RawConnection other = connect();
  const std::string third = "QUIPU.ADD a 10 TOKEN " + session + " 3\r\n";
  ASSERT_TRUE(other.send(third + third + "GET a\r\n"));
  EXPECT_EQ(other.receive_text("$2\r\n13\r\n"), ":13\r\n:13\r\n$2\r\n13\r\n");
  // A token works for any counter, though the reactor that holds it may hear of the add later.
  const std::string fourth = "QUIPU.ADD b 1 TOKEN " + session + " 4";
  for (int i = 0; i < 3; ++i) EXPECT_THAT(other.reply_to(fourth), StartsWith(":"));
  EXPECT_TRUE(eventually([&other] { return other.reply_to("GET b") == "$1\r\n1\r\n"; }));
}

TEST_P(RespTokens, ANumberNamesOneAdd) {
  RawConnection client = connect();
  const std::string token = " TOKEN " + open_session(client, "a") + ' ';
  EXPECT_EQ(client.reply_to("QUIPU.ADD a 5" + token + "1"), ":5\r\n");
  for (const char* other : {"QUIPU.ADD a 6", "QUIPU.ADD b 5"}) {
    EXPECT_EQ(client.reply_to(other + token + "1"),
              "-ERR token_reused: this token was used for another change (this add does not count: "
              "give it another number)\r\n");
  }
  EXPECT_EQ(client.reply_to("GET a"), "$1\r\n5\r\n");
  EXPECT_EQ(client.reply_to("GET b"), "$-1\r\n");
}

// Or a delayed copy of it might succeed.
TEST_P(RespTokens, WhatWasRefusedForGoodIsRefusedWheneverItIsSent) {
  RawConnection client = connect();
  const std::string overflow = "-ERR increment or decrement would overflow\r\n";
  const std::string add =
      "QUIPU.ADD a 9223372036854775807 TOKEN " + open_session(client, "a") + " 1";
  EXPECT_EQ(client.reply_to("INCR a"), ":1\r\n");
  EXPECT_EQ(client.reply_to(add), overflow);
  EXPECT_EQ(client.reply_to("DEL a"), ":1\r\n");
  EXPECT_EQ(client.reply_to(add), overflow);
  EXPECT_EQ(client.reply_to("GET a"), "$-1\r\n");
}

TEST_P(RespTokens, BelowTheFloorItCannotBeFoundOut) {
  RawConnection client = connect();
  const std::string token = " TOKEN " + open_session(client, "a") + ' ';
  EXPECT_EQ(client.reply_to("QUIPU.ADD a 1" + token + "1"), ":1\r\n");
  EXPECT_EQ(client.reply_to("QUIPU.ADD a 1" + token + "2 FLOOR 1"), ":2\r\n");
  EXPECT_EQ(client.reply_to("QUIPU.ADD a 1" + token + "1"), ":2\r\n");
  EXPECT_EQ(client.reply_to("QUIPU.ADD a 1" + token + "9 FLOOR 3 ACK DISK"), ":3\r\n");
  EXPECT_EQ(client.reply_to("QUIPU.ADD a 1" + token + "2"),
            "-INDOUBT token_expired: this token's number is below its session's floor, or the "
            "session was dropped (it cannot be found out any more whether it counted)\r\n");
  // 1,024 numbers from the floor on.
  EXPECT_EQ(client.reply_to("QUIPU.ADD a 1" + token + "1026"), ":4\r\n");
  EXPECT_THAT(client.reply_to("QUIPU.ADD a 1" + token + "1027"),
              StartsWith("-INDOUBT session_window: "));
  EXPECT_EQ(client.reply_to("QUIPU.ADD a 1" + token + "1027 FLOOR 4"), ":5\r\n");
  EXPECT_EQ(client.reply_to("QUIPU.ADD a 1 TOKEN 1122334455667788-0000000000000003 1"),
            "-INDOUBT executor_gone: no member holds the store that this token names (it cannot be "
            "found out any more whether it counted)\r\n");
  EXPECT_EQ(client.reply_to("GET a"), "$1\r\n5\r\n");
}

TEST_P(RespTokens, WhatIsNoTokenIsAnErrorAndCountsNothing) {
  RawConnection client = connect();
  const std::string session = open_session(client, "a");
  const std::string add = "QUIPU.ADD a 1 ";
  const std::string token = add + "TOKEN " + session + ' ';
  const std::string syntax =
      "-ERR syntax error: QUIPU.ADD key amount [ACK MEMORY|DISK|QUORUM] [AFFINITY name | TOKEN "
      "session number [FLOOR number]] [AT ms] ";
  const std::string no_session = "-ERR a token's session is what QUIPU.SESSION answered ";
  const std::string no_number = "-ERR a token's number is an integer from 1 on ";
  const std::string no_floor = "-ERR FLOOR is an integer from 1 on ";
  converse(connect(),
           {{add + "TOKEN", syntax},
            {add + "TOKEN " + session, syntax},
            {token + "1 FLOOR", syntax},
            {token + "1 TOKEN " + session + " 1", syntax},
            {token + "1 FLOOR 1 FLOOR 1", syntax},
            {token + "1 AFFINITY me", syntax},
            {add + "AFFINITY me TOKEN " + session + " 1", syntax},
            {add + "FLOOR 1", syntax},
            {add + "TOKEN " + session.substr(1) + " 1", no_session},
            {add + "TOKEN " + session + "0 1", no_session},
            {add + "TOKEN '' 1", no_session},
            {add + "TOKEN 0000000000000000-0000000000000001 1", no_session},
            {add + "TOKEN 0000000000000001-0000000000000000 1", no_session},
            {add + "TOKEN 11223344556677889-000000000000003 1", no_session},
            {add + "TOKEN +122334455667788-0000000000000003 1", no_session},
            {add + "TOKEN 112233445566778x-0000000000000003 1", no_session},
            {token + "0", no_number},
            {token + "-1", no_number},
            {token + "x", no_number},
            {token + "9223372036854775808", no_number},
            {token + "1 FLOOR 0", no_floor},
            {token + "1 FLOOR x", no_floor},
            {token + "1 FLOOR 2",
             "-ERR FLOOR is the lowest number that may still be sent: not above this one "},
            {"QUIPU.ADD '' 1 TOKEN " + session + " 1", "-ERR a key has 1 to 512 bytes "},
            {"QUIPU.RESET a TOKEN " + session + " 1",
             "-ERR syntax error: QUIPU.RESET key [ACK MEMORY|DISK|QUORUM] "},
            {"QUIPU.SESSION ''", "-ERR a key has 1 to 512 bytes "},
            {"QUIPU.SESSION " + std::string(513, 'k'), "-ERR a key has 1 to 512 bytes "},
            {"QUIPU.SESSION", "-ERR wrong number of arguments for 'quipu.session' command "},
            {"GET a", "$-1 "},
            {token + "1", ":1 "}});
}

TEST_P(RespTokens, ACounterThatIsSpreadTakesTokensToo) {
  ASSERT_TRUE(node_->counter("a").raise_shards(8).ok());
  RawConnection client = connect();
  const std::string add = "QUIPU.ADD a 1 TOKEN " + open_session(client, "a") + " 1";
  EXPECT_EQ(client.reply_to(add), ":1\r\n");
  EXPECT_EQ(client.reply_to(add), ":1\r\n");
  EXPECT_EQ(client.reply_to("INCR a"), ":2\r\n");
}

TEST(RespTokensOfACluster, CountOnceThroughEveryNode) {
  const TemporaryDirectory directory;
  std::vector<NodeOptions> options = cluster_of(3, directory / "data");
  std::vector<std::unique_ptr<Node>> nodes;
  for (NodeOptions& one : options) {
    one.replication = 1;
    nodes.push_back(open_node(one));
  }
  for (const auto& node : nodes) {
    ASSERT_TRUE(node->wait_ready(kPatience));
    ASSERT_TRUE(eventually([&node] {
      const auto read = node->counter("linked").read();
      return read.ok() && read->complete;
    }));
  }
  std::vector<std::unique_ptr<RawConnection>> clients;
  for (const auto& node : nodes)
    clients.push_back(std::make_unique<RawConnection>(node->client_address()));
  for (int key = 0; key < 10; ++key) {
    const std::string name = "k" + std::to_string(key);
    // Whichever node is asked, the session is its owner's.
    const std::string session = open_session(*clients[0], name);
    for (const auto& client : clients)
      EXPECT_EQ(open_session(*client, name).substr(0, 16), session.substr(0, 16));
    for (int number = 1; number <= 3; ++number) {
      const std::string add =
          "QUIPU.ADD " + name + " 7 TOKEN " + session + ' ' + std::to_string(number);
      for (const auto& client : clients) EXPECT_THAT(client->reply_to(add), StartsWith(":"));
    }
    EXPECT_EQ(clients[0]->reply_to("QUIPU.GET " + name + " STRONG").substr(0, 20),
              "*6\r\n$5\r\nvalue\r\n:21\r\n");
  }
}

TEST(RespTokensOfACluster, ANodeThatIsDownLeavesItInDoubtUntilItIsBack) {
  const TemporaryDirectory directory;
  const std::vector<NodeOptions> options = cluster_of(3, directory / "data");
  std::vector<std::unique_ptr<Node>> nodes;
  for (const NodeOptions& one : options) nodes.push_back(open_node(one));
  for (const auto& node : nodes) ASSERT_TRUE(node->wait_ready(kPatience));
  RawConnection first(nodes[0]->client_address());
  RawConnection second(nodes[1]->client_address());
  const std::string session = open_session(first, "a");
  const std::string counted = "QUIPU.ADD a 1 TOKEN " + session + " 1";
  const std::string late = "QUIPU.ADD a 1 TOKEN " + session + " 2";
  EXPECT_EQ(first.reply_to(counted), ":1\r\n");
  nodes[0].reset();
  for (const std::string& add : {counted, late}) {
    const std::string reply = second.reply_to(add);
    EXPECT_THAT(reply, StartsWith("-INDOUBT in_doubt: "));
    EXPECT_THAT(reply, testing::HasSubstr("send the same words again, to any node"));
  }
  nodes[0] = open_node(options[0]);
  ASSERT_TRUE(eventually([&] { return second.reply_to(late).front() == ':'; }));
  EXPECT_THAT(second.reply_to(counted), StartsWith(":"));
  // What is acknowledged by one disk, a majority without it may not know at once.
  EXPECT_TRUE(eventually([&] {
    return second.reply_to("QUIPU.GET a STRONG").starts_with("*6\r\n$5\r\nvalue\r\n:2\r\n");
  }));
}

INSTANTIATE_TEST_SUITE_P(Reactors, RespTokens, testing::Values(1, 3));

}  // namespace
}  // namespace quipu::test
