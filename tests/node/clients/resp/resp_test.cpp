// Redis clients on the client port: what they say, and the exact bytes that they get.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <sstream>

#include "tests/node/clients/resp/resp_conversation.h"

namespace quipu::test {
namespace {

using testing::StartsWith;

// What these are told of other reactors, if there are any, may be 100 ms old.
class RespOfOneReactor : public Resp {};

TEST_P(Resp, Counts) {
  converse(connect(), {{"INCR likes", ":1 "},
                       {"incrby likes 41", ":42 "},
                       {"DECR likes", ":41 "},
                       {"DECRBY likes 50", ":-9 "},
                       {"GET likes", "$2 -9 "},
                       {"GET views", "$-1 "},
                       {"MGET likes views likes", "*3 $2 -9 $-1 $2 -9 "},
                       {"EXISTS likes views likes", ":2 "},
                       {"TYPE likes", "+string "},
                       {"TYPE views", "+none "},
                       {"STRLEN likes", ":2 "},
                       {"STRLEN views", ":0 "}});
}

TEST_P(Resp, SetsAndDeletes) {
  converse(connect(), {{"SET stock 7", "+OK "},
                       {"SET stock -3", "+OK "},
                       {"GET stock", "$2 -3 "},
                       {"INCR stock", ":-2 "},
                       {"SET stock 0", "+OK "},
                       {"GET stock", "$1 0 "},
                       {"GETDEL stock", "$1 0 "},
                       {"GETDEL stock", "$-1 "},
                       {"GET stock", "$-1 "},
                       {"INCRBY a 1", ":1 "},
                       {"INCRBY b 2", ":2 "},
                       {"DEL a b a nothing", ":2 "},
                       {"UNLINK a", ":0 "},
                       {"INCR a", ":1 "}});
}

TEST_P(Resp, RefusesWhatIsNoNumberAndWhatOverflowsAndChangesNothing) {
  converse(connect(), {{"INCRBY a 1.5", kNotInteger},
                       {"INCRBY a 9223372036854775808", kNotInteger},
                       {"INCRBY a 007", kNotInteger},
                       {"INCRBY a +1", kNotInteger},
                       {"INCRBY a ''", kNotInteger},
                       {"INCRBY a -0", kNotInteger},
                       {"SET a text", kNotInteger},
                       {"GET a", "$-1 "},
                       {"SET a 9223372036854775807", "+OK "},
                       {"INCR a", "-ERR increment or decrement would overflow "},
                       {"GET a", "$19 9223372036854775807 "},
                       {"SET a -9223372036854775808", "+OK "},
                       {"DECR a", "-ERR increment or decrement would overflow "},
                       {"DECRBY a -9223372036854775808", "-ERR decrement would overflow "},
                       {"GET a", "$20 -9223372036854775808 "},
                       {"GET ''", "-ERR a key has 1 to 512 bytes "},
                       {"INCR ''", "-ERR a key has 1 to 512 bytes "},
                       {"MGET a ''", "-ERR a key has 1 to 512 bytes "}});
}

// Whatever was counted before.
TEST_P(Resp, AfterASetOrResetACounterTakesWhatANewOneTakes) {
  const std::string overflow = "-ERR increment or decrement would overflow ";
  const std::string max = "9223372036854775807", min = "-9223372036854775808";
  converse(connect(), {{"SET z " + max, "+OK "},
                       {"INCR z", overflow},
                       {"SET z 0", "+OK "},
                       {"INCR z", ":1 "},
                       {"SET z " + min, "+OK "},
                       {"SET z 5", "+OK "},
                       {"DECRBY z 6", ":-1 "},
                       {"SET z 5", "+OK "},
                       {"SET z 0", "+OK "},
                       {"INCRBY z " + max, ":" + max + " "},
                       {"INCR z", overflow},
                       {"SET z 1", "+OK "},
                       {"INCRBY z 9223372036854775806", ":" + max + " "},
                       {"QUIPU.RESET z", "+OK "},
                       {"INCR z", ":1 "},
                       {"INCRBY z 9223372036854775806", ":" + max + " "},
                       {"GETDEL z", "$19 " + max + " "},
                       {"QUIPU.ADD z -1", ":-1 "},
                       {"INCRBY z -9223372036854775807", ":" + min + " "},
                       {"DEL z", ":1 "},
                       {"INCRBY z 7", ":7 "},
                       {"INCRBY z 9223372036854775800", ":" + max + " "}});
}

// It exists, and goes, though nobody can tell what it counts.
TEST_P(Resp, ATotalThatNoReplyCanTellIsDeleted) {
  auto large = node_->counter("large");
  ASSERT_TRUE(large.raise_shards(8).ok());
  // In two shards: one takes no two of these, and may be the only one that a member owns.
  for (int added = 0, i = 0; added < 2; ++i) {
    ASSERT_LT(i, 1000);
    const std::string affinity = std::to_string(i);
    const AddOptions options{.affinity = affinity};
    added += large.add(std::numeric_limits<std::int64_t>::max(), options).ok() ? 1 : 0;
  }
  const std::string outside = "-ERR the counter's total is outside the signed 64-bit range ";
  converse(connect(), {{"GET large", outside},
                       {"MGET large nothing", outside},
                       {"GETDEL large", outside},
                       {"EXISTS large nothing", ":1 "},
                       {"TYPE large", "+string "},
                       {"DEL large nothing", ":1 "}});
  // At once, but for what another member owns.
  EXPECT_TRUE(eventually([&] { return connect().reply_to("EXISTS large") == ":0\r\n"; }));
}

TEST_P(Resp, SaysWhatItDoesNotKnowOrDo) {
  converse(
      connect(),
      {{"NONSENSE a 'b c'",
        "-ERR unknown command 'NONSENSE', with args beginning with: 'a' 'b c'  "},
       {"n " + std::string(120, 'x') + " yyyyyy z",
        "-ERR unknown command 'n', with args beginning with: '" + std::string(120, 'x') +
            "' 'yyyyy'  "},
       {"n " + std::string(200, 'x') + " y",
        "-ERR unknown command 'n', with args beginning with: '" + std::string(128, 'x') + "'  "},
       {"LPUSH a 1", "-ERR unknown command 'LPUSH', with args beginning with: 'a' '1'  "},
       {"GET", "-ERR wrong number of arguments for 'get' command "},
       {"GET a b", "-ERR wrong number of arguments for 'get' command "},
       {"PING a b", "-ERR wrong number of arguments for 'ping' command "},
       {"CLIENT", "-ERR wrong number of arguments for 'client' command "},
       {"CLIENT SETNAME", "-ERR wrong number of arguments for 'client|setname' command "},
       {"CLIENT TRACKING ON", "-ERR unknown subcommand 'TRACKING'. Try CLIENT HELP. "},
       {"CLIENT MAINT_NOTIFICATIONS ON",
        "-ERR unknown subcommand 'MAINT_NOTIFICATIONS'. Try CLIENT HELP. "},
       {"SET a 1 sometimes", "-ERR syntax error "},
       {"SET a 1 EX", "-ERR syntax error "},
       {"SET a 1 NX XX", "-ERR syntax error "},
       {"SET a 1 EX 10 PX 10", "-ERR syntax error "},
       {"SET a x KEEPTTL", kNotInteger},
       {"GET a", "$-1 "}});
}

TEST_P(Resp, KeepsConnectionsAsRedisDoes) {
  converse(connect(),
           {{"PING", "+PONG "},
            {"PING hello", "$5 hello "},
            {"ECHO 'a b'", "$3 a b "},
            {"SELECT 0", "+OK "},
            {"AUTH default anything", "+OK "},
            {"AUTH other x", "-WRONGPASS invalid username-password pair or user is disabled. "},
            {"CLIENT ID", ":1 "},
            {"CLIENT GETNAME", "$-1 "},
            {"CLIENT SETNAME worker", "+OK "},
            {"CLIENT GETNAME", "$6 worker "},
            {"CLIENT SETNAME 'a b'",
             "-ERR Client names cannot contain spaces, newlines or special characters. "},
            {"CLIENT SETINFO LIB-NAME test", "+OK "},
            {"CLIENT SETINFO LIB-COLOUR test", "-ERR Unrecognized option 'LIB-COLOUR' "},
            {"CLIENT NO-EVICT on", "+OK "},
            {"CLIENT LIST ID 0 -1 99", "$0  "},
            {"CLIENT LIST ID x", "-ERR Invalid client ID "},
            {"CLIENT HELP me", "-ERR wrong number of arguments for 'client|help' command "},
            {"CLIENT NO-TOUCH maybe", "-ERR syntax error "},
            {"RESET", "+RESET "},
            {"CLIENT GETNAME", "$-1 "}});
}

// Some clients ignore that error, and would count in another application's database.
TEST_P(Resp, AfterARefusedSelectNothingCountsInAnotherDatabase) {
  const std::string refused =
      "-NOTAPPLIED a SELECT was refused on this connection, and so is every command until one "
      "succeeds: send SELECT 0 or RESET, or raise databases in [client] of the node's settings ";
  const std::string no_database = "-ERR DB index is out of range ";
  converse(connect(), {{"SELECT 16", no_database},
                       {"INCR a", refused},
                       {"GET a", refused},
                       {"PING", refused},
                       {"NONSENSE", refused},
                       {"SELECT", "-ERR wrong number of arguments for 'select' command "},
                       {"INCR a", refused},
                       {"SELECT 0", "+OK "},
                       {"INCR a", ":1 "},
                       {"SELECT x", kNotInteger},
                       {"INCR a", refused},
                       {"SELECT -2147483648", no_database},
                       {"SELECT 2147483648",
                        "-ERR value is out of range, value must between -2147483648 and "
                        "2147483647 "},
                       {"INCR a", refused},
                       {"HELLO 4", "-NOPROTO unsupported protocol version "},
                       {"INCR a", refused},
                       {"RESET", "+RESET "},
                       {"INCR a", ":2 "},
                       {"SELECT 16", no_database},
                       {"MULTI", "+OK "},
                       {"SELECT 0", "+QUEUED "},
                       {"INCR a", refused},
                       {"EXEC", "-EXECABORT Transaction discarded because of previous errors. "},
                       {"INCR a", refused},
                       {"SELECT 0", "+OK "},
                       {"GET a", "$1 2 "},
                       {"SELECT 16", no_database},
                       {"QUIT", "+OK "}});
  RawConnection browser = connect();
  EXPECT_EQ(browser.reply_to("SELECT 16"), "-ERR DB index is out of range\r\n");
  ASSERT_TRUE(browser.send("Host: localhost\r\nSELECT 0\r\nINCR a\r\n"));
  EXPECT_EQ(browser.receive_text(), "");
  converse(connect(), {{"GET a", "$1 2 "}});
}

TEST_P(RespOfOneReactor, SpeaksBothVersions) {
  const std::string greeting2 =
      "*14 $6 server $5 redis $7 version $5 7.4.0 $5 proto :2 $2 id :1 $4 mode $10 standalone "
      "$4 role $6 master $7 modules *0 ";
  const std::string greeting3 =
      "%7 $6 server $5 redis $7 version $5 7.4.0 $5 proto :3 $2 id :1 $4 mode $10 standalone "
      "$4 role $6 master $7 modules *0 ";
  converse(
      connect(),
      {{"HELLO", greeting2},
       {"HELLO 4", "-NOPROTO unsupported protocol version "},
       {"HELLO x", "-ERR Protocol version is not an integer or out of range "},
       {"HELLO 3 NAME x", "-ERR Syntax error in HELLO option 'NAME' "},
       {"HELLO 3 AUTH other x", "-WRONGPASS invalid username-password pair or user is disabled. "},
       {"HELLO 3 SETNAME 'a b' AUTH other x",
        "-ERR Client names cannot contain spaces, newlines or special characters. "},
       {"HELLO 3 AUTH other x NAME", "-ERR Syntax error in HELLO option 'NAME' "},
       {"GET nothing", "$-1 "},
       {"HELLO 3 AUTH default x SETNAME me", greeting3},
       {"CLIENT GETNAME", "$2 me "},
       {"GET nothing", "_ "},
       {"INCR a", ":1 "},
       {"MGET a nothing", "*2 $1 1 _ "},
       {"QUIPU.GET a", "%3 $5 value :1 $6 age_ms :0 $8 complete #t "},
       {"HELLO 2", greeting2},
       {"GET nothing", "$-1 "}});
}

// All local reads that follow each other in a pipeline are answered together.
TEST_P(Resp, APipelineIsAnsweredInItsOrderAndAsItWasAsked) {
  RawConnection client = connect();
  ASSERT_TRUE(
      client.send("GET a\r\nPING\r\nGET b\r\nHELLO 3\r\nGET c\r\nNONSENSE\r\nMGET a b\r\nRESET\r\n"
                  "GET d\r\nECHO end\r\n"));
  const std::string reply = client.receive_text("$3\r\nend\r\n");
  const std::size_t greeting = reply.find("%7\r\n");
  const std::size_t after = reply.find("*0\r\n", greeting);
  ASSERT_NE(after, reply.npos) << reply;
  EXPECT_EQ(reply.substr(0, greeting), "$-1\r\n+PONG\r\n$-1\r\n");
  EXPECT_EQ(reply.substr(after + 4),
            "_\r\n-ERR unknown command 'NONSENSE', with args beginning with: \r\n*2\r\n_\r\n_\r\n"
            "+RESET\r\n$-1\r\n$3\r\nend\r\n");
}

TEST_P(RespOfOneReactor, QuipusOwnCommandsNameTheirLevel) {
  converse(
      connect(),
      {{"QUIPU.ADD a 5", ":5 "},
       {"QUIPU.ADD a 5 ACK memory", ":10 "},
       {"QUIPU.ADD a 5 ack QUORUM", ":15 "},
       {"QUIPU.ADD a 5 ACK paper",
        "-ERR syntax error: QUIPU.ADD key amount [ACK MEMORY|DISK|QUORUM] [AFFINITY name | TOKEN "
        "session number [FLOOR number]] [AT ms] "},
       {"QUIPU.GET a STRONG", "*6 $5 value :15 $6 age_ms :0 $8 complete :1 "},
       {"QUIPU.GET b FRESH", "*6 $5 value $-1 $6 age_ms :0 $8 complete :1 "},
       {"QUIPU.GET a CLOSE", "-ERR syntax error: QUIPU.GET key [LOCAL|FRESH|STRONG] "},
       {"QUIPU.RESET a ACK QUORUM", "+OK "},
       {"GET a", "$-1 "}});
}

TEST_P(Resp, AnAffinityIsAnOptionOfAnAddInAnyOrder) {
  const std::string wrong =
      "-ERR syntax error: QUIPU.ADD key amount [ACK MEMORY|DISK|QUORUM] [AFFINITY name | TOKEN "
      "session number [FLOOR number]] [AT ms] ";
  const std::string reset = "-ERR syntax error: QUIPU.RESET key [ACK MEMORY|DISK|QUORUM] ";
  converse(connect(), {{"QUIPU.ADD a 5 AFFINITY user:17", ":5 "},
                       {"QUIPU.ADD a 5 affinity user:17 ack memory", ":10 "},
                       {"QUIPU.ADD a 5 ACK QUORUM AFFINITY ack", ":15 "},
                       {"QUIPU.ADD a 5 AFFINITY", wrong},
                       {"QUIPU.ADD a 5 AFFINITY x AFFINITY y", wrong},
                       {"QUIPU.ADD a 5 ACK DISK ACK DISK", wrong},
                       {"QUIPU.ADD a 5 ACK DISK AFFINITY", wrong},
                       {"QUIPU.RESET a AFFINITY x", reset},
                       {"GET a", "$2 15 "}});
}

TEST_P(Resp, FindsWhatExists) {
  RawConnection client = connect();
  EXPECT_EQ(client.reply_to("DBSIZE"), ":0\r\n");
  EXPECT_EQ(client.reply_to("RANDOMKEY"), "$-1\r\n");
  for (const char* name : {"likes:1", "likes:2", "views:1", "views:*"})
    EXPECT_EQ(client.reply_to(std::string("INCR ") + name), ":1\r\n");
  EXPECT_EQ(client.reply_to("DBSIZE"), ":4\r\n");
  EXPECT_EQ(names_of(client, ""), "likes:1 likes:2 views:* views:1 ");
  EXPECT_EQ(names_of(client, "COUNT 1"), "likes:1 likes:2 views:* views:1 ");
  EXPECT_EQ(names_of(client, "MATCH likes:* COUNT 1000"), "likes:1 likes:2 ");
  EXPECT_EQ(names_of(client, "MATCH *:[0-1] TYPE string"), "likes:1 views:1 ");
  EXPECT_EQ(names_of(client, "MATCH 'views:\\*'"), "views:* ");
  EXPECT_EQ(names_of(client, "TYPE hash"), "");
  EXPECT_EQ(client.reply_to("KEYS likes:?").size(), std::string("*2\r\n").size() + 2 * 13);
  EXPECT_EQ(client.reply_to("RANDOMKEY").substr(0, 4), "$7\r\n");
  EXPECT_EQ(client.reply_to("DEL likes:1 likes:2"), ":2\r\n");
  EXPECT_EQ(client.reply_to("DBSIZE"), ":2\r\n");
  EXPECT_EQ(names_of(client, ""), "views:* views:1 ");
  converse(connect(), {{"SCAN x", "-ERR invalid cursor "},
                       {"SCAN -1", "-ERR invalid cursor "},
                       {"SCAN ''", "-ERR invalid cursor "},
                       {"SCAN ++0", "-ERR invalid cursor "},
                       {"SCAN 18446744073709551616", "-ERR invalid cursor "},
                       {"SCAN 18446744073709551615", "*2 $1 0 *0 "},
                       {"SCAN 0 COUNT 0", "-ERR syntax error "},
                       {"SCAN 0 COUNT x", kNotInteger},
                       {"SCAN 0 MATCH", "-ERR syntax error "},
                       {"SCAN 0 SIDEWAYS 1", "-ERR syntax error "},
                       {"FLUSHALL",
                        "-ERR FLUSHALL is not enabled: set flushall = true in [client] of the "
                        "node's settings, and restart it "}});
  EXPECT_EQ(client.reply_to("DBSIZE"), ":2\r\n");
}

class RespThatMayFlush : public Resp {
 protected:
  RespThatMayFlush() : Resp({.flushall = true}) {}
};

TEST_P(RespThatMayFlush, ResetsEveryCounter) {
  RawConnection client = connect();
  std::string requests;
  for (int i = 0; i < 2500; ++i) requests += "INCR k" + std::to_string(i) + "\r\n";
  ASSERT_TRUE(client.send(requests + "PING done\r\n"));
  (void)client.receive_text("$4\r\ndone\r\n");
  converse(connect(), {{"DBSIZE", ":2500 "},
                       {"FLUSHALL NOW", "-ERR syntax error "},
                       {"FLUSHALL ASYNC", "+OK "},
                       {"DBSIZE", ":0 "},
                       {"FLUSHDB", "+OK "},
                       {"GET k7", "$-1 "},
                       {"INCR k7", ":1 "}});
}

// What several questions stand behind is not overtaken.
TEST_P(Resp, APipelineIsAnsweredInItsOrder) {
  RawConnection client = connect();
  ASSERT_TRUE(
      client.send("INCR a\r\nPING\r\nSET a 5\r\nPING x\r\nINCR a\r\nGET a\r\nDEL a\r\n"
                  "GET a\r\nnonsense\r\nINCR a\r\nQUIT\r\nINCR a\r\n"));
  EXPECT_EQ(client.receive_text(),
            ":1\r\n+PONG\r\n+OK\r\n$1\r\nx\r\n:6\r\n$1\r\n6\r\n:1\r\n$-1\r\n"
            "-ERR unknown command 'nonsense', with args beginning with: \r\n:1\r\n+OK\r\n");
  converse(connect(), {{"GET a", "$1 1 "}});  // what stood behind QUIT was not done
}

TEST_P(Resp, APipelineMayBeDeep) {
  constexpr int kDepth = 100'000;
  RawConnection client = connect();
  std::string requests;
  std::string replies;
  for (int i = 1; i <= kDepth; ++i) {
    requests += "*2\r\n$4\r\nINCR\r\n$1\r\na\r\n";
    replies += ':' + std::to_string(i) + "\r\n";
  }
  ASSERT_TRUE(client.send(requests));
  EXPECT_EQ(client.receive_text("\r\n:" + std::to_string(kDepth) + "\r\n"), replies);
}

TEST_P(Resp, ManyKeysMayBeNamed) {
  constexpr int kKeys = 3000;  // more than one question may ask for
  RawConnection client = connect();
  std::string requests;
  std::string keys;
  std::string values = '*' + std::to_string(kKeys) + "\r\n";
  for (int i = 0; i < kKeys; ++i) {
    requests += "INCRBY k" + std::to_string(i) + ' ' + std::to_string(i) + "\r\n";
    keys += " k" + std::to_string(i);
    const std::string value = std::to_string(i);
    values += '$' + std::to_string(value.size()) + "\r\n" + value + "\r\n";
  }
  ASSERT_TRUE(client.send(requests + "PING done\r\n"));
  (void)client.receive_text("$4\r\ndone\r\n");
  EXPECT_EQ(client.reply_to("MGET" + keys), values);
  EXPECT_EQ(client.reply_to("EXISTS" + keys), ":3000\r\n");
  EXPECT_EQ(client.reply_to("DEL" + keys), ":3000\r\n");
  EXPECT_EQ(client.reply_to("EXISTS" + keys), ":0\r\n");
}

TEST_P(Resp, WhatIsNoRequestIsRefusedAndTheConnectionClosed) {
  RawConnection client = connect();
  ASSERT_TRUE(client.send("INCR a\r\n*1\r\n:1\r\nINCR a\r\n"));
  EXPECT_EQ(client.receive_text(), ":1\r\n-ERR Protocol error: expected '$', got ':'\r\n");
}

TEST_P(Resp, ABrowserIsCutOffBeforeWhatItBrings) {
  for (const char* line : {"POST / HTTP/1.1\r\n", "Host: localhost\r\n"}) {
    RawConnection client = connect();
    ASSERT_TRUE(client.send(std::string(line) + "INCR a\r\n"));
    EXPECT_EQ(client.receive_text(), "");
  }
  converse(connect(), {{"GET a", "$-1 "}});
}

TEST_P(Resp, NativeAndRedisClientsSeeTheSameCounters) {
  EXPECT_TRUE(node_->counter("a").add(5).ok());
  converse(connect(), {{"INCR a", ":6 "}});
  const auto total = node_->counter("a").read();
  ASSERT_TRUE(total.ok());
  EXPECT_EQ(total->value, 6);
}

TEST_P(Resp, ANodeStopsWithClientsConnected) {
  RawConnection idle = connect();
  RawConnection client = connect();
  EXPECT_EQ(client.reply_to("INCR a"), ":1\r\n");
  node_.reset();
  EXPECT_EQ(client.receive_text(), "");
}

TEST_P(Resp, KnownRepliesBehindOneThatIsNotDoNotHoldUpTheRest) {
  RawConnection client = connect();
  std::string requests = "INCR a\r\n";
  for (int i = 0; i < 200; ++i) requests += "COMMAND\r\n";
  ASSERT_TRUE(client.send(requests + "PING last\r\n"));
  EXPECT_THAT(client.receive_text("$4\r\nlast\r\n"), testing::EndsWith("$4\r\nlast\r\n"));
}

TEST_P(Resp, NobodyMayAskForMoreThanThereIsRoomFor) {
  RawConnection client = connect();
  const std::string list = client.reply_to("CLIENT LIST ID 1 1 1 1");
  EXPECT_NE(list.find("id=1 "), list.npos);
  EXPECT_EQ(list.find("id=1 "), list.rfind("id=1 "));
  EXPECT_THAT(client.reply_to("CLIENT SETNAME " + std::string(257, 'n')), StartsWith("-ERR"));
  EXPECT_THAT(client.reply_to("KEYS " + std::string(1025, '*')), StartsWith("-ERR a pattern"));
  EXPECT_THAT(client.reply_to("SCAN 0 MATCH " + std::string(1025, '*')),
              StartsWith("-ERR a pattern"));
}

// Every member answers for every counter, wherever it is.
TEST(RespCluster, AnyNodeTakesWhatOthersOwn) {
  const TemporaryDirectory directory;
  std::vector<NodeOptions> options = cluster_of(3, directory / "data");
  std::vector<std::unique_ptr<Node>> nodes;
  for (NodeOptions& one : options) {
    one.replication = 1;
    nodes.push_back(open_node(one));
  }
  // A node that reaches no owner yet counts by itself, and tells only that.
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
  for (int key = 0; key < 20; ++key) {
    const std::string name = "k" + std::to_string(key);
    for (std::size_t i = 0; i < clients.size(); ++i)
      EXPECT_EQ(clients[i]->reply_to("INCR " + name), ':' + std::to_string(i + 1) + "\r\n");
    EXPECT_EQ(clients[0]->reply_to("QUIPU.GET " + name + " STRONG").substr(0, 19),
              "*6\r\n$5\r\nvalue\r\n:3\r\n");
    EXPECT_EQ(clients[1]->reply_to("SET " + name + " 10"), "+OK\r\n");
    EXPECT_EQ(clients[2]->reply_to("INCR " + name), ":11\r\n");
    // A client sees its own changes, also of a counter that its node does not own.
    EXPECT_EQ(clients[2]->reply_to("DEL " + name), ":1\r\n");
    EXPECT_EQ(clients[0]->reply_to("GETDEL " + name), "$-1\r\n");
  }
}

// Through whichever node the counter was filled, emptied and added to.
TEST(RespCluster, ASetFreesACounterFromOverflow) {
  const TemporaryDirectory directory;
  std::vector<std::unique_ptr<Node>> nodes;
  for (const NodeOptions& one : cluster_of(3, directory / "data")) nodes.push_back(open_node(one));
  for (const auto& node : nodes) ASSERT_TRUE(node->wait_ready(kPatience));
  std::vector<std::unique_ptr<RawConnection>> clients;
  for (const auto& node : nodes)
    clients.push_back(std::make_unique<RawConnection>(node->client_address()));
  const auto all_see = [&clients](const std::string& value) {
    return eventually([&] {
      return std::all_of(clients.begin(), clients.end(),
                         [&](auto& client) { return client->reply_to("GET z") == value; });
    });
  };
  const std::string max = "9223372036854775807";
  for (std::size_t filler = 0; filler < 3; ++filler) {
    const std::size_t emptier = (filler + 1) % 3;
    EXPECT_EQ(clients[filler]->reply_to("SET z " + max), "+OK\r\n");
    ASSERT_TRUE(all_see("$19\r\n" + max + "\r\n"));
    EXPECT_EQ(clients[emptier]->reply_to("SET z 0"), "+OK\r\n");
    ASSERT_TRUE(all_see("$1\r\n0\r\n"));
    EXPECT_EQ(clients[filler]->reply_to("INCR z"), ":1\r\n");
    ASSERT_TRUE(all_see("$1\r\n1\r\n"));
    EXPECT_EQ(clients[emptier]->reply_to("DEL z"), ":1\r\n");
    ASSERT_TRUE(all_see("$-1\r\n"));
  }
}

TEST(RespCluster, AnAddToASpreadCounterTellsItsWholeTotal) {
  const TemporaryDirectory directory;
  std::vector<std::unique_ptr<Node>> nodes;
  for (const NodeOptions& one : cluster_of(3, directory / "data")) nodes.push_back(open_node(one));
  for (const auto& node : nodes) ASSERT_TRUE(node->wait_ready(kPatience));
  ASSERT_TRUE(nodes[0]->counter("spread").raise_shards(8).ok());
  RawConnection client(nodes[0]->client_address());
  for (int i = 1; i <= 100; ++i)
    EXPECT_EQ(client.reply_to("INCR spread"), ':' + std::to_string(i) + "\r\n");
  EXPECT_EQ(client.reply_to("DEL spread"), ":1\r\n");
  EXPECT_EQ(client.reply_to("GET spread"), "$-1\r\n");
}

INSTANTIATE_TEST_SUITE_P(Reactors, Resp, testing::Values(1, 3));
INSTANTIATE_TEST_SUITE_P(OneReactor, RespOfOneReactor, testing::Values(1));
INSTANTIATE_TEST_SUITE_P(Reactors, RespThatMayFlush, testing::Values(1, 3));

}  // namespace
}  // namespace quipu::test
