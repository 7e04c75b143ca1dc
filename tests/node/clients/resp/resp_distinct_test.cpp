// PFADD, PFCOUNT, PFMERGE, and what the other commands say of counters of that kind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/node/clients/resp/resp_conversation.h"

namespace quipu::test {
namespace {

class RespDistinct : public Resp {};

INSTANTIATE_TEST_SUITE_P(Reactors, RespDistinct, testing::Values(1, 2));

const std::string kWrongTypeReply =
    "-WRONGTYPE Operation against a key holding the wrong kind of value ";

TEST_P(RespDistinct, CountsDifferentElements) {
  converse(connect(), {{"PFADD v a b c", ":1 "},
                       {"PFADD v a b", ":0 "},
                       {"PFCOUNT v", ":3 "},
                       {"PFADD w c d", ":1 "},
                       {"PFCOUNT v w", ":4 "},
                       {"PFCOUNT v v none", ":3 "},
                       {"PFCOUNT none", ":0 "},
                       {"PFADD v ''", ":1 "},
                       {"PFADD v ''", ":0 "},
                       {"PFCOUNT v", ":4 "}});
}

TEST_P(RespDistinct, BeginsWithoutElements) {
  converse(connect(),
           {{"PFADD v", ":1 "}, {"PFADD v", ":0 "}, {"EXISTS v", ":1 "}, {"PFCOUNT v", ":0 "}});
}

TEST_P(RespDistinct, MergesIntoADestinationThatMayExist) {
  converse(connect(), {{"PFADD a 1 2 3", ":1 "},
                       {"PFADD b 3 4", ":1 "},
                       {"PFMERGE c a b none", "+OK "},
                       {"PFCOUNT c", ":4 "},
                       {"PFADD d 9", ":1 "},
                       {"PFMERGE d a", "+OK "},
                       {"PFCOUNT d", ":4 "},
                       {"PFMERGE e none", "+OK "},
                       {"EXISTS e", ":1 "},
                       {"PFMERGE e", "+OK "},
                       {"PFCOUNT e", ":0 "}});
}

TEST_P(RespDistinct, TakesMoreElementsThanOneOpHolds) {
  RawConnection client = connect();
  std::string request = "*40002\r\n$5\r\nPFADD\r\n$1\r\nv\r\n";
  for (int i = 10'000; i < 50'000; ++i) request += "$5\r\n" + std::to_string(i) + "\r\n";
  client.send(request);
  EXPECT_EQ(client.receive_reply(), ":1\r\n");
  const std::string count = client.reply_to("PFCOUNT v");
  EXPECT_NEAR(std::stod(count.substr(1)), 40'000, 40'000 * 0.05);
  client.send(request);
  EXPECT_EQ(client.receive_reply(), ":0\r\n");
}

TEST_P(RespDistinct, AKeyHasOneKind) {
  converse(connect(), {{"PFADD v a", ":1 "},
                       {"INCR v", kWrongTypeReply},
                       {"GET v", kWrongTypeReply},
                       {"GETDEL v", kWrongTypeReply},
                       {"INCREX v", kWrongTypeReply},
                       {"SET v 1 GET", kWrongTypeReply},
                       {"STRLEN v", kWrongTypeReply},
                       {"SET sum 1", "+OK "},
                       {"PFADD sum a", kWrongTypeReply},
                       {"PFCOUNT sum", kWrongTypeReply},
                       {"PFCOUNT v sum", kWrongTypeReply},
                       {"PFMERGE new sum", kWrongTypeReply},
                       {"PFMERGE sum v", kWrongTypeReply},
                       {"GET sum", "$1 1 "},
                       {"MGET v sum", "*2 $-1 $1 1 "},
                       {"MULTI", "+OK "},
                       {"MGET v sum", "+QUEUED "},
                       {"EXEC", "*1 *2 $-1 $1 1 "},
                       {"PFCOUNT v", ":1 "},
                       {"DEL sum", ":1 "},
                       {"PFADD sum a", ":1 "},
                       {"SET v 7", "+OK "},
                       {"GET v", "$1 7 "},
                       {"TYPE v", "+string "},
                       {"PFADD v a", kWrongTypeReply}});
}

TEST_P(RespDistinct, IsKnownToTheCommandsAboutAllKeys) {
  RawConnection client = connect();
  converse(connect(), {{"PFADD v a", ":1 "},
                       {"INCR sum", ":1 "},
                       {"TYPE v", "+distinct "},
                       {"EXISTS v sum none", ":2 "},
                       {"DBSIZE", ":2 "},
                       {"TTL v", ":-1 "},
                       {"EXPIRE v 100", ":1 "},
                       {"TTL v", ":100 "},
                       {"EXPIRE v 50 GT", ":0 "},
                       {"PERSIST v", ":1 "},
                       {"TTL v", ":-1 "}});
  EXPECT_EQ(names_of(client), "sum v ");
  EXPECT_EQ(names_of(client, "TYPE distinct"), "v ");
  EXPECT_EQ(names_of(client, "TYPE string"), "sum ");
  EXPECT_EQ(names_of(client, "TYPE list"), "");
  converse(connect(), {{"DEL v none", ":1 "},
                       {"EXISTS v", ":0 "},
                       {"TYPE v", "+none "},
                       {"PFCOUNT v", ":0 "},
                       {"PFADD v a b", ":1 "},
                       {"PFCOUNT v", ":2 "},
                       {"UNLINK v", ":1 "},
                       {"DBSIZE", ":1 "}});
}

TEST_P(RespDistinct, TransactionsAndDatabasesHoldThemToo) {
  converse(connect(), {{"MULTI", "+OK "},
                       {"PFADD v a", "+QUEUED "},
                       {"PFCOUNT v", "+QUEUED "},
                       {"EXPIRE v 100", "+QUEUED "},
                       {"EXEC", "*3 :1 :1 :1 "},
                       {"SELECT 1", "+OK "},
                       {"PFCOUNT v", ":0 "},
                       {"PFADD v x y", ":1 "},
                       {"PFMERGE w v", "+OK "},
                       {"PFCOUNT v w", ":2 "},
                       {"SELECT 0", "+OK "},
                       {"PFCOUNT v w", ":1 "}});
}

TEST_P(RespDistinct, RangesCountTheUnionOfTheirWindows) {
  RawConnection client = connect();
  ASSERT_EQ(client.reply_to("QUIPU.NAMESPACE CREATE seen TIERS '1m for 2d, 1h for ever'"),
            "*0\r\n");
  EXPECT_EQ(client.reply_to("PFADD seen:a x y"), ":1\r\n");
  EXPECT_EQ(client.reply_to("PFADD seen:a y z"), ":1\r\n");
  EXPECT_THAT(client.reply_to("QUIPU.RANGE seen:a LAST 2d STEP 2d UNION"),
              testing::ContainsRegex("\r\n:3\r\n"));
  EXPECT_THAT(client.reply_to("QUIPU.RANGE seen:a LAST 2d STEP 2d"),
              testing::StartsWith("-WRONGTYPE"));
  EXPECT_EQ(client.reply_to("INCR seen:sum"), ":1\r\n");
  EXPECT_THAT(client.reply_to("QUIPU.RANGE seen:sum LAST 2d STEP 2d UNION"),
              testing::StartsWith("-WRONGTYPE"));
  EXPECT_THAT(client.reply_to("QUIPU.RANGE seen:a LAST 2d STEP 1m UNION"),
              testing::HasSubstr("1,024 windows"));
}

TEST_P(RespDistinct, SaysWhatIsWrong) {
  converse(connect(), {{"PFADD", wrong_number_of_words("pfadd")},
                       {"PFCOUNT", wrong_number_of_words("pfcount")},
                       {"PFMERGE", wrong_number_of_words("pfmerge")},
                       {"PFADD '' a", "-ERR a key has 1 to 512 bytes "},
                       {"PFCOUNT ''", "-ERR a key has 1 to 512 bytes "}});
}

}  // namespace
}  // namespace quipu::test
