// CMS.*: what RedisBloom's clients send and hear.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/node/clients/resp/resp_conversation.h"

namespace quipu::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class RespFrequency : public Resp {};

INSTANTIATE_TEST_SUITE_P(Reactors, RespFrequency, testing::Values(1, 2));

const std::string kWrongKindReply =
    "-WRONGTYPE Operation against a key holding the wrong kind of value ";

TEST_P(RespFrequency, CountsHowOftenEachItemCame) {
  converse(connect(), {{"CMS.INITBYDIM q 2000 5", "+OK "},
                       {"CMS.INCRBY q ann 1 bob 5", "*2 :1 :5 "},
                       {"CMS.INCRBY q ann 2 ann 3", "*2 :3 :6 "},
                       {"CMS.QUERY q ann bob eve", "*3 :6 :5 :0 "},
                       {"CMS.INFO q", "*6 $5 width :2000 $5 depth :5 $5 count :11 "},
                       {"CMS.INCRBY q '' 0", "*1 :0 "},
                       {"TYPE q", "+frequency "}});
}

TEST_P(RespFrequency, CountsPastTheSizeOfACell) {
  converse(connect(),
           {{"CMS.INITBYDIM q 100 3", "+OK "},
            {"CMS.INCRBY q ann 4294967295", "*1 :4294967295 "},
            {"CMS.INCRBY q ann 4294967295", "*1 :8589934590 "},
            {"CMS.QUERY q ann", "*1 :8589934590 "},
            {"CMS.INCRBY q ann 9223372036854775807", "-ERR increment or decrement would overflow "},
            {"CMS.QUERY q ann", "*1 :8589934590 "}});
}

TEST_P(RespFrequency, HasTheSizeThatAnErrorAsksFor) {
  converse(connect(), {{"CMS.INITBYPROB q 0.001 0.01", "+OK "},
                       {"CMS.INFO q", "*6 $5 width :2000 $5 depth :7 $5 count :0 "}});
}

// A large sketch is cut into slices (storage/kinds/frequency.h).
TEST_P(RespFrequency, MayBeLarge) {
  converse(connect(),
           {{"CMS.INITBYPROB q 0.0001 0.01", "+OK "},
            {"CMS.INFO q", "*6 $5 width :20000 $5 depth :7 $5 count :0 "},
            {"CMS.INCRBY q ann 1 bob 5 eve 2 joe 3 sue 4 tim 6", "*6 :1 :5 :2 :3 :4 :6 "},
            {"CMS.INCRBY q ann 2", "*1 :3 "},
            {"CMS.QUERY q ann bob eve joe sue tim nobody", "*7 :3 :5 :2 :3 :4 :6 :0 "},
            {"CMS.INFO q", "*6 $5 width :20000 $5 depth :7 $5 count :23 "},
            {"EXPIRE q 100", ":1 "},
            {"TTL q", ":100 "},
            {"DEL q", ":1 "},
            {"CMS.QUERY q ann", "-CMS: key does not exist "},
            {"CMS.INITBYDIM q 50000 5", "+OK "},
            {"CMS.QUERY q ann bob", "*2 :0 :0 "}});
}

TEST_P(RespFrequency, BeginsWithItsFirstIncrement) {
  converse(connect(), {{"CMS.INCRBY q ann 1", "*1 :1 "},
                       {"CMS.INFO q", "*6 $5 width :2000 $5 depth :7 $5 count :1 "},
                       {"CMS.INITBYDIM q 10 2", "-CMS: key already exists "}});
}

TEST_P(RespFrequency, WhatIsWrongIsSaidAndChangesNothing) {
  RawConnection client = connect();
  EXPECT_EQ(client.reply_to("CMS.QUERY none ann"), "-CMS: key does not exist\r\n");
  EXPECT_EQ(client.reply_to("CMS.INFO none"), "-CMS: key does not exist\r\n");
  EXPECT_EQ(client.reply_to("CMS.INITBYDIM q 0 5"), "-CMS: invalid width\r\n");
  EXPECT_EQ(client.reply_to("CMS.INITBYDIM q 5 x"), "-CMS: invalid depth\r\n");
  for (const char* command :
       {"CMS.INITBYDIM q 1048577 1", "CMS.INITBYDIM q 524289 2", "CMS.INITBYPROB q 0.000001 0.01"})
    EXPECT_THAT(client.reply_to(command), StartsWith("-CMS: a sketch with a depth of ")) << command;
  for (const char* command :
       {"CMS.INITBYDIM q 1 11", "CMS.INITBYDIM q 9223372036854775807 4294967297"})
    EXPECT_THAT(client.reply_to(command), StartsWith("-CMS: a sketch has a depth of 1 to 10"))
        << command;
  for (const char* command : {"CMS.INITBYPROB q 0 0.01", "CMS.INITBYPROB q 1 0.01",
                              "CMS.INITBYPROB q nan 0.01", "CMS.INITBYPROB q 1x 0.01"})
    EXPECT_EQ(client.reply_to(command), "-CMS: invalid overestimation value\r\n") << command;
  EXPECT_EQ(client.reply_to("CMS.INITBYPROB q 0.1 2"), "-CMS: invalid prob value\r\n");
  EXPECT_EQ(client.reply_to("CMS.INCRBY q ann x"), "-CMS: Cannot parse number\r\n");
  EXPECT_EQ(client.reply_to("CMS.INCRBY q bob 1 ann -1"), "-CMS: Number cannot be negative\r\n");
  EXPECT_THAT(client.reply_to("CMS.INCRBY q ann"), HasSubstr("wrong number of arguments"));
  EXPECT_THAT(client.reply_to("CMS.INCRBY q ann 1 bob"), HasSubstr("wrong number of arguments"));
  EXPECT_EQ(client.reply_to("EXISTS q"), ":0\r\n");
}

TEST_P(RespFrequency, AKeyHasOneKind) {
  converse(connect(), {{"CMS.INCRBY q ann 1", "*1 :1 "},
                       {"INCR q", kWrongKindReply},
                       {"PFADD q ann", kWrongKindReply},
                       {"PFCOUNT q", kWrongKindReply},
                       {"PFADD v ann", ":1 "},
                       {"CMS.INCRBY v ann 1", kWrongKindReply},
                       {"CMS.QUERY v ann", kWrongKindReply},
                       {"DEL q v", ":2 "},
                       {"CMS.INCRBY v ann 1", "*1 :1 "},
                       {"EXPIRE v 100", ":1 "},
                       {"TTL v", ":100 "},
                       {"CMS.QUERY v ann", "*1 :1 "}});
}

class RespMaximum : public Resp {};

INSTANTIATE_TEST_SUITE_P(Reactors, RespMaximum, testing::Values(1, 2));

TEST_P(RespMaximum, KeepsTheGreatestNumber) {
  converse(connect(),
           {{"QUIPU.MAX m", "$-1 "},
            {"QUIPU.MAX m -5", ":1 "},
            {"QUIPU.MAX m", ":-5 "},
            {"QUIPU.MAX m -7", ":0 "},
            {"QUIPU.MAX m 9223372036854775807", ":1 "},
            {"QUIPU.MAX m", ":9223372036854775807 "},
            {"TYPE m", "+maximum "},
            {"INCR m", kWrongKindReply},
            {"INCR sum", ":1 "},
            {"QUIPU.MAX sum 1", kWrongKindReply},
            {"QUIPU.MAX m x", "-ERR value is not an integer or out of range "},
            {"QUIPU.MAX m 1 2", "-ERR wrong number of arguments for 'quipu.max' command "}});
}

}  // namespace
}  // namespace quipu::test
