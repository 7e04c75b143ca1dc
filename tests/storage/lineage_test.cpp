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
    std::vector<VersionEntry> seen;
    LineageCheck expected;
  } cases[] = {
      {"nothing at all", {}, LineageCheck::confirmed},
      {"only other stores", {{kOther, kBoot3, Commit{999}}}, LineageCheck::confirmed},
      {"the first start, within", {{kStore, kBoot1, Commit{1}}}, LineageCheck::confirmed},
      {"the first start, its last", {{kStore, kBoot1, Commit{49}}}, LineageCheck::confirmed},
      {"the first start, cut short", {{kStore, kBoot1, Commit{50}}}, LineageCheck::rolled_back},
      {"this start, within", {{kStore, kBoot2, Commit{50}}}, LineageCheck::confirmed},
      {"this start, its newest", {{kStore, kBoot2, Commit{80}}}, LineageCheck::confirmed},
      {"this start, beyond its newest", {{kStore, kBoot2, Commit{81}}}, LineageCheck::rolled_back},
      {"a start that this disk forgot", {{kStore, kBoot3, Commit{1}}}, LineageCheck::rolled_back},
      {"one good and one bad version_entry",
       {{kStore, kBoot2, Commit{60}}, {kStore, kBoot3, Commit{1}}},
       LineageCheck::rolled_back},
      {"a bad version_entry among others' stores",
       {{kOther, kBoot1, Commit{1}}, {kStore, kBoot1, Commit{70}}, {kOther, kBoot2, Commit{1}}},
       LineageCheck::rolled_back},
  };
  for (const auto& row : cases) {
    EXPECT_EQ(check_lineage(kLineage, kLastCommit, kStore, row.seen), row.expected) << row.story;
  }
}

TEST(Lineage, confirms_a_new_store_that_nobody_has_seen) {
  EXPECT_EQ(check_lineage({}, Commit{}, kStore, {}), LineageCheck::confirmed);
}

TEST(Lineage, notices_a_disk_restored_from_a_copy_of_its_running_self) {
  // The copy was taken at commit 30; the original went on to 45 and told a peer.
  const std::vector<VersionEntry> peer{{kStore, kBoot1, Commit{45}}};
  const std::vector<LineageStart> restored{{kBoot1, Commit{1}}, {kBoot2, Commit{31}}};
  EXPECT_EQ(check_lineage(restored, Commit{31}, kStore, peer), LineageCheck::rolled_back);
  // However far it counts from there, it stays contradicted.
  EXPECT_EQ(check_lineage(restored, Commit{1000}, kStore, peer), LineageCheck::rolled_back);
}

TEST(Lineage, notices_two_starts_from_one_copy) {
  const std::vector<LineageStart> one{{kBoot1, Commit{1}}, {kBoot2, Commit{31}}};
  const std::vector<LineageStart> two{{kBoot1, Commit{1}}, {kBoot3, Commit{31}}};
  const std::vector<VersionEntry> saw_one{{kStore, kBoot2, Commit{31}}};
  EXPECT_EQ(check_lineage(one, Commit{40}, kStore, saw_one), LineageCheck::confirmed);
  EXPECT_EQ(check_lineage(two, Commit{40}, kStore, saw_one), LineageCheck::rolled_back);
  // Who saw both contradicts both: neither is the one store any more.
  std::vector<VersionEntry> saw_both = saw_one;
  merge_versions(saw_both, std::vector<VersionEntry>{{kStore, kBoot3, Commit{31}}});
  EXPECT_EQ(check_lineage(one, Commit{40}, kStore, saw_both), LineageCheck::rolled_back);
  EXPECT_EQ(check_lineage(two, Commit{40}, kStore, saw_both), LineageCheck::rolled_back);
}

TEST(VersionVector, keep_the_greatest_commit_of_each_start) {
  std::vector<VersionEntry> held;
  const std::vector<VersionEntry> at5{{kStore, kBoot1, Commit{5}}},
      at9{{kStore, kBoot1, Commit{9}}};
  EXPECT_TRUE(merge_versions(held, at5));
  EXPECT_TRUE(merge_versions(held, at9));
  EXPECT_FALSE(merge_versions(held, at5));
  EXPECT_FALSE(merge_versions(held, at9));
  EXPECT_EQ(held, at9);
}

TEST(VersionVector, keep_a_stores_latest_boots_only) {
  std::vector<VersionEntry> held{{kOther, kBoot1, Commit{1}}};
  for (std::uint64_t i = 1; i <= kBootsPerStore + 4; ++i) {
    EXPECT_TRUE(
        merge_versions(held, std::vector<VersionEntry>{{kStore, BootId{i}, Commit{10 * i}}}));
  }
  EXPECT_EQ(held.size(), 1 + kBootsPerStore);
  EXPECT_EQ(held.front(), (VersionEntry{kOther, kBoot1, Commit{1}}))
      << "another store's are its own";
  for (const VersionEntry& version_entry : held) {
    if (version_entry.store == kStore) {
      EXPECT_GT(raw(version_entry.boot), 4u);
    }
  }
}

// Or each gossip round among nodes that remember different boots would make a
// record, and every record another round.
TEST(VersionVector, do_not_change_by_a_boot_too_old_to_be_kept) {
  std::vector<VersionEntry> held;
  for (std::uint64_t i = 1; i <= kBootsPerStore; ++i) {
    merge_versions(held, std::vector<VersionEntry>{{kStore, BootId{i}, Commit{100 + i}}});
  }
  const std::vector<VersionEntry> before = held;
  EXPECT_FALSE(merge_versions(held, std::vector<VersionEntry>{{kStore, BootId{99}, Commit{7}}}));
  EXPECT_EQ(held, before);
}

TEST(VersionVector, are_bounded_whatever_peers_say) {
  std::vector<VersionEntry> held;
  for (std::uint64_t i = 1; i <= kMaxVersionEntries + 100; ++i) {
    merge_versions(held, std::vector<VersionEntry>{{StoreId{i}, kBoot1, Commit{1}}});
  }
  EXPECT_EQ(held.size(), kMaxVersionEntries);
}

TEST(VersionVector, may_be_more_in_a_store_than_this_build_keeps) {
  std::vector<VersionEntry> held;
  for (std::uint64_t i = 1; i <= kMaxVersionEntries + 100; ++i)
    held.push_back({StoreId{i}, kBoot1, Commit{1}});
  merge_versions(held,
                 std::vector<VersionEntry>{{StoreId{kMaxVersionEntries + 101}, kBoot1, Commit{1}}});
  EXPECT_EQ(held.size(), kMaxVersionEntries + 100);
}

// A full list must still notice the rollback of a store that it knows.
TEST(VersionVector, follow_a_known_stores_new_boots_even_when_full) {
  std::vector<VersionEntry> held;
  for (std::uint64_t i = 1; i <= kMaxVersionEntries; ++i) {
    merge_versions(held, std::vector<VersionEntry>{{StoreId{i}, kBoot1, Commit{1}}});
  }
  merge_versions(held, std::vector<VersionEntry>{{StoreId{1}, kBoot2, Commit{60}}});
  EXPECT_EQ(held.size(), kMaxVersionEntries);
  const std::vector<LineageStart> restored{{kBoot1, Commit{1}}, {kBoot3, Commit{50}}};
  EXPECT_EQ(check_lineage(restored, Commit{50}, StoreId{1}, held), LineageCheck::rolled_back);
}

}  // namespace
}  // namespace quipu::test
