// SELECT: the counters of database n > 0 are those whose names begin with "dbn:". Database 0 has
// all counters, by their full names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/node/clients/resp/resp_conversation.h"

namespace quipu::test {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class RespDatabases : public Resp {
 protected:
  explicit RespDatabases(ClientPortOptions port = {}) : Resp(port) {}
  static void select(RawConnection& client, int database) {
    EXPECT_EQ(client.reply_to("SELECT " + std::to_string(database)), "+OK\r\n");
  }
  void converse_in(int database, const std::vector<Said>& conversation) const {
    RawConnection client = connect();
    select(client, database);
    converse(std::move(client), conversation);
  }
};

INSTANTIATE_TEST_SUITE_P(Reactors, RespDatabases, testing::Values(1, 2));

TEST_P(RespDatabases, EachHasCountersOfItsOwn) {
  converse_in(0, {{"SET a 1", "+OK "}});
  converse_in(1, {{"GET a", "$-1 "}, {"SET a 2", "+OK "}, {"INCR a", ":3 "}});
  converse_in(15, {{"GET a", "$-1 "}, {"INCR a", ":1 "}});
  converse_in(1, {{"GET a", "$1 3 "}});
  converse(connect(), {{"GET a", "$1 1 "}});  // a new connection uses database 0
  EXPECT_EQ(node_->counter("db1:a").read()->value, 3);
  EXPECT_EQ(node_->counter("db15:a").read()->value, 1);
}

TEST_P(RespDatabases, Database0SeesEveryCounterByItsFullName) {
  converse_in(1, {{"INCR a", ":1 "}, {"INCR b:c", ":1 "}});
  RawConnection client = connect();
  EXPECT_EQ(client.reply_to("INCR a"), ":1\r\n");
  EXPECT_EQ(names_of(client), "a db1:a db1:b:c ");
  converse(connect(), {{"GET db1:a", "$1 1 "}, {"INCR db1:b:c", ":2 "}, {"DBSIZE", ":3 "}});
  converse_in(1, {{"GET b:c", "$1 2 "}, {"DBSIZE", ":2 "}});
}

TEST_P(RespDatabases, ListTheirOwnCountersWithoutThePrefix) {
  RawConnection zero = connect();
  for (const char* key : {"a", "db10:a", "db", "db1", "db2:x"})
    ASSERT_EQ(zero.reply_to(std::string("INCR ") + key), ":1\r\n");
  RawConnection one = connect();
  select(one, 1);
  EXPECT_EQ(one.reply_to("DBSIZE"), ":0\r\n");
  EXPECT_EQ(one.reply_to("RANDOMKEY"), "$-1\r\n");
  EXPECT_EQ(one.reply_to("KEYS *"), "*0\r\n");
  EXPECT_EQ(names_of(one), "");
  for (const char* key : {"likes:1", "likes:2", "views", "db1:a"})
    ASSERT_EQ(one.reply_to(std::string("INCR ") + key), ":1\r\n");
  EXPECT_EQ(one.reply_to("DBSIZE"), ":4\r\n");
  EXPECT_EQ(names_of(one), "db1:a likes:1 likes:2 views ");
  EXPECT_EQ(names_of(one, "COUNT 1"), "db1:a likes:1 likes:2 views ");
  EXPECT_EQ(names_of(one, "MATCH likes:*"), "likes:1 likes:2 ");
  EXPECT_EQ(names_of(one, "MATCH db1:*"), "db1:a ");
  EXPECT_EQ(names_of(one, "MATCH *s TYPE string"), "views ");
  EXPECT_EQ(one.reply_to("KEYS v*"), "*1\r\n$5\r\nviews\r\n");
  EXPECT_EQ(one.reply_to("DEL likes:1 likes:2 db1:a"), ":3\r\n");
  EXPECT_EQ(one.reply_to("RANDOMKEY"), "$5\r\nviews\r\n");
  EXPECT_EQ(names_of(zero), "a db db1 db10:a db1:views db2:x ");
}

// Each command that names counters, in the order in which it finds something to do.
TEST_P(RespDatabases, EveryCommandNamesCountersOfItsDatabase) {
  converse_in(3, {{"INCR a", ":1 "},
                  {"INCRBY a 5", ":6 "},
                  {"DECR a", ":5 "},
                  {"DECRBY a 2", ":3 "},
                  {"GET a", "$1 3 "},
                  {"MGET a b a", "*3 $1 3 $-1 $1 3 "},
                  {"STRLEN a", ":1 "},
                  {"TYPE a", "+string "},
                  {"EXISTS a b", ":1 "},
                  {"TOUCH a b", ":1 "},
                  {"QUIPU.ADD a 1 ACK DISK", ":4 "},
                  {"QUIPU.GET a STRONG", "*6 $5 value :4 $6 age_ms :0 $8 complete :1 "},
                  {"QUIPU.MGET STRONG a b", "*2 $1 4 $-1 "},
                  {"QUIPU.MGET a", "*1 $1 4 "},
                  {"EXPIRE a 1000 NX", ":1 "},
                  {"EXPIRE a 1000 NX", ":0 "},
                  {"PERSIST a", ":1 "},
                  {"TTL a", ":-1 "},
                  {"SET a 7", "+OK "},
                  {"SET a 8 NX", "$-1 "},
                  {"SET a 8 EX 1000 GET", "$1 7 "},
                  {"SETEX a 1000 9", "+OK "},
                  {"SETNX a 1", ":0 "},
                  {"GETSET a 1", "$1 9 "},
                  {"GETEX a EX 1000", "$1 1 "},
                  {"INCREX a UBOUND 5", "*2 :2 :1 "},
                  {"MSET a 5 b 6 c 7", "+OK "},
                  {"GETDEL b", "$1 6 "},
                  {"DEL a b", ":1 "},
                  {"UNLINK b c", ":1 "},
                  {"MSET a 5 b 6", "+OK "},
                  {"QUIPU.RESET b", "+OK "}});
  RawConnection zero = connect();
  EXPECT_EQ(names_of(zero), "db3:a ");
  EXPECT_EQ(zero.reply_to("GET db3:a"), "$1\r\n5\r\n");
}

TEST_P(RespDatabases, ATokenIsForTheCounterOfItsDatabase) {
  RawConnection client = connect();
  select(client, 2);
  const std::string session = client.reply_to("QUIPU.SESSION a");
  ASSERT_EQ(session.size(), 40u);
  const std::string add = "QUIPU.ADD a 5 TOKEN " + session.substr(5, 33) + " 1";
  converse_in(2, {{add, ":5 "}, {add, ":5 "}});
  EXPECT_THAT(connect().reply_to(add), StartsWith("-ERR token_reused"));
  converse(connect(), {{"GET db2:a", "$1 5 "}, {"GET a", "$-1 "}});
}

TEST_P(RespDatabases, ManyKeysMayBeNamed) {
  RawConnection client = connect();
  select(client, 1);
  constexpr int kKeys = 3000;  // more than one question may ask for
  std::string keys, set = "MSET", values = '*' + std::to_string(kKeys) + "\r\n";
  for (int i = 0; i < kKeys; ++i) {
    keys += " k" + std::to_string(i);
    set += " k" + std::to_string(i) + " 7";
    values += "$1\r\n7\r\n";
  }
  EXPECT_EQ(client.reply_to(set), "+OK\r\n");
  EXPECT_EQ(client.reply_to("MGET" + keys), values);
  EXPECT_EQ(client.reply_to("QUIPU.MGET STRONG" + keys), values);
  EXPECT_EQ(client.reply_to("DBSIZE"), ":3000\r\n");
  EXPECT_EQ(client.reply_to("EXISTS" + keys), ":3000\r\n");
  EXPECT_EQ(client.reply_to("DEL" + keys), ":3000\r\n");
  EXPECT_EQ(client.reply_to("DBSIZE"), ":0\r\n");
}

TEST_P(RespDatabases, APipelineMayUseSeveral) {
  RawConnection client = connect();
  std::string requests, replies;
  for (int i = 1; i <= 300; ++i) {
    requests += "INCR a\r\nSELECT 1\r\nINCR a\r\nINCR a\r\nGET a\r\nSELECT 0\r\nGET a\r\n";
    const auto value = [](int number) {
      const std::string text = std::to_string(number);
      return '$' + std::to_string(text.size()) + "\r\n" + text + "\r\n";
    };
    replies += ':' + std::to_string(i) + "\r\n+OK\r\n:" + std::to_string(2 * i - 1) +
               "\r\n:" + std::to_string(2 * i) + "\r\n" + value(2 * i) + "+OK\r\n" + value(i);
  }
  EXPECT_EQ(client.replies_to(requests), replies);
  EXPECT_EQ(client.replies_to("SELECT 2\r\nMSET a 1 b 2\r\nSELECT 3\r\nMGET a b\r\nSELECT 2\r\n"
                              "DEL a b c\r\nRESET\r\nEXISTS a db1:a db2:a\r\n"),
            "+OK\r\n+OK\r\n+OK\r\n*2\r\n$-1\r\n$-1\r\n+OK\r\n:2\r\n+RESET\r\n:2\r\n");
}

TEST_P(RespDatabases, TheLongestKeyHas512BytesWithThePrefix) {
  const std::string wrong = "-ERR a key has 1 to 512 bytes ";
  converse_in(1, {{"INCR " + std::string(508, 'k'), ":1 "},
                  {"INCR " + std::string(509, 'k'), wrong},
                  {"GET " + std::string(509, 'k'), wrong},
                  {"SET " + std::string(509, 'k') + " 1", wrong}});
  converse_in(10,
              {{"INCR " + std::string(507, 'k'), ":1 "}, {"INCR " + std::string(508, 'k'), wrong}});
}

TEST_P(RespDatabases, AKeyHasAByteBehindThePrefix) {
  const std::string wrong = "-ERR a key has 1 to 512 bytes ";
  converse_in(1, {{"INCR ''", wrong},
                  {"GET ''", wrong},
                  {"SET '' 1", wrong},
                  {"MGET a ''", wrong},
                  {"EXPIRE '' 10", wrong},
                  {"DBSIZE", ":0 "}});
}

TEST_P(RespDatabases, AConnectionSaysWhichOneItUses) {
  RawConnection client = connect();
  select(client, 7);
  EXPECT_THAT(client.reply_to("CLIENT LIST ID 1"), HasSubstr(" db=7 "));
  EXPECT_EQ(client.reply_to("RESET"), "+RESET\r\n");
  EXPECT_THAT(client.reply_to("CLIENT LIST ID 1"), HasSubstr(" db=0 "));
  EXPECT_EQ(client.reply_to("CONFIG GET databases"), "*2\r\n$9\r\ndatabases\r\n$2\r\n16\r\n");
  EXPECT_EQ(client.reply_to("COMMAND GETKEYS MGET a b"), "*2\r\n$1\r\na\r\n$1\r\nb\r\n");
}

// The namespace of a name is what stands before its first ":", so a database is one.
TEST_P(RespDatabases, ADatabaseIsANamespace) {
  RawConnection client = connect();
  ASSERT_EQ(client.reply_to("QUIPU.NAMESPACE CREATE db1 TTL 1h"), "*0\r\n");
  ASSERT_EQ(client.reply_to("QUIPU.NAMESPACE CREATE hits TTL 1h"), "*0\r\n");
  RawConnection one = connect();
  select(one, 1);
  ASSERT_EQ(one.reply_to("INCR any"), ":1\r\n");
  EXPECT_THAT(one.reply_to("TTL any"), Not(StartsWith(":-")));
  converse_in(2, {{"INCR hits:a", ":1 "}, {"TTL hits:a", ":-1 "}});
}

class RespTwoDatabases : public RespDatabases {
 protected:
  RespTwoDatabases() : RespDatabases({.databases = 2}) {}
};

INSTANTIATE_TEST_SUITE_P(OneReactor, RespTwoDatabases, testing::Values(1));

TEST_P(RespTwoDatabases, TheSettingsSayHowManyThereAre) {
  const std::string no_database = "-ERR DB index is out of range ";
  converse(connect(), {{"SELECT 1", "+OK "},
                       {"INCR a", ":1 "},
                       {"SELECT 2", no_database},
                       {"SELECT 1", "+OK "},
                       {"GET a", "$1 1 "},
                       {"SELECT -1", no_database},
                       {"SELECT 0", "+OK "},
                       {"GET a", "$-1 "}});
}

// Some clients ignore that error, and would count in the database that was used before.
TEST_P(RespTwoDatabases, AfterARefusedSelectNothingCountsInTheDatabaseBefore) {
  RawConnection client = connect();
  select(client, 1);
  EXPECT_THAT(client.reply_to("SELECT 2"), StartsWith("-ERR"));
  EXPECT_THAT(client.reply_to("INCR a"), StartsWith("-NOTAPPLIED a SELECT was refused"));
  EXPECT_EQ(client.reply_to("SELECT 1"), "+OK\r\n");
  EXPECT_EQ(client.reply_to("INCR a"), ":1\r\n");
}

TEST_P(RespDatabases, AreListedByInfo) {
  converse_in(2, {{"MSET a 1 b 2", "+OK "}});
  converse_in(10, {{"SET a 1", "+OK "}});
  converse_in(3, {{"SET a 1", "+OK "}});
  RawConnection client = connect();
  // These are of database 0 alone.
  for (const char* key : {"db4294967298:a", "db02:a", "db2", "db-2:a", "db:a"})
    ASSERT_EQ(client.reply_to(std::string("INCR ") + key), ":1\r\n");
  EXPECT_THAT(client.reply_to("CONFIG RESETSTAT"), StartsWith("+OK"));
  // Another reactor's figures may be a moment old.
  const auto has = [&client](const std::string& line) {
    return client.reply_to("INFO keyspace").find("\r\n" + line) != std::string::npos;
  };
  for (const char* line :
       {"db0:keys=9,", "db2:keys=2,expires=0,avg_ttl=0\r\n", "db3:keys=1,", "db10:keys=1,"})
    EXPECT_TRUE(eventually([&] { return has(line); })) << line;
  converse_in(3, {{"DEL a", ":1 "}});
  EXPECT_FALSE(has("db3:"));
  EXPECT_TRUE(has("db2:keys=2,"));
  EXPECT_THAT(client.reply_to("INFO server"), Not(HasSubstr("db2:")));
  EXPECT_EQ(client.reply_to("MULTI"), "+OK\r\n");
  for (const char* command : {"INFO keyspace", "INCR a", "INFO keyspace"})
    EXPECT_EQ(client.reply_to(command), "+QUEUED\r\n");
  const std::string replies = client.reply_to("EXEC");
  EXPECT_THAT(replies, testing::MatchesRegex("\\*3\r\n\\$[0-9]+\r\n# Keyspace\r\n.*\r\n:1\r\n"
                                             "\\$[0-9]+\r\n# Keyspace\r\n.*db10:keys=1,.*"));
  EXPECT_EQ(client.reply_to("PING"), "+PONG\r\n");
}

class RespDatabasesThatMayBeFlushed : public RespDatabases {
 protected:
  RespDatabasesThatMayBeFlushed() : RespDatabases({.flushall = true}) {}
};

INSTANTIATE_TEST_SUITE_P(Reactors, RespDatabasesThatMayBeFlushed, testing::Values(1, 2));

TEST_P(RespDatabasesThatMayBeFlushed, AFlushResetsTheCountersOfOneDatabase) {
  const std::string some = "MSET a 1 b 2 c 3";
  for (const int database : {0, 1, 2, 10})
    converse_in(database, {{some, "+OK "}, {"EXPIRE a 1000", ":1 "}});
  converse_in(1, {{"FLUSHDB", "+OK "}, {"DBSIZE", ":0 "}, {"GET a", "$-1 "}, {"INCR a", ":1 "}});
  converse_in(2,
              {{"FLUSHDB ASYNC", "+OK "}, {"DBSIZE", ":0 "}, {"FLUSHDB x", "-ERR syntax error "}});
  converse_in(10, {{"DBSIZE", ":3 "}});
  converse(connect(),
           {{"DBSIZE", ":7 "}, {"MGET a b c db10:a db1:a", "*5 $1 1 $1 2 $1 3 $1 1 $1 1 "}});
  converse_in(10, {{"FLUSHALL", "+OK "}, {"DBSIZE", ":0 "}});
  converse(connect(), {{"DBSIZE", ":0 "}});
  // Database 0 has all of them.
  converse_in(1, {{some, "+OK "}});
  converse(connect(), {{"FLUSHDB", "+OK "}, {"EXISTS db1:a", ":0 "}});
}

TEST_P(RespDatabases, AFlushThatTheSettingsDoNotAllowResetsNothing) {
  converse_in(1, {{"INCR a", ":1 "},
                  {"FLUSHDB",
                   "-ERR FLUSHALL is not enabled: set flushall = true in [client] of the node's "
                   "settings, and restart it "},
                  {"GET a", "$1 1 "}});
}

TEST(RespDatabasesOfThree, AreTheSameThroughEveryNode) {
  const TemporaryDirectory directory;
  std::vector<NodeOptions> options = cluster_of(3, directory / "data");
  for (NodeOptions& one : options) one.replication = 1;
  const Nodes nodes = open_all(options);
  for (const auto& node : nodes)
    ASSERT_TRUE(eventually([&] { return node->counter("linked").read()->complete; }));
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    RawConnection client(nodes[i]->client_address());
    ASSERT_EQ(client.reply_to("SELECT 4"), "+OK\r\n");
    for (int key = 0; key < 10; ++key)
      EXPECT_EQ(client.reply_to("INCR k" + std::to_string(key)),
                ':' + std::to_string(i + 1) + "\r\n");
    EXPECT_EQ(client.reply_to("DBSIZE"), ":10\r\n");
    EXPECT_EQ(client.reply_to("SETNX k0 1"), ":0\r\n");
  }
}

}  // namespace
}  // namespace quipu::test
