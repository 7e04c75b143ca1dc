// QUIPU.RANGE, QUIPU.RATE, and adds that say when they happened.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/node/clients/resp/resp_conversation.h"

namespace quipu::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class RespWindows : public Resp {};

INSTANTIATE_TEST_SUITE_P(Reactors, RespWindows, testing::Values(1, 2));

std::string now_ms(std::int64_t ahead = 0) {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::to_string(since / std::chrono::milliseconds(1) + ahead);
}

TEST_P(RespWindows, TellWhatACounterCountedInTime) {
  RawConnection client = connect();
  ASSERT_EQ(client.reply_to("QUIPU.NAMESPACE CREATE hits TIERS '1m for 2d, 1h for ever' LATE 1h"),
            "*0\r\n");
  EXPECT_EQ(client.reply_to("QUIPU.ADD hits:a 60 AT " + now_ms(-300'000)), ":60\r\n");
  EXPECT_EQ(client.reply_to("INCRBY hits:a 3"), ":63\r\n");
  const std::string range = client.reply_to("QUIPU.RANGE hits:a LAST 10m STEP 10m");
  EXPECT_THAT(range, StartsWith("*10\r\n$8\r\nbegin_ms\r\n:"));
  EXPECT_THAT(range, HasSubstr("\r\n$7\r\nstep_ms\r\n:600000\r\n"));
  EXPECT_THAT(range, HasSubstr("\r\n$8\r\ncomplete\r\n:1\r\n"));
  EXPECT_THAT(client.reply_to("QUIPU.RANGE hits:a FROM " + now_ms(-3'600'000) + " TO " +
                              now_ms(60'000) + " STEP 1d strong"),
              testing::ContainsRegex(":63\r\n|:60\r\n:3\r\n"))
      << "soon after midnight, these are two days";
  EXPECT_THAT(client.reply_to("QUIPU.RATE hits:a 10m"),
              StartsWith("*10\r\n$10\r\nper_second\r\n$3\r\n0.1\r\n"));
  ASSERT_THAT(client.reply_to("HELLO 3"), StartsWith("%"));
  EXPECT_THAT(client.reply_to("QUIPU.RANGE hits:a LAST 1h STEP 1h"), StartsWith("%5\r\n"));
  EXPECT_THAT(client.reply_to("QUIPU.RATE hits:a 1h LOCAL"), StartsWith("%5\r\n"));
}

TEST_P(RespWindows, DecisionsCountInThemToo) {
  RawConnection client = connect();
  ASSERT_EQ(client.reply_to("QUIPU.NAMESPACE CREATE hits TIERS '1h for ever'"), "*0\r\n");
  EXPECT_EQ(client.reply_to("INCREX hits:a BYINT 5"), "*2\r\n:5\r\n:5\r\n");
  EXPECT_EQ(client.reply_to("SET hits:a 40"), "+OK\r\n");
  EXPECT_EQ(client.reply_to("INCR hits:a"), ":41\r\n");
  EXPECT_EQ(client.reply_to("DEL hits:a"), ":1\r\n");
  const std::string range = client.reply_to("QUIPU.RANGE hits:a LAST 2h STEP 2h");
  EXPECT_THAT(range, testing::ContainsRegex(":6\r\n")) << "what was added, whatever became of it";
}

TEST_P(RespWindows, SayWhatIsWrong) {
  RawConnection client = connect();
  ASSERT_EQ(client.reply_to("QUIPU.NAMESPACE CREATE hits TIERS '1m for 2d'"), "*0\r\n");
  for (const char* options :
       {"", "LAST", "LAST x", "LAST 0s", "LAST 500ms", "LAST 1h LAST 1h", "FROM 1", "TO 1",
        "FROM x TO 1", "FROM -1 TO 1", "LAST 1h FROM 1 TO 2", "STEP 1m", "LAST 1h STEP",
        "LAST 1h strong local", "LAST 1h soon"})
    EXPECT_THAT(client.reply_to("QUIPU.RANGE hits:a " + std::string(options)),
                StartsWith("-ERR syntax error: QUIPU.RANGE key LAST"))
        << options;
  for (const char* options : {"x", "0s", "1h x", "1h LOCAL x"})
    EXPECT_THAT(client.reply_to("QUIPU.RATE hits:a " + std::string(options)),
                StartsWith("-ERR syntax error: QUIPU.RATE key"))
        << options;
  EXPECT_THAT(client.reply_to("QUIPU.RANGE likes LAST 1h"), HasSubstr("no tiers"));
  EXPECT_THAT(client.reply_to("QUIPU.RANGE '' LAST 1h"), HasSubstr("a key has 1 to 512 bytes"));
  EXPECT_THAT(client.reply_to("QUIPU.ADD hits:a 1 AT x"), StartsWith("-ERR AT is a time"));
  EXPECT_THAT(client.reply_to("QUIPU.ADD hits:a 1 AT " + now_ms(-10'000)), HasSubstr("`late`"));
  EXPECT_THAT(client.reply_to("QUIPU.ADD likes 1 AT " + now_ms()), HasSubstr("with tiers"));
  EXPECT_THAT(client.reply_to("QUIPU.RESET hits:a AT 1"), StartsWith("-ERR syntax error"));
  EXPECT_EQ(client.reply_to("GET hits:a"), "$-1\r\n") << "nothing was counted";
  EXPECT_THAT(client.reply_to("QUIPU.NAMESPACE SET hits TIERS 1m"),
              StartsWith("-ERR syntax error"));
  EXPECT_THAT(client.reply_to("QUIPU.NAMESPACE SET hits TIERS '1h for ever, 1m for ever'"),
              HasSubstr("from short to long"));
}

}  // namespace
}  // namespace quipu::test
