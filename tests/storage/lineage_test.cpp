#include "storage/lineage.h"

#include <gtest/gtest.h>

#include <string>

namespace quipu::test {
namespace {

constexpr StoreId kStore{1};
constexpr StoreId kOther{2};
constexpr BootId kBoot1{101};
constexpr BootId kBoot2{102};
constexpr BootId kBoot3{103};

// Two starts: the first wrote commits 1 to 49, the second 50 and on.
const std::vector<LineageStart> kLineage{{kBoot1, Commit{1}}, {kBoot2, Commit{50}}};
constexpr Commit kLastCommit{80};

TEST(Lineage, judges_what_a_peer_saw_of_a_store) {
  const struct {
    const char* story;
    std::vector<Sighting> seen;
    Testimony expected;
  } cases[] = {
      {"nothing at all", {}, Testimony::confirmed},
      {"only other stores", {{kOther, kBoot3, Commit{999}}}, Testimony::confirmed},
      {"the first start, within", {{kStore, kBoot1, Commit{1}}}, Testimony::confirmed},
      {"the first start, its last", {{kStore, kBoot1, Commit{49}}}, Testimony::confirmed},
      {"the first start, cut short", {{kStore, kBoot1, Commit{50}}}, Testimony::rolled_back},
      {"this start, within", {{kStore, kBoot2, Commit{50}}}, Testimony::confirmed},
      {"this start, its newest", {{kStore, kBoot2, Commit{80}}}, Testimony::confirmed},
      {"this start, beyond its newest", {{kStore, kBoot2, Commit{81}}}, Testimony::rolled_back},
      {"a start that this disk forgot", {{kStore, kBoot3, Commit{1}}}, Testimony::rolled_back},
      {"one good and one bad sighting",
       {{kStore, kBoot2, Commit{60}}, {kStore, kBoot3, Commit{1}}},
       Testimony::rolled_back},
      {"a bad sighting among others' stores",
       {{kOther, kBoot1, Commit{1}}, {kStore, kBoot1, Commit{70}}, {kOther, kBoot2, Commit{1}}},
       Testimony::rolled_back},
  };
  for (const auto& row : cases) {
    EXPECT_EQ(judge(kLineage, kLastCommit, kStore, row.seen), row.expected) << row.story;
  }
}

TEST(Lineage, confirms_a_new_store_that_nobody_has_seen) {
  EXPECT_EQ(judge({}, Commit{}, kStore, {}), Testimony::confirmed);
}

TEST(Lineage, notices_a_disk_restored_from_a_copy_of_its_running_self) {
  // The copy was taken at commit 30; the original went on to 45 and told a peer.
  const std::vector<Sighting> peer{{kStore, kBoot1, Commit{45}}};
  const std::vector<LineageStart> restored{{kBoot1, Commit{1}}, {kBoot2, Commit{31}}};
  EXPECT_EQ(judge(restored, Commit{31}, kStore, peer), Testimony::rolled_back);
  // However far it counts from there, it stays contradicted.
  EXPECT_EQ(judge(restored, Commit{1000}, kStore, peer), Testimony::rolled_back);
}

TEST(Lineage, notices_two_starts_from_one_copy) {
  const std::vector<LineageStart> one{{kBoot1, Commit{1}}, {kBoot2, Commit{31}}};
  const std::vector<LineageStart> two{{kBoot1, Commit{1}}, {kBoot3, Commit{31}}};
  const std::vector<Sighting> saw_one{{kStore, kBoot2, Commit{31}}};
  EXPECT_EQ(judge(one, Commit{40}, kStore, saw_one), Testimony::confirmed);
  EXPECT_EQ(judge(two, Commit{40}, kStore, saw_one), Testimony::rolled_back);
  // Who saw both contradicts both: neither is the one store any more.
  std::vector<Sighting> saw_both = saw_one;
  merge_sightings(saw_both, std::vector<Sighting>{{kStore, kBoot3, Commit{31}}});
  EXPECT_EQ(judge(one, Commit{40}, kStore, saw_both), Testimony::rolled_back);
  EXPECT_EQ(judge(two, Commit{40}, kStore, saw_both), Testimony::rolled_back);
}

TEST(Sightings, keep_the_greatest_commit_of_each_start) {
  std::vector<Sighting> held;
  const std::vector<Sighting> at5{{kStore, kBoot1, Commit{5}}}, at9{{kStore, kBoot1, Commit{9}}};
  EXPECT_TRUE(merge_sightings(held, at5));
  EXPECT_TRUE(merge_sightings(held, at9));
  EXPECT_FALSE(merge_sightings(held, at5));
  EXPECT_FALSE(merge_sightings(held, at9));
  EXPECT_EQ(held, at9);
}

TEST(Sightings, keep_a_stores_latest_boots_only) {
  std::vector<Sighting> held{{kOther, kBoot1, Commit{1}}};
  for (std::uint64_t i = 1; i <= kBootsPerStore + 4; ++i) {
    EXPECT_TRUE(merge_sightings(held, std::vector<Sighting>{{kStore, BootId{i}, Commit{10 * i}}}));
  }
  EXPECT_EQ(held.size(), 1 + kBootsPerStore);
  EXPECT_EQ(held.front(), (Sighting{kOther, kBoot1, Commit{1}})) << "another store's are its own";
  for (const Sighting& sighting : held) {
    if (sighting.store == kStore) {
      EXPECT_GT(raw(sighting.boot), 4u);
    }
  }
}

// Or each gossip round among nodes that remember different boots would make a
// record, and every record another round.
TEST(Sightings, do_not_change_by_a_boot_too_old_to_be_kept) {
  std::vector<Sighting> held;
  for (std::uint64_t i = 1; i <= kBootsPerStore; ++i) {
    merge_sightings(held, std::vector<Sighting>{{kStore, BootId{i}, Commit{100 + i}}});
  }
  const std::vector<Sighting> before = held;
  EXPECT_FALSE(merge_sightings(held, std::vector<Sighting>{{kStore, BootId{99}, Commit{7}}}));
  EXPECT_EQ(held, before);
}

TEST(Sightings, are_bounded_whatever_peers_say) {
  std::vector<Sighting> held;
  for (std::uint64_t i = 1; i <= kMaxSightings + 100; ++i) {
    merge_sightings(held, std::vector<Sighting>{{StoreId{i}, kBoot1, Commit{1}}});
  }
  EXPECT_EQ(held.size(), kMaxSightings);
}

TEST(Sightings, may_be_more_in_a_store_than_this_build_keeps) {
  std::vector<Sighting> held;
  for (std::uint64_t i = 1; i <= kMaxSightings + 100; ++i)
    held.push_back({StoreId{i}, kBoot1, Commit{1}});
  merge_sightings(held, std::vector<Sighting>{{StoreId{kMaxSightings + 101}, kBoot1, Commit{1}}});
  EXPECT_EQ(held.size(), kMaxSightings + 100);
}

// A full list must still notice the rollback of a store that it knows.
TEST(Sightings, follow_a_known_stores_new_boots_even_when_full) {
  std::vector<Sighting> held;
  for (std::uint64_t i = 1; i <= kMaxSightings; ++i) {
    merge_sightings(held, std::vector<Sighting>{{StoreId{i}, kBoot1, Commit{1}}});
  }
  merge_sightings(held, std::vector<Sighting>{{StoreId{1}, kBoot2, Commit{60}}});
  EXPECT_EQ(held.size(), kMaxSightings);
  const std::vector<LineageStart> restored{{kBoot1, Commit{1}}, {kBoot3, Commit{50}}};
  EXPECT_EQ(judge(restored, Commit{50}, StoreId{1}, held), Testimony::rolled_back);
}

}  // namespace
}  // namespace quipu::test
