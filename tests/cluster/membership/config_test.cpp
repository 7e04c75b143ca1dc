#include "cluster/membership/config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace quipu {
namespace {

Member member(std::string name, std::string peer) {
  Member result;
  result.name = std::move(name);
  result.peer_address = std::move(peer);
  result.client_address = "c:7400";
  return result;
}

std::vector<Member> three() {
  return {member("a", "a:7401"), member("b", "b:7401"), member("c", "c:7401")};
}

ClusterConfig found(std::string name, std::vector<Member> members, std::uint8_t replication = 3) {
  Result<ClusterConfig> config = found_config(std::move(name), std::move(members), replication);
  EXPECT_TRUE(config.ok()) << config.status().message();
  return config.value();
}

TEST(NodeIdTest, FollowsFromTheNameAlone) {
  EXPECT_EQ(node_id("a"), node_id("a"));
  EXPECT_NE(node_id("a"), node_id("b"));
  EXPECT_NE(node_id("a"), node_id("A"));
}

TEST(NodeIdTest, IsNeverNone) {
  EXPECT_NE(node_id(""), NodeId{});
  for (int i = 0; i < 1000; ++i) EXPECT_NE(node_id(std::to_string(i)), NodeId{});
}

// The ids stand in stores and in other nodes' configs: a release must not change them.
TEST(NodeIdTest, IsTheSameInEveryRelease) {
  EXPECT_EQ(raw(node_id("node-1")), 986463002654245765U);
  EXPECT_EQ(raw(found("prod", three()).id), 8634588572617337200U);
}

TEST(FoundConfigTest, HoldsTheMembersSortedByTheirIds) {
  const ClusterConfig config = found("prod", three());
  EXPECT_EQ(config.name, "prod");
  EXPECT_EQ(config.version, 1U);
  ASSERT_EQ(config.members.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(config.members[i].id, node_id(config.members[i].name));
    EXPECT_EQ(config.members[i].peer_address, config.members[i].name + ":7401");
    EXPECT_EQ(config.find(config.members[i].id), static_cast<MemberIndex>(i));
  }
  EXPECT_TRUE(std::ranges::is_sorted(config.members, {}, &Member::id));
}

TEST(FoundConfigTest, FindsNobodyByTheIdOfAStranger) {
  const ClusterConfig config = found("prod", three());
  EXPECT_EQ(config.find(node_id("d")), std::nullopt);
  EXPECT_EQ(config.find(NodeId{}), std::nullopt);
  EXPECT_EQ(config.find(NodeId{~std::uint64_t{0}}), std::nullopt);
  EXPECT_EQ(ClusterConfig{}.find(node_id("a")), std::nullopt);
}

TEST(FoundConfigTest, IsTheSameForEveryOrderOfTheMembers) {
  const ClusterConfig first = found("prod", three(), 2);
  std::vector<std::size_t> order{0, 1, 2};
  do {
    const std::vector<Member> listed = three();
    const ClusterConfig other =
        found("prod", {listed[order[0]], listed[order[1]], listed[order[2]]}, 2);
    EXPECT_EQ(other.id, first.id);
    EXPECT_EQ(other.owners.rows(), first.owners.rows());
    EXPECT_TRUE(std::ranges::equal(other.members, first.members, {}, &Member::id, &Member::id));
  } while (std::ranges::next_permutation(order).found);
}

TEST(FoundConfigTest, DoesNotDependOnClientAddresses) {
  std::vector<Member> moved = three();
  moved[1].client_address = "elsewhere:1";
  EXPECT_EQ(found("prod", moved).id, found("prod", three()).id);
  EXPECT_EQ(found("prod", moved).owners.rows(), found("prod", three()).owners.rows());
}

TEST(FoundConfigTest, GivesEveryOtherNameOrMembershipAnotherClusterId) {
  std::vector<Member> renamed = three(), readdressed = three(), larger = three(), swapped = three();
  renamed[0].name = "d";
  readdressed[0].peer_address = "d:7401";
  larger.push_back(member("d", "d:7401"));
  std::swap(swapped[0].peer_address, swapped[1].peer_address);
  const std::set<ClusterId> ids{
      found("prod", three()).id,
      found("test", three()).id,
      found("", three()).id,
      found("prod", renamed).id,
      found("prod", readdressed).id,
      found("prod", larger).id,
      found("prod", swapped).id,
      found("prod", {member("a", "a:7401"), member("b", "b:7401")}).id,
      // The same bytes in a row, cut at other places.
      found("x", {member("ab", "cd")}).id,
      found("x", {member("a", "bcd")}).id,
      found("xa", {member("b", "cd")}).id,
  };
  EXPECT_EQ(ids.size(), 11U);
}

// Owners follow from these, so members that differ in them must not meet.
TEST(FoundConfigTest, GivesEveryOtherReplicationWeightOrZoneAnotherClusterId) {
  std::vector<Member> heavier = three(), edge = three(), zoned = three(), elsewhere = three();
  heavier[0].weight = 2;
  edge[0].weight = 0;
  zoned[0].zone = "x";
  elsewhere[1].zone = "x";
  const std::set<ClusterId> ids{
      found("prod", three()).id, found("prod", three(), 2).id, found("prod", heavier).id,
      found("prod", edge).id,    found("prod", zoned).id,      found("prod", elsewhere).id,
  };
  EXPECT_EQ(ids.size(), 6U);
}

TEST(FoundConfigTest, LetsEveryoneOwnEverythingWhereMembersAreFewerThanReplicas) {
  std::vector<Member> members = three();
  members[1].weight = 0;
  const ClusterConfig config = found("prod", members, 3);
  const MemberIndex edge = config.find(node_id("b")).value();
  EXPECT_EQ(config.owners.replication(), 2);
  EXPECT_EQ(config.owners.majority(), 2U);
  for (std::uint16_t p = 0; p < kPartitions; ++p) {
    for (MemberIndex index = 0; index < 3; ++index) {
      EXPECT_EQ(config.owners.owns(index, Partition{p}), index != edge);
    }
  }
}

TEST(FoundConfigTest, FoundsAClusterOfOne) {
  const ClusterConfig config = found("prod", {member("a", "a:7401")});
  EXPECT_EQ(config.owners.rows(), std::vector<MemberIndex>(kPartitions, 0));
  EXPECT_EQ(config.owners.majority(), 1U);
}

TEST(FoundConfigTest, AcceptsEveryReplicationFromOneToSeven) {
  std::vector<Member> members;
  for (char name = 'a'; name < 'i'; ++name) members.push_back(member({name}, {name}));
  for (std::uint8_t replication = 1; replication <= 7; ++replication) {
    EXPECT_EQ(found("prod", members, replication).owners.replication(), replication);
  }
}

struct ConfigRefusal {
  std::string why;
  std::vector<Member> members;
  std::uint8_t replication;
  std::string text;
};

std::vector<ConfigRefusal> refusals() {
  std::vector<Member> weightless = three();
  for (Member& each : weightless) each.weight = 0;
  std::vector<Member> crowd;
  for (int i = 0; i < 65536; ++i) {
    crowd.push_back(member(std::to_string(i), std::to_string(i) + ":7401"));
  }
  return {
      {"no members", {}, 3, "a cluster needs at least one member"},
      {"too many members", crowd, 3, "a cluster has at most 65535 members, not 65536"},
      {"no replicas", three(), 0, "replication must be 1 to 7, not 0"},
      {"too many replicas", three(), 8, "replication must be 1 to 7, not 8"},
      {"far too many replicas", three(), 255, "replication must be 1 to 7, not 255"},
      {"no name", {member("", "a:1")}, 1, "the member at \"a:1\" has no name"},
      {"no address", {member("a", "")}, 1, "member \"a\" has no peer address"},
      {"a name twice",
       {member("a", "a:1"), member("b", "b:1"), member("a", "c:1")},
       1,
       "two members are named \"a\""},
      {"an address twice",
       {member("a", "a:1"), member("b", "b:1"), member("c", "a:1")},
       1,
       "two members have peer address \"a:1\""},
      {"no weight", weightless, 3, "every member has weight 0, so that nobody would own the data"},
  };
}

TEST(FoundConfigTest, RefusesWhatCannotBeAClusterAndSaysWhy) {
  for (const ConfigRefusal& refusal : refusals()) {
    SCOPED_TRACE(refusal.why);
    const auto config = found_config("prod", refusal.members, refusal.replication);
    ASSERT_FALSE(config.ok());
    EXPECT_EQ(config.status().code(), Code::invalid_argument);
    EXPECT_EQ(config.status().detail(), refusal.text);
  }
}

}  // namespace
}  // namespace quipu
