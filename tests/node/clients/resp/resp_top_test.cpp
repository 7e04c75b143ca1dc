// TOPK.*: what RedisBloom's clients send and hear.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/node/clients/resp/resp_conversation.h"

namespace quipu::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class RespTop : public Resp {};

INSTANTIATE_TEST_SUITE_P(Reactors, RespTop, testing::Values(1, 2));

TEST_P(RespTop, ListsTheMostFrequentItems) {
  converse(connect(), {{"TOPK.RESERVE t 2", "+OK "},
                       {"TOPK.ADD t ann bob ann", "*3 $-1 $-1 $-1 "},
                       {"TOPK.INCRBY t eve 5", "*1 $3 bob "},
                       {"TOPK.LIST t", "*2 $3 eve $3 ann "},
                       {"TOPK.LIST t WITHCOUNT", "*4 $3 eve :5 $3 ann :2 "},
                       {"TOPK.QUERY t ann bob zoe", "*3 :1 :0 :0 "},
                       {"TOPK.COUNT t ann bob zoe", "*3 :2 :1 :0 "},
                       {"TYPE t", "+top "}});
}

TEST_P(RespTop, ReportsWhatItWasBegunWith) {
  converse(connect(), {{"TOPK.RESERVE t 50 2000 7 0.925", "+OK "},
                       {"TOPK.INFO t", "*8 $1 k :50 $5 width :2000 $5 depth :7 $5 decay $5 0.925 "},
                       {"TOPK.RESERVE t 50", "-TopK: key already exists "},
                       {"TOPK.RESERVE u 3", "+OK "},
                       {"TOPK.INFO u", "*8 $1 k :3 $5 width :8 $5 depth :7 $5 decay $3 0.9 "}});
}

TEST_P(RespTop, BeginsWithItsFirstItem) {
  converse(connect(), {{"TOPK.ADD t ''", "*1 $-1 "},
                       {"TOPK.INFO t", "*8 $1 k :10 $5 width :8 $5 depth :7 $5 decay $3 0.9 "},
                       {"TOPK.LIST t WITHCOUNT", "*2 $0  :1 "}});
}

TEST_P(RespTop, WhatIsWrongIsSaidAndChangesNothing) {
  RawConnection client = connect();
  for (const char* command : {"TOPK.LIST none", "TOPK.INFO none", "TOPK.QUERY none a"})
    EXPECT_EQ(client.reply_to(command), "-TopK: key does not exist\r\n") << command;
  EXPECT_EQ(client.reply_to("TOPK.RESERVE t 0"), "-TopK: invalid k\r\n");
  EXPECT_EQ(client.reply_to("TOPK.RESERVE t 101"), "-TopK: k is at most 100\r\n");
  EXPECT_EQ(client.reply_to("TOPK.RESERVE t 5 0 7 0.9"), "-TopK: invalid width\r\n");
  EXPECT_EQ(client.reply_to("TOPK.RESERVE t 5 8 x 0.9"), "-TopK: invalid depth\r\n");
  for (const char* command : {"TOPK.RESERVE t 5 8 7 1.5", "TOPK.RESERVE t 5 8 7 nan"})
    EXPECT_THAT(client.reply_to(command), StartsWith("-TopK: invalid decay value")) << command;
  EXPECT_THAT(client.reply_to("TOPK.RESERVE t 5 8"), HasSubstr("wrong number of arguments"));
  EXPECT_EQ(client.reply_to("TOPK.ADD t ok " + std::string(129, 'x')),
            "-TopK: an item has at most 128 bytes\r\n");
  for (const char* command : {"TOPK.INCRBY t a 0", "TOPK.INCRBY t a -1", "TOPK.INCRBY t a x"})
    EXPECT_THAT(client.reply_to(command), StartsWith("-TopK: increment must be")) << command;
  EXPECT_THAT(client.reply_to("TOPK.INCRBY t a 1 b"), HasSubstr("wrong number of arguments"));
  EXPECT_EQ(client.reply_to("EXISTS t"), ":0\r\n");
  EXPECT_EQ(client.reply_to("INCR sum"), ":1\r\n");
  EXPECT_THAT(client.reply_to("TOPK.ADD sum a"), StartsWith("-WRONGTYPE"));
  EXPECT_THAT(client.reply_to("TOPK.LIST sum"), StartsWith("-WRONGTYPE"));
}

}  // namespace
}  // namespace quipu::test
