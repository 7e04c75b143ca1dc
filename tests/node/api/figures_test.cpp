// What a node counts and measures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "node/api/figure_families.h"
#include "quipu/client.h"
#include "quipu/node.h"
#include "tests/node/api/nodes.h"
#include "tests/node/clients/raw_connection.h"
#include "tests/node/eventually.h"
#include "tests/node/temporary_directory.h"

namespace quipu::test {
namespace {

using Families = std::vector<FigureFamily>;
using Labels = std::vector<std::pair<std::string, std::string>>;

// The sample with these labels, if there is one.
std::optional<FigureSample> find(const Families& families, const std::string& name,
                                 const Labels& labels = {}) {
  const auto family = std::ranges::find(families, name, &FigureFamily::name);
  if (family == families.end()) return std::nullopt;
  const auto sample = std::ranges::find(family->samples, labels, &FigureSample::labels);
  return sample == family->samples.end() ? std::nullopt : std::optional(*sample);
}

// -1: there is no such sample.
double value(const Families& families, const std::string& name, const Labels& labels = {}) {
  const auto sample = find(families, name, labels);
  return sample ? sample->value : -1;
}

std::size_t series(const Families& families) {
  std::size_t all = 0;
  for (const FigureFamily& family : families) {
    for (const FigureSample& sample : family.samples)
      all += sample.buckets.empty() ? 1 : sample.buckets.size() + 3;  // with +Inf, sum and count
  }
  return all;
}

TEST(NodeFigures, SayWhatANodeHoldsWithoutAnyNameOfACounter) {
  const TemporaryDirectory directory;
  const auto node = open_node(alone(directory / "data"));
  ASSERT_TRUE(node->wait_ready(kPatience));
  for (const char* const name : {"secret-a", "secret-b", "secret-c"})
    ASSERT_TRUE(node->counter(name).add(1).ok());
  ASSERT_TRUE(eventually([&] { return value(node->figures(), "quipu_counters") == 3; }));
  ASSERT_TRUE(eventually([&] { return value(node->figures(), "quipu_disk_free_bytes") > 0; }));
  const Families all = node->figures();
  EXPECT_EQ(value(all, "quipu_ready"), 1);
  EXPECT_EQ(value(all, "quipu_store_failed"), 0);
  EXPECT_EQ(value(all, "quipu_shards", {{"state", "memory"}}), 3);
  EXPECT_EQ(value(all, "quipu_shards", {{"state", "disk"}}), 0);
  EXPECT_GT(value(all, "quipu_memory_bytes", {{"kind", "sum"}}), 0);
  EXPECT_GE(value(all, "quipu_records_total"), 1);
  EXPECT_GT(value(all, "quipu_record_bytes_total"), 0);
  EXPECT_EQ(value(all, "quipu_conflicts_total"), 0);
  for (const FigureFamily& family : all) {
    EXPECT_THAT(family.name, testing::StartsWith("quipu_"));
    EXPECT_NE(family.help, "");
    EXPECT_EQ(family.kind == FigureKind::counter, family.name.ends_with("_total")) << family.name;
    std::set<Labels> labels;
    for (const FigureSample& sample : family.samples) {
      EXPECT_TRUE(labels.insert(sample.labels).second) << family.name << " has equal samples";
      for (const auto& [name, text] : sample.labels)
        EXPECT_THAT(text, testing::Not(testing::HasSubstr("secret"))) << family.name;
    }
  }
}

TEST(NodeFigures, SayHowANodeSeesItsPeers) {
  const TemporaryDirectory directory;
  const Nodes nodes = open_all(cluster_of(3, directory / ""));
  ASSERT_EQ(nodes.size(), 3u);
  ASSERT_TRUE(nodes[0]->counter("likes").add(1, {.ack = Ack::quorum}).ok());
  const Labels n2{{"peer", "n2"}};
  ASSERT_TRUE(eventually([&] {
    const Families all = nodes[0]->figures();
    return value(all, "quipu_peer_up", n2) == 1 && find(all, "quipu_peer_round_trip_seconds", n2) &&
           value(all, "quipu_peer_frames_total", {{"peer", "n2"}, {"direction", "sent"}}) > 0 &&
           value(all, "quipu_rollup_complete") == 1;
  }));
  const Families all = nodes[0]->figures();
  EXPECT_GE(value(all, "quipu_peer_age_seconds", n2), 0);
  EXPECT_EQ(value(all, "quipu_outboxes_lost_total", n2), 0);
  EXPECT_LE(series(all), 600u);
  ASSERT_TRUE(nodes[1]->close().ok());
  EXPECT_TRUE(eventually([&] { return value(nodes[0]->figures(), "quipu_peer_up", n2) == 0; }));
}

TEST(NodeFigures, TellHowOftenAReadHadToAskOtherNodes) {
  const TemporaryDirectory directory;
  std::vector<NodeOptions> cluster = cluster_of(3, directory / "");
  for (NodeOptions& options : cluster) options.members[2].weight = 0;  // n3 owns nothing
  const Nodes nodes = open_all(cluster);
  ASSERT_EQ(nodes.size(), 3u);
  ASSERT_TRUE(nodes[0]->counter("likes").add(1).ok());
  const auto reads = [&](const char* source) {
    return value(nodes[2]->figures(), "quipu_reads_by_source_total", {{"source", source}});
  };
  const auto read = [&](ReadLevel level) {
    return nodes[2]->counter("likes").read({.level = level}).ok();
  };
  ASSERT_TRUE(read(ReadLevel::fresh));
  ASSERT_TRUE(read(ReadLevel::strong));
  ASSERT_TRUE(read(ReadLevel::local));  // the first one asks
  ASSERT_TRUE(eventually([&] { return reads("owner") == 3; }));
  EXPECT_TRUE(eventually([&] { return read(ReadLevel::local) && reads("cache") > 0; }));
  EXPECT_EQ(reads("memory"), 0);
  const Families all = nodes[2]->figures();
  const auto fresh = find(all, "quipu_shard_answer_seconds", {{"level", "fresh"}});
  const auto strong = find(all, "quipu_shard_answer_seconds", {{"level", "strong"}});
  ASSERT_TRUE(fresh && strong);
  EXPECT_GE(fresh->count, 2u);
  EXPECT_GT(fresh->sum, 0);
  EXPECT_EQ(strong->count, 1u);
}

TEST(NodeFigures, AreThoseOfAllReactorsTogether) {
  const TemporaryDirectory directory;
  NodeOptions options = alone(directory / "data");
  options.reactors = 2;
  const auto node = open_node(options);
  ASSERT_TRUE(node->wait_ready(kPatience));
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(node->counter("c" + std::to_string(i)).add(1).ok());
  EXPECT_TRUE(eventually([&] { return value(node->figures(), "quipu_counters") == 20; }));
}

TEST(NodeFigures, CountRequestsByOperationAndCode) {
  const TemporaryDirectory directory;
  const auto node = open_node(alone(directory / "data"));
  ASSERT_TRUE(node->wait_ready(kPatience));
  Counter counter = node->counter("likes");
  for (const Ack ack : {Ack::memory, Ack::disk, Ack::quorum, Ack::quorum})
    ASSERT_TRUE(counter.add(1, {.ack = ack}).ok());
  ASSERT_EQ(node->counter("").add(1).code(), Code::invalid_argument);
  for (const ReadLevel level : {ReadLevel::local, ReadLevel::strong})
    ASSERT_TRUE(counter.read({.level = level}).ok());
  ASSERT_TRUE(counter.reset().ok());
  const auto requests = [](const Families& all, const char* op, const char* code = "ok") {
    return value(all, "quipu_requests_total",
                 {{"protocol", "embedded"}, {"op", op}, {"code", code}});
  };
  ASSERT_TRUE(eventually([&] { return requests(node->figures(), "reset") == 1; }));
  const Families all = node->figures();
  EXPECT_EQ(requests(all, "add_memory"), 1);
  EXPECT_EQ(requests(all, "add_disk"), 1);
  EXPECT_EQ(requests(all, "add_quorum"), 2);
  EXPECT_EQ(requests(all, "add_disk", "invalid_argument"), 1);
  EXPECT_EQ(requests(all, "read_local"), 1);
  EXPECT_EQ(requests(all, "read_fresh"), 0);
  EXPECT_EQ(requests(all, "read_strong"), 1);
  const auto quorum = find(all, "quipu_request_duration_seconds", {{"op", "add_quorum"}});
  ASSERT_TRUE(quorum);
  EXPECT_EQ(quorum->count, 2u);
  EXPECT_GT(quorum->sum, 0);
  ASSERT_EQ(quorum->buckets.size(), 16u);
  EXPECT_EQ(quorum->buckets.front().most, 0.0001);
  EXPECT_EQ(quorum->buckets.back().most, 10);
  EXPECT_EQ(quorum->buckets.back().count, 2u);
  const auto syncs = find(all, "quipu_sync_duration_seconds");
  ASSERT_TRUE(syncs);
  EXPECT_GT(syncs->count, 0u);
  EXPECT_GT(syncs->sum, 0);
}

TEST(NodeFigures, TellProtocolsApart) {
  const TemporaryDirectory directory;
  const auto node = open_node(alone(directory / "data"));
  ASSERT_TRUE(node->wait_ready(kPatience));
  const auto client =
      Client::connect({.seeds = {node->client_address()}, .connect_timeout = kPatience});
  ASSERT_TRUE(client.ok());
  ASSERT_TRUE((*client)->counter("likes").add(1, {.ack = Ack::disk}).ok());
  ASSERT_TRUE((*client)->counter("likes").read({.level = ReadLevel::fresh}).ok());
  RawConnection redis(node->client_address());
  EXPECT_THAT(redis.replies_to("INCR likes\r\nINCR likes\r\nGET likes\r\nGET absent\r\n"),
              testing::HasSubstr(":3\r\n"));
  EXPECT_THAT(redis.reply_to("PFADD likes x\r\n"), testing::StartsWith("-WRONGTYPE"));
  const auto requests = [&](const char* protocol, const char* op, const char* code = "ok") {
    return value(node->figures(), "quipu_requests_total",
                 {{"protocol", protocol}, {"op", op}, {"code", code}});
  };
  ASSERT_TRUE(eventually([&] { return requests("resp", "add_disk", "wrong_type") == 1; }));
  EXPECT_EQ(requests("resp", "add_disk"), 2);
  EXPECT_EQ(requests("resp", "read_local"), 2);
  EXPECT_EQ(requests("native", "add_disk"), 1);
  EXPECT_EQ(requests("native", "read_fresh"), 1);
  EXPECT_EQ(requests("embedded", "add_disk"), 0);
  EXPECT_EQ(value(node->figures(), "quipu_reads_by_source_total", {{"source", "memory"}}), 3)
      << "its only owner answers a fresh read from memory";
  const auto reads =
      find(node->figures(), "quipu_request_duration_seconds", {{"op", "read_local"}});
  ASSERT_TRUE(reads);
  EXPECT_EQ(reads->count, 2u);
}

// A peer is as bad as the reactor that sees it worst says.
TEST(FigureFamilies, TakeTheWorstOfWhatReactorsSeeOfAPeer) {
  using std::chrono::milliseconds;
  std::vector<Figures> reactors(2);
  reactors[0].core.peers = {{.name = "n2",
                             .up = true,
                             .age = milliseconds(100),
                             .round_trip = milliseconds(3),
                             .outbox = 5,
                             .outboxes_lost = 1}};
  reactors[1].core.peers = {{.name = "n2",
                             .up = false,
                             .age = milliseconds(250),
                             .round_trip = std::nullopt,
                             .outbox = 7,
                             .outboxes_lost = 2}};
  const Labels n2{{"peer", "n2"}};
  Families all = figure_families({}, reactors);
  EXPECT_EQ(value(all, "quipu_peer_up", n2), 0);
  EXPECT_EQ(value(all, "quipu_peer_age_seconds", n2), 0.25);
  EXPECT_EQ(value(all, "quipu_peer_round_trip_seconds", n2), 0.003);
  EXPECT_EQ(value(all, "quipu_peer_outbox_shards", n2), 12);
  EXPECT_EQ(value(all, "quipu_outboxes_lost_total", n2), 3);
  reactors[1].core.peers[0].age.reset();
  all = figure_families({}, reactors);
  EXPECT_FALSE(find(all, "quipu_peer_age_seconds", n2)) << "one reactor has never heard it";
}

TEST(FigureFamilies, OfANodeWithoutACoreSayOnlyWhetherItServes) {
  const Families all = figure_families({.ready = false, .failed = true}, {});
  EXPECT_EQ(value(all, "quipu_ready"), 0);
  EXPECT_EQ(value(all, "quipu_store_failed"), 1);
  EXPECT_EQ(value(all, "quipu_counters"), -1);
}

TEST(FigureFamilies, TheDigestOfSettingsCoversOnlyWhatMembersMustShare) {
  NodeOptions options;
  options.members = {{.name = "n1", .peer_address = "10.0.0.1:1", .weight = 2},
                     {.name = "n2", .peer_address = "10.0.0.2:1"}};
  const std::string digest = settings_digest(options);
  EXPECT_THAT(digest, testing::MatchesRegex("[0-9a-f]{8}"));
  NodeOptions other = options;
  other.name = "n2";
  other.data_directory = "/elsewhere";
  other.members[0].peer_address = "10.0.0.9:1";
  std::swap(other.members[0], other.members[1]);
  EXPECT_EQ(settings_digest(other), digest);
  other = options;
  other.replication = 2;
  EXPECT_NE(settings_digest(other), digest);
  other = options;
  other.members[1].weight = 3;
  EXPECT_NE(settings_digest(other), digest);
  other = options;
  std::swap(other.members[0].weight, other.members[1].weight);
  EXPECT_NE(settings_digest(other), digest);
  other = options;
  other.members[1].zone = "b";
  EXPECT_NE(settings_digest(other), digest);
}

}  // namespace
}  // namespace quipu::test
