// quipu range, add --at and reset --windows, against a real node.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>

#include "node/base/time_text.h"
#include "tests/system/cli_of_one_node.h"

namespace quipu::test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using std::chrono::system_clock;
using testing::AnyOf;
using testing::ContainsRegex;
using testing::HasSubstr;

class CliWindows : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    const CliResult made = quipu({"namespace", "create", "hits", "--tiers",
                                  "1m for 2d, 1h for 90d, 1d for ever", "--late", "2h"});
    ASSERT_EQ(made.exit, 0) << made.err;
  }

  std::string done(const std::vector<std::string>& arguments) {
    const CliResult result = quipu(arguments);
    EXPECT_EQ(result.exit, 0) << testing::PrintToString(arguments) << result.err;
    EXPECT_EQ(result.err, "");
    return result.out;
  }
  static std::string ago(std::chrono::seconds time) {
    return to_text(std::chrono::floor<std::chrono::seconds>(system_clock::now() - time));
  }
};

TEST_F(CliWindows, ARangeHasALineForEachStepAndSaysWhatItPromises) {
  done({"add", "hits:home", "5"});
  done({"add", "hits:home", "7", "--at", ago(1h)});
  const std::string hour = done({"range", "hits:home", "--last", "2h", "--step", "1m"});
  EXPECT_EQ(std::count(hour.begin(), hour.end(), '\n'), 121);
  EXPECT_THAT(hour, ContainsRegex("T[0-9:]+:00Z\t7\n"));
  EXPECT_THAT(hour, ContainsRegex("Z\t5\n"));
  EXPECT_THAT(hour, ContainsRegex("\ncomplete; settled until 20[0-9-]+T[0-9:.]+Z\n$"));
  const std::string days = done(
      {"range", "hits:home", "--from", ago(26h), "--to", ago(-26h), "--step", "1d", "--strong"});
  EXPECT_THAT(days, HasSubstr("T00:00:00Z\t"));
  EXPECT_EQ(value("hits:home"), 12);
}

TEST_F(CliWindows, ARangeInJson) {
  done({"add", "hits:home", "5"});
  const json told = json::parse(done({"range", "hits:home", "--last", "2d", "-o", "json"}));
  EXPECT_EQ(told.at("code"), "ok");
  EXPECT_EQ(told.at("complete"), true);
  EXPECT_EQ(told.at("step_s"), 60);
  std::int64_t sum = 0;
  for (const json& step : told.at("steps")) sum += step.at("value").get<std::int64_t>();
  EXPECT_EQ(sum, 5);
}

TEST_F(CliWindows, ARangeOfAUnionCountsDifferentElements) {
  done({"distinct", "add", "hits:home", "ann", "eve"});
  done({"distinct", "add", "hits:home", "ann"});
  const std::string hour = done({"range", "hits:home", "--last", "1h", "--step", "1h", "--union"});
  EXPECT_THAT(hour, HasSubstr("Z\t2\n"));
  EXPECT_THAT(hour, HasSubstr("\ncomplete; "));
  const CliResult refused = quipu({"range", "hits:home", "--last", "1h"});
  EXPECT_EQ(refused.exit, 1);
  EXPECT_THAT(refused.err, HasSubstr("--union"));
}

TEST_F(CliWindows, AResetOfWindowsClearsWhatWasCountedInTime) {
  done({"add", "hits:home", "5"});
  done({"add", "hits:home", "7", "--at", ago(1h)});
  done({"add", "hits:other", "3"});
  done({"reset", "hits:home"});
  EXPECT_THAT(done({"range", "hits:home", "--last", "2d"}), HasSubstr("\t7\n")) << "it is history";
  EXPECT_THAT(done({"reset", "hits:home", "--windows"}), HasSubstr("windows were reset\n"));
  EXPECT_EQ(done({"range", "hits:home", "--last", "2d"}).find("\t7\n"), std::string::npos);
  EXPECT_EQ(done({"reset", "hits:home", "--windows"}), "0 windows were reset\n");
  EXPECT_THAT(done({"range", "hits:other", "--last", "2d"}), HasSubstr("\t3\n"));
}

#ifdef QUIPU_FAULTY_MACHINE_PATH
TEST_F(CliWindows, AResetOfWindowsGoesByTheClockOfTheNode) {
  done({"add", "hits:home", "5"});
  for (const std::int64_t days : {30, -30}) {
    const std::string clock = directory_ / "clock";
    const std::int64_t ahead = days * 86'400;
    std::ofstream(clock, std::ios::binary)
        .write(reinterpret_cast<const char*>(&ahead), sizeof ahead);
    const CliResult reset = run_cli(
        {"reset", "hits:home", "--windows"},
        {.nodes = {node_->client_address()},
         .variables = {"LD_PRELOAD=" QUIPU_FAULTY_MACHINE_PATH, "QUIPU_CLOCK_AHEAD=" + clock}});
    EXPECT_EQ(reset.exit, 0) << reset.err;
    EXPECT_EQ(done({"range", "hits:home", "--last", "2d"}).find("\t5\n"), std::string::npos);
    done({"add", "hits:home", "5"});
  }
}
#endif

TEST_F(CliWindows, AResetOfWindowsTakesSpreadCountersAndNamespacesAtQuorum) {
  done({"namespace", "set", "hits", "--ack", "quorum"});
  done({"add", "hits:hot", "5"});
  done({"shards", "hits:hot", "30"});
  // Where the windows of several tiers begin at the same moment, one reset clears them.
  EXPECT_THAT(done({"reset", "hits:hot", "--windows"}),
              AnyOf("3 windows were reset\n", "2 windows were reset\n", "1 window was reset\n"));
  EXPECT_EQ(done({"range", "hits:hot", "--last", "5m"}).find("\t5\n"), std::string::npos);
}

TEST_F(CliWindows, AResetOfWindowsTakesThoseOfAnEarlierKind) {
  done({"distinct", "add", "hits:visitors", "alice"});
  done({"reset", "hits:visitors"});
  done({"add", "hits:visitors", "5"});
  EXPECT_THAT(done({"range", "hits:visitors", "--last", "5m"}), HasSubstr("\t5\n"));
  done({"reset", "hits:visitors"});
  EXPECT_THAT(done({"reset", "hits:visitors", "--windows"}),
              AnyOf("6 windows were reset\n", "5 windows were reset\n", "4 windows were reset\n",
                    "3 windows were reset\n", "2 windows were reset\n"));
  EXPECT_EQ(done({"range", "hits:visitors", "--last", "5m"}).find("\t5\n"), std::string::npos);
}

TEST_F(CliWindows, AnApplySeesThatAllHoldTheSettings) {
  EXPECT_EQ(done({"namespace", "apply", "hits"}), "");
  EXPECT_THAT(done({"namespace", "show", "hits"}),
              HasSubstr("tiers    1m for 2d, 1h for 90d, 1d for ever\nlate     2h\n"));
  EXPECT_EQ(quipu({"namespace", "apply", "other"}).exit, 1);
  done({"namespace", "set", "hits", "--late", "1h"});
  EXPECT_THAT(done({"namespace", "show", "hits"}), HasSubstr("late     1h\n")) << "alone";
  EXPECT_EQ(quipu({"namespace", "set", "hits", "--tiers", "default"}).exit, 1) << "and late?";
  done({"namespace", "set", "hits", "--tiers", "default", "--late", "default"});
}

TEST_F(CliWindows, WhatIsWrongIsSaid) {
  const struct {
    std::vector<std::string> arguments;
    const char* why;
  } cases[] = {
      {{"range", "hits:home"}, "give either --last, or --from and --to"},
      {{"range", "hits:home", "--last", "1h", "--from", "0"}, "give either --last"},
      {{"range", "hits:home", "--to", "0"}, "--from is missing"},
      {{"range", "hits:home", "--last", "soon"}, "--last \"soon\": write a duration"},
      {{"range", "hits:home", "--last", "500ms"}, "write whole seconds"},
      {{"range", "hits:home", "--from", "today"}, "--from \"today\": write a time in UTC"},
      {{"range", "hits:home", "--last", "1h", "--strong", "--fresh"}, "give only one of"},
      {{"range", "likes", "--last", "1h"}, "no tiers"},
      {{"range", "hits:home", "--last", "1h", "--step", "90s"}, "a multiple of the shortest"},
      {{"add", "hits:home", "1", "--at", "noon"}, "--at \"noon\": write a time"},
      {{"add", "hits:home", "1", "--at", "2020-01-01"}, "up to 7200000 ms ago, as `late`"},
      {{"add", "likes", "1", "--at", "2020-01-01"}, "only in a namespace with tiers"},
      {{"namespace", "create", "x", "--tiers", "1m"}, "--tiers \"1m\": write such as"},
      {{"namespace", "create", "x", "--tiers", "1h for 1d, 1m for 1d"}, "from short to long"},
      {{"namespace", "create", "x", "--late", "1m"}, "without tiers, no add is dated"},
  };
  for (const auto& row : cases) {
    const CliResult result = quipu(row.arguments);
    EXPECT_NE(result.exit, 0) << testing::PrintToString(row.arguments);
    EXPECT_THAT(result.err, HasSubstr(row.why)) << testing::PrintToString(row.arguments);
  }
  EXPECT_EQ(value("hits:home"), 0);
}

}  // namespace
}  // namespace quipu::test
