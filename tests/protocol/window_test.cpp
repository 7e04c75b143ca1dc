// The names of windows, and where they lie.
#include "protocol/window.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <string>

#include "protocol/keyed_hash.h"

namespace quipu {
namespace {

using namespace std::chrono_literals;

constexpr HashKey kKey{7};

Wall at_ms(std::int64_t ms) { return Wall{Wall::duration(ms)}; }

// The example of the format: at 1,700,000,000 s an add falls into minute 28,333,333.
TEST(Window, is_named_by_its_tier_and_number_behind_the_key) {
  const ShardKey name = window_at({"hits:a", 3}, 60s, at_ms(1'700'000'000'000));
  EXPECT_EQ(name.key, std::string("hits:a\x00\x00\x00\x3c\x01\xb0\x55\x15", 14));
  EXPECT_EQ(name.shard, 0x8003);
  const Window window = window_of(name);
  EXPECT_EQ(window.key, "hits:a");
  EXPECT_EQ(window.shard, 3);
  EXPECT_EQ(window.tier, 60s);
  EXPECT_EQ(window.begin(), at_ms(28'333'333LL * 60'000));
  EXPECT_EQ(window.end() - window.begin(), 60s);
}

TEST(Window, begins_with_its_first_millisecond_and_ends_before_the_next_one) {
  const auto number = [](std::int64_t ms) {
    return window_of(window_at({"a", 0}, 60s, at_ms(ms))).number;
  };
  EXPECT_EQ(number(0), 0u);
  EXPECT_EQ(number(59'999), 0u);
  EXPECT_EQ(number(60'000), 1u);
}

TEST(Window, has_a_name_that_no_counter_has) {
  const ShardKey name = window_at({"a", 0}, 60s, at_ms(0));
  EXPECT_TRUE(is_name(name));
  EXPECT_TRUE(is_name({name.key, 0})) << "a counter of this key is another shard";
  EXPECT_NE(Placement(kKey, name).hash, Placement(kKey, {name.key, 0}).hash);
}

TEST(Window, is_refused_if_no_add_can_have_made_it) {
  const std::string longest(kMaxKey, 'k');
  EXPECT_TRUE(
      is_name(window_at({longest, kMaxShards - 1}, std::chrono::hours(24 * 366), at_ms(0))));
  std::string name = window_at({"a", 0}, 60s, at_ms(0)).key;
  for (const Kind none : {Kind{4}, Kind{5}, Kind{7}})
    EXPECT_FALSE(is_name({name, static_cast<ShardIndex>(kWindow | shard_of(none))})) << "no kind";
  EXPECT_FALSE(is_name({name, 0xffff})) << "any shard";
  EXPECT_FALSE(is_name({name.substr(1), kWindow})) << "no key";
  EXPECT_FALSE(is_name({"k" + longest + name.substr(1), kWindow})) << "a longer key";
  name.replace(1, 4, std::string(4, '\0'));
  EXPECT_FALSE(is_name({name, kWindow})) << "no length";
  name.replace(1, 8, std::string(8, '\xff'));
  EXPECT_FALSE(is_name({name, kWindow})) << "beyond all dates";
}

RC_GTEST_PROP(WindowPlacement, is_in_the_partition_of_its_counter, (std::uint64_t key)) {
  const std::string name = *rc::gen::nonEmpty<std::string>();
  const auto index = *rc::gen::inRange<ShardIndex>(0, kMaxShards);
  const Wall at = at_ms(*rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << 41));
  RC_PRE(name.size() <= kMaxKey);
  const ShardRef counter(name, index);
  const ShardKey window = window_at(counter, 60s, at);
  const Placement beside(HashKey{key}, counter), placed(HashKey{key}, window);
  RC_ASSERT(placed.partition() == beside.partition());
  RC_ASSERT(placed.hash == Placement(beside, HashKey{key}, window).hash);
  RC_ASSERT(window_of(window).key == name);
  RC_ASSERT(window_of(window).begin() <= at && at < window_of(window).end());
}

TEST(WindowPlacement, spreads_the_windows_of_a_counter_over_its_leaves) {
  std::set<std::uint8_t> leaves;
  for (int i = 0; i < 100; ++i)
    leaves.insert(Placement(kKey, window_at({"a", 0}, 60s, at_ms(i * 60'000))).leaf());
  EXPECT_GT(leaves.size(), 50u);
}

}  // namespace
}  // namespace quipu
