// EXPIRE and its like, PERSIST, TTL and its like: the exact replies, which are Redis 7.0's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/resp.h"
#include "tests/node/clients/resp/resp_conversation.h"

namespace quipu::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const std::string kIncompatibleNx =
    "-ERR NX and XX, GT or LT options at the same time are not compatible ";
// In the year 3000.
constexpr const char* kFarSeconds = "32503680000";

class RespExpiry : public Resp {};

INSTANTIATE_TEST_SUITE_P(Reactors, RespExpiry, testing::Values(1, 2));

// The number in a reply such as ":99\r\n". Any other reply fails the test.
std::int64_t expiry_number(const std::string& reply) {
  if (reply.starts_with(':') && reply.ends_with("\r\n"))
    if (const auto number = to_integer(std::string_view(reply).substr(1, reply.size() - 3)))
      return *number;
  ADD_FAILURE() << "no number: " << reply;
  return 0;
}

TEST_P(RespExpiry, TellsWhenACounterEnds) {
  RawConnection client = connect();
  converse(connect(), {{"INCR a", ":1 "}, {"EXPIRE a 1000", ":1 "}, {"INCR a", ":2 "}});
  EXPECT_THAT(expiry_number(client.reply_to("TTL a")),
              testing::AllOf(testing::Gt(900), testing::Le(1000)));
  EXPECT_THAT(expiry_number(client.reply_to("PTTL a")),
              testing::AllOf(testing::Gt(900'000), testing::Le(1'000'000)));
  EXPECT_EQ(client.reply_to("PEXPIRE a 500000"), ":1\r\n");
  EXPECT_THAT(expiry_number(client.reply_to("TTL a")),
              testing::AllOf(testing::Gt(400), testing::Le(500)));
}

TEST_P(RespExpiry, EveryUnitSaysTheSameMoment) {
  const std::string seconds(kFarSeconds), ms(kFar);
  converse(connect(), {{"INCR a", ":1 "},
                       {"EXPIREAT a " + seconds, ":1 "},
                       {"EXPIRETIME a", ':' + seconds + ' '},
                       {"PEXPIRETIME a", ':' + ms + ' '},
                       {"PERSIST a", ":1 "},
                       {"PEXPIRETIME a", ":-1 "},
                       {"pexpireat a " + ms, ":1 "},
                       {"expiretime a", ':' + seconds + ' '},
                       {"PEXPIREAT a 32503680000499", ":1 "},
                       {"EXPIRETIME a", ":32503680000 "},
                       {"PEXPIREAT a 32503680000500", ":1 "},
                       {"EXPIRETIME a", ":32503680001 "},
                       {"PEXPIRETIME a", ":32503680000500 "},
                       {"GET a", "$1 1 "}});
}

TEST_P(RespExpiry, ACounterThatDoesNotExistOrHasNoEndSaysSo) {
  converse(connect(), {{"TTL a", ":-2 "},
                       {"PTTL a", ":-2 "},
                       {"EXPIRETIME a", ":-2 "},
                       {"PEXPIRETIME a", ":-2 "},
                       {"INCR a", ":1 "},
                       {"TTL a", ":-1 "},
                       {"PTTL a", ":-1 "},
                       {"EXPIRETIME a", ":-1 "},
                       {"PEXPIRETIME a", ":-1 "},
                       {"PERSIST a", ":0 "},
                       {"GET a", "$1 1 "}});
}

TEST_P(RespExpiry, ACounterThatDoesNotExistGetsNoEnd) {
  converse(connect(), {{"EXPIRE a 100", ":0 "},
                       {"EXPIRE a 100 NX", ":0 "},
                       {"EXPIRE a 100 LT", ":0 "},
                       {"EXPIRE a -1", ":0 "},
                       {"PEXPIREAT a 1", ":0 "},
                       {"PERSIST a", ":0 "},
                       {"DBSIZE", ":0 "},
                       {"INCR a", ":1 "},
                       {"TTL a", ":-1 "}});
}

// Each row: the end that the counter has, or 0; the options; whether PEXPIREAT then applies.
TEST_P(RespExpiry, ConditionsCompareWithTheEndThatTheCounterHas) {
  struct Row {
    std::int64_t has;
    const char* options;
    bool applies;
  };
  constexpr std::int64_t kEnd = 32'503'680'000'000;
  constexpr Row kRows[] = {
      {0, "", true},
      {kEnd - 1, "", true},
      {0, "NX", true},
      {kEnd - 1, "NX", false},
      {0, "XX", false},
      {kEnd - 1, "XX", true},
      {0, "GT", false},
      {kEnd - 1, "GT", true},
      {kEnd, "GT", false},
      {kEnd + 1, "GT", false},
      {0, "LT", true},
      {kEnd - 1, "LT", false},
      {kEnd, "LT", false},
      {kEnd + 1, "LT", true},
      {0, "XX GT", false},
      {kEnd - 1, "XX GT", true},
      {kEnd, "XX GT", false},
      {0, "XX LT", false},
      {kEnd + 1, "LT XX", true},
      {kEnd, "LT XX", false},
      {0, "NX NX", true},
      {kEnd - 1, "gt gt xx xx", true},
  };
  int number = 0;
  for (const Row& row : kRows) {
    const std::string key = "k" + std::to_string(number++);
    RawConnection client = connect();
    EXPECT_EQ(client.reply_to("INCR " + key), ":1\r\n");
    if (row.has != 0) {
      EXPECT_EQ(client.reply_to("PEXPIREAT " + key + ' ' + std::to_string(row.has)), ":1\r\n");
    }
    EXPECT_EQ(client.reply_to("PEXPIREAT " + key + ' ' + kFar + ' ' + row.options),
              row.applies ? ":1\r\n" : ":0\r\n")
        << row.has << ' ' << row.options;
    const std::int64_t now = row.applies ? kEnd : row.has == 0 ? -1 : row.has;
    EXPECT_EQ(client.reply_to("PEXPIRETIME " + key), ':' + std::to_string(now) + "\r\n")
        << row.has << ' ' << row.options;
  }
}

TEST_P(RespExpiry, ADeadlineInThePastEndsTheCounterAtOnce) {
  for (const char* past :
       {"EXPIRE a 0", "EXPIRE a -1", "PEXPIRE a 0", "PEXPIRE a -1", "EXPIREAT a 1", "EXPIREAT a 0",
        "EXPIREAT a -5", "PEXPIREAT a 1", "EXPIRE a -9223372036854775",
        "PEXPIRE a -9223372036854775808", "EXPIRE a -1 NX", "EXPIRE a -1 LT"}) {
    SCOPED_TRACE(past);
    converse(connect(), {{"INCRBY a 5", ":5 "},
                         {past, ":1 "},
                         {"GET a", "$-1 "},
                         {"TTL a", ":-2 "},
                         {"EXISTS a", ":0 "},
                         {past, ":0 "},
                         {"INCR a", ":1 "},
                         {"TTL a", ":-1 "},
                         {"DEL a", ":1 "}});
  }
  // A condition that does not hold keeps it.
  converse(connect(), {{"INCR a", ":1 "},
                       {"EXPIRE a -1 XX", ":0 "},
                       {"EXPIRE a -1 GT", ":0 "},
                       {"EXPIREAT a " + std::string(kFarSeconds), ":1 "},
                       {"EXPIRE a -1 NX", ":0 "},
                       {"EXPIRE a -1 GT", ":0 "},
                       {"GET a", "$1 1 "}});
}

TEST_P(RespExpiry, WhatIsWrongIsRefusedAndChangesNothing) {
  const auto unsupported = [](const std::string& option) {
    return "-ERR Unsupported option " + option + ' ';
  };
  converse(connect(),
           {{"INCR a", ":1 "},
            {"PEXPIREAT a " + std::string(kFar), ":1 "},
            {"EXPIRE a", wrong_number_of_words("expire")},
            {"PEXPIREAT", wrong_number_of_words("pexpireat")},
            {"PERSIST a b", wrong_number_of_words("persist")},
            {"TTL", wrong_number_of_words("ttl")},
            {"PEXPIRETIME a b", wrong_number_of_words("pexpiretime")},
            {"EXPIRE a x", kNotInteger},
            {"EXPIRE a 1.5", kNotInteger},
            {"EXPIRE a 9223372036854775808", kNotInteger},
            {"EXPIRE a ''", kNotInteger},
            {"EXPIRE a 10 FOO", unsupported("FOO")},
            {"EXPIRE a x FOO", unsupported("FOO")},  // options are read first
            {"EXPIRE a 10 NX 11", unsupported("11")},
            {"EXPIRE a 10 " + std::string(300, 'f'), unsupported(std::string(128, 'f'))},
            {"EXPIRE a 10 NX XX", kIncompatibleNx},
            {"EXPIRE a 10 GT NX", kIncompatibleNx},
            {"EXPIRE a 10 NX LT", kIncompatibleNx},
            {"EXPIRE a x NX LT", kIncompatibleNx},
            {"EXPIRE a 10 GT LT", "-ERR GT and LT options at the same time are not compatible "},
            {"EXPIRE a 9223372036854775807", invalid_time("expire")},
            {"EXPIRE a 9223372036854775", invalid_time("expire")},
            {"EXPIRE a -9223372036854776", invalid_time("expire")},
            {"PEXPIRE a 9223372036854775807", invalid_time("pexpire")},
            {"EXPIREAT a 9223372036854776", invalid_time("expireat")},
            {"EXPIRE '' 10", "-ERR a key has 1 to 512 bytes "},
            {"TTL ''", "-ERR a key has 1 to 512 bytes "},
            {"EXPIRE " + std::string(513, 'k') + " 10", "-ERR a key has 1 to 512 bytes "},
            {"EXPIRE a 10" +
                 [] {
                   std::string many;
                   for (int i = 0; i < 60; ++i) many += " XX";
                   return many;
                 }(),
             "-ERR syntax error "},
            {"PEXPIRETIME a", ':' + std::string(kFar) + ' '},
            {"GET a", "$1 1 "}});
}

// Redis keeps any time. A counter ends in the year 6429 at the latest.
TEST_P(RespExpiry, ALaterDeadlineThanACounterMayHaveIsTheLatestOne) {
  const std::string latest = std::to_string(std::int64_t{1} << 47);
  for (const char* late : {"EXPIREAT a 9223372036854775", "PEXPIREAT a 9223372036854775807",
                           "PEXPIREAT a 140737488355329", "EXPIRE a 9000000000000000"})
    converse(connect(), {{"SET a 5", "+OK "},
                         {late, ":1 "},
                         {"PEXPIRETIME a", ':' + latest + ' '},
                         {"GET a", "$1 5 "}});
}

TEST_P(RespExpiry, ACounterEndsByItselfAndIsNotListedAnyMore) {
  RawConnection client = connect();
  for (const char* ending :
       {"PEXPIRE a 1", "SET a 1 PX 1", "PSETEX a 1 7", "GETEX a PX 1", "INCREX a PX 1"}) {
    ASSERT_EQ(client.reply_to("SET a 5"), "+OK\r\n");
    ASSERT_THAT(client.reply_to(ending), testing::Not(StartsWith("-"))) << ending;
    EXPECT_TRUE(eventually([&] { return client.reply_to("EXISTS a") == ":0\r\n"; })) << ending;
    converse(connect(), {{"GET a", "$-1 "},
                         {"TTL a", ":-2 "},
                         {"KEYS *", "*0 "},
                         {"RANDOMKEY", "$-1 "},
                         {"INCR a", ":1 "},
                         {"TTL a", ":-1 "},
                         {"DEL a", ":1 "}});
  }
}

TEST_P(RespExpiry, AddsKeepTheEndAndADeleteEndsIt) {
  converse(connect(), {{"INCR a", ":1 "},
                       {"PEXPIREAT a " + std::string(kFar), ":1 "},
                       {"INCRBY a 5", ":6 "},
                       {"DECR a", ":5 "},
                       {"QUIPU.ADD a 2 ACK QUORUM", ":7 "},
                       {"PEXPIRETIME a", ':' + std::string(kFar) + ' '},
                       {"DEL a", ":1 "},
                       {"INCR a", ":1 "},
                       {"TTL a", ":-1 "},
                       {"PEXPIREAT a " + std::string(kFar), ":1 "},
                       {"GETDEL a", "$1 1 "},
                       {"TTL a", ":-2 "},
                       {"INCR a", ":1 "},
                       {"PEXPIREAT a " + std::string(kFar), ":1 "},
                       {"QUIPU.RESET a", "+OK "},
                       {"EXISTS a", ":0 "}});
}

TEST_P(RespExpiry, APipelineIsAnsweredInItsOrder) {
  RawConnection client = connect();
  const std::string far(kFar);
  EXPECT_EQ(client.replies_to("INCR a\r\nPEXPIREAT a " + far +
                              " NX\r\nPEXPIREAT a 1 NX\r\nPING\r\nPEXPIRETIME a\r\nGET a\r\n"
                              "INCR a\r\nPERSIST a\r\nTTL a\r\nEXPIRE a x\r\nEXPIRE a 0\r\n"
                              "GET a\r\nINCR a\r\nNONSENSE\r\nPERSIST a\r\n"),
            ":1\r\n:1\r\n:0\r\n+PONG\r\n:" + far +
                "\r\n$1\r\n1\r\n:2\r\n:1\r\n:-1\r\n"
                "-ERR value is not an integer or out of range\r\n:1\r\n$-1\r\n:1\r\n"
                "-ERR unknown command 'NONSENSE', with args beginning with: \r\n:0\r\n");
}

// With two reactors, some of these counters belong to the other one.
TEST_P(RespExpiry, ManyCountersInOnePipelineAllEnd) {
  RawConnection client = connect();
  std::string requests, replies;
  for (int i = 0; i < 200; ++i) {
    const std::string key = "k" + std::to_string(i);
    requests += "INCR " + key + "\r\nPEXPIREAT " + key + ' ' + kFar + " NX\r\nPEXPIREAT " + key +
                " 5 NX\r\nPEXPIRETIME " + key + "\r\n";
    replies += ":1\r\n:1\r\n:0\r\n:" + std::string(kFar) + "\r\n";
  }
  EXPECT_EQ(client.replies_to(requests), replies);
}

TEST_P(RespExpiry, ACounterThatIsSpreadHasNoEnd) {
  ASSERT_TRUE(node_->counter("hot").raise_shards(4).ok());
  const std::string spread =
      "-ERR a counter that is spread over shards cannot be changed on a condition ";
  converse(connect(), {{"INCR hot", ":1 "},
                       {"EXPIRE hot 100", spread},
                       {"EXPIRE hot 0", spread},
                       {"PERSIST hot", spread},
                       {"TTL hot", ":-1 "},
                       {"GET hot", "$1 1 "}});
}

TEST_P(RespExpiry, ANamespacesNewCountersEndAndTheirEndCanBeMoved) {
  RawConnection client = connect();
  ASSERT_EQ(client.reply_to("QUIPU.NAMESPACE CREATE otp TTL 1h"), "*0\r\n");
  ASSERT_EQ(client.reply_to("INCR otp:1"), ":1\r\n");
  EXPECT_THAT(expiry_number(client.reply_to("TTL otp:1")),
              testing::AllOf(testing::Gt(3500), testing::Le(3600)));
  const std::string far(kFar);
  converse(connect(), {{"PEXPIREAT otp:1 " + far + " NX", ":0 "},
                       {"PEXPIREAT otp:1 " + far + " GT", ":1 "},
                       {"PEXPIRETIME otp:1", ':' + far + ' '},
                       {"PERSIST otp:1", ":1 "},
                       {"INCR otp:1", ":2 "},
                       {"TTL otp:1", ":-1 "}});
}

// An end is no add, so it needs no definition.
TEST_P(RespExpiry, WhereTheDefaultNamespaceIsStrictCountersMayStillEnd) {
  RawConnection client = connect();
  ASSERT_EQ(client.reply_to("INCR views:1"), ":1\r\n");
  ASSERT_EQ(client.reply_to("QUIPU.NAMESPACE SET \"\" STRICT yes"), "*0\r\n");
  converse(connect(), {{"EXPIRE views:1 1000", ":1 "},
                       {"PERSIST views:1", ":1 "},
                       {"TTL views:1", ":-1 "},
                       {"EXPIRE views:1 0", ":1 "},
                       {"EXISTS views:1", ":0 "}});
}

// ---- three nodes ----

TEST(RespExpiryOfThree, AnyNodeEndsWhatAnotherOwns) {
  const TemporaryDirectory directory;
  const Nodes nodes = three_with_one_copy(directory / "data");
  for (int key = 0; key < 20; ++key) {
    const std::string name = "k" + std::to_string(key);
    RawConnection first(nodes[static_cast<std::size_t>(key) % 3]->client_address());
    EXPECT_EQ(first.replies_to("INCR " + name + "\r\nPEXPIREAT " + name + ' ' + kFar +
                               " NX\r\nPEXPIREAT " + name + " 5 NX\r\n"),
              ":1\r\n:1\r\n:0\r\n");
    for (const auto& node : nodes) {
      RawConnection client(node->client_address());
      EXPECT_EQ(client.reply_to("EXPIRE " + name + " 1 GT"), ":0\r\n");
      EXPECT_TRUE(eventually([&] {
        return client.reply_to("PEXPIRETIME " + name) == ':' + std::string(kFar) + "\r\n";
      }));
    }
    EXPECT_EQ(first.reply_to("EXPIRE " + name + " 0"), ":1\r\n");
    for (const auto& node : nodes) {
      RawConnection client(node->client_address());
      EXPECT_TRUE(eventually([&] { return client.reply_to("GET " + name) == "$-1\r\n"; }));
    }
  }
}

TEST(RespExpiryOfThree, AnEdgeNodeLetsOwnersDecide) {
  const TemporaryDirectory directory;
  const Nodes nodes = three_with_one_copy(directory / "data", 0);
  RawConnection edge(nodes[2]->client_address());
  for (int key = 0; key < 10; ++key) {
    const std::string name = "k" + std::to_string(key);
    EXPECT_EQ(edge.reply_to("INCR " + name), ":1\r\n");
    EXPECT_EQ(edge.reply_to("EXPIRE " + name + " 1000 NX"), ":1\r\n");
    EXPECT_EQ(edge.reply_to("EXPIRE " + name + " 1000 NX"), ":0\r\n");
    EXPECT_THAT(expiry_number(edge.reply_to("TTL " + name)), testing::Gt(900));
    EXPECT_EQ(edge.reply_to("PERSIST " + name), ":1\r\n");
    EXPECT_EQ(edge.reply_to("PERSIST " + name), ":0\r\n");
  }
}

TEST(RespExpiryOfThree, AtQuorumAnEndIsKnownToAMajority) {
  const TemporaryDirectory directory;
  Nodes nodes = open_all(cluster_of(3, directory / "data"));
  RawConnection client(nodes[0]->client_address());
  ASSERT_TRUE(eventually(
      [&] { return client.reply_to("QUIPU.NAMESPACE CREATE otp ACK quorum") == "*0\r\n"; }));
  ASSERT_TRUE(eventually([&] { return client.reply_to("SET otp:0 1 EX 1000") == "+OK\r\n"; }));
  converse(RawConnection(nodes[0]->client_address()),
           {{"INCR otp:1", ":1 "}, {"EXPIRE otp:1 0", ":1 "}, {"INCR otp:2", ":1 "}});
  ASSERT_EQ(client.reply_to("PEXPIREAT otp:2 " + std::string(kFar)), ":1\r\n");
  for (const auto& node : nodes) {
    EXPECT_FALSE(node->counter("otp:1").read({.level = ReadLevel::strong})->exists);
    EXPECT_TRUE(node->counter("otp:2").read({.level = ReadLevel::strong})->expires_in);
  }
  nodes[1].reset();
  nodes[2].reset();
  EXPECT_TRUE(eventually([&] {
    const std::string reply = client.reply_to("EXPIRE otp:2 1000");
    return reply.find("no_quorum") != reply.npos;
  }));
}

// Alone, a member of three has no other clock to compare its own with.
TEST(RespExpiryOfThree, ANodeThatDoesNotTrustItsClockRefusesWhatNeedsADate) {
  const TemporaryDirectory directory;
  const auto cluster = cluster_of(3, directory / "data");
  {
    const Nodes nodes = open_all(cluster);
    RawConnection client(nodes[0]->client_address());
    ASSERT_TRUE(eventually(
        [&] { return client.reply_to("SET dated 5 PXAT 32503680000000") == "+OK\r\n"; }));
    ASSERT_EQ(client.reply_to("QUIPU.ADD plain:1 5 ACK QUORUM"), ":5\r\n");
  }
  const auto lonely = open_node(cluster[0]);
  RawConnection client(lonely->client_address());
  ASSERT_TRUE(eventually([&] { return client.reply_to("INCR plain:1") == ":6\r\n"; }));
  for (const char* dated :
       {"EXPIRE plain:1 100", "EXPIREAT plain:1 1", "PEXPIRE dated 100", "SET plain:1 1 EX 100",
        "SETEX new 100 1", "GETEX plain:1 EX 100", "INCREX plain:1 EX 100", "SET dated 7"}) {
    const std::string reply = client.reply_to(dated);
    EXPECT_THAT(reply, StartsWith("-NOTAPPLIED unavailable: ")) << dated;
    EXPECT_THAT(reply, HasSubstr("clock")) << dated;
  }
  for (const char* left : {"TTL dated", "PTTL dated"}) {
    const std::string reply = client.reply_to(left);
    EXPECT_THAT(reply, StartsWith("-UNAVAILABLE unavailable: ")) << left;
    EXPECT_THAT(reply, HasSubstr("clock")) << left;
  }
  EXPECT_EQ(client.reply_to("PEXPIRETIME dated"), ':' + std::string(kFar) + "\r\n");
  // A plain counter needs no date.
  converse(RawConnection(lonely->client_address()), {{"TTL plain:1", ":-1 "},
                                                     {"PERSIST plain:1", ":0 "},
                                                     {"SET plain:1 7", "+OK "},
                                                     {"INCREX plain:1 UBOUND 8", "*2 :8 :1 "},
                                                     {"GETEX plain:1", "$1 8 "},
                                                     {"SET plain:2 1 NX", "+OK "}});
}

}  // namespace
}  // namespace quipu::test
