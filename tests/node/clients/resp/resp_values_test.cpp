// SET with its options, SETEX, SETNX, GETSET, GETEX, MSET, INCREX, TOUCH, QUIPU.MGET: the exact
// replies. Those of Redis are its version 7.0's; INCREX is in 8.8.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/node/clients/resp/resp_conversation.h"

namespace quipu::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const std::string kWrongWords = "-ERR syntax error ";
const std::string kMax = "9223372036854775807", kMin = "-9223372036854775808";
class RespValues : public Resp {};

INSTANTIATE_TEST_SUITE_P(Reactors, RespValues, testing::Values(1, 2));

// ---- SET ----

TEST_P(RespValues, ASetMayDependOnWhetherTheCounterExists) {
  converse(connect(), {{"SET a 1 XX", "$-1 "},
                       {"EXISTS a", ":0 "},
                       {"SET a 1 NX", "+OK "},
                       {"SET a 2 NX", "$-1 "},
                       {"GET a", "$1 1 "},
                       {"set a 3 xx", "+OK "},
                       {"GET a", "$1 3 "},
                       {"DEL a", ":1 "},
                       {"SET a 0 NX", "+OK "},  // 0 is a value
                       {"SET a 1 NX", "$-1 "},
                       {"GET a", "$1 0 "}});
}

TEST_P(RespValues, ASetMayTellTheValueBefore) {
  converse(connect(), {{"SET a 1 GET", "$-1 "},
                       {"SET a 2 GET", "$1 1 "},
                       {"SET a 3 NX GET", "$1 2 "},
                       {"GET a", "$1 2 "},
                       {"SET b 1 XX GET", "$-1 "},
                       {"EXISTS b", ":0 "},
                       {"SET b 1 NX GET", "$-1 "},
                       {"SET b -7 GET EX 100 XX", "$1 1 "},
                       {"GET b", "$2 -7 "}});
}

TEST_P(RespValues, ASetSaysWhenTheCounterEnds) {
  converse(connect(), {{"SET a 1 PXAT " + kFar, "+OK "},
                       {"PEXPIRETIME a", ':' + kFar + ' '},
                       {"INCR a", ":2 "},
                       {"SET a 5 KEEPTTL", "+OK "},
                       {"PEXPIRETIME a", ':' + kFar + ' '},
                       {"SET a 6 EXAT 32503680001", "+OK "},
                       {"PEXPIRETIME a", ":32503680001000 "},
                       {"SET a 7", "+OK "},  // without an end again
                       {"TTL a", ":-1 "},
                       {"GET a", "$1 7 "},
                       {"SET a 8 KEEPTTL", "+OK "},
                       {"TTL a", ":-1 "},
                       {"SET new 8 KEEPTTL", "+OK "},
                       {"TTL new", ":-1 "}});
  RawConnection client = connect();
  for (const char* set : {"SET a 1 EX 1000", "SET a 1 PX 1000000", "SET a 1 NX EX 1000",
                          "SETEX a 1000 1", "PSETEX a 1000000 1"}) {
    ASSERT_THAT(client.reply_to("DEL a"), StartsWith(":"));
    ASSERT_EQ(client.reply_to(set), "+OK\r\n");
    const std::string ttl = client.reply_to("TTL a");
    EXPECT_THAT(ttl, testing::MatchesRegex(":(1000|9[0-9][0-9])\r\n")) << set;
  }
}

TEST_P(RespValues, ASetUntilAMomentInThePastLeavesNoCounter) {
  for (const char* past : {"SET a 1 EXAT 1", "SET a 1 PXAT 1", "SET a 1 NX PXAT 1"})
    converse(connect(), {{past, "+OK "}, {"EXISTS a", ":0 "}, {"TTL a", ":-2 "}});
  converse(connect(), {{"SET a 5", "+OK "},
                       {"SET a 6 PXAT 1 GET", "$1 5 "},
                       {"EXISTS a", ":0 "},
                       {"INCR a", ":1 "},
                       {"TTL a", ":-1 "}});
}

TEST_P(RespValues, ASetTakesEveryInteger) {
  const std::string overflow = "-ERR increment or decrement would overflow ";
  converse(connect(), {{"SET a " + kMax + " EX 1000", "+OK "},
                       {"INCR a", overflow},
                       {"SET a " + kMin + " KEEPTTL GET", "$19 " + kMax + ' '},
                       {"DECR a", overflow},
                       {"GETSET a 0", "$20 " + kMin + ' '},
                       {"GET a", "$1 0 "},
                       {"SETNX b " + kMin, ":1 "},
                       {"SETEX b 1000 " + kMax, "+OK "},
                       {"GETEX b PERSIST", "$19 " + kMax + ' '},
                       {"MSET a " + kMax + " b " + kMin, "+OK "},
                       {"MGET a b", "*2 $19 " + kMax + " $20 " + kMin + ' '}});
}

TEST_P(RespValues, WhatIsWrongWithASetIsSaidAndChangesNothing) {
  std::vector<Said> conversation{{"SET a 5", "+OK "}};
  for (const char* wrong :
       {"SET a 1 EXX", "SET a 1 NX XX", "SET a 1 EX", "SET a 1 EX 5 PX 5", "SET a 1 EX 5 KEEPTTL",
        "SET a 1 KEEPTTL PXAT 5", "SET a 1 NX FOO", "SET a 1 PERSIST", "SET a 1 EX x FOO",
        "SET a 1 EX 0 NX XX", "SET a x NX XX", "SET a 1 2", "SET a 1 NX EX"})
    conversation.push_back({wrong, kWrongWords});
  for (const char* wrong : {"SET a x", "SET a ''", "SET a 1.5", "SET a 9223372036854775808",
                            "SET a 1 EX x", "SET a 1 EX NX", "SET a 1 PXAT 1.5", "SET a +1",
                            "SET a x EX 5", "SET a x KEEPTTL", "SET a 1 EX 9223372036854775808"})
    conversation.push_back({wrong, kNotInteger});
  for (const char* wrong :
       {"SET a 1 EX 0", "SET a 1 EX -1", "SET a 1 PX 0", "SET a 1 EXAT 0", "SET a 1 PXAT -1",
        "SET a 1 EX 9223372036854775807", "SET a 1 PX 9223372036854775807", "SET a x EX 0",
        "SET a 1 EX 9223372036854775", "SET a 1 EXAT 9223372036854776"})
    conversation.push_back({wrong, invalid_time("set")});
  conversation.insert(conversation.end(),
                      {{"SET a", wrong_number_of_words("set")},
                       {"SET '' 1", "-ERR a key has 1 to 512 bytes "},
                       {"SET '' 1 NX", "-ERR a key has 1 to 512 bytes "},
                       {"SET " + std::string(513, 'k') + " 1", "-ERR a key has 1 to 512 bytes "},
                       {"SET a 1 EX 5 EX 6 NX NX GET GET", "$1 5 "},  // as Redis, this is right
                       {"GET a", "$1 5 "},
                       {"TTL a", ":-1 "}});
  converse(connect(), conversation);
}

// The words travel to the node that decides, in a message that is bounded.
TEST_P(RespValues, TheLongestRequestIsCarriedOutAndALongWordIsNoNumber) {
  const std::string key(512, 'k');
  std::string bounds;
  for (int i = 0; i < 15; ++i) bounds += " LBOUND " + kMin;
  converse(connect(), {{"INCREX " + key + bounds, "*2 :1 :1 "},
                       {"INCREX " + key + bounds + " SATURATE", kWrongWords},
                       {"SET " + key + " 5 EX " + std::string(10'000, '9') + " EX 5", kNotInteger},
                       {"GETEX " + key + " EX " + std::string(10'000, 'x'), kNotInteger},
                       {"GETEX none EX " + std::string(10'000, 'x'), kNotInteger},
                       {"GET " + key, "$1 1 "}});
}

TEST_P(RespValues, TheShortFormsOfSetDoTheSame) {
  converse(connect(), {{"SETNX a 1", ":1 "},
                       {"SETNX a 2", ":0 "},
                       {"GETSET a 3", "$1 1 "},
                       {"GETSET b 4", "$-1 "},
                       {"PEXPIREAT b " + kFar, ":1 "},
                       {"SETNX b 5", ":0 "},
                       {"PEXPIRETIME b", ':' + kFar + ' '},
                       {"GETSET b 6", "$1 4 "},
                       {"TTL b", ":-1 "},
                       {"SETEX a 0 1", invalid_time("setex")},
                       {"SETEX a -1 1", invalid_time("setex")},
                       {"SETEX a " + kMax + " 1", invalid_time("setex")},
                       {"PSETEX a 0 1", invalid_time("psetex")},
                       {"PSETEX a " + kMax + " 1", invalid_time("psetex")},
                       {"SETEX a x 1", kNotInteger},
                       {"SETEX a 10 x", kNotInteger},
                       {"SETNX c x", kNotInteger},
                       {"GETSET a x", kNotInteger},
                       {"SETEX a 10", wrong_number_of_words("setex")},
                       {"PSETEX a 10", wrong_number_of_words("psetex")},
                       {"SETNX a", wrong_number_of_words("setnx")},
                       {"GETSET a 1 2", wrong_number_of_words("getset")},
                       {"MGET a b c", "*3 $1 3 $1 6 $-1 "}});
}

TEST_P(RespValues, WithRESP3WhatIsMissingIsNull) {
  RawConnection client = connect();
  (void)client.reply_to("HELLO 3");
  converse(std::move(client), {{"SET a 1 XX", "_ "},
                               {"SET a 1 GET", "_ "},
                               {"SET a 2 NX", "_ "},
                               {"GETSET b 1", "_ "},
                               {"GETEX c", "_ "},
                               {"SET a 2 GET", "$1 1 "},
                               {"INCREX a UBOUND 2", "*2 :2 :0 "},
                               {"QUIPU.MGET a c", "*2 $1 2 _ "}});
}

// ---- GETEX ----

TEST_P(RespValues, AGetMayMoveTheEnd) {
  converse(connect(), {{"GETEX a", "$-1 "},
                       {"GETEX a EX 100", "$-1 "},
                       {"GETEX a EX 0", "$-1 "},  // as Redis: the time is not looked at
                       {"GETEX a EX x", "$-1 "},
                       {"EXISTS a", ":0 "},
                       {"SET a 5", "+OK "},
                       {"GETEX a", "$1 5 "},
                       {"TTL a", ":-1 "},
                       {"GETEX a PXAT " + kFar, "$1 5 "},
                       {"PEXPIRETIME a", ':' + kFar + ' '},
                       {"GETEX a", "$1 5 "},
                       {"PEXPIRETIME a", ':' + kFar + ' '},
                       {"getex a exat 32503680001", "$1 5 "},
                       {"EXPIRETIME a", ":32503680001 "},
                       {"GETEX a PERSIST", "$1 5 "},
                       {"GETEX a PERSIST", "$1 5 "},
                       {"TTL a", ":-1 "},
                       {"GETEX a PXAT 1", "$1 5 "},
                       {"EXISTS a", ":0 "}});
}

TEST_P(RespValues, WhatIsWrongWithAGetThatMovesTheEndIsSaidAndChangesNothing) {
  converse(connect(), {{"SET a 5 PXAT " + kFar, "+OK "},
                       {"GETEX a FOO", kWrongWords},
                       {"GETEX a EX", kWrongWords},
                       {"GETEX a EX 5 PX 5", kWrongWords},
                       {"GETEX a EX 5 PERSIST", kWrongWords},
                       {"GETEX a KEEPTTL", kWrongWords},
                       {"GETEX a EX x FOO", kWrongWords},
                       {"GETEX a EX x", kNotInteger},
                       {"GETEX a EX 0", invalid_time("getex")},
                       {"GETEX a PX -1", invalid_time("getex")},
                       {"GETEX a PX " + kMax, invalid_time("getex")},
                       {"GETEX", wrong_number_of_words("getex")},
                       {"PEXPIRETIME a", ':' + kFar + ' '}});
}

// ---- INCREX ----

TEST_P(RespValues, AnIncrementTellsTheValueAndWhatWasApplied) {
  converse(connect(), {{"INCREX a", "*2 :1 :1 "},
                       {"INCREX a BYINT 5", "*2 :6 :5 "},
                       {"increx a byint -10", "*2 :-4 :-10 "},
                       {"INCREX a BYINT 0", "*2 :-4 :0 "},
                       {"GET a", "$2 -4 "}});
}

TEST_P(RespValues, AnIncrementBeyondABoundIsNotAppliedOrOnlyUpToTheBound) {
  converse(connect(), {{"INCREX a UBOUND 2", "*2 :1 :1 "},
                       {"INCREX a UBOUND 2", "*2 :2 :1 "},
                       {"INCREX a UBOUND 2", "*2 :2 :0 "},
                       {"INCREX a BYINT 5 UBOUND 4", "*2 :2 :0 "},
                       {"INCREX a BYINT 5 UBOUND 4 SATURATE", "*2 :4 :2 "},
                       {"INCREX a BYINT 5 UBOUND 4 SATURATE", "*2 :4 :0 "},
                       {"INCREX a BYINT -9 LBOUND -2", "*2 :4 :0 "},
                       {"INCREX a BYINT -9 LBOUND -2 SATURATE", "*2 :-2 :-6 "},
                       {"INCREX a BYINT 1 LBOUND 0 UBOUND 5", "*2 :-2 :0 "},
                       {"INCREX a BYINT 1 LBOUND 0 UBOUND 5 SATURATE", "*2 :0 :2 "},
                       {"GET a", "$1 0 "},
                       {"INCREX new BYINT 2 UBOUND 1", "*2 :0 :0 "},
                       {"EXISTS new", ":0 "},
                       {"INCREX new BYINT 2 UBOUND 0 SATURATE", "*2 :0 :0 "},
                       {"EXISTS new", ":1 "}});
}

TEST_P(RespValues, AnIncrementNeverLeavesTheRangeOfANumber) {
  converse(connect(),
           {{"SET a " + kMax, "+OK "},
            {"INCREX a", "*2 :" + kMax + " :0 "},
            {"INCREX a BYINT 5 SATURATE", "*2 :" + kMax + " :0 "},
            {"INCREX a BYINT " + kMin, "*2 :-1 :" + kMin + ' '},
            {"INCREX a BYINT " + kMin + " SATURATE", "*2 :" + kMin + " :-9223372036854775807 "},
            {"INCREX a BYINT -1", "*2 :" + kMin + " :0 "},
            {"INCREX a BYINT " + kMax, "*2 :-1 :" + kMax + ' '}});
}

TEST_P(RespValues, AnIncrementMaySayWhenTheCounterEnds) {
  converse(connect(), {{"INCREX a PXAT " + kFar, "*2 :1 :1 "},
                       {"PEXPIRETIME a", ':' + kFar + ' '},
                       {"INCREX a", "*2 :2 :1 "},
                       {"PEXPIRETIME a", ':' + kFar + ' '},
                       {"INCREX a EXAT 32503680001 ENX", "*2 :3 :1 "},
                       {"PEXPIRETIME a", ':' + kFar + ' '},
                       {"INCREX a EXAT 32503680001", "*2 :4 :1 "},
                       {"PEXPIRETIME a", ":32503680001000 "},
                       {"INCREX a PERSIST", "*2 :5 :1 "},
                       {"TTL a", ":-1 "},
                       {"INCREX a ENX EXAT 32503680001", "*2 :6 :1 "},
                       {"PEXPIRETIME a", ":32503680001000 "},
                       // What is not applied moves no end.
                       {"INCREX a UBOUND 6 PERSIST", "*2 :6 :0 "},
                       {"INCREX a UBOUND 6 EX 5", "*2 :6 :0 "},
                       {"PEXPIRETIME a", ":32503680001000 "},
                       {"INCREX a PXAT 1", "*2 :7 :1 "},
                       {"EXISTS a", ":0 "}});
}

TEST_P(RespValues, WhatIsWrongWithAnIncrementIsSaidAndChangesNothing) {
  std::vector<Said> conversation{{"SET a 5", "+OK "}};
  for (const char* wrong :
       {"INCREX a 5", "INCREX a BYINT", "INCREX a BYINT 1 BYINT 2", "INCREX a UBOUND",
        "INCREX a EX", "INCREX a EX 5 PX 5", "INCREX a EX 5 PERSIST", "INCREX a ENX",
        "INCREX a ENX PERSIST", "INCREX a KEEPTTL", "INCREX a NX"})
    conversation.push_back({wrong, kWrongWords});
  for (const char* wrong :
       {"INCREX a BYINT x", "INCREX a UBOUND 1.5", "INCREX a LBOUND ''", "INCREX a EX x"})
    conversation.push_back({wrong, kNotInteger});
  for (const char* wrong : {"INCREX a EX 0", "INCREX a PX -1", "INCREX a EXAT 0",
                            "INCREX a EX 9223372036854775807", "INCREX a PX 9223372036854775807"})
    conversation.push_back({wrong, invalid_time("increx")});
  conversation.insert(conversation.end(),
                      {{"INCREX", wrong_number_of_words("increx")},
                       {"INCREX a BYFLOAT 1.5", "-ERR a counter has no fractions: use BYINT "},
                       {"INCREX a LBOUND 2 UBOUND 1", "-ERR LBOUND can't be greater than UBOUND "},
                       {"INCREX ''", "-ERR a key has 1 to 512 bytes "},
                       {"GET a", "$1 5 "},
                       {"TTL a", ":-1 "}});
  converse(connect(), conversation);
}

// ---- several counters ----

TEST_P(RespValues, ManyCountersAreSetAtOnce) {
  const std::string far = kFar;
  converse(connect(), {{"MSET a 1 b -2 a 3", "+OK "},
                       {"MGET a b", "*2 $1 3 $2 -2 "},
                       {"PEXPIREAT a " + far, ":1 "},
                       {"MSET a 4", "+OK "},
                       {"TTL a", ":-1 "},
                       {"MSET a", wrong_number_of_words("mset")},
                       {"MSET a 1 b", wrong_number_of_words("mset")},
                       {"MSET a 1 b x", kNotInteger},
                       {"MSET a 1 '' 2", "-ERR a key has 1 to 512 bytes "},
                       {"MGET a b", "*2 $1 4 $2 -2 "}});
  RawConnection client = connect();
  std::string set = "MSET", get = "MGET", got = "*500\r\n";
  for (int i = 0; i < 500; ++i) {
    const std::string value = std::to_string(i);
    set += " k" + value + ' ' + value;
    get += " k" + value;
    got += '$' + std::to_string(value.size()) + "\r\n" + value + "\r\n";
  }
  EXPECT_EQ(client.reply_to(set), "+OK\r\n");
  EXPECT_EQ(client.reply_to(get), got);
}

TEST_P(RespValues, ManyCountersAreReadAtTheLevelAskedFor) {
  converse(connect(), {{"MSET a 1 b 2 strong 3", "+OK "},
                       {"QUIPU.MGET a b c", "*3 $1 1 $1 2 $-1 "},
                       {"QUIPU.MGET STRONG a b c", "*3 $1 1 $1 2 $-1 "},
                       {"quipu.mget fresh c a", "*2 $-1 $1 1 "},
                       {"QUIPU.MGET LOCAL a", "*1 $1 1 "},
                       {"QUIPU.MGET strong", "*1 $1 3 "},  // alone, it is a key
                       {"QUIPU.MGET STRONG strong", "*1 $1 3 "},
                       {"QUIPU.MGET", wrong_number_of_words("quipu.mget")},
                       {"QUIPU.MGET a ''", "-ERR a key has 1 to 512 bytes "}});
  RawConnection client = connect();
  std::string keys, nulls = "*3000\r\n";  // more than one question may name
  for (int i = 0; i < 3000; ++i) {
    keys += " none" + std::to_string(i);
    nulls += "$-1\r\n";
  }
  EXPECT_EQ(client.reply_to("QUIPU.MGET STRONG" + keys), nulls);
  EXPECT_EQ(client.reply_to("QUIPU.MGET" + keys), nulls);
}

TEST_P(RespValues, TouchCountsWhatExists) {
  converse(connect(), {{"SET a 1", "+OK "},
                       {"TOUCH a b a", ":2 "},
                       {"TOUCH b", ":0 "},
                       {"TOUCH", wrong_number_of_words("touch")}});
}

// ---- namespaces, and counters that are spread ----

// Also where the counter before it did not end, or ended later.
TEST_P(RespValues, InANamespaceWithATtlASetBeginsALifeThatEnds) {
  converse(connect(), {{"SET otp:old 1", "+OK "}, {"QUIPU.NAMESPACE CREATE otp TTL 1h", "*0 "}});
  RawConnection client = connect();
  for (const char* request :
       {"SET otp:1 5", "SET otp:1 6", "SET otp:old 5", "SETNX otp:2 1", "GETSET otp:3 1",
        "SET otp:4 1 KEEPTTL", "MSET otp:5 1", "INCREX otp:6", "SET otp:7 1 GET"}) {
    ASSERT_THAT(client.reply_to(request), testing::Not(StartsWith("-"))) << request;
    std::string key(std::string_view(request).substr(std::string_view(request).find(' ') + 1));
    key.resize(std::min(key.find(' '), key.size()));
    EXPECT_THAT(client.reply_to("TTL " + key), testing::MatchesRegex(":3[56][0-9][0-9]\r\n"))
        << request;
  }
  converse(connect(), {{"SET otp:1 7 PXAT " + kFar, "+OK "},
                       {"PEXPIRETIME otp:1", ':' + kFar + ' '},
                       {"SET otp:1 8 KEEPTTL", "+OK "},
                       {"PEXPIRETIME otp:1", ':' + kFar + ' '},
                       {"INCREX otp:1 PERSIST", "*2 :9 :1 "},
                       {"TTL otp:1", ":-1 "},
                       {"SET otp:1 1 KEEPTTL", "+OK "},
                       {"TTL otp:1", ":-1 "}});
}

TEST_P(RespValues, WhereTheDefaultNamespaceIsStrictNothingSetsAnUndefinedCounter) {
  RawConnection client = connect();
  ASSERT_EQ(client.reply_to("SET views:1 5"), "+OK\r\n");
  ASSERT_EQ(client.reply_to("QUIPU.NAMESPACE SET \"\" STRICT yes"), "*0\r\n");
  for (const char* request :
       {"SET views:1 7", "SET views:1 7 XX", "SET views:1 7 KEEPTTL GET", "SETEX views:1 100 7",
        "SETNX views:2 7", "GETSET views:1 7", "INCREX views:1", "MSET views:1 7 views:2 7"})
    EXPECT_THAT(client.reply_to(request),
                HasSubstr("-ERR the namespace 'views' is not defined: quipu namespace create"))
        << request;
  converse(connect(), {{"GET views:1", "$1 5 "},
                       {"EXISTS views:2", ":0 "},
                       {"SET views:1 7 NX", "$-1 "},  // nothing is set
                       {"GETEX views:1 EX 100", "$1 5 "},
                       {"SET plain 1 EX 100", "+OK "}});
  EXPECT_THAT(client.reply_to("MSET plain 2 views:1 7"),
              StartsWith("-PARTIAL 1 counters were set"));
  converse(connect(), {{"MGET plain views:1", "*2 $1 2 $1 5 "}});
}

TEST_P(RespValues, ACounterThatIsSpreadTakesOnlyAPlainSet) {
  ASSERT_TRUE(node_->counter("hot").raise_shards(4).ok());
  const std::string spread =
      "-ERR a counter that is spread over shards cannot be changed on a condition ";
  converse(connect(), {{"INCR hot", ":1 "},
                       {"SET hot 5", "+OK "},
                       {"GET hot", "$1 5 "},
                       {"INCR hot", ":6 "},
                       {"SET hot 7 NX", spread},
                       {"SET hot 7 GET", spread},
                       {"SET hot 7 EX 100", spread},
                       {"SET hot x", kNotInteger},
                       {"SETNX hot 7", spread},
                       {"SETEX hot 10 7", spread},
                       {"GETSET hot 7", spread},
                       {"GETEX hot", spread},
                       {"INCREX hot", spread},
                       {"GET hot", "$1 6 "},
                       {"SET hot 0", "+OK "},
                       {"GET hot", "$1 0 "}});
}

TEST_P(RespValues, ANamespaceSpreadsTheCountersThatASetCreates) {
  RawConnection client = connect();
  ASSERT_EQ(client.reply_to("QUIPU.NAMESPACE CREATE views SHARDS 4"), "*0\r\n");
  ASSERT_EQ(client.reply_to("SET views:1 5"), "+OK\r\n");
  // Until then, it has one shard.
  EXPECT_TRUE(eventually([&] {
    return client.reply_to("SETNX views:1 6").find("spread over shards") != std::string::npos;
  }));
  converse(connect(), {{"GET views:1", "$1 5 "},
                       {"SET views:1 6", "+OK "},
                       {"GET views:1", "$1 6 "},
                       {"SET views:2 1 EX 1000", "+OK "}});
  // What ends has one shard.
  EXPECT_EQ(client.reply_to("SETNX views:2 6"), ":0\r\n");
  EXPECT_EQ(client.reply_to("EXPIRE views:2 2000 GT"), ":1\r\n");
}

// ---- pipelines ----

TEST_P(RespValues, APipelineIsAnsweredInItsOrder) {
  RawConnection client = connect();
  EXPECT_EQ(client.replies_to("SET a 1\r\nSET a 2 NX\r\nINCR a\r\nSET a 5\r\nINCR a\r\nGET a\r\n"
                              "SET a 9 GET\r\nPING\r\nMSET a 3 b 4\r\nMGET a b\r\nSET a 1 FOO\r\n"
                              "GETSET a 7\r\nINCREX a UBOUND 7\r\nDEL a\r\nSET a 1 XX\r\n"
                              "SET a 1 EX 1000\r\nGETEX a PERSIST\r\nTTL a\r\n"),
            "+OK\r\n$-1\r\n:2\r\n+OK\r\n:6\r\n$1\r\n6\r\n$1\r\n6\r\n+PONG\r\n+OK\r\n"
            "*2\r\n$1\r\n3\r\n$1\r\n4\r\n-ERR syntax error\r\n$1\r\n3\r\n*2\r\n:7\r\n:0\r\n"
            ":1\r\n$-1\r\n+OK\r\n$1\r\n1\r\n:-1\r\n");
}

TEST_P(RespValues, APipelineOfSetsMayBeDeep) {
  RawConnection client = connect();
  std::string requests, replies;
  for (int i = 0; i < 20'000; ++i) {
    const std::string key = "k" + std::to_string(i % 50);
    const std::string value = std::to_string(i);
    requests += "SET " + key + ' ' + value + "\r\nGET " + key + "\r\n";
    replies += "+OK\r\n$" + std::to_string(value.size()) + "\r\n" + value + "\r\n";
  }
  EXPECT_EQ(client.replies_to(requests), replies);
}

// ---- three nodes ----

TEST(RespValuesOfThree, AnyNodeSetsWhatAnotherOwns) {
  for (const std::uint32_t weight : {1u, 0u}) {  // of the last node: 0 makes it an edge
    const TemporaryDirectory directory;
    const Nodes nodes = three_with_one_copy(directory / "data", weight);
    RawConnection last(nodes[2]->client_address());
    for (int key = 0; key < 20; ++key) {
      const std::string name = "k" + std::to_string(key);
      RawConnection first(nodes[0]->client_address());
      EXPECT_EQ(first.reply_to("SET " + name + " 1 NX EX 1000"), "+OK\r\n");
      EXPECT_EQ(last.reply_to("SET " + name + " 2 NX EX 1000"), "$-1\r\n");
      EXPECT_EQ(last.reply_to("SETNX " + name + " 2"), ":0\r\n");
      EXPECT_EQ(last.reply_to("GETSET " + name + " 3"), "$1\r\n1\r\n");
      EXPECT_EQ(first.reply_to("INCREX " + name + " UBOUND 4 EX 1000 ENX"), "*2\r\n:4\r\n:1\r\n");
      EXPECT_EQ(last.reply_to("INCREX " + name + " UBOUND 4"), "*2\r\n:4\r\n:0\r\n");
      EXPECT_EQ(last.reply_to("GETEX " + name + " PERSIST"), "$1\r\n4\r\n");
      EXPECT_EQ(last.reply_to("SET " + name + " 5"), "+OK\r\n");
      EXPECT_EQ(first.reply_to("INCR " + name), ":6\r\n");
      EXPECT_EQ(last.reply_to("MSET " + name + " 7 other" + name + " 8"), "+OK\r\n");
      EXPECT_EQ(first.reply_to("QUIPU.MGET STRONG " + name + " other" + name),
                "*2\r\n$1\r\n7\r\n$1\r\n8\r\n");
      // In one pipeline, a change that travels and one behind it.
      EXPECT_EQ(last.replies_to("SET " + name + " 1\r\nINCR " + name + "\r\nSET " + name +
                                " 9 GET\r\nPING\r\nSETNX " + name + " 3\r\n"),
                "+OK\r\n:2\r\n$1\r\n2\r\n+PONG\r\n:0\r\n");
    }
  }
}

// All three own the counter. With `decide = home`, one of them decides.
TEST(RespValuesOfThree, AtTheirHomeOneOfManySetsWinsAndABoundHolds) {
  const TemporaryDirectory directory;
  const Nodes nodes = open_all(cluster_of(3, directory / "data"));
  wait_for_clocks(nodes);
  RawConnection first(nodes[0]->client_address());
  ASSERT_EQ(first.reply_to("QUIPU.NAMESPACE CREATE lock DECIDE home ACK quorum"), "*0\r\n");
  constexpr int kLocks = 20, kBound = 7;
  std::atomic<int> won = 0, admitted = 0;
  std::vector<std::thread> clients;
  for (const auto& node : nodes) {
    clients.emplace_back([&, address = node->client_address()] {
      RawConnection client(address);
      for (int i = 0; i < kLocks; ++i) {
        const std::string n = std::to_string(i);
        won += client.reply_to("SET lock:" + n + " 1 NX EX 1000") == "+OK\r\n" ? 1 : 0;
        const std::string counted =
            client.reply_to("INCREX lock:quota UBOUND " + std::to_string(kBound) + " EX 1000 ENX");
        admitted += counted.ends_with(":1\r\n") ? 1 : 0;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(won, kLocks);
  EXPECT_EQ(admitted, kBound);
  for (const auto& node : nodes) {
    const auto quota = node->counter("lock:quota").read({.level = ReadLevel::strong});
    ASSERT_TRUE(quota.ok());
    EXPECT_EQ(quota->value, kBound);
  }
}

// With `decide = home`, plain adds go where conditional commands do. Each node owns the counter, so
// that otherwise each would add by itself, and tell what it knows.
TEST(RespValuesOfThree, WhereTheHomeDecidesAddsThroughAnyNodeAreInOneOrder) {
  const TemporaryDirectory directory;
  const Nodes nodes = open_all(cluster_of(3, directory / "data"));
  wait_for_clocks(nodes);
  RawConnection first(nodes[0]->client_address());
  ASSERT_EQ(first.reply_to("QUIPU.NAMESPACE CREATE hits DECIDE home"), "*0\r\n");
  std::int64_t total = 0;
  for (int round = 0; round < 30; ++round) {
    for (const auto& node : nodes) {
      RawConnection client(node->client_address());
      EXPECT_EQ(client.reply_to("INCR hits:a"), ':' + std::to_string(++total) + "\r\n");
    }
  }
  RawConnection last(nodes[2]->client_address());
  EXPECT_EQ(last.reply_to("SET hits:a 1000"), "+OK\r\n");
  EXPECT_EQ(first.reply_to("INCR hits:a"), ":1001\r\n");
  EXPECT_EQ(last.reply_to("DEL hits:a hits:b hits:a"), ":1\r\n");
  EXPECT_EQ(first.reply_to("INCR hits:a"), ":1\r\n");
  EXPECT_EQ(last.reply_to("GETDEL hits:a"), "$1\r\n1\r\n");
  EXPECT_EQ(first.reply_to("GETDEL hits:a"), "$-1\r\n");
}

TEST(RespValuesOfThree, AtQuorumASetIsKnownToAMajorityOrSaysThatItIsInDoubt) {
  const TemporaryDirectory directory;
  Nodes nodes = open_all(cluster_of(3, directory / "data"));
  wait_for_clocks(nodes);
  RawConnection client(nodes[0]->client_address());
  ASSERT_EQ(client.reply_to("QUIPU.NAMESPACE CREATE lock ACK quorum"), "*0\r\n");
  struct Row {
    const char* set;
    const char* key;
    std::int64_t value;
  };
  for (const auto& [set, key, value] :
       {Row{"SET lock:1 5 NX EX 1000", "lock:1", 5}, Row{"SET lock:1 6 KEEPTTL", "lock:1", 6},
        Row{"SETEX lock:1 1000 7", "lock:1", 7}, Row{"SET lock:2 8", "lock:2", 8},
        Row{"INCREX lock:2 UBOUND 9", "lock:2", 9}}) {
    ASSERT_THAT(client.reply_to(set), testing::Not(StartsWith("-")));
    for (const auto& node : nodes) {
      const auto strong = node->counter(key).read({.level = ReadLevel::strong});
      ASSERT_TRUE(strong.ok());
      EXPECT_EQ(strong->value, value) << set;
    }
  }
  // What is behind a decision in a pipeline waits for it, though it asks a majority first.
  ASSERT_TRUE(client.send("SET lock:3 100\r\nINCR lock:3\r\nINCR lock:3\r\nPING last\r\n"));
  EXPECT_EQ(client.receive_text("$4\r\nlast\r\n"), "+OK\r\n:101\r\n:102\r\n$4\r\nlast\r\n");
  nodes[1].reset();
  nodes[2].reset();
  EXPECT_TRUE(eventually([&] {
    const std::string reply = client.reply_to("SET lock:2 8 XX");
    return reply.find("no_quorum") != reply.npos;
  }));
}

}  // namespace
}  // namespace quipu::test
