// `quipu ingest --kind KIND --key KEY`: each line is one element of a counter, and each counts
// once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cctype>
#include <cmath>
#include <csignal>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "quipu/client.h"
#include "quipu/node.h"
#include "tests/node/eventually.h"
#include "tests/node/temporary_directory.h"
#include "tests/system/cli_of_one_node.h"
#include "tests/system/cli_runner.h"
#include "tests/system/daemons.h"
#include "tests/system/fake_node.h"

namespace quipu::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

FakeNode::Reaction counts_all(const std::string&, int) { return {}; }

class CliIngestKinds : public testing::Test {
 protected:
  void write(const std::string& text) const { std::ofstream(input_, std::ios::binary) << text; }
  // Lines that repeat after 500 of them.
  void write_lines(int lines) const {
    std::string text;
    for (int i = 0; i < lines; ++i) text += "word" + std::to_string(i % 500) + "\n";
    write(text);
  }

  [[nodiscard]] std::vector<std::string> command(std::vector<std::string> more = {}) const {
    std::vector<std::string> all{"ingest", input_,  "--kind", "distinct",
                                 "--key",  "words", "-o",     "json"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  [[nodiscard]] CliResult ingest(const std::string& node,
                                 std::vector<std::string> more = {}) const {
    return run_cli(command(std::move(more)), {.nodes = {node}});
  }
  [[nodiscard]] CliResult resume(const std::string& node) const {
    return ingest(node, {"--resume", state_});
  }

  const TemporaryDirectory directory_;
  const std::string input_ = directory_ / "input";
  const std::string state_ = directory_ / "state";
};

TEST_F(CliIngestKinds, ManyLinesTravelInOneChange) {
  write_lines(20'000);
  FakeNode node(counts_all);
  const CliResult result = ingest(node.address());
  EXPECT_EQ(result.exit, 0) << result.err;
  EXPECT_EQ(node.value("words"), 20'000);
  EXPECT_LE(node.adds(), 30);
  const json told = json::parse(result.out);
  EXPECT_EQ(told.at("counted_lines"), 20'000);
  EXPECT_EQ(told.at("adds"), node.adds());
}

TEST_F(CliIngestKinds, BlankLinesAreSkippedAndLongOnesNamed) {
  const std::string longest(1024, 'x');
  write("ann 5\n\n \t\r\nbob\n" + longest + "\n" + longest + "x\nlast");
  FakeNode node(counts_all);
  const CliResult result = ingest(node.address());
  EXPECT_EQ(result.exit, 1);
  EXPECT_EQ(node.value("words"), 4);
  EXPECT_THAT(result.err, HasSubstr("line 6: not counted: the line is longer than 1024 bytes "
                                    "(write an element)"));
  const json told = json::parse(result.out);
  EXPECT_EQ(told.at("lines"), 7);
  EXPECT_EQ(told.at("counted_lines"), 4);
  EXPECT_EQ(told.at("blank_lines"), 2);
  EXPECT_EQ(told.at("refused_lines"), 1);
}

// What a node has done with the change at which the ingest is killed.
enum class KilledAt { before_it_is_applied, before_it_is_answered, after_the_answer };

class CliIngestKindsAfter : public CliIngestKinds, public testing::WithParamInterface<KilledAt> {};

// The node counts an element as often as it comes, as a kind may for which that matters. It refuses
// a token that comes again with other elements.
TEST_P(CliIngestKindsAfter, AKillAtAnyChangeCountsEachLineOnce) {
  for (const int victim : {1, 2, 5, 20}) {
    SCOPED_TRACE("killed at change " + std::to_string(victim));
    std::string text;
    for (int i = 0; i < 3'000; ++i)
      text += i % 7 == 0 ? "\n" : "word" + std::to_string(i % 400) + "\r\n";
    write(text);
    ::unlink(state_.c_str());
    std::atomic<int> changes = 0;
    std::atomic<pid_t> running = 0;
    FakeNode node([&](const std::string&, int) {
      FakeNode::Reaction reaction;
      if (++changes != victim) return reaction;
      while (running == 0) std::this_thread::yield();
      ::kill(running, SIGKILL);
      reaction.apply = GetParam() != KilledAt::before_it_is_applied;
      if (GetParam() != KilledAt::after_the_answer) reaction.answer.reset();
      reaction.hang_up = true;
      return reaction;
    });
    {
      // Slowly, so that the lines make many blocks.
      RunningCli killed(command({"--resume", state_, "--rate", "20000"}),
                        {.nodes = {node.address()}});
      running = killed.pid();
      EXPECT_EQ(killed.finish().exit, -1);
    }
    const CliResult resumed = resume(node.address());
    EXPECT_EQ(resumed.exit, 0) << resumed.err << resumed.out;
    const std::int64_t blank = (3'000 + 6) / 7;
    EXPECT_EQ(node.value("words"), 3'000 - blank);
    const json told = json::parse(resumed.out);
    EXPECT_EQ(told.at("counted_lines"), 3'000 - blank);
    EXPECT_EQ(told.at("blank_lines"), blank);
    EXPECT_EQ(told.at("can_resume"), false);
  }
}

INSTANTIATE_TEST_SUITE_P(Deaths, CliIngestKindsAfter,
                         testing::Values(KilledAt::before_it_is_applied,
                                         KilledAt::before_it_is_answered,
                                         KilledAt::after_the_answer));

TEST_F(CliIngestKinds, AStateOfOtherOptionsIsRefusedAndCountsNothing) {
  write("ann\nbob\n");
  FakeNode node(counts_all);
  EXPECT_EQ(resume(node.address()).exit, 0);
  const int changes = node.adds();
  const struct {
    std::vector<std::string> options;
    std::string says;
  } cases[] = {
      {{"--kind", "distinct", "--key", "others"}, "with --kind distinct --key words"},
      {{}, "with --kind distinct --key words"},
  };
  for (const auto& [options, says] : cases) {
    std::vector<std::string> arguments{"ingest", input_, "--resume", state_};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const CliResult refused = run_cli(arguments, {.nodes = {node.address()}});
    EXPECT_EQ(refused.exit, 2);
    EXPECT_THAT(refused.err, HasSubstr("it is about an ingest " + says));
  }
  EXPECT_EQ(node.adds(), changes);
  EXPECT_EQ(resume(node.address()).exit, 0) << "the state is as it was";
  ::unlink(state_.c_str());
  const CliResult sums =
      run_cli({"ingest", input_, "--resume", state_}, {.nodes = {node.address()}});
  EXPECT_EQ(sums.exit, 0);
  const CliResult refused = resume(node.address());
  EXPECT_EQ(refused.exit, 2);
  EXPECT_THAT(refused.err, HasSubstr("it is about an ingest without --kind"));
}

class CliIngestKindsOfOneNode : public Cli {
 protected:
  CliResult ingest(const std::string& text, const std::vector<std::string>& options) {
    std::vector<std::string> arguments{"ingest", "-", "-o", "json"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return run_cli(arguments, {.nodes = {node_->client_address()}, .text = text});
  }
};

TEST_F(CliIngestKindsOfOneNode, ACounterOfAnotherKindStopsItUntilThatIsReset) {
  ASSERT_EQ(quipu({"add", "words"}).exit, 0);
  const std::vector<std::string> options{"--kind", "distinct", "--key",
                                         "words",  "--resume", directory_ / "state"};
  const CliResult refused = ingest("ann\nbob\nann\n", options);
  EXPECT_EQ(refused.exit, 1);
  EXPECT_THAT(refused.err, HasSubstr("lines 1-3 (words, 3 in all): not counted: wrong_type"));
  EXPECT_THAT(refused.err, HasSubstr("words takes no elements"));
  EXPECT_EQ(json::parse(refused.out).at("code"), "wrong_type");
  EXPECT_EQ(json::parse(refused.out).at("can_resume"), true);
  EXPECT_EQ(value("words"), 1);
  ASSERT_EQ(quipu({"reset", "words"}).exit, 0);
  const CliResult resumed = ingest("ann\nbob\nann\n", options);
  EXPECT_EQ(resumed.exit, 0) << resumed.err;
  EXPECT_EQ(json::parse(resumed.out).at("counted_lines"), 3);
  EXPECT_EQ(quipu({"distinct", "count", "words"}).out, "2\n");
}

TEST_F(CliIngestKindsOfOneNode, ASumOfAKeyWithElementsIsRefusedAndOtherLinesCount) {
  ASSERT_EQ(quipu({"distinct", "add", "words", "ann"}).exit, 0);
  const CliResult result = ingest("words 2\nlikes 3\n", {});
  EXPECT_EQ(result.exit, 1);
  EXPECT_THAT(result.err, HasSubstr("line 1 (words, 2 in all): not counted: wrong_type"));
  EXPECT_EQ(json::parse(result.out).at("stopped_after_line"), nullptr);
  EXPECT_EQ(value("likes"), 3);
}

// ---- real nodes and real texts ----

// The words of these licences, which Debian's base-files has, in lower case and in their order.
std::vector<std::string> words_in(const std::vector<std::string>& licences) {
  std::vector<std::string> words;
  for (const std::string& name : licences) {
    const std::string path = "/usr/share/common-licenses/" + name;
    std::ifstream file(path);
    if (!file) {
      ADD_FAILURE() << path << " is missing: install Debian's package base-files";
      return {};
    }
    std::string word;
    for (char c = 0; file.get(c);) {
      const auto byte = static_cast<unsigned char>(c);
      if (std::isalpha(byte) != 0) {
        word += static_cast<char>(std::tolower(byte));
      } else if (!word.empty()) {
        words.push_back(std::exchange(word, {}));
      }
    }
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

class CliIngestKindsOfThreeNodes : public CliIngestKinds {
 protected:
  CliIngestKindsOfThreeNodes() { daemons_.start_all(); }

  void write_words(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) {
      text += word + '\n';
      ++times_[word];
    }
    write(text);
    different_.insert(words.begin(), words.end());
    lines_ = words.size();
  }
  // At quorum, so that a strong count has all of it.
  void expect_all_counted(const CliResult& result) const {
    EXPECT_EQ(result.exit, 0) << result.err << result.out;
    EXPECT_EQ(json::parse(result.out).at("counted_lines"), lines_);
  }
  [[nodiscard]] CliResult ingest_as(const std::string& kind, std::size_t node) const {
    return run_cli({"ingest", input_, "--kind", kind, "--key", kind + ":words", "--ack", "quorum",
                    "-o", "json"},
                   {.nodes = {daemons_.client_address(node)}});
  }
  // How often each word came, as `frequency` says, and its bound.
  [[nodiscard]] json frequencies(const std::vector<std::string>& words, std::size_t node) const {
    std::vector<std::string> question{"frequency", "query", "frequency:words"};
    question.insert(question.end(), words.begin(), words.end());
    question.insert(question.end(), {"--strong", "-o", "json"});
    const CliResult result = run_cli(question, {.nodes = {daemons_.client_address(node)}});
    EXPECT_EQ(result.exit, 0) << result.err;
    return json::parse(result.out);
  }
  [[nodiscard]] json count(std::size_t node) const {
    const CliResult result = run_cli({"distinct", "count", "words", "--strong", "-o", "json"},
                                     {.nodes = {daemons_.client_address(node)}});
    EXPECT_EQ(result.exit, 0) << result.err;
    return json::parse(result.out);
  }

  Daemons daemons_{3};
  std::set<std::string> different_;   // words in all inputs
  std::map<std::string, int> times_;  // how often each came
  std::size_t lines_ = 0;             // of the last input
};

TEST_F(CliIngestKindsOfThreeNodes, TheWordsOfLicencesThroughThreeNodesAreCountedTogether) {
  ASSERT_TRUE(daemons_.all_ready());
  const std::vector<std::string> licences[] = {
      {"GPL-3", "LGPL-2.1"}, {"Apache-2.0", "MPL-2.0"}, {"GFDL-1.3", "Artistic"}};
  for (std::size_t node = 0; node < 3; ++node) {
    write_words(words_in(licences[node]));
    ASSERT_GT(lines_, 3'000u);
    expect_all_counted(ingest(daemons_.client_address(node), {"--ack", "quorum"}));
  }
  const auto exact = static_cast<double>(different_.size());
  const json counted = count(0);
  const double estimate = counted.at("estimate");
  const double error = counted.at("standard_error");
  ASSERT_GT(error, 0);
  EXPECT_NEAR(estimate, exact, 3 * error * exact);
  RecordProperty("different_words", static_cast<int>(exact));
  RecordProperty("estimate", static_cast<int>(estimate));

  // The last input again, through another node: its words are all there.
  expect_all_counted(ingest(daemons_.client_address(1), {"--ack", "quorum"}));
  for (std::size_t node = 0; node < 3; ++node)
    EXPECT_EQ(count(node).at("estimate"), counted.at("estimate")) << "node " << node;
}

TEST_F(CliIngestKindsOfThreeNodes, TheCountOfEachWordIsNeverTooLowAndSeldomAboveItsBound) {
  ASSERT_TRUE(daemons_.all_ready());
  const char* const licences[] = {"GPL-3", "Apache-2.0", "GFDL-1.3"};
  for (std::size_t node = 0; node < 3; ++node) {
    write_words(words_in({licences[node]}));
    expect_all_counted(ingest_as("frequency", node));
  }
  std::size_t above = 0;
  double confidence = 0;
  std::vector<std::string> some;
  const auto check = [&] {
    const json told = frequencies(some, some.size() % 3);
    confidence = told.at("confidence");
    for (const json& one : told.at("items")) {
      const std::string word = one.at("item");
      const int count = one.at("count"), bound = told.at("bound");
      EXPECT_GE(count, times_.at(word)) << word;
      if (count > times_.at(word) + bound) ++above;
    }
    some.clear();
  };
  for (const auto& [word, times] : times_) {
    some.push_back(word);
    if (some.size() == 1000) check();
  }
  if (!some.empty()) check();
  ASSERT_GT(confidence, 0.99);
  EXPECT_LE(static_cast<double>(above),
            std::ceil((1 - confidence) * static_cast<double>(times_.size())));
}

TEST_F(CliIngestKindsOfThreeNodes, TheTenMostCommonWordsAreInOrder) {
  ASSERT_TRUE(daemons_.all_ready());
  auto client = Client::connect({.seeds = {daemons_.client_address(0)}});
  ASSERT_TRUE(client.ok()) << client.status().message();
  ASSERT_TRUE((*client)->top("top:words").begin(50, {.ack = Ack::quorum}).ok());
  const char* const licences[] = {"GPL-3", "Apache-2.0", "GFDL-1.3"};
  for (std::size_t node = 0; node < 3; ++node) {
    write_words(words_in({licences[node]}));
    expect_all_counted(ingest_as("top", node));
  }
  std::vector<std::pair<int, std::string>> exact;
  for (const auto& [word, times] : times_) exact.emplace_back(-times, word);
  std::ranges::sort(exact);
  const CliResult listed = run_cli({"top", "list", "top:words", "--strong", "-o", "json"},
                                   {.nodes = {daemons_.client_address(2)}});
  ASSERT_EQ(listed.exit, 0) << listed.err;
  const json items = json::parse(listed.out).at("items");
  ASSERT_EQ(items.size(), 50u);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(items[i].at("item"), exact[i].second) << i;
  for (const json& one : items) {
    const int times = times_.at(one.at("item"));
    EXPECT_LE(one.at("lower"), times) << one;
    EXPECT_GE(one.at("upper"), times) << one;
  }
}

// A line of `top` may have 128 bytes.
TEST_F(CliIngestKindsOfThreeNodes, ALineThatIsTooLongForItsKindIsNamedAndTheOthersCount) {
  ASSERT_TRUE(daemons_.all_ready());
  write("ann\n" + std::string(129, 'x') + "\n" + std::string(128, 'y') + "\n");
  const CliResult result = ingest_as("top", 0);
  EXPECT_EQ(result.exit, 1);
  EXPECT_THAT(result.err,
              HasSubstr("line 2: not counted: an element of this kind has at most 128"));
  EXPECT_EQ(json::parse(result.out).at("counted_lines"), 2);
}

TEST_F(CliIngestKindsOfThreeNodes, ANodeAndTheIngestAreKilledAndEachLineIsCounted) {
  ASSERT_TRUE(daemons_.all_ready());
  write_words(words_in({"GPL-3", "GPL-2", "GFDL-1.3"}));
  ASSERT_GT(lines_, 10'000u);
  {
    RunningCli killed(command({"--resume", state_, "--rate", "4000"}),
                      {.nodes = {daemons_.client_address(0)}});
    ASSERT_TRUE(eventually([&] { return daemons_.stat(0, "adds_executed") > 0; }));
    daemons_.end(0, SIGKILL);
    killed.signal(SIGKILL);
    EXPECT_EQ(killed.finish().exit, -1);
  }
  daemons_.start(0);
  ASSERT_TRUE(daemons_.all_ready());
  expect_all_counted(ingest(daemons_.client_address(1), {"--resume", state_, "--ack", "quorum"}));
  const auto exact = static_cast<double>(different_.size());
  EXPECT_TRUE(eventually([&] {
    const json counted = count(2);
    const double error = counted.at("standard_error");
    return std::abs(counted.at("estimate").get<double>() - exact) <= 3 * error * exact;
  }));
}

}  // namespace
}  // namespace quipu::test
