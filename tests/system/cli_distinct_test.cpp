// quipu distinct, and what the other commands say about such counters, against a real node.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/system/cli_of_one_node.h"

namespace quipu::test {
namespace {

using nlohmann::json;
using testing::ContainsRegex;
using testing::HasSubstr;

class CliDistinct : public Cli {};

TEST_F(CliDistinct, CountsTheDifferentElementsOfOneAndOfSeveral) {
  EXPECT_EQ(done({"distinct", "add", "monday", "ann", "bob", "ann"}), "");
  done({"distinct", "add", "tuesday", "bob", "eve", "--ack", "quorum"});
  EXPECT_EQ(done({"distinct", "count", "monday"}), "2\n");
  for (const char* const level : {"--local", "--fresh", "--strong"})
    EXPECT_EQ(done({"distinct", "count", "monday", "tuesday", "nobody", level}), "3\n") << level;
  EXPECT_EQ(done({"distinct", "count", "nobody"}), "0\n");
}

TEST_F(CliDistinct, AnElementMayLookLikeAnythingElse) {
  done({"distinct", "add", "words", "get", "add", "count", "[a,b]", "", "--", "--ack", "-1", "a"});
  EXPECT_EQ(done({"distinct", "count", "words"}), "8\n");
  done({"distinct", "add", "--", "-key", "a"});
  EXPECT_EQ(done({"distinct", "count", "--", "-key"}), "1\n");
}

TEST_F(CliDistinct, JsonHasTheEstimateAndItsError) {
  done({"distinct", "add", "monday", "ann", "bob"});
  const json told = json::parse(done({"distinct", "count", "monday", "tuesday", "-o", "json"}));
  EXPECT_EQ(told.at("estimate"), 2);
  EXPECT_EQ(told.at("standard_error"), 1.04 / 128);
  EXPECT_EQ(told.at("exists"), true);
  EXPECT_EQ(told.at("complete"), true);
  EXPECT_EQ(told.at("counters").size(), 2u);
  EXPECT_EQ(told.at("counters")[0].at("key"), "monday");
}

TEST_F(CliDistinct, ACommandForAnotherKindSaysWhichOneToUse) {
  done({"distinct", "add", "visitors", "ann"});
  done({"add", "likes"});
  const struct {
    std::vector<std::string> arguments;
    std::string says;
  } cases[] = {
      {{"get", "visitors"},
       "visitors: wrong_type: the key has a counter of the kind distinct "
       "(read a sum with quipu get, others with distinct count"},
      {{"add", "visitors"}, "(quipu add adds to a sum; distinct add"},
      {{"distinct", "add", "likes", "ann"},
       "likes: wrong_type: the key has a counter of another "
       "kind, sum (quipu add adds to a sum;"},
      {{"distinct", "count", "visitors", "likes"}, "(read a sum with quipu get,"},
  };
  for (const auto& [arguments, says] : cases) {
    const CliResult result = quipu(arguments);
    EXPECT_EQ(result.exit, 1) << testing::PrintToString(arguments);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, HasSubstr(says));
  }
  EXPECT_EQ(value("likes"), 1);
  EXPECT_EQ(done({"distinct", "count", "visitors"}), "1\n");
}

TEST_F(CliDistinct, AResetResetsACounterOfAnyKind) {
  done({"distinct", "add", "visitors", "ann"});
  done({"reset", "visitors"});
  EXPECT_EQ(done({"distinct", "count", "visitors"}), "0\n");
  EXPECT_EQ(done({"ls"}), "");
  done({"add", "visitors"});
  EXPECT_EQ(done({"get", "visitors"}), "1\n");
}

TEST_F(CliDistinct, AResetOfWindowsTakesThoseOfEachKind) {
  done({"namespace", "create", "hits", "--tiers", "1m for 2d, 1h for 90d"});
  done({"distinct", "add", "hits:home", "ann"});
  EXPECT_THAT(done({"reset", "hits:home", "--windows"}), ContainsRegex("^[12] windows? w.*reset"));
  EXPECT_EQ(done({"reset", "hits:home", "--windows"}), "0 windows were reset\n");
}

TEST_F(CliDistinct, AListShowsCountersOfOneKind) {
  done({"distinct", "add", "visitors", "ann"});
  done({"add", "likes"});
  EXPECT_EQ(done({"ls", "--kind", "distinct"}), "visitors\n");
  EXPECT_EQ(done({"ls", "--kind", "sum"}), "likes\n");
  EXPECT_EQ(done({"ls", "v", "--kind", "sum"}), "");
  std::vector<std::string> kinds;
  const json told = json::parse(done({"ls", "-o", "json"}));
  for (const json& counter : told.at("counters"))
    kinds.push_back(counter.at("key").get<std::string>() + " " +
                    counter.at("kind").get<std::string>());
  std::ranges::sort(kinds);
  EXPECT_EQ(kinds, (std::vector<std::string>{"likes sum", "visitors distinct"}));
}

}  // namespace
}  // namespace quipu::test
