// quipu frequency, against a real node.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/system/cli_of_one_node.h"

namespace quipu::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class CliFrequency : public Cli {};

TEST_F(CliFrequency, TellsHowOftenItemsCame) {
  EXPECT_EQ(done({"frequency", "add", "queries", "weather"}), "");
  done({"frequency", "add", "queries", "weather", "1999", "--ack", "quorum"});
  done({"frequency", "add", "queries", "news", "7"});
  for (const char* const level : {"--local", "--fresh", "--strong"})
    EXPECT_EQ(done({"frequency", "query", "queries", "weather", "news", "sport", level}),
              "ITEM     COUNT  AT LEAST\n"
              "weather  2000   1997\n"
              "news     7      4\n"
              "sport    0      0\n");
}

TEST_F(CliFrequency, AnItemMayLookLikeAnythingElse) {
  done({"frequency", "add", "--", "words", "--ack", "2"});
  done({"frequency", "add", "words", "", "3"});
  EXPECT_EQ(done({"frequency", "query", "words", "", "--", "--ack", "[a,b]"}),
            "ITEM   COUNT  AT LEAST\n       3      2\n--ack  2      1\n[a,b]  0      0\n");
}

TEST_F(CliFrequency, ACounterBeginsWithASize) {
  EXPECT_EQ(done({"frequency", "begin", "queries", "--width", "100000", "--depth", "3"}), "");
  done({"frequency", "add", "queries", "weather", "1000000"});
  done({"frequency", "begin", "queries", "--width", "10"});  // it exists
  const json told = json::parse(done({"frequency", "query", "queries", "weather", "-o", "json"}));
  EXPECT_EQ(told.at("items")[0].at("count"), 1000000);
  EXPECT_EQ(told.at("bound"), 517) << "2.72 / 5,264 of what its slice has counted";
  EXPECT_NEAR(told.at("confidence").get<double>(), 0.95, 0.001);
}

TEST_F(CliFrequency, JsonHasTheBound) {
  done({"frequency", "add", "queries", "weather", "2000"});
  const json told = json::parse(done({"frequency", "query", "queries", "weather", "-o", "json"}));
  EXPECT_EQ(told.at("items"), json::parse(R"([{"item": "weather", "count": 2000}])"));
  EXPECT_EQ(told.at("bound"), 3);
  EXPECT_NEAR(told.at("confidence").get<double>(), 0.999, 0.0005);
}

TEST_F(CliFrequency, WhatIsWrongIsSaid) {
  done({"add", "likes"});
  const struct {
    std::vector<std::string> arguments;
    int exit;
    std::string says;
  } cases[] = {
      {{"frequency", "add", "likes", "ann"}, 1, "likes: wrong_type: "},
      {{"frequency", "query", "likes", "ann"}, 1, "(read a sum with quipu get,"},
      {{"frequency", "add", "queries", "ann", "-1"}, 2, "\"-1\" is not expected"},
      {{"frequency", "add", "queries", "ann", "x"}, 2, "N \"x\": write a whole number"},
      {{"frequency", "add", "queries", "ann", "1", "2"}, 2, "\"2\" is not expected"},
      {{"frequency", "add", "queries"}, 2, "ITEM is required"},
      {{"frequency", "begin"}, 2, "KEY is required"},
      {{"frequency", "begin", "likes"}, 1, "likes: wrong_type: "},
      {{"frequency", "begin", "queries", "--depth", "11"}, 2, "from 1 to 10"},
      {{"frequency", "begin", "queries", "--width", "1048577"}, 2, "from 1 to 1048576"},
      {{"frequency", "begin", "queries", "--width", "200000"}, 2, "with this depth, 1 to 149760"},
      {{"frequency", "query", "queries"}, 2, "ITEM is required"},
      {{"frequency", "add"}, 2, "KEY is required"},
      {{"frequency"}, 2, "write quipu frequency add, begin or query"},
      {{"frequency", "count"}, 2, "write quipu frequency add, begin or query"},
  };
  for (const auto& [arguments, exit, says] : cases) {
    const CliResult result = quipu(arguments);
    EXPECT_EQ(result.exit, exit) << testing::PrintToString(arguments);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, HasSubstr(says));
  }
}

}  // namespace
}  // namespace quipu::test
