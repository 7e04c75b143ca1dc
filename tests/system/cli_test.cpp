// `quipu` from the outside: what its commands do and print, and their exit codes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "quipu/node.h"
#include "tests/node/eventually.h"
#include "tests/node/temporary_directory.h"
#include "tests/system/cli_of_one_node.h"
#include "tests/system/daemons.h"
#include "tests/system/fake_node.h"

namespace quipu::test {
namespace {

using nlohmann::json;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

TEST_F(Cli, AddsAndGets) {
  EXPECT_EQ(quipu({"add", "likes"}).exit, 0);
  EXPECT_EQ(quipu({"add", "likes", "5", "--ack", "quorum"}).exit, 0);
  EXPECT_EQ(quipu({"add", "likes", "-10"}).exit, 0);
  EXPECT_EQ(quipu({"add", "--ack", "memory", "likes", "+1"}).exit, 0);
  const CliResult got = quipu({"get", "likes"});
  EXPECT_EQ(got.exit, 0);
  EXPECT_EQ(got.out, "-3\n");
  EXPECT_EQ(got.err, "");
}

TEST_F(Cli, AddsOfOneAffinityCountInASpreadCounter) {
  EXPECT_EQ(quipu({"shards", "likes", "8"}).exit, 0);
  EXPECT_EQ(quipu({"add", "likes", "5", "--affinity", "user:17"}).exit, 0);
  EXPECT_EQ(quipu({"add", "--affinity", "user:17", "likes"}).exit, 0);
  EXPECT_EQ(quipu({"get", "likes", "--strong"}).out, "6\n");
}

TEST_F(Cli, ShowsTheSettingsThatQuipudWouldRunWith) {
  const std::string file = directory_ / "quipu.toml";
  std::ofstream(file) << "[node]\nname = \"n1\"\n[client]\nconnections = 7\n";
  const CliResult shown = run_cli({"config", "show", "--data", "d"},
                                  {.variables = {"QUIPU_CONFIG=" + file, "QUIPU_INSECURE=true"}});
  EXPECT_EQ(shown.exit, 0);
  EXPECT_EQ(shown.err, "");
  for (const char* const line :
       {"quipu.toml:4\n", "data_directory = \"d\"  # --data\n",
        "insecure = true  # QUIPU_INSECURE\n", "flushall = false  # default\n"})
    EXPECT_THAT(shown.out, HasSubstr(line));
  std::ofstream(file) << shown.out;
  const CliResult again = run_cli({"config", "show", "--config", file});
  EXPECT_EQ(again.exit, 0);
  EXPECT_THAT(again.out, HasSubstr("connections = 7  # "));

  std::ofstream(file) << "[node]\nnam = \"n1\"\n";
  const CliResult refused = run_cli({"config", "show", "--config", file});
  EXPECT_EQ(refused.exit, 1);
  EXPECT_EQ(refused.out, "");
  EXPECT_THAT(refused.err, HasSubstr("unknown key"));
}

TEST_F(Cli, GetsSeveralAtEveryLevel) {
  quipu({"add", "a", "1"});
  quipu({"add", "b", "2"});
  for (const auto& level : std::vector<std::vector<std::string>>{{}, {"--fresh"}, {"--strong"}}) {
    std::vector<std::string> arguments{"get", "a", "b", "nobody"};
    arguments.insert(arguments.end(), level.begin(), level.end());
    EXPECT_EQ(quipu(arguments).out, "a\t1\nb\t2\nnobody\t0\n");
  }
  const json got = json::parse(quipu({"get", "a", "nobody", "-o", "json"}).out).at("counters");
  EXPECT_EQ(got[0]["value"], 1);
  EXPECT_EQ(got[0]["exists"], true);
  EXPECT_EQ(got[0]["complete"], true);
  EXPECT_EQ(got[1]["exists"], false);
}

TEST_F(Cli, AKeyCannotHarmTheTerminal) {
  quipu({"add", "evil\x1b[2J\nkey"});
  EXPECT_EQ(quipu({"ls"}).out, "evil\\x1b[2J\\x0akey\n");
}

TEST_F(Cli, OnlyPlainUtf8IsShownAsItIs) {
  const struct {
    std::string key, shown;
  } cases[] = {
      {"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
      {"\xc2\xa0", "\xc2\xa0"},                      // the first after the C1 controls
      {"\xc2\xad", "\\xc2\\xad"},                    // a soft hyphen, which is not seen
      {"a\xe2\x80\x8b", "a\\xe2\\x80\\x8b"},         // a space without width
      {"\xe2\x80\xa8", "\\xe2\\x80\\xa8"},           // another end of a line
      {"\xe2\x80\xae", "\\xe2\\x80\\xae"},           // from right to left
      {"\xef\xbb\xbf", "\\xef\\xbb\\xbf"},           // a mark that editors put in front
      {"\xf3\xa0\x81\xbf", "\\xf3\\xa0\\x81\\xbf"},  // the last tag
      {"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"},      // the last there is
      {"\x7f", "\\x7f"},
      {"\x9b"
       "2J",
       "\\x9b"
       "2J"},  // CSI, as a byte
      {"\xc2\x9b"
       "2J",
       "\\xc2\\x9b"
       "2J"},  // and as a character
      {"\xc2\x80", "\\xc2\\x80"},
      {"\xc1\xbf", "\\xc1\\xbf"},  // longer than it need be
      {"\xe0\x9f\xbf", "\\xe0\\x9f\\xbf"},
      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},           // a surrogate
      {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},  // behind the last
      {"\xe2\x82", "\\xe2\\x82"},                    // cut off
      {"\xff", "\\xff"},
      {"a\\b", "a\\x5cb"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(quipu({"get", c.key, "other"}).out, c.shown + "\t0\nother\t0\n");
  }
}

TEST_F(Cli, JsonIsAsciiAndTellsKeysApartThatAreNotUtf8) {
  quipu({"add", "\xff"});
  quipu({"add", "\xfe"});
  quipu({"add", "\xc2\x9b"});
  const std::string out = quipu({"ls", "-o", "json"}).out;
  EXPECT_TRUE(std::all_of(out.begin(), out.end(),
                          [](char c) { return (c >= ' ' && c < 0x7f) || c == '\n'; }));
  const json keys = json::parse(out).at("counters");
  EXPECT_THAT(keys,
              testing::UnorderedElementsAre(
                  json({{"key", "\xc2\x9b"}, {"kind", "sum"}}),
                  json({{"key", "\xef\xbf\xbd"}, {"key_escaped", "\\xff"}, {"kind", "sum"}}),
                  json({{"key", "\xef\xbf\xbd"}, {"key_escaped", "\\xfe"}, {"kind", "sum"}})));
  const json got = json::parse(quipu({"get", "\xff", "k", "-o", "json"}).out).at("counters");
  EXPECT_EQ(got[0].at("key_escaped"), "\\xff");
  EXPECT_FALSE(got[1].contains("key_escaped"));
  EXPECT_EQ(json::parse(quipu({"add", "\xfe", "-o", "json"}).out).at("key_escaped"), "\\xfe");
}

TEST_F(Cli, OutputThatIsLostIsAFailure) {
  for (const auto& arguments : std::vector<std::vector<std::string>>{
           {"get", "k"}, {"ls", "-o", "json"}, {"cluster", "status"}, {"--help"}}) {
    const CliResult lost =
        run_cli(arguments, {.nodes = {node_->client_address()}, .out = "/dev/full"});
    EXPECT_EQ(lost.exit, 1) << arguments[0];
    EXPECT_THAT(lost.err, HasSubstr("the output could not be written")) << arguments[0];
  }
}

// A script that repeats what exits with 1 must not count it twice.
TEST_F(Cli, AnAddWhoseOutputIsLostIsNotCalledUnapplied) {
  const CliResult lost = run_cli({"add", "k", "5", "-o", "json"},
                                 {.nodes = {node_->client_address()}, .out = "/dev/full"});
  EXPECT_EQ(lost.exit, 3);
  EXPECT_EQ(value("k"), 5);
}

TEST_F(Cli, AKeyMayLookLikeAnOption) {
  EXPECT_EQ(quipu({"add", "--", "-k", "-5"}).exit, 0);
  EXPECT_EQ(value("-k"), -5);
}

TEST_F(Cli, ResetsSpreadsAndLists) {
  quipu({"add", "page:1", "3"});
  quipu({"add", "page:2", "4"});
  quipu({"add", "other", "5"});
  EXPECT_EQ(quipu({"ls", "page:"}).out.size(), std::string("page:1\npage:2\n").size());
  const json all = json::parse(quipu({"ls", "-o", "json"}).out);
  EXPECT_EQ(all.at("counters").size(), 3u);
  EXPECT_EQ(all["complete"], true);
  EXPECT_EQ(quipu({"shards", "page:1", "4"}).exit, 0);
  EXPECT_EQ(quipu({"reset", "page:1"}).exit, 0);
  EXPECT_EQ(value("page:1"), 0);
  EXPECT_EQ(node_->counter("page:1").read()->shards, 4);
}

TEST_F(Cli, ShowsTheClusterForPeopleAndPrograms) {
  const CliResult table = quipu({"cluster", "status"});
  EXPECT_EQ(table.exit, 0);
  EXPECT_THAT(table.out, HasSubstr("ready"));
  EXPECT_THAT(table.out, HasSubstr("adds_executed"));
  const json status = json::parse(quipu({"cluster", "status", "-o", "json"}).out);
  EXPECT_EQ(status["members"].size(), 1u);
  EXPECT_THAT(status["members"][0].at("store").get<std::string>(), testing::MatchesRegex("[0-9]+"));
}

TEST_F(Cli, EveryFigureOfTheStatusIsExplainedAndNoOther) {
  std::set<std::string> explained, shown;
  std::ifstream page("node/cli/README.md");
  std::string line;
  while (std::getline(page, line) && line != "| figure | meaning | worry if |") {
  }
  while (std::getline(page, line) && line.starts_with("|")) {
    if (line.starts_with("| `")) explained.insert(line.substr(3, line.find('`', 3) - 3));
  }
  const json status = json::parse(quipu({"cluster", "status", "-o", "json"}).out);
  for (const auto& [name, value] : status.at("members")[0].at("stats").items()) shown.insert(name);
  EXPECT_EQ(explained, shown);
}

// n1 knows where n2 may be asked, and nothing of n3. At n2's address, another
// cluster's node answers.
TEST_F(Cli, AMemberThatCannotBeAskedIsNamedAndNoOtherNodeStandsInForIt) {
  NodeOptions options;
  options.name = "n1";
  options.cluster = "shop";
  options.data_directory = directory_ / "n1";
  options.client_address = "127.0.0.1:0";
  options.peer_address = "127.0.0.1:0";
  options.members = {
      {.name = "n1", .peer_address = "127.0.0.1:1", .client_address = {}, .zone = {}},
      {.name = "n2", .peer_address = "127.0.0.1:2", .client_address = {}, .zone = {}},
      {.name = "n3", .peer_address = "127.0.0.1:3", .client_address = {}, .zone = {}}};
  options.members[1].client_address = node_->client_address();
  const auto n1 = Node::open(options);
  ASSERT_TRUE(n1.ok()) << n1.status().message();
  const CliInput shop{.nodes = {(*n1)->client_address()}};

  const CliResult asked = run_cli({"cluster", "status", "-o", "json"}, shop);
  EXPECT_EQ(asked.exit, 1);
  EXPECT_THAT(asked.err, HasSubstr("n2 and n3 cannot be reached; 4,096 of 4,096 partitions"));
  const json members = json::parse(asked.out).at("members");
  EXPECT_EQ(members[0].at("reachable"), true);
  EXPECT_EQ(members[1].at("reachable"), false);
  EXPECT_EQ(
      members[1].at("message"),
      "unavailable: a node of another cluster, \"quipu\", answers at " + node_->client_address());
  EXPECT_EQ(members[2].at("message"), "unavailable: no client address");
  const CliResult list = run_cli({"ls"}, shop);
  EXPECT_EQ(list.exit, 1);
  EXPECT_THAT(list.err, HasSubstr("unavailable: not founded yet: waiting for n2 and n3"));
  // The library would wait for them. A person is told at once whom to start.
  for (const auto& arguments : std::vector<std::vector<std::string>>{
           {"add", "k"}, {"get", "k"}, {"reset", "k"}, {"shards", "k", "2"}, {"ingest"}}) {
    std::vector<std::string> all{"--timeout", "24h"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const CliResult refused = run_cli(all, shop);
    EXPECT_EQ(refused.exit, 1);
    EXPECT_THAT(refused.err, HasSubstr("the cluster is not founded yet: n1 waits for n2 and n3"))
        << arguments[0];
    EXPECT_THAT(refused.err, HasSubstr("start those that are missing"));
  }
}

// Neither advertises a client address.
TEST_F(Cli, AMemberIsAskedAtTheAddressThatWasGivenForIt) {
  std::vector<NodeMember> members{
      {.name = "n1", .peer_address = "127.0.0.1:1", .client_address = {}, .zone = {}},
      {.name = "n2", .peer_address = "127.0.0.1:2", .client_address = {}, .zone = {}}};
  CliInput input;
  std::vector<std::unique_ptr<Node>> nodes;
  for (const NodeMember& member : members) {
    NodeOptions options;
    options.name = member.name;
    options.data_directory = directory_ / member.name;
    options.client_address = "127.0.0.1:0";
    options.peer_address = "127.0.0.1:0";
    options.members = members;
    auto node = Node::open(options);
    ASSERT_TRUE(node.ok()) << node.status().message();
    input.nodes.push_back((*node)->client_address());
    nodes.push_back(std::move(*node));
  }
  const json status = json::parse(run_cli({"cluster", "status", "-o", "json"}, input).out);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(status.at("members")[i].at("client_address"), input.nodes[i]);
    EXPECT_EQ(status.at("members")[i].at("reachable"), true);
  }
}

TEST(CliOfACluster, StatusFailsWhileAMemberIsGoneOrAMajorityIsLost) {
  Daemons daemons(3);
  daemons.start_all();
  ASSERT_TRUE(daemons.all_ready());
  const CliInput first{.nodes = {daemons.client_address(0)}};
  const auto lost = [&](const CliResult& said) {
    return json::parse(said.out).at("partitions_without_majority").get<std::size_t>();
  };
  const auto ask = [&] { return run_cli({"cluster", "status", "-o", "json"}, first); };
  ASSERT_TRUE(eventually([&] { return ask().exit == 0; }));
  EXPECT_EQ(lost(ask()), 0u);
  EXPECT_EQ(run_cli({"cluster", "status"}, first).exit, 0);

  daemons.end(2, SIGKILL);
  const CliResult one_gone = ask();
  EXPECT_EQ(one_gone.exit, 1);
  EXPECT_EQ(lost(one_gone), 0u);
  EXPECT_EQ(one_gone.err, "quipu: n3 cannot be reached\n");

  daemons.end(1, SIGKILL);
  ASSERT_TRUE(eventually([&] { return lost(ask()) == 4096; }));
  const CliResult table = run_cli({"cluster", "status"}, first);
  EXPECT_EQ(table.exit, 1);
  EXPECT_THAT(table.out, HasSubstr("ready"));
  EXPECT_THAT(table.err, HasSubstr("n2 and n3 cannot be reached; 4,096 of 4,096 partitions have "
                                   "lost the majority of their owners"));
}

TEST(CliOfACluster, AnyNodeListsAllAndSaysSoWhereItCannot) {
  Daemons daemons(4);  // each owns three quarters
  daemons.start_all();
  ASSERT_TRUE(eventually([&] { return daemons.all_ready(); }));
  std::string lines;
  for (int i = 0; i < 200; ++i) lines += "k" + std::to_string(i) + "\n";
  ASSERT_EQ(run_cli({"ingest"}, {.nodes = {daemons.client_address(0)}, .text = lines}).exit, 0);
  for (std::size_t node = 0; node < 4; ++node) {
    // A node tells what has reached it: the last adds are on their way to some.
    EXPECT_TRUE(eventually([&] {
      const CliResult list = run_cli({"ls"}, {.nodes = {daemons.client_address(node)}});
      EXPECT_EQ(list.exit, 0) << list.err;
      return std::count(list.out.begin(), list.out.end(), '\n') == 200;
    }));
  }
  for (std::size_t node = 1; node < 4; ++node) daemons.end(node, SIGKILL);
  const CliResult cut =
      run_cli({"ls", "-o", "json", "--timeout", "1s"}, {.nodes = {daemons.client_address(0)}});
  EXPECT_EQ(cut.exit, 1);
  EXPECT_THAT(cut.err,
              StartsWith("quipu: the list is cut off: unavailable: no owner of partition"));
  EXPECT_EQ(json::parse(cut.out)["complete"], false);
}

TEST_F(Cli, ARefusedAddSaysSoAndChangesNothing) {
  quipu({"add", "full", "9223372036854775807"});
  const CliResult refused = quipu({"add", "full", "1"});
  EXPECT_EQ(refused.exit, 1);
  EXPECT_EQ(refused.out, "");
  EXPECT_THAT(refused.err, StartsWith("quipu: full: out_of_range"));
  const json told = json::parse(quipu({"-o", "json", "add", "full", "1"}).out);
  EXPECT_EQ(told["outcome"], "not_applied");
  EXPECT_EQ(told["code"], "out_of_range");
}

TEST_F(Cli, AnAddThatMayHaveHappenedEndsOtherwiseThanOneThatHasNot) {
  FakeNode doubtful([](const std::string&, int) { return FakeNode::Reaction{.answer = {}}; });
  const CliResult unknown =
      run_cli({"add", "k", "--timeout", "300ms"}, {.nodes = {doubtful.address()}});
  EXPECT_EQ(unknown.exit, 3) << unknown.err;
  EXPECT_THAT(unknown.err, StartsWith("quipu: k: in_doubt"));
  FakeNode full([](const std::string&, int) {
    return FakeNode::Reaction{.apply = false, .answer = Code::out_of_range};
  });
  EXPECT_EQ(run_cli({"add", "k"}, {.nodes = {full.address()}}).exit, 1);
}

TEST_F(Cli, AnUnreachableNodeIsNamedWithWhatToDo) {
  for (const auto& arguments : std::vector<std::vector<std::string>>{{"add", "k"},
                                                                     {"get", "k"},
                                                                     {"ls"},
                                                                     {"ingest"},
                                                                     {"cluster", "status"},
                                                                     {"bench", "--seconds", "1"}}) {
    // At once: it does not wait for somebody to start a node.
    std::vector<std::string> all{"--node", "127.0.0.1:1", "--timeout", "24h"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const CliResult result = run_cli(all);
    SCOPED_TRACE(arguments[0] + " said " + result.err);
    EXPECT_EQ(result.exit, 1);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err,
                StartsWith("quipu: no node answers at 127.0.0.1:1: connection refused"));
    EXPECT_THAT(result.err, HasSubstr("start quipud there, or name another node with --node"));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1);
  }
}

TEST_F(Cli, EveryNodeThatDoesNotAnswerIsNamedWithItsReason) {
  asio::io_context io;
  using asio::ip::tcp;
  const tcp::acceptor mute(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  const std::string silent = "127.0.0.1:" + std::to_string(mute.local_endpoint().port());
  for (const char* const command : {"get", "ls"}) {
    const CliResult result = run_cli({command, "k", "--timeout", "1s"},
                                     {.nodes = {"127.0.0.1:1", "no-such-host.invalid:2", silent}});
    EXPECT_EQ(result.exit, 1);
    EXPECT_THAT(result.err, StartsWith("quipu: no node answers: 127.0.0.1:1: connection refused; "
                                       "no-such-host.invalid:2: "));
    EXPECT_THAT(result.err, HasSubstr(silent + ": n"));  // "no answer", or "not tried yet"
  }
}

TEST_F(Cli, ANodeThatIsSilentIsLeftForTheNext) {
  quipu({"add", "k"});
  asio::io_context io;
  using asio::ip::tcp;
  const tcp::acceptor mute(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  const CliInput input{.nodes = {"127.0.0.1:" + std::to_string(mute.local_endpoint().port()),
                                 node_->client_address()}};
  EXPECT_EQ(run_cli({"get", "k"}, input).out, "1\n");
  EXPECT_EQ(run_cli({"ls"}, input).out, "k\n");
  EXPECT_EQ(run_cli({"cluster", "status"}, input).exit, 0);
}

TEST_F(Cli, TakesSeveralNodesWithCommasFromFlagAndVariable) {
  quipu({"add", "k", "7"});
  const std::string list = "127.0.0.1:1, " + node_->client_address();
  EXPECT_EQ(run_cli({"get", "k", "--node", list}).out, "7\n");
  EXPECT_EQ(run_cli({"get", "k", "--node", "127.0.0.1:2", "--node", list}).out, "7\n");
  EXPECT_EQ(run_cli({"get", "k"}, {.variables = {"QUIPU_NODES=" + list}}).out, "7\n");
}

TEST_F(Cli, TheFlagOverrulesTheVariable) {
  quipu({"add", "k", "7"});
  const CliResult got =
      run_cli({"get", "k", "--node", node_->client_address()}, {.nodes = {"127.0.0.1:1"}});
  EXPECT_EQ(got.out, "7\n");
}

TEST_F(Cli, WhatAsksNoNodeDoesNotMindWhereTheyAre) {
  EXPECT_EQ(run_cli({"config", "show", "--name", "a", "--data", "d"},
                    {.variables = {"QUIPU_NODES=nonsense"}})
                .exit,
            0);
}

TEST_F(Cli, AnEmptyVariableIsAsIfNotSet) {
  const CliResult got =
      run_cli({"get", "k", "--node", node_->client_address()}, {.variables = {"QUIPU_NODES="}});
  EXPECT_EQ(got.out, "0\n");
  const CliResult by_default =
      run_cli({"get", "k", "--timeout", "200ms"}, {.variables = {"QUIPU_NODES="}});
  EXPECT_THAT(by_default.err, testing::Not(HasSubstr("QUIPU_NODES")));
}

// Some parsers of arguments take such a key apart.
TEST_F(Cli, AKeyMayLookLikeAList) {
  for (const char* const key : {"[a,b]", "[]", "a,b", "{a}", "'q'"}) {
    EXPECT_EQ(quipu({"add", key, "3"}).exit, 0);
    EXPECT_EQ(quipu({"get", key}).out, "3\n") << key;
    EXPECT_EQ(quipu({"get", "none", key}).out, "none\t0\n" + std::string(key) + "\t3\n");
  }
  EXPECT_EQ(quipu({"get", "--", "-k", "-l", "m"}).out, "-k\t0\n-l\t0\nm\t0\n");
  EXPECT_EQ(quipu({"get", "k", "--", "-l"}).out, "k\t0\n-l\t0\n");
}

TEST_F(Cli, BenchMeasuresAddsAndReadsWithoutErrors) {
  for (const auto& what :
       std::vector<std::vector<std::string>>{{}, {"--tokens", "--hot"}, {"--reads"}}) {
    std::vector<std::string> arguments{"bench",         "-o", "json",   "--seconds", "1",
                                       "--connections", "4",  "--keys", "100"};
    if (!what.empty() && what.back() == "--hot") arguments.resize(arguments.size() - 2);
    arguments.insert(arguments.end(), what.begin(), what.end());
    const CliResult result = quipu(arguments);
    ASSERT_EQ(result.exit, 0) << result.err;
    const json measured = json::parse(result.out);
    EXPECT_GT(measured["operations"], 0);
    EXPECT_EQ(measured["errors"], 0);
    EXPECT_LE(measured["p50_ms"], measured["p99_ms"]);
  }
}

TEST_F(Cli, BenchFailsIfTheNodeIsMute) {
  FakeNode mute([](const std::string&, int) { return FakeNode::Reaction{.answer = std::nullopt}; });
  const std::vector<std::string> bench{"bench", "--connections", "1", "--pipeline",
                                       "3",     "--seconds",     "1", "-o",
                                       "json",  "--timeout",     "3s"};
  const CliResult unanswered = run_cli(bench, {.nodes = {mute.address()}});
  EXPECT_EQ(unanswered.exit, 1);
  const json measured = json::parse(unanswered.out);
  EXPECT_EQ(measured["operations"], 0);
  EXPECT_EQ(measured["errors"], 3);
  EXPECT_EQ(measured.at("errors_by_code").at("unanswered"), 3);
}

TEST_F(Cli, BenchFailsIfAConnectionDoesNotStart) {
  asio::io_context io;
  using asio::ip::tcp;
  const tcp::acceptor mute(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  const std::string node = "127.0.0.1:" + std::to_string(mute.local_endpoint().port());
  const CliResult result =
      run_cli({"bench", "--tokens", "--connections", "2", "--seconds", "1", "--timeout", "200ms"},
              {.nodes = {node}});
  EXPECT_EQ(result.exit, 1);
  EXPECT_EQ(result.err, "quipu: no node answers at " + node +
                            ": no answer yet (gave up after 200 ms: see --timeout)\n");
}

}  // namespace
}  // namespace quipu::test
