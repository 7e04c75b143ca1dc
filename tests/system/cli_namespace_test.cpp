// `quipu namespace`, and what the other commands do by default in a namespace, against real
// daemons.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>

#include "tests/node/eventually.h"
#include "tests/system/cli_runner.h"
#include "tests/system/daemons.h"

namespace quipu::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

// Three daemons. All members hear each other when a test begins.
class CliNamespace : public testing::Test {
 protected:
  void SetUp() override {
    daemons_.start_all();
    ASSERT_TRUE(eventually([&] { return on(0, {"cluster", "status"}).exit == 0; }));
  }

  CliResult on(std::size_t node, const std::vector<std::string>& arguments,
               const std::string& text = "") {
    return run_cli(arguments, {.nodes = {daemons_.client_address(node)}, .text = text});
  }
  // A command that must succeed, in silence on stderr.
  std::string done(std::size_t node, const std::vector<std::string>& arguments) {
    const CliResult result = on(node, arguments);
    EXPECT_EQ(result.exit, 0) << testing::PrintToString(arguments) << result.err;
    EXPECT_EQ(result.err, "");
    return result.out;
  }
  // Adds reach the node that will be asked a moment later.
  bool lists(std::size_t node, const std::string& prefix, std::ptrdiff_t counters) {
    return eventually([&] {
      const std::string keys = on(node, {"ls", prefix}).out;
      return std::count(keys.begin(), keys.end(), '\n') == counters;
    });
  }

  Daemons daemons_{3};
};

TEST_F(CliNamespace, IsKnownToAllMembersUntilItIsDroppedWithItsCounters) {
  EXPECT_EQ(done(0, {"namespace", "create", "likes", "--ack", "quorum", "--shards", "4"}), "");
  EXPECT_EQ(done(2, {"namespace", "show", "likes"}),
            "SETTING  VALUE\nack      quorum\nread     local (not set)\nshards   4\n"
            "ttl      none (not set)\ndecide   local (not set)\ntiers    none (not set)\n"
            "late     none (not set)\nkind     any (not set)\n");
  EXPECT_EQ(done(1, {"namespace", "set", "likes", "--ack", "default", "--read", "fresh"}), "");
  EXPECT_EQ(done(1, {"namespace", "set", "", "--strict", "yes"}), "");
  EXPECT_EQ(done(2, {"namespace", "ls"}),
            "NAMESPACE  ACK  READ   SHARDS  TTL  DECIDE  TIERS  LATE  KIND  PRECISION  STRICT\n"
            "\"\"         -    -      -       -    -       -      -     -     -          yes\n"
            "likes      -    fresh  4       -    -       -      -     -     -          -\n");
  const json shown = json::parse(done(2, {"namespace", "show", "likes", "-o", "json"}));
  EXPECT_EQ(shown.at("ack"), nullptr);
  EXPECT_EQ(shown.at("read"), "fresh");
  EXPECT_EQ(shown.at("shards"), 4);

  done(0, {"add", "likes:1", "3"});
  done(1, {"add", "likes:2"});
  done(2, {"add", "other"});
  const CliResult refused = on(0, {"add", "evil\x1b[2J:1"});
  EXPECT_EQ(refused.exit, 1);
  EXPECT_THAT(refused.err, HasSubstr("is not defined"));
  EXPECT_EQ(refused.err.find('\x1b'), std::string::npos) << "it would steer the terminal";

  ASSERT_TRUE(lists(0, "likes:", 2));
  EXPECT_EQ(done(0, {"namespace", "drop", "likes"}), "2 counters were reset\n");
  EXPECT_TRUE(eventually([&] {  // resets at disk reach the others a moment later
    return done(1, {"get", "likes:1", "likes:2", "other"}) == "likes:1\t0\nlikes:2\t0\nother\t1\n";
  }));
  EXPECT_EQ(on(2, {"namespace", "show", "likes"}).err,
            "quipu: likes: invalid_argument: it is not defined, so its counters use the default "
            "namespace\n");
  EXPECT_EQ(done(0, {"namespace", "drop", "likes"}), "2 counters were reset\n") << "spread ones";
  const CliResult unknown = on(0, {"namespace", "drop", "views"});
  EXPECT_EQ(unknown.exit, 1);
  EXPECT_THAT(unknown.err, HasSubstr("there is no namespace 'views'"));
}

TEST_F(CliNamespace, SaysHowLongItsNewCountersLive) {
  done(0, {"namespace", "create", "otp", "--ttl", "3600s"});
  EXPECT_THAT(done(1, {"namespace", "show", "otp"}), HasSubstr("ttl      1h\n"));
  EXPECT_EQ(json::parse(done(2, {"namespace", "show", "otp", "-o", "json"})).at("ttl_ms"),
            3'600'000);
  const CliResult both = on(0, {"namespace", "set", "otp", "--shards", "4"});
  EXPECT_EQ(both.exit, 1);
  EXPECT_THAT(both.err, HasSubstr("set ttl or shards, not both"));
  done(1, {"namespace", "set", "otp", "--ttl", "1ms"});
  EXPECT_THAT(done(2, {"namespace", "ls"}), HasSubstr("1ms"));
  done(2, {"add", "otp:1", "3"});
  EXPECT_TRUE(eventually([&] { return done(2, {"get", "otp:1"}) == "0\n"; }));
  done(0, {"namespace", "set", "otp", "--ttl", "default"});
  EXPECT_EQ(json::parse(done(0, {"namespace", "show", "otp", "-o", "json"})).at("ttl_ms"), nullptr);
}

TEST_F(CliNamespace, SaysWhereConditionalCommandsDecide) {
  const auto decide = [&] {
    return json::parse(done(2, {"namespace", "show", "otp", "-o", "json"})).at("decide");
  };
  done(0, {"namespace", "create", "otp", "--decide", "home"});
  EXPECT_THAT(done(1, {"namespace", "show", "otp"}), HasSubstr("decide   home\n"));
  EXPECT_EQ(decide(), "home");
  done(1, {"namespace", "set", "otp", "--decide", "local"});
  EXPECT_EQ(decide(), "local");
  done(2, {"namespace", "set", "otp", "--ttl", "1h"});
  EXPECT_EQ(decide(), "local") << "a set changes only what is given";
  done(0, {"namespace", "set", "otp", "--decide", "default"});
  EXPECT_EQ(decide(), nullptr);
}

TEST_F(CliNamespace, FixesTheKindOfItsCounters) {
  done(0, {"namespace", "create", "visitors", "--kind", "distinct", "--precision", "11"});
  done(0, {"distinct", "add", "visitors:1", "ann"});
  EXPECT_NEAR(json::parse(done(0, {"distinct", "count", "visitors:1", "-o", "json"}))
                  .at("standard_error")
                  .get<double>(),
              0.023, 0.0001);
  EXPECT_THAT(done(1, {"namespace", "show", "visitors"}),
              HasSubstr("kind       distinct\nprecision  11\n"));
  const json shown = json::parse(done(2, {"namespace", "show", "visitors", "-o", "json"}));
  EXPECT_EQ(shown.at("kind"), "distinct");
  EXPECT_EQ(shown.at("precision"), 11);
  const CliResult refused = on(2, {"add", "visitors:2"});
  EXPECT_EQ(refused.exit, 1);
  EXPECT_THAT(refused.err,
              HasSubstr("wrong_type: the namespace 'visitors' has counters of the kind "
                        "distinct"));
  const CliResult again = on(1, {"namespace", "create", "visitors", "--kind", "sum"});
  EXPECT_EQ(again.exit, 1);
  EXPECT_THAT(again.err, HasSubstr("are fixed when it is created"));
  done(0, {"namespace", "set", "visitors", "--ack", "quorum"});
  EXPECT_THAT(done(2, {"namespace", "ls"}), HasSubstr("distinct  11"));
  done(0, {"namespace", "drop", "visitors"});
  done(0, {"add", "visitors:1"});
}

TEST_F(CliNamespace, NamesTheMembersThatHaveMissedAChange) {
  daemons_.end(2, SIGKILL);
  const CliResult created = on(0, {"namespace", "create", "likes", "-o", "json"});
  EXPECT_EQ(created.exit, 0);
  EXPECT_EQ(created.err, "quipu: n3 does not hold it yet: it gets it when it is back\n");
  EXPECT_EQ(json::parse(created.out).at("absent"), json({"n3"}));
  daemons_.start(2);
  ASSERT_TRUE(eventually([&] { return on(2, {"namespace", "show", "likes"}).exit == 0; }));
  ASSERT_TRUE(eventually([&] {
    return on(0, {"namespace", "set", "likes", "--ack", "disk"}).err.empty();
  }));
}

// Alone, n1 can do nothing at quorum.
TEST_F(CliNamespace, LevelsAreThoseOfTheNamespaceUnlessTheCommandNamesOne) {
  done(0, {"namespace", "create", "likes", "--ack", "quorum", "--read", "strong"});
  done(0, {"add", "likes:1"});
  ASSERT_TRUE(lists(0, "likes:", 1));
  daemons_.end(1, SIGKILL);
  daemons_.end(2, SIGKILL);
  const auto fails = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--timeout", "300ms"});
    return on(0, arguments, "likes:2\n").exit != 0;
  };
  EXPECT_TRUE(fails({"get", "likes:1"}));
  EXPECT_TRUE(fails({"add", "likes:1"}));
  EXPECT_TRUE(fails({"ingest"}));
  EXPECT_TRUE(fails({"reset", "likes:1"}));
  EXPECT_EQ(on(0, {"get", "likes:1", "--local"}).out, "1\n");
  EXPECT_EQ(on(0, {"add", "likes:9", "--ack", "disk"}).exit, 0);
  EXPECT_EQ(on(0, {"ingest", "--ack", "disk"}, "likes:8\n").exit, 0);

  EXPECT_EQ(on(0, {"namespace", "set", "", "--ack", "quorum"}).exit, 0);
  const CliResult failed = on(0, {"namespace", "drop", "likes", "--timeout", "300ms"});
  EXPECT_EQ(failed.exit, 3);
  EXPECT_THAT(failed.err, StartsWith("quipu: likes: in_doubt: the namespace is dropped, and some"));
  EXPECT_THAT(failed.err, HasSubstr("so far, and the same command goes on from there"));
  daemons_.start(1);
  daemons_.start(2);
  ASSERT_TRUE(eventually([&] { return on(0, {"namespace", "drop", "likes"}).exit == 0; }));
  EXPECT_TRUE(lists(0, "likes:", 0));
}

}  // namespace
}  // namespace quipu::test
