#include "cluster/membership/planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "protocol/random.h"

namespace quipu {
namespace {

// Members n0, n1, … to whom zones (one letter each) and weights are dealt round.
struct Layout {
  std::size_t nodes;
  std::string zones = "0";
  std::vector<std::uint32_t> weights = {1};
  std::uint8_t replication = 3;
};

std::vector<Member> members(const Layout& layout) {
  std::vector<Member> listed;
  for (std::size_t i = 0; i < layout.nodes; ++i) {
    const std::string name = "n" + std::to_string(i);
    listed.push_back({node_id(name), name, name + ":7401", name + ":7400",
                      layout.zones.substr(i % layout.zones.size(), 1),
                      layout.weights[i % layout.weights.size()]});
  }
  return listed;
}

// Where what each weighs can be what each gets: nobody is asked for more than
// one replica of each partition, no zone for more than its limit.
std::vector<Layout> layouts() {
  std::vector<Layout> table{{7, "0", {1}, 7},
                            {40, "0", {1}, 7},
                            {8, "01"},
                            {8, "01", {1}, 4},
                            {20, "01234"},
                            {100, "0123456789", {1}, 7},
                            {9, "0", {1, 2}},
                            {100, "0", {1, 2, 3, 10}},
                            {30, "0", {1'000'000'000, 4'000'000'000}},
                            {30, "0", {0, 1, 2}},
                            {12, "012", {1, 1, 1, 2, 2, 2}},
                            {90, "012", {1, 1, 1, 3, 3, 3, 5, 5, 5}},
                            {12, "0123", {3, 2, 2, 2}}};
  for (const std::size_t nodes : {3, 6, 9, 30, 99}) table.push_back({nodes, "012"});
  for (const std::size_t nodes : {3, 4, 5, 6, 7, 9, 10, 16, 31, 64, 99, 100}) {
    table.push_back({nodes});
    table.push_back({nodes, "0", {1}, 1});
  }
  return table;
}

std::string describe(const Layout& layout) {
  std::string text = std::to_string(layout.nodes) + " nodes, zones " + layout.zones + ", weights";
  for (const std::uint32_t weight : layout.weights) text += " " + std::to_string(weight);
  return text + ", replication " + std::to_string(layout.replication);
}

using Owners = std::vector<NodeId>;  // sorted

std::vector<Owners> by_id(const OwnerTable& table, const std::vector<Member>& listed) {
  std::vector<Owners> partitions(kPartitions);
  for (std::uint16_t p = 0; p < kPartitions; ++p) {
    for (const MemberIndex i : table.of(Partition{p})) partitions[p].push_back(listed[i].id);
    std::ranges::sort(partitions[p]);
  }
  return partitions;
}

std::vector<double> loads(const OwnerTable& table, const std::vector<Member>& listed) {
  std::vector<double> counts(listed.size());
  for (const MemberIndex index : table.rows()) counts[index] += 1;
  return counts;
}

// By weight alone.
std::vector<double> shares(const std::vector<Member>& listed, std::size_t replication) {
  double total = 0;
  for (const Member& member : listed) total += member.weight;
  const auto replicas = static_cast<double>(kPartitions * replication);
  std::vector<double> result;
  for (const Member& member : listed) result.push_back(replicas * member.weight / total);
  return result;
}

OwnerTable found(const std::vector<Member>& listed, std::uint8_t replication = 3) {
  return plan(listed, replication);
}

// Every partition has distinct owners and every load is within one of its target.
void expect_right(const OwnerTable& table, const std::vector<Member>& listed,
                  const std::vector<double>& targets) {
  ASSERT_EQ(table.rows().size(), kPartitions * table.replication());
  for (const Owners& owners : by_id(table, listed)) {
    ASSERT_EQ(std::ranges::adjacent_find(owners), owners.end());
  }
  const std::vector<double> held = loads(table, listed);
  for (std::size_t i = 0; i < listed.size(); ++i) EXPECT_NEAR(held[i], targets[i], 1.0);
}

TEST(PlannerTest, LoadsFollowWeightsAndReplicasSpreadOverZones) {
  for (const Layout& layout : layouts()) {
    SCOPED_TRACE(describe(layout));
    const std::vector<Member> listed = members(layout);
    const OwnerTable table = found(listed, layout.replication);
    expect_right(table, listed, shares(listed, layout.replication));
    std::map<std::string, std::size_t> used;
    for (const Member& member : listed) used[member.zone] = 0;
    const std::size_t limit = (layout.replication + used.size() - 1) / used.size();
    for (std::uint16_t p = 0; p < kPartitions; ++p) {
      for (auto& [zone, count] : used) count = 0;
      for (const MemberIndex i : table.of(Partition{p})) ASSERT_LE(++used[listed[i].zone], limit);
    }
  }
}

TEST(PlannerTest, SpreadsFirstOwnersLikeOwners) {
  const std::vector<Member> listed = members({10, "0", {1, 2}});
  const OwnerTable table = found(listed);
  std::vector<double> first(listed.size());
  for (std::uint16_t p = 0; p < kPartitions; ++p) first[table.of(Partition{p}).front()] += 1;
  const std::vector<double> target = shares(listed, 1);
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_NEAR(first[i] / target[i], 1.0, 0.2);
}

TEST(PlannerTest, GivesNothingToMembersWithoutWeight) {
  const std::vector<Member> listed = members({20, "01", {1, 0, 5, 1}});
  const OwnerTable table = found(listed);
  for (const MemberIndex index : table.rows()) EXPECT_GT(listed[index].weight, 0U);
  EXPECT_TRUE(found(members({3, "0", {0}})).rows().empty());
}

TEST(PlannerTest, LetsEveryoneOwnEverythingWhereMembersAreFewerThanReplicas) {
  for (const std::size_t nodes : {1, 2, 3, 6}) {
    const std::vector<Member> listed = members({nodes, "01", {1, 7}});
    expect_right(found(listed, 7), listed, std::vector<double>(nodes, kPartitions));
  }
}

// What weights ask for and zones or partitions do not allow goes to the others.
TEST(PlannerTest, SharesOutWhatAMemberOrZoneCannotHold) {
  const double all = kPartitions;
  const std::vector<std::pair<Layout, std::vector<double>>> table{
      {{3, "0", {1, 1, 10}, 2}, {all / 2, all / 2, all}},
      {{4, "0", {1, 10, 2, 100}, 3}, {all / 3, all, all * 2 / 3, all}},
      {{4, "0111", {1}, 2}, {all, all / 3, all / 3, all / 3}},
      {{4, "0111", {1}, 4}, {all, all, all, all}},
      {{5, "00112", {1}, 3}, {all / 2, all / 2, all / 2, all / 2, all}},
      {{6, "001122", {9, 1, 1, 1, 1, 1}, 2},
       {all * 9 / 10, all / 10, all / 4, all / 4, all / 4, all / 4}},
      {{7, "0012345", {100, 100, 1, 1, 1, 1, 1}, 2},
       {all / 2, all / 2, all / 5, all / 5, all / 5, all / 5, all / 5}},
      {{2, "0", {1, 4'294'967'295}, 1}, {0, all}},
      // A limit of two would leave places empty, as the first zone has one member.
      {{5, "01111", {1}, 4}, {all, all * 3 / 4, all * 3 / 4, all * 3 / 4, all * 3 / 4}},
  };
  for (const auto& [layout, targets] : table) {
    SCOPED_TRACE(describe(layout));
    const std::vector<Member> listed = members(layout);
    expect_right(found(listed, layout.replication), listed, targets);
  }
}

TEST(PlannerTest, DoesNotDependOnTheOrderOfMembers) {
  for (const Layout& layout : layouts()) {
    SCOPED_TRACE(describe(layout));
    const std::vector<Member> listed = members(layout);
    const std::vector<Member> reversed(listed.rbegin(), listed.rend());
    const OwnerTable one = found(listed, layout.replication);
    const OwnerTable other = found(reversed, layout.replication);
    EXPECT_EQ(by_id(one, listed), by_id(other, reversed));
  }
}

// The least number of replicas of a partition in one zone that leaves room for all.
std::size_t zone_limit(const std::map<std::string, std::size_t>& zones, std::size_t replicas) {
  for (std::size_t limit = 1;; ++limit) {
    std::size_t room = 0;
    for (const auto& [zone, size] : zones) room += std::min(limit, size);
    if (room >= replicas) return limit;
  }
}

TEST(PlannerTest, AnyMembersGetDistinctOwnersWithinTheZoneLimit) {
  constexpr std::uint64_t kSeed = 20240229;
  Random random(kSeed);
  std::vector<Member> pool = members({24, "0012"});
  for (int step = 0; step < 60; ++step) {
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", step " + std::to_string(step));
    std::vector<Member> listed;
    std::map<std::string, std::size_t> zones;
    std::size_t owners = 0;
    for (Member& member : pool) {
      member.weight = static_cast<std::uint32_t>(random.below(4));
      if (random.below(3) == 0) continue;
      listed.push_back(member);
      if (member.weight == 0) continue;
      ++zones[member.zone];
      ++owners;
    }
    const auto replication = static_cast<std::uint8_t>(1 + random.below(5));
    const OwnerTable table = found(listed, replication);
    ASSERT_EQ(table.replication(), std::min<std::size_t>(replication, owners));
    const std::size_t limit = owners == 0 ? 0 : zone_limit(zones, table.replication());
    for (std::uint16_t p = 0; p < kPartitions && owners > 0; ++p) {
      std::map<std::string, std::size_t> used;
      Owners distinct;
      for (const MemberIndex i : table.of(Partition{p})) {
        ASSERT_GT(listed[i].weight, 0u);
        ASSERT_LE(++used[listed[i].zone], limit);
        distinct.push_back(listed[i].id);
      }
      std::ranges::sort(distinct);
      ASSERT_EQ(std::ranges::adjacent_find(distinct), distinct.end());
    }
  }
}

}  // namespace
}  // namespace quipu
