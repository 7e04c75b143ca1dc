// MULTI, EXEC, DISCARD and WATCH: the exact replies, which are those of Redis 7.0, and what a
// transaction promises.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/node/clients/resp/resp_conversation.h"

namespace quipu::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const std::string kQueued = "+QUEUED ";
const std::string kAborted = "-EXECABORT Transaction discarded because of previous errors. ";
const std::string kNested = "-ERR MULTI calls can not be nested ";

class RespTransactions : public Resp {};

INSTANTIATE_TEST_SUITE_P(Reactors, RespTransactions, testing::Values(1, 2));

TEST_P(RespTransactions, CommandsAreQueuedAndThenExecutedInOrder) {
  converse(connect(), {{"MULTI", "+OK "},
                       {"INCR a", kQueued},
                       {"EXPIRE a 60 NX", kQueued},
                       {"incrby a 4", kQueued},
                       {"GET a", kQueued},
                       {"TTL a", kQueued},
                       {"EXEC", "*5 :1 :1 :5 $1 5 :60 "},
                       {"MULTI", "+OK "},
                       {"DISCARD", "+OK "},
                       {"MULTI", "+OK "},
                       {"INCR a", kQueued},
                       {"DISCARD", "+OK "},
                       {"GET a", "$1 5 "},
                       {"MULTI", "+OK "},
                       {"EXEC", "*0 "}});
}

// Each command that has a rule, in the order in which it finds something to do. Beside the first
// reply: what it replies by itself.
TEST_P(RespTransactions, EveryCommandRepliesAsByItself) {
  const std::vector<Said> conversation = {
      {"INCR a", ":1 "},
      {"DECR a", ":0 "},
      {"INCRBY a 7", ":7 "},
      {"DECRBY a 2", ":5 "},
      {"DECRBY a x", kNotInteger},
      {"DECRBY a -9223372036854775808", "-ERR decrement would overflow "},
      {"INCRBY a 9223372036854775807", "-ERR increment or decrement would overflow "},
      {"GET a", "$1 5 "},
      {"GET b", "$-1 "},
      {"STRLEN a", ":1 "},
      {"TYPE a", "+string "},
      {"TYPE b", "+none "},
      {"MGET a b a", "*3 $1 5 $-1 $1 5 "},
      {"EXISTS a b a", ":2 "},
      {"TOUCH a b", ":1 "},
      {"SET b 3 NX", "+OK "},
      {"SET b 4 NX", "$-1 "},
      {"SET b 4 GET", "$1 3 "},
      {"SET b x", kNotInteger},
      {"SETNX b 1", ":0 "},
      {"GETSET b 6", "$1 4 "},
      {"MSET b 7 c 8", "+OK "},
      {"MSET b 7 c x", kNotInteger},
      {"MSET b 7 c", "-ERR wrong number of arguments for 'mset' command "},
      {"MGET b c", "*2 $1 7 $1 8 "},
      {"SETEX c 100 9", "+OK "},
      {"PEXPIREAT c " + kFar, ":1 "},
      {"PEXPIRETIME c", ':' + kFar + ' '},
      {"EXPIRETIME c", ":32503680000 "},
      {"EXPIRE c 100 LT", ":1 "},
      {"TTL c", ":100 "},
      {"EXPIRE c x", kNotInteger},
      {"PERSIST c", ":1 "},
      {"PTTL c", ":-1 "},
      {"PTTL d", ":-2 "},
      {"INCREX c UBOUND 9", "*2 :9 :0 "},
      {"GETEX c EX 100", "$1 9 "},
      {"GETDEL c", "$1 9 "},
      {"DEL a b c", ":2 "},
      {"UNLINK a", ":0 "},
  };
  converse(connect(), conversation);
  RawConnection client = connect();
  std::string replies = "*" + std::to_string(conversation.size()) + ' ';
  ASSERT_EQ(client.reply_to("MULTI"), "+OK\r\n");
  for (const Said& said : conversation) {
    ASSERT_EQ(client.reply_to(said.request), "+QUEUED\r\n") << said.request;
    replies += said.reply;
  }
  converse(std::move(client), {{"EXEC", replies}});
}

TEST_P(RespTransactions, AnErrorWhileQueueingAbortsAll) {
  for (const auto& [wrong, error] : std::vector<std::pair<std::string, std::string>>{
           {"NONSENSE", "-ERR unknown command 'NONSENSE', with args beginning with:  "},
           {"INCR", wrong_number_of_words("incr")},
           {"CLIENT", wrong_number_of_words("client")},
           {"CLIENT NONSENSE", "-ERR unknown subcommand 'NONSENSE'. Try CLIENT HELP. "},
           {"CLIENT SETNAME", wrong_number_of_words("client|setname")},
           {"MULTI x", wrong_number_of_words("multi")},
           {"DISCARD x", wrong_number_of_words("discard")}}) {
    converse(connect(), {{"MULTI", "+OK "},
                         {"INCR a", kQueued},
                         {wrong, error},
                         {"INCR a", kQueued},
                         {"EXEC", kAborted},
                         {"GET a", "$-1 "},
                         {"EXEC", "-ERR EXEC without MULTI "}});
  }
}

TEST_P(RespTransactions, WhatEndsATransactionNeedsOne) {
  const std::string wrong =
      "-EXECABORT Transaction discarded because of: wrong number of arguments for 'exec' command ";
  converse(connect(), {{"EXEC", "-ERR EXEC without MULTI "},
                       {"DISCARD", "-ERR DISCARD without MULTI "},
                       {"EXEC x", wrong},
                       {"MULTI", "+OK "},
                       {"INCR a", kQueued},
                       {"EXEC x", wrong},
                       {"EXEC", "-ERR EXEC without MULTI "},
                       {"MULTI", "+OK "},
                       {"MULTI", kNested},
                       {"INCR a", kQueued},
                       {"EXEC", "*1 :1 "},
                       {"MULTI", "+OK "},
                       {"INCR a", kQueued},
                       {"RESET", "+RESET "},
                       {"INCR a", ":2 "}});
  RawConnection quitting = connect();
  EXPECT_EQ(quitting.reply_to("MULTI"), "+OK\r\n");
  EXPECT_EQ(quitting.reply_to("QUIT"), "+OK\r\n");
  EXPECT_EQ(quitting.receive_text(), "");
  RawConnection browser = connect();
  EXPECT_EQ(browser.reply_to("MULTI"), "+OK\r\n");
  ASSERT_TRUE(browser.send("POST / HTTP/1.1\r\nDISCARD\r\nINCR a\r\n"));
  EXPECT_EQ(browser.receive_text(), "");
  converse(connect(), {{"GET a", "$1 2 "}});
}

// A client that ignores the error of WATCH must not change what it wanted to guard.
TEST_P(RespTransactions, ARefusedWatchRefusesTheNextTransaction) {
  RawConnection client = connect();
  EXPECT_THAT(client.reply_to("WATCH a"), StartsWith("-ERR WATCH is not supported"));
  converse(std::move(client), {{"MULTI", "+OK "},
                               {"INCR a", kQueued},
                               {"EXEC", kAborted},
                               {"MULTI", "+OK "},
                               {"WATCH a", "-ERR WATCH inside MULTI is not allowed "},
                               {"INCR a", kQueued},
                               {"EXEC", "*1 :1 "}});
  RawConnection other = connect();
  EXPECT_THAT(other.reply_to("WATCH a b"), StartsWith("-ERR WATCH is not supported"));
  converse(std::move(other),
           {{"UNWATCH", "+OK "}, {"MULTI", "+OK "}, {"INCR a", kQueued}, {"EXEC", "*1 :2 "}});
}

TEST_P(RespTransactions, OtherCommandsAreExecutedOneAfterTheOther) {
  converse(connect(), {{"MULTI", "+OK "},
                       {"INCR a", kQueued},
                       {"PING", kQueued},
                       {"DEL a b", kQueued},
                       {"INCR a", kQueued},
                       {"DBSIZE", kQueued},
                       {"SELECT 1", kQueued},
                       {"INCR a", kQueued},
                       {"KEYS *", kQueued},
                       {"SELECT 16", kQueued},
                       {"INCR a", kQueued},
                       {"SELECT 0", kQueued},
                       {"MGET a db1:a", kQueued},
                       {"EXEC",
                        "*12 :1 +PONG :1 :1 :1 +OK :1 *1 $1 a -ERR DB index is out of range "
                        "-NOTAPPLIED a SELECT was refused on this connection, and so is every "
                        "command until one succeeds: send SELECT 0 or RESET, or raise databases "
                        "in [client] of the node's settings +OK *2 $1 1 $1 1 "},
                       {"INCR a", ":2 "}});
}

TEST_P(RespTransactions, KeysAreThoseOfTheDatabase) {
  converse(connect(), {{"SELECT 3", "+OK "},
                       {"MULTI", "+OK "},
                       {"INCR a", kQueued},
                       {"MSET b 2 c 3", kQueued},
                       {"MGET a b c", kQueued},
                       {"EXEC", "*3 :1 +OK *3 $1 1 $1 2 $1 3 "}});
  converse(connect(), {{"MGET a db3:a db3:c", "*3 $-1 $1 1 $1 3 "}});
}

TEST_P(RespTransactions, APipelineOfThemKeepsItsOrder) {
  RawConnection client = connect();
  std::string requests, replies;
  for (int i = 1; i <= 300; ++i) {
    const std::string number = std::to_string(i);
    requests += "MULTI\r\nINCR a\r\nSET b " + number + "\r\nEXEC\r\nMGET a b\r\n";
    if (i % 7 == 0) requests += "MULTI\r\nPING\r\nDEL c\r\nPING\r\nEXEC\r\n";
    const std::string bulk = "$" + std::to_string(number.size()) + ' ' + number + ' ';
    replies += "+OK " + kQueued + kQueued + "*2 :" + number + " +OK *2 " + bulk + bulk;
    if (i % 7 == 0) replies += "+OK " + kQueued + kQueued + kQueued + "*3 +PONG :0 +PONG ";
  }
  std::string got = client.replies_to(requests);
  for (std::size_t at = 0; (at = got.find("\r\n", at)) != got.npos;) got.replace(at, 2, " ");
  EXPECT_EQ(got, replies);
}

TEST_P(RespTransactions, ThereIsABound) {
  RawConnection client = connect();
  std::string requests = "MULTI\r\n";
  for (int i = 0; i < 16'385; ++i) requests += "INCR a\r\n";
  const std::string replies = client.replies_to(requests + "EXEC\r\n");
  EXPECT_THAT(replies, HasSubstr("-ERR a transaction has at most 16384 commands"));
  EXPECT_THAT(replies, testing::EndsWith("-EXECABORT Transaction discarded because of previous "
                                         "errors.\r\n"));
  converse(connect(), {{"GET a", "$-1 "}});
}

// A wrong name is the error of its command, wherever it stands.
TEST_P(RespTransactions, AnImpossibleKeyIsOneCommandsError) {
  const std::string wrong = "-ERR a key has 1 to 512 bytes ";
  converse(connect(), {{"MULTI", "+OK "},
                       {"INCR " + std::string(513, 'k'), kQueued},
                       {"INCR ''", kQueued},
                       {"INCR a", kQueued},
                       {"MSET a 1 '' 2", kQueued},
                       {"INCR a", kQueued},
                       {"EXEC", "*5 " + wrong + wrong + ":1 " + wrong + ":2 "}});
}

// More words than one decision has: executed one after the other.
TEST_P(RespTransactions, ALongOneIsExecutedWhole) {
  RawConnection client = connect();
  std::string requests = "MULTI\r\n";
  for (int i = 0; i < 2000; ++i) requests += "INCR a\r\nDEL b\r\n";
  const std::string replies = client.replies_to(requests + "EXEC\r\n");
  EXPECT_THAT(replies, testing::EndsWith(":1999\r\n:0\r\n:2000\r\n:0\r\n"));
}

TEST_P(RespTransactions, ClientListShowsThem) {
  RawConnection client = connect();
  EXPECT_EQ(client.reply_to("MULTI"), "+OK\r\n");
  EXPECT_EQ(client.reply_to("INCR a"), "+QUEUED\r\n");
  EXPECT_EQ(client.reply_to("CLIENT INFO"), "+QUEUED\r\n");
  const std::string replies = client.reply_to("EXEC");
  EXPECT_THAT(replies, HasSubstr(" multi=-1 "));
  EXPECT_THAT(replies, StartsWith("*2\r\n:1\r\n"));
}

TEST_P(RespTransactions, ASpreadCounterIsChangedByItself) {
  ASSERT_TRUE(node_->counter("hot").raise_shards(4).ok());
  converse(connect(), {{"MULTI", "+OK "},
                       {"INCRBY hot 5", kQueued},
                       {"GET hot", kQueued},
                       {"DEL hot", kQueued},
                       {"EXPIRE hot 60", kQueued},
                       {"INCR a", kQueued},
                       {"EXEC",
                        "*5 :5 $1 5 :1 -ERR a counter that is spread over shards cannot be changed "
                        "on a condition :1 "}});
}

// ---- over nodes ----

// One copy of each counter: most transactions travel to another node, and those about two counters
// are often executed apart.
TEST(RespTransactionsOfThree, AnyNodeTakesThem) {
  for (const std::uint32_t weight : {1u, 0u}) {  // of the last node: 0 makes it an edge
    const TemporaryDirectory directory;
    const Nodes nodes = three_with_one_copy(directory / "data", weight);
    for (int key = 0; key < 20; ++key) {
      const std::string a = "a" + std::to_string(key), b = "b" + std::to_string(key);
      converse(RawConnection(nodes[2]->client_address()), {{"MULTI", "+OK "},
                                                           {"SET " + a + " 5 EX 1000", kQueued},
                                                           {"INCR " + a, kQueued},
                                                           {"SET " + a + " 7 NX", kQueued},
                                                           {"PERSIST " + a, kQueued},
                                                           {"GET " + a, kQueued},
                                                           {"EXEC", "*5 +OK :6 $-1 :1 $1 6 "},
                                                           {"MULTI", "+OK "},
                                                           {"INCR " + a, kQueued},
                                                           {"INCR " + b, kQueued},
                                                           {"DEL " + b + ' ' + a, kQueued},
                                                           {"EXEC", "*3 :7 :1 :2 "}});
    }
  }
}

TEST(RespTransactionsOfThree, ThoseOfOneHomeAreExecutedThere) {
  const TemporaryDirectory directory;
  const Nodes nodes = open_all(cluster_of(3, directory / "data"));
  wait_for_clocks(nodes);
  RawConnection first(nodes[0]->client_address());
  ASSERT_EQ(first.reply_to("QUIPU.NAMESPACE CREATE home DECIDE HOME"), "*0\r\n");
  const auto decided = [&nodes] {
    std::uint64_t all = 0;
    for (const auto& node : nodes) {
      const std::string info = RawConnection(node->client_address()).reply_to("INFO stats");
      const std::string name = "quipu_decisions_executed:";
      all += std::stoull(info.substr(info.find(name) + name.size()));
    }
    return all;
  };
  const std::uint64_t before = decided();
  for (int i = 1; i <= 30; ++i) {
    const std::string total = std::to_string(i);
    converse(RawConnection(nodes[static_cast<std::size_t>(i) % 3]->client_address()),
             {{"MULTI", "+OK "},
              {"INCR home:a", kQueued},
              {"EXPIRE home:a 1000 NX", kQueued},
              {"EXEC", "*2 :" + total + (i == 1 ? " :1 " : " :0 ")}});
  }
  EXPECT_EQ(decided() - before, 30u) << "each is one decision";
}

// More words than a decision has, so that it is executed like a pipeline.
TEST_P(RespTransactions, CallsOfALongOneAreCountedOnce) {
  RawConnection client = connect();
  EXPECT_EQ(client.reply_to("MULTI"), "+OK\r\n");
  for (int i = 0; i < 1100; ++i) ASSERT_EQ(client.reply_to("INCR a"), "+QUEUED\r\n");
  EXPECT_TRUE(client.reply_to("EXEC").starts_with("*1100\r\n"));
  EXPECT_EQ(client.reply_to("GET a"), "$4\r\n1100\r\n");
  EXPECT_TRUE(eventually([&] {
    const std::string info = client.reply_to("INFO commandstats");
    return info.find("cmdstat_incr:calls=1100,") != std::string::npos &&
           info.find("cmdstat_exec:calls=1,") != std::string::npos;
  })) << client.reply_to("INFO commandstats");
}

}  // namespace
}  // namespace quipu::test
