// `quipu ingest`: no line is lost or doubled, and each that is not counted is named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <csignal>
#include <nlohmann/json.hpp>

#include "quipu/node.h"
#include "tests/node/eventually.h"
#include "tests/node/temporary_directory.h"
#include "tests/system/cli_runner.h"
#include "tests/system/fake_node.h"

namespace quipu::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

FakeNode::Reaction sound(const std::string&, int) { return {}; }

CliResult ingest(const FakeNode& node, const std::string& text,
                 std::vector<std::string> more = {}) {
  std::vector<std::string> arguments{"ingest", "-", "-o", "json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_cli(arguments, {.nodes = {node.address()}, .text = text});
}

TEST(CliIngest, CountsEveryLineAndCombinesThoseOfOneKey) {
  FakeNode node(sound);
  const CliResult result = ingest(node, "a\nb 2\n\n  a\t-5 \r\nb +3\nlast 7");
  EXPECT_EQ(result.exit, 0) << result.err;
  EXPECT_EQ(node.value("a"), -4);
  EXPECT_EQ(node.value("b"), 5);
  EXPECT_EQ(node.value("last"), 7);
  const json summary = json::parse(result.out);
  EXPECT_EQ(summary["lines"], 6);
  EXPECT_EQ(summary["counted_lines"], 5);
  EXPECT_EQ(summary["blank_lines"], 1);
  EXPECT_EQ(summary["adds"], 3);
  EXPECT_EQ(summary["nodes"]["fake"]["executed"], 3);
  EXPECT_EQ(node.adds(), 3);
}

TEST(CliIngest, NothingToCountIsNoFailure) {
  FakeNode node(sound);
  const CliResult result = ingest(node, "");
  EXPECT_EQ(result.exit, 0);
  EXPECT_EQ(json::parse(result.out)["lines"], 0);
}

TEST(CliIngest, NamesLinesThatItCannotReadAndCountsTheOthers) {
  FakeNode node(sound);
  const std::string text = "a 1\na x\na y\nb 1 2\n" + std::string(513, 'k') + "\n" +
                           std::string(100'000, 'z') + "\na 9223372036854775808\na 2\n";
  const CliResult result = ingest(node, text);
  EXPECT_EQ(result.exit, 1);
  EXPECT_EQ(node.value("a"), 3);
  EXPECT_THAT(result.err, HasSubstr("lines 2-3: not counted: the amount"));
  EXPECT_THAT(result.err, HasSubstr("line 4: not counted: more than"));
  EXPECT_THAT(result.err, HasSubstr("line 5: not counted: the key is longer"));
  EXPECT_THAT(result.err, HasSubstr("line 6: not counted: the line is longer"));
  EXPECT_THAT(result.err, HasSubstr("line 7: not counted: the amount"));
  const json summary = json::parse(result.out);
  EXPECT_EQ(summary["counted_lines"], 2);
  EXPECT_EQ(summary["refused_lines"], 6);
  EXPECT_EQ(summary["outcome"], "partly_applied");
}

TEST(CliIngest, ASumThatWouldOverflowIsSentInParts) {
  FakeNode node(sound);
  const CliResult result = ingest(node, "a 9223372036854775807\na 1\na -2\n");
  EXPECT_EQ(result.exit, 0);
  EXPECT_EQ(node.adds(), 2);
}

TEST(CliIngest, LostRepliesAreSettledByRetryAndCountedOnce) {
  FakeNode node([](const std::string&, int before) {
    return before == 0 ? FakeNode::Reaction{.answer = std::nullopt, .hang_up = true}
                       : FakeNode::Reaction{};
  });
  const CliResult result = ingest(node, "a 1\nb 2\na 3\n");
  EXPECT_EQ(result.exit, 0) << result.err;
  EXPECT_EQ(node.value("a"), 4);
  EXPECT_EQ(node.value("b"), 2);
  const json summary = json::parse(result.out);
  EXPECT_EQ(summary["settled_by_retry"], 2);
  EXPECT_EQ(summary.at("settled_doubts"), 2);
  EXPECT_GE(summary["reconnects"], 1);
}

TEST(CliIngest, ExactlyTheLinesWhoseOutcomeStaysUnknownAreNamed) {
  FakeNode node([](const std::string& key, int) {
    return key == "doubt" ? FakeNode::Reaction{.answer = Code::in_doubt} : FakeNode::Reaction{};
  });
  const CliResult result =
      ingest(node, "a 1\ndoubt 1\ndoubt 1\na 1\ndoubt 1\n", {"--timeout", "500ms"});
  EXPECT_EQ(result.exit, 3);
  EXPECT_THAT(result.err,
              HasSubstr("lines 2-3, 5 (doubt, 3 in all): may or may not be counted: in_doubt"));
  const json summary = json::parse(result.out);
  EXPECT_EQ(summary["unknown_lines"], 3);
  EXPECT_EQ(summary["unknown"], json::parse("[[2,3],[5,5]]"));
  EXPECT_EQ(summary["counted_lines"], 2);
  EXPECT_EQ(node.value("a"), 2);
}

TEST(CliIngest, WhatTheClusterRefusesForGoodIsNamedAndTheRestGoesOn) {
  FakeNode node([](const std::string& key, int) {
    return key == "full" ? FakeNode::Reaction{.apply = false, .answer = Code::out_of_range}
                         : FakeNode::Reaction{};
  });
  const CliResult result = ingest(node, "a 1\nfull 1\na 1\n");
  EXPECT_EQ(result.exit, 1);
  EXPECT_THAT(result.err, HasSubstr("line 2 (full, 1 in all): not counted: out_of_range"));
  EXPECT_EQ(node.value("a"), 2);
  EXPECT_EQ(json::parse(result.out)["stopped_after_line"], nullptr);
}

TEST(CliIngest, StopsReadingWhenNothingCanBePlacedAnyMore) {
  FakeNode node([](const std::string&, int) {
    return FakeNode::Reaction{.apply = false, .answer = Code::storage_full};
  });
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "key" + std::to_string(i) + "\n";
  const CliResult result = ingest(node, text, {"--timeout", "1s"});
  const json summary = json::parse(result.out);
  EXPECT_LT(summary["stopped_after_line"], 100'000);
  const int refused = summary["refused_lines"];
  const int unknown = summary["unknown_lines"];  // whose last refusal came too late
  EXPECT_GT(refused, 0);
  EXPECT_EQ(refused + unknown, summary["stopped_after_line"]);
  EXPECT_EQ(result.exit, unknown > 0 ? 3 : 1);
  EXPECT_THAT(result.err, HasSubstr("nothing behind it was sent"));
}

TEST(CliIngest, CanBeInterruptedWhileItConnects) {
  asio::io_context io;
  using asio::ip::tcp;
  tcp::acceptor mute(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  const std::string node = "127.0.0.1:" + std::to_string(mute.local_endpoint().port());
  for (const int number : {SIGINT, SIGTERM}) {
    RunningCli ingest({"ingest", "--timeout", "24h"}, {.nodes = {node}, .text = "a\n"});
    const tcp::socket accepted = mute.accept();
    ingest.signal(number);
    const CliResult result = ingest.finish();
    EXPECT_EQ(result.exit, 1);
    EXPECT_EQ(result.err, "quipu: interrupted; nothing was done\n");
  }
}

TEST(CliIngest, KeepsToTheRate) {
  FakeNode node(sound);
  std::string text;
  for (int i = 0; i < 1'000; ++i) text += "a\n";
  const CliResult result = ingest(node, text, {"--rate", "2000"});
  EXPECT_EQ(result.exit, 0);
  EXPECT_EQ(node.value("a"), 1'000);
  EXPECT_GE(json::parse(result.out)["seconds"], 0.45);
}

TEST(CliIngest, ALargeFileIsCountedExactlyByARealNodeThatRestartsMeanwhile) {
  const TemporaryDirectory directory;
  NodeOptions options;
  options.data_directory = directory / "data";
  options.client_address = "127.0.0.1:0";
  auto node = Node::open(options);
  ASSERT_TRUE(node.ok());
  options.client_address = (*node)->client_address();
  std::string text;
  constexpr int kLines = 200'000;
  for (int i = 0; i < kLines; ++i) text += "key" + std::to_string(i % 1'000) + " 2\n";
  CliResult result;
  std::jthread run([&] {
    result = run_cli({"ingest", "-o", "json", "--rate", "200000"},
                     {.nodes = {options.client_address}, .text = text});
  });
  for (int restart = 0; restart < 2; ++restart) {
    Counter first = (*node)->counter("key0");
    ASSERT_TRUE(eventually([&] { return first.read()->value >= 20 * (restart + 1); }));
    node->reset();
    node = Node::open(options);
    ASSERT_TRUE(node.ok()) << node.status().message();
    ASSERT_TRUE((*node)->wait_ready(std::chrono::seconds(20)));
  }
  run.join();
  ASSERT_EQ(result.exit, 0) << result.err;
  EXPECT_EQ(json::parse(result.out)["counted_lines"], kLines);
  for (int key = 0; key < 1'000; ++key) {
    ASSERT_EQ((*node)->counter("key" + std::to_string(key)).read()->value, 2 * kLines / 1'000)
        << key;
  }
}

}  // namespace
}  // namespace quipu::test
