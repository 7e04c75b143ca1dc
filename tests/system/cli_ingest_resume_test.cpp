// `quipu ingest --resume`: each line counts once, although nodes and the ingest itself are
// killed at any moment.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "quipu/client.h"
#include "quipu/node.h"
#include "tests/node/eventually.h"
#include "tests/node/temporary_directory.h"
#include "tests/system/cli_runner.h"
#include "tests/system/daemons.h"
#include "tests/system/fake_node.h"
#include "tests/system/process.h"

namespace quipu::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

using Totals = std::map<std::string, std::int64_t>;

// An input, and where its state and its report are kept.
class Resume : public testing::Test {
 protected:
  // Lines of `keys` keys, all mixed.
  void write_lines(int lines, int keys) {
    std::string text;
    for (int i = 0; i < lines; ++i) {
      const std::string key = "key" + std::to_string(i % keys);
      const int amount = i % 7 - 2;
      text += key + ' ' + std::to_string(amount) + '\n';
      expected_[key] += amount;
    }
    write(text);
  }
  void write(const std::string& text) { std::ofstream(input_, std::ios::binary) << text; }

  [[nodiscard]] std::vector<std::string> command(std::vector<std::string> more = {}) const {
    std::vector<std::string> all{"ingest", input_, "--resume", state_, "-o", "json"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  [[nodiscard]] CliResult ingest(const std::string& node,
                                 std::vector<std::string> more = {}) const {
    return run_cli(command(std::move(more)), {.nodes = {node}});
  }
  void expect_exact(const FakeNode& node) const {
    for (const auto& [key, total] : expected_) EXPECT_EQ(node.value(key), total) << key;
  }

  const TemporaryDirectory directory_;
  const std::string input_ = directory_ / "input";
  const std::string state_ = directory_ / "state";
  const std::string report_ = directory_ / "report";
  Totals expected_;
};

FakeNode::Reaction well(const std::string&, int) { return {}; }

// ---- the ingest dies ----

// What a node has done with the add at which the ingest is killed, and with those behind
// it, which it has received.
enum class Death { before_it_is_applied, before_it_is_answered, after_the_answer, others_go_on };

class ResumeAfter : public Resume, public testing::WithParamInterface<Death> {};

TEST_P(ResumeAfter, AKillAtAnyAddCountsEachLineOnce) {
  for (const int victim : {1, 2, 3, 7, 20, 41, 90}) {
    SCOPED_TRACE("killed at add " + std::to_string(victim));
    expected_.clear();
    write_lines(300, 150);  // 150 adds at least, however they are combined
    ::unlink(state_.c_str());
    std::atomic<int> adds = 0;
    std::atomic<pid_t> running = 0;
    FakeNode node([&](const std::string&, int) {
      FakeNode::Reaction reaction;
      if (++adds != victim) return reaction;
      while (running == 0) std::this_thread::yield();
      ::kill(running, SIGKILL);
      reaction.apply = GetParam() != Death::before_it_is_applied;
      if (GetParam() != Death::after_the_answer) reaction.answer.reset();
      reaction.hang_up = GetParam() != Death::others_go_on;
      return reaction;
    });
    {
      // Slowly, so that the lines make several blocks.
      RunningCli killed(command({"--rate", "10000"}), {.nodes = {node.address()}});
      running = killed.pid();
      EXPECT_EQ(killed.finish().exit, -1);
    }
    const CliResult resumed = ingest(node.address());
    EXPECT_EQ(resumed.exit, 0) << resumed.err << resumed.out;
    expect_exact(node);
    const json told = json::parse(resumed.out);
    EXPECT_EQ(told.at("lines"), 300);
    EXPECT_EQ(told.at("counted_lines"), 300);
    EXPECT_EQ(told.at("can_resume"), false);
  }
}

INSTANTIATE_TEST_SUITE_P(Deaths, ResumeAfter,
                         testing::Values(Death::before_it_is_applied, Death::before_it_is_answered,
                                         Death::after_the_answer, Death::others_go_on));

TEST_F(Resume, AfterManyKillsEachLineIsCountedOnce) {
  write_lines(2'000, 1'000);
  std::atomic<int> adds = 0;
  std::atomic<pid_t> running = 0;
  FakeNode node([&](const std::string&, int) {
    if (++adds % 33 == 0 && running != 0) ::kill(running, SIGKILL);
    return FakeNode::Reaction{};
  });
  int kills = 0;
  CliResult last;
  do {
    RunningCli ingest(command({"--rate", "20000"}), {.nodes = {node.address()}});
    running = kills < 20 ? ingest.pid() : 0;
    last = ingest.finish();
    running = 0;
    kills += last.exit == -1 ? 1 : 0;
  } while (last.exit == -1);
  EXPECT_EQ(last.exit, 0) << last.err;
  EXPECT_EQ(kills, 20);
  expect_exact(node);
}

// Whoever reads the file when the add arrives finds its token.
TEST_F(Resume, ATokenIsInTheStateBeforeItIsSent) {
  write_lines(200, 20);
  std::atomic<int> missing = 0;
  FakeNode node([&](const std::string&, int) {
    const std::string state = read_file(state_);
    std::size_t bound = 0;
    for (std::size_t at = 0; (at = state.find(" bound ", at)) != std::string::npos; ++at) ++bound;
    std::size_t settled = 0;
    for (std::size_t at = 0; (at = state.find(" settled ", at)) != std::string::npos; ++at)
      ++settled;
    if (bound <= settled) ++missing;  // none is open
    return FakeNode::Reaction{};
  });
  EXPECT_EQ(ingest(node.address(), {"--rate", "5000"}).exit, 0);
  EXPECT_EQ(missing, 0);
}

// ---- nodes die, or do not answer ----

TEST_F(Resume, WhatStayedInDoubtIsSettledOnceTheNodeAnswers) {
  write("a 1\ndoubt 1\ndoubt 1\na 1\ndoubt 1\n");
  std::atomic<bool> answers = false;
  FakeNode node([&](const std::string& key, int) {
    return key == "doubt" && !answers ? FakeNode::Reaction{.answer = Code::in_doubt}
                                      : FakeNode::Reaction{};
  });
  const CliResult first = ingest(node.address(), {"--timeout", "500ms", "--report", report_});
  EXPECT_EQ(first.exit, 3);
  EXPECT_THAT(first.err, HasSubstr("run the same command again: it counts no line twice"));
  EXPECT_THAT(first.err, Not(HasSubstr("token")));
  const json told = json::parse(first.out);
  EXPECT_EQ(told.at("unknown"), json::parse("[[2,3],[5,5]]"));
  EXPECT_EQ(told.at("can_resume"), true);
  EXPECT_THAT(read_file(report_),
              HasSubstr("2-3, 5\tmay or may not be counted\tin_doubt\tdoubt\t3"));

  const CliResult still = ingest(node.address(), {"--timeout", "500ms"});
  EXPECT_EQ(still.exit, 3) << "the node says the same";

  answers = true;
  const CliResult second = ingest(node.address(), {"--report", report_});
  EXPECT_EQ(second.exit, 0) << second.err;
  const json done = json::parse(second.out);
  EXPECT_EQ(done.at("counted_lines"), 5);
  EXPECT_EQ(done.at("counted_before"), 2);
  EXPECT_EQ(done.at("unknown_lines"), 0);
  EXPECT_EQ(node.value("doubt"), 3);
  EXPECT_EQ(node.value("a"), 2);
  EXPECT_THAT(read_file(report_), HasSubstr("2-3, 5\tcounted\tok\tdoubt\t3"));

  const int adds = node.adds();
  EXPECT_EQ(ingest(node.address()).exit, 0);
  EXPECT_EQ(node.adds(), adds) << "nothing is left to do";
}

TEST_F(Resume, WhatCouldNotBePlacedIsSentByTheNextOne) {
  write_lines(40'000, 40'000);
  std::atomic<bool> full = true;
  FakeNode node([&](const std::string&, int) {
    return full ? FakeNode::Reaction{.apply = false, .answer = Code::storage_full}
                : FakeNode::Reaction{};
  });
  const CliResult first = ingest(node.address(), {"--timeout", "1s"});
  EXPECT_NE(first.exit, 0);
  EXPECT_EQ(json::parse(first.out).at("counted_lines"), 0);
  EXPECT_EQ(json::parse(first.out).at("can_resume"), true);
  full = false;
  const CliResult second = ingest(node.address());
  EXPECT_EQ(second.exit, 0) << second.err;
  EXPECT_EQ(json::parse(second.out).at("counted_lines"), 40'000);
  expect_exact(node);
}

// A token that was refused stays refused.
TEST_F(Resume, WhatAnUndefinedNamespaceRefusedIsCountedOnceItIsDefined) {
  write("likes:1 2\na 1\nlikes:2 3\n");
  std::atomic<bool> defined = false;
  FakeNode node([&](const std::string& key, int before) {
    return key == "a" || (defined && before == 0)
               ? FakeNode::Reaction{}
               : FakeNode::Reaction{.apply = false, .answer = Code::undefined_namespace};
  });
  const CliResult first = ingest(node.address());
  EXPECT_EQ(first.exit, 1);
  EXPECT_EQ(json::parse(first.out).at("counted_lines"), 1) << "others are counted";
  EXPECT_EQ(json::parse(first.out).at("refused_lines"), 2);
  EXPECT_EQ(json::parse(first.out).at("can_resume"), true);
  EXPECT_EQ(ingest(node.address()).exit, 1) << "it is still not defined";
  defined = true;
  const CliResult last = ingest(node.address());
  EXPECT_EQ(last.exit, 0) << last.err;
  EXPECT_EQ(json::parse(last.out).at("counted_lines"), 3);
  EXPECT_EQ(json::parse(last.out).at("refused_lines"), 0);
  EXPECT_EQ(node.value("likes:1"), 2);
  EXPECT_EQ(node.value("likes:2"), 3);
  EXPECT_EQ(node.value("a"), 1);
}

TEST_F(Resume, WhatNobodyCanTellAnyMoreIsNamedAndNotSentAgain) {
  write("a 1\nlost 1\n");
  std::atomic<bool> forgotten = false;
  FakeNode node([&](const std::string& key, int) {
    if (key != "lost") return FakeNode::Reaction{};
    return FakeNode::Reaction{.apply = false,
                              .answer = forgotten ? Code::token_expired : Code::in_doubt};
  });
  EXPECT_EQ(ingest(node.address(), {"--timeout", "300ms"}).exit, 3);
  forgotten = true;
  const CliResult second = ingest(node.address());
  EXPECT_EQ(second.exit, 3);
  EXPECT_THAT(second.err, HasSubstr("line 2 (lost, 1 in all): may or may not be counted: "
                                    "token_expired"));
  EXPECT_THAT(second.err, HasSubstr("look at the totals"));
  EXPECT_EQ(json::parse(second.out).at("can_resume"), false);
  const int adds = node.adds();
  const CliResult third = ingest(node.address());
  EXPECT_EQ(third.exit, 3) << "it is still not known";
  EXPECT_EQ(json::parse(third.out).at("unknown"), json::parse("[[2,2]]"));
  EXPECT_EQ(node.adds(), adds);
}

TEST_F(Resume, LinesThatAreNoAddsAreRefusedOnce) {
  write("a 1\n\nb x\na 1\n\n");
  FakeNode node(well);
  for (int i = 0; i < 2; ++i) {
    const CliResult result = ingest(node.address());
    EXPECT_EQ(result.exit, 1);
    const json told = json::parse(result.out);
    EXPECT_EQ(told.at("lines"), 5);
    EXPECT_EQ(told.at("blank_lines"), 2);
    EXPECT_EQ(told.at("refused_lines"), 1);
    EXPECT_EQ(told.at("counted_lines"), 2);
    EXPECT_EQ(told.at("can_resume"), false);
  }
  EXPECT_EQ(node.value("a"), 2);
}

TEST_F(Resume, AnInterruptedOneGoesOnBehindItsLastLine) {
  write_lines(5'000, 10);
  FakeNode node(well);
  RunningCli first(command({"--rate", "100"}), {.nodes = {node.address()}});
  ASSERT_TRUE(eventually([&] { return node.adds() > 5; }));
  first.signal(SIGINT);
  const CliResult stopped = first.finish();
  EXPECT_EQ(stopped.exit, 1);
  const json told = json::parse(stopped.out);
  EXPECT_LT(told.at("stopped_after_line"), 5'000);
  EXPECT_EQ(told.at("can_resume"), true);
  EXPECT_EQ(ingest(node.address()).exit, 0);
  expect_exact(node);
}

// ---- the input ----

TEST_F(Resume, AnInputThatHasGrownIsCountedFromWhereItGrew) {
  FakeNode node(well);
  write("a 1\nb 2\n");
  EXPECT_EQ(ingest(node.address()).exit, 0);
  write("a 1\nb 2\na 5\nc");
  EXPECT_EQ(ingest(node.address()).exit, 0);
  write("a 1\nb 2\na 5\nc\nc\n");  // the last line had no newline, and now has one
  EXPECT_EQ(ingest(node.address()).exit, 0);
  EXPECT_EQ(node.value("a"), 6);
  EXPECT_EQ(node.value("b"), 2);
  EXPECT_EQ(node.value("c"), 2);
}

TEST_F(Resume, AnotherInputIsRefusedAndCountsNothing) {
  FakeNode node(well);
  write("a 1\nb 2\nc");
  EXPECT_EQ(ingest(node.address()).exit, 0);
  const int adds = node.adds();
  for (const char* const other : {"a 1\n", "a 1\nb 3\nc", "a 1\nb 2\ncat\n", "a 1\nb 2\n\nc", ""}) {
    write(other);
    const CliResult refused = ingest(node.address());
    EXPECT_EQ(refused.exit, 2) << other;
    EXPECT_THAT(refused.err, HasSubstr("is about another input: its first 3 lines"));
  }
  EXPECT_EQ(node.adds(), adds);
  write("a 1\nb 2\nc");
  EXPECT_EQ(ingest(node.address()).exit, 0) << "the state is as it was";
}

TEST_F(Resume, StandardInputIsFedAgain) {
  FakeNode node(well);
  const std::vector<std::string> arguments{"ingest", "--resume", state_};
  EXPECT_EQ(run_cli(arguments, {.nodes = {node.address()}, .text = "a\nb\n"}).exit, 0);
  EXPECT_EQ(run_cli(arguments, {.nodes = {node.address()}, .text = "a\nb\na\n"}).exit, 0);
  EXPECT_EQ(node.value("a"), 2);
  EXPECT_EQ(node.value("b"), 1);
}

// ---- the state's file ----

TEST_F(Resume, AFileThatIsNoStateIsRefusedAndLeftAlone) {
  FakeNode node(well);
  write("a 1\n");
  for (const std::string& content : {std::string("precious\n"), std::string(100'000, 'x')}) {
    std::ofstream(state_) << content;
    const CliResult refused = ingest(node.address());
    EXPECT_EQ(refused.exit, 2);
    EXPECT_THAT(refused.err, HasSubstr("this is not the state of an ingest"));
    EXPECT_EQ(read_file(state_), content);
  }
  for (const char* const odd : {"/dev/zero", "/dev/null", "/"}) {
    const CliResult refused =
        run_cli({"ingest", input_, "--resume", odd}, {.nodes = {node.address()}});
    EXPECT_NE(refused.exit, 0) << odd;
  }
  EXPECT_EQ(
      run_cli({"ingest", input_, "--resume", "/no/such/place"}, {.nodes = {node.address()}}).exit,
      1);
  EXPECT_EQ(node.adds(), 0);
}

TEST_F(Resume, AnEmptyFileIsTakenForANewState) {
  FakeNode node(well);
  write("a 1\n");
  std::ofstream(state_).flush();
  EXPECT_EQ(ingest(node.address()).exit, 0);
  EXPECT_EQ(node.value("a"), 1);
}

TEST_F(Resume, AStateOfAnotherClusterIsRefused) {
  FakeNode fake(well);
  write("a 1\n");
  EXPECT_EQ(ingest(fake.address()).exit, 0);
  NodeOptions options;
  options.data_directory = directory_ / "data";
  options.client_address = "127.0.0.1:0";
  const auto node = Node::open(options);
  ASSERT_TRUE(node.ok()) << node.status().message();
  const CliResult refused = ingest((*node)->client_address());
  EXPECT_EQ(refused.exit, 2);
  EXPECT_THAT(refused.err, HasSubstr("it is about another cluster"));
  EXPECT_FALSE((*node)->counter("a").read()->exists);
}

TEST_F(Resume, AStateThatIsInUseIsRefused) {
  std::atomic<bool> answers = false;
  FakeNode node([&](const std::string&, int) {
    return answers ? FakeNode::Reaction{} : FakeNode::Reaction{.answer = std::nullopt};
  });
  FakeNode other(well);
  write("a 1\n");
  RunningCli first(command(), {.nodes = {node.address()}});
  ASSERT_TRUE(eventually([&] { return node.adds() > 0; }));
  const CliResult refused = ingest(other.address());
  EXPECT_EQ(refused.exit, 2);
  EXPECT_THAT(refused.err, HasSubstr("another quipu ingest is using it"));
  first.signal(SIGKILL);
  static_cast<void>(first.finish());
  answers = true;
  EXPECT_EQ(ingest(node.address()).exit, 0);
  EXPECT_EQ(node.value("a"), 1);
}

// Leaves a state in the midst of its input: the ingest is killed at its 40th add.
void ingest_until_killed(const std::vector<std::string>& command, const std::string& address,
                         std::atomic<pid_t>& victim) {
  RunningCli killed(command, {.nodes = {address}});
  victim = killed.pid();
  EXPECT_EQ(killed.finish().exit, -1);
  victim = 0;
}

// What a power loss may leave behind the last sync.
TEST_F(Resume, ATornEndIsCutOff) {
  for (const char* const torn : {"8", "0123456789abcdef unbound 1\nhalf a rec", "\n\n"}) {
    expected_.clear();
    write_lines(300, 150);
    ::unlink(state_.c_str());
    std::atomic<int> adds = 0;
    std::atomic<pid_t> victim = 0;
    FakeNode node([&](const std::string&, int) {
      if (++adds != 40) return FakeNode::Reaction{};
      while (victim == 0) std::this_thread::yield();
      ::kill(victim, SIGKILL);
      return FakeNode::Reaction{.answer = std::nullopt, .hang_up = true};
    });
    ingest_until_killed(command({"--rate", "5000"}), node.address(), victim);
    std::ofstream(state_, std::ios::binary | std::ios::app) << torn;
    const CliResult resumed = ingest(node.address());
    EXPECT_EQ(resumed.exit, 0) << resumed.err;
    expect_exact(node);
  }
}

// Were it cut off there, too, what had been sent since would be sent anew.
TEST_F(Resume, DamageBeforeTheLastSyncIsRefused) {
  write_lines(300, 150);
  std::atomic<int> adds = 0;
  std::atomic<pid_t> victim = 0;
  FakeNode node([&](const std::string&, int) {
    if (++adds != 40) return FakeNode::Reaction{};
    while (victim == 0) std::this_thread::yield();
    ::kill(victim, SIGKILL);
    return FakeNode::Reaction{.answer = std::nullopt, .hang_up = true};
  });
  ingest_until_killed(command({"--rate", "5000"}), node.address(), victim);
  const std::string state = read_file(state_);
  const std::size_t sync = state.rfind("synced");
  ASSERT_NE(sync, std::string::npos);
  std::string damaged = state;
  char& byte = damaged[sync - 25];  // in the record before it
  byte = static_cast<char>(byte ^ 1);
  std::ofstream(state_, std::ios::binary) << damaged;
  const CliResult refused = ingest(node.address());
  EXPECT_EQ(refused.exit, 2);
  EXPECT_THAT(refused.err, HasSubstr("it is damaged"));
  EXPECT_EQ(read_file(state_), damaged);
  std::ofstream(state_, std::ios::binary) << state;
  EXPECT_EQ(ingest(node.address()).exit, 0);
  expect_exact(node);
}

// The file ends in the midst of a write, as on a full disk: nothing is sent that it lacks.
TEST_F(Resume, AStateThatCannotGrowStopsTheIngestAndLosesNothing) {
  for (const char* const kilobytes : {"8", "32", "256", "400"}) {
    SCOPED_TRACE(kilobytes);
    expected_.clear();
    write_lines(4'000, 4'000);
    ::unlink(state_.c_str());
    FakeNode node(well);
    const std::string limited = std::string("ulimit -f ") + kilobytes +
                                "; trap '' XFSZ; exec " QUIPU_CLI_PATH " ingest " + input_ +
                                " --resume " + state_ + " --node " + node.address();
    const Finished stopped = run({"/bin/bash", "-c", limited});
    EXPECT_NE(stopped.exit_code, 0);
    EXPECT_THAT(stopped.err, HasSubstr("state: File too large"));
    EXPECT_EQ(ingest(node.address()).exit, 0);
    expect_exact(node);
  }
}

// ---- a flood ----

TEST_F(Resume, ThousandsOfReasonsAreSummedUpAndTheReportNamesThemAll) {
  write_lines(8'000, 8'000);
  FakeNode node([](const std::string&, int) {
    return FakeNode::Reaction{.apply = false, .answer = Code::out_of_range};
  });
  const CliResult result =
      run_cli({"ingest", input_, "--report", report_}, {.nodes = {node.address()}});
  EXPECT_EQ(result.exit, 1);
  EXPECT_LE(std::count(result.err.begin(), result.err.end(), '\n'), 25);
  EXPECT_THAT(result.err, HasSubstr("and 7,980 more such reasons; " + report_ + " has them all"));
  EXPECT_LE(result.out.size(), 1'000u);
  const std::string report = read_file(report_);
  EXPECT_EQ(std::count(report.begin(), report.end(), '\n'), 8'001);
  EXPECT_THAT(report, HasSubstr("\n4712\tnot counted\tout_of_range\tkey4711\t"));
}

TEST_F(Resume, AReportThatCannotBeWrittenIsSaid) {
  write("a x\n");
  FakeNode node(well);
  const CliResult missing =
      run_cli({"ingest", input_, "--report", "/no/such/dir/report"}, {.nodes = {node.address()}});
  EXPECT_EQ(missing.exit, 2);
  EXPECT_EQ(node.adds(), 0);
  write("a 1\n");
  const CliResult full =
      run_cli({"ingest", input_, "--report", "/dev/full"}, {.nodes = {node.address()}});
  EXPECT_EQ(full.exit, 3) << "all is counted, but a script must not just repeat it";
  EXPECT_THAT(full.err, HasSubstr("/dev/full: No space left"));
}

// ---- real nodes ----

TEST_F(Resume, RealNodesAndTheIngestAreKilledAndEveryTotalIsExact) {
  constexpr int kLines = 120'000;
  constexpr int kKeys = 300;
  write_lines(kLines, kKeys);
  Daemons daemons(3);
  daemons.start_all();
  ASSERT_TRUE(daemons.all_ready());
  std::vector<std::string> nodes;
  for (std::size_t i = 0; i < 3; ++i) nodes.push_back(daemons.client_address(i));
  // Some were executed by a node since it was started.
  const auto counts = [&](std::size_t node) { return daemons.stat(node, "adds_executed") > 0; };
  for (const std::size_t victim : {0u, 1u, 2u}) {
    RunningCli ingest(command({"--rate", "10000"}), {.nodes = {nodes[victim]}});
    ASSERT_TRUE(eventually([&] { return counts(victim); }));
    if (victim == 1) ingest.signal(SIGKILL);
    daemons.end(victim, SIGKILL);
    ingest.signal(SIGKILL);
    EXPECT_EQ(ingest.finish().exit, -1);
    daemons.start(victim);
    ASSERT_TRUE(daemons.all_ready());
  }
  {  // one that lives on while a node dies
    RunningCli ingest(command({"--rate", "30000"}), {.nodes = nodes});
    ASSERT_TRUE(eventually([&] { return counts(0); }));
    daemons.end(0, SIGKILL);
    daemons.start(0);
    const CliResult lived = ingest.finish();
    EXPECT_EQ(lived.exit, 0) << lived.err << lived.out;
  }
  const CliResult last = run_cli(command({"--ack", "quorum"}), {.nodes = nodes});
  ASSERT_EQ(last.exit, 0) << last.err << last.out;
  EXPECT_EQ(json::parse(last.out).at("counted_lines"), kLines);
  const auto client = Client::connect({.seeds = nodes});
  ASSERT_TRUE(client.ok());
  for (const auto& [key, total] : expected_) {
    EXPECT_TRUE(eventually([&, key = key, total = total] {
      const auto reading = (*client)->counter(key).read({.level = ReadLevel::strong});
      return reading.ok() && reading->value == total;
    })) << key;
  }
}

}  // namespace
}  // namespace quipu::test
