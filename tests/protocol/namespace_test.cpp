#include "protocol/namespace.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace quipu {
namespace {

using namespace std::chrono_literals;

TEST(Namespaces, are_what_stands_before_the_first_colon_of_a_key) {
  const struct {
    const char* key;
    const char* name;
  } cases[] = {{"likes:42", "likes"}, {"likes:42:x", "likes"},
               {"likes:", "likes"},   {"likes", ""},
               {":42", ""},           {"", ""}};
  for (const auto& row : cases) EXPECT_EQ(namespace_of(row.key), row.name) << row.key;
}

TEST(Namespaces, have_bounds_for_names_and_policies) {
  const std::string longest(kMaxNamespaceName, 'n');
  const struct {
    std::string name;
    NamespacePolicy policy;
    bool good;
  } cases[] = {
      {"", {}, true},
      {longest, {}, true},
      {longest + "n", {}, false},
      {"a:b", {}, false},
      {":", {}, false},
      {"a", {.shards = 0}, false},
      {"a", {.shards = 1}, true},
      {"a", {.shards = kMaxShards}, true},
      {"a", {.shards = kMaxShards + 1}, false},
      {"a", {.strict = true}, false},
      {"a", {.strict = false}, false},
      {"", {.strict = true}, true},
      {"a", {.ttl = -1ms}, false},
      {"a", {.ttl = 0ms}, false},
      {"a", {.ttl = 1ms}, true},
      {"a", {.ttl = kMaxTtl}, true},
      {"a", {.ttl = kMaxTtl + 1ms}, false},
      {"a", {.shards = 1, .ttl = 1ms}, true},
      {"a", {.shards = 2, .ttl = 1ms}, false},
      {"a", {.decide = Decide::home}, true},
      {"", {.decide = Decide::local}, true},
      {"a", {.tiers = {{60s, 48h}, {1h, 90 * 24h}, {24h, {}}}}, true},
      {"a", {.tiers = {{1s, 1s}}, .late = 1s}, true},
      {"a", {.tiers = {{1s, 1s}}, .late = 1001ms}, false},
      {"a", {.tiers = {{1s, {}}}, .late = kMaxTtl}, true},
      {"a", {.tiers = {{1s, {}}}, .late = 0ms}, false},
      {"a", {.late = 1s}, false},
      {"a", {.tiers = {{0s, {}}}}, false},
      {"a", {.tiers = {{kMaxTierLength, {}}}}, true},
      {"a", {.tiers = {{kMaxTierLength + 1s, {}}}}, false},
      {"a", {.tiers = {{60s, 59s}}}, false},
      {"a", {.tiers = {{60s, std::chrono::seconds::max()}}}, false},
      {"a", {.tiers = {{std::chrono::seconds::max(), {}}}}, false},
      {"a",
       {.tiers = {{60s, std::chrono::duration_cast<std::chrono::seconds>(kMaxTtl) + 1s}}},
       false},
      {"a", {.tiers = {{1h, {}}, {60s, {}}}}, false},
      {"a", {.tiers = {{60s, {}}, {60s, {}}}}, false},
      {"a", {.tiers = {{60s, {}}, {90s, {}}}}, false},
      {"a", {.tiers = {{60s, {}}, {1h, 90h}}}, false},
      {"a", {.tiers = {{60s, 2h}, {1h, 1h}}}, false},
      {"a", {.tiers = {{1s, {}}, {2s, {}}, {4s, {}}, {8s, {}}}}, true},
      {"a", {.tiers = {{1s, {}}, {2s, {}}, {4s, {}}, {8s, {}}, {16s, {}}}}, false},
      {"a", {.shards = 16, .ttl = {}, .tiers = {{1s, {}}}}, true},
      {"a", {.kind = Kind::sum}, true},
      {"a", {.shards = 2, .kind = Kind::sum}, true},
      {"a", {.kind = Kind::distinct}, true},
      {"a", {.shards = 1, .ttl = 1s, .kind = Kind::distinct}, true},
      {"a", {.shards = 2, .kind = Kind::distinct}, false},
      {"", {.kind = Kind::distinct}, false},
      {"a", {.kind = Kind{31}}, false},
      {"a", {.precision = 11}, false},
      {"a", {.kind = Kind::sum, .precision = 11}, false},
      {"a", {.kind = Kind::distinct, .precision = kLeastPrecision - 1}, false},
      {"a", {.kind = Kind::distinct, .precision = kLeastPrecision}, true},
      {"a", {.kind = Kind::distinct, .precision = kMostPrecision}, true},
      {"a", {.kind = Kind::distinct, .precision = kMostPrecision + 1}, false},
  };
  for (const auto& row : cases)
    EXPECT_EQ(objection(row.name, row.policy).empty(), row.good)
        << row.name << ": " << objection(row.name, row.policy);
}

// ---- the kind ----

TEST(Namespaces, have_the_kind_of_their_first_create_whatever_their_policy_says) {
  const FixedKind first{{1, NodeId{1}}, Kind::distinct, 11};
  NamespaceDefinition visitors{.name = "visitors",
                               .changed = {5, NodeId{1}},
                               .policy = {.ack = Ack::quorum, .kind = Kind::sum},
                               .fixed = {first, {{5, NodeId{1}}, Kind::sum, 0}}};
  EXPECT_EQ(fixed_kind(visitors), first);
  EXPECT_EQ(shown_policy(visitors),
            (NamespacePolicy{.ack = Ack::quorum, .kind = Kind::distinct, .precision = 11}));
  visitors.dropped = {5, NodeId{1}};
  EXPECT_EQ(fixed_kind(visitors), std::nullopt) << "a drop voids it";
  EXPECT_EQ(shown_policy(visitors), NamespacePolicy{});
}

// A set that had not heard of a drop is later than it. So the policy holds, and with it its kind.
TEST(Namespaces, have_the_kind_of_their_policy_where_a_drop_has_voided_all_creates) {
  const NamespaceDefinition visitors{.name = "visitors",
                                     .changed = {5, NodeId{1}},
                                     .policy = {.kind = Kind::distinct},
                                     .dropped = {3, NodeId{1}}};
  EXPECT_EQ(fixed_kind(visitors), (FixedKind{{5, NodeId{1}}, Kind::distinct, 0}));
  EXPECT_EQ(shown_policy(visitors), visitors.policy);
}

// ---- what a tier has ----

std::vector<std::uint64_t> whole_from(NamespaceDefinition& hits, std::vector<Tier> tiers,
                                      std::uint64_t now) {
  const NamespaceDefinition before = hits;
  hits.policy.tiers = std::move(tiers);
  hits.changed = {now, NodeId{1}};
  note_windows(hits, before, now);
  return hits.whole_from;
}

TEST(Namespaces, know_since_when_the_windows_of_each_tier_are_whole) {
  using Times = std::vector<std::uint64_t>;
  NamespaceDefinition hits{.name = "hits"};
  EXPECT_EQ(whole_from(hits, {{60s, 100s}}, 1'000'000), Times{1'000'000});
  EXPECT_EQ(hits.counted_from, 1'000'000u);
  EXPECT_EQ(whole_from(hits, {{60s, 100s}, {1h, {}}}, 2'000'000), (Times{1'000'000, 2'000'000}));
  EXPECT_EQ(whole_from(hits, {{60s, 300s}, {1h, {}}}, 3'000'000), (Times{2'900'000, 2'000'000}))
      << "what was gone does not come back";
  EXPECT_EQ(whole_from(hits, {{60s, 60s}, {1h, {}}}, 4'000'000), (Times{2'900'000, 2'000'000}));
  EXPECT_EQ(whole_from(hits, {{1h, {}}}, 5'000'000), Times{2'000'000});
  EXPECT_EQ(whole_from(hits, {{60s, 60s}, {1h, {}}}, 6'000'000), (Times{6'000'000, 2'000'000}));
  EXPECT_EQ(hits.counted_from, 1'000'000u);
  hits.dropped = {7'000'000, NodeId{1}};
  EXPECT_EQ(whole_from(hits, {{1h, {}}}, 8'000'000), Times{8'000'000});
  EXPECT_EQ(hits.counted_from, 8'000'000u) << "it begins anew";
}

TEST(Namespaces, remember_the_longest_late) {
  NamespaceDefinition hits{.name = "hits", .policy = {.tiers = {{60s, 1h}}, .late = 60s}};
  note_windows(hits, {}, 1);
  const NamespaceDefinition before = hits;
  hits.policy.late = 1s;
  note_windows(hits, before, 2);
  EXPECT_EQ(hits.longest_late, 60s) << "a member may not have heard of the shorter one";
}

}  // namespace
}  // namespace quipu
