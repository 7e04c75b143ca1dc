#include "storage/stored_keys.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "protocol/state.h"

namespace quipu::test {
namespace {

using namespace std::string_literals;

const HashKey kSecret{42};

std::string shard(std::string_view key, ShardIndex index) {
  const ShardRef ref{key, index};
  return stored::shard(Placement(kSecret, ref), ref);
}

TEST(StoredKeys, AreBigEndianSoThatNumbersStandInOrder) {
  EXPECT_EQ(stored::meta(), "m");
  EXPECT_EQ(stored::actor(Partition{0x0102}), "a\x01\x02");
  EXPECT_EQ(stored::record(Commit{0x0102030405060708}), "j\x01\x02\x03\x04\x05\x06\x07\x08");
  EXPECT_EQ(stored::token(Serial{0x0102030405060708}, 63), "t\x01\x02\x03\x04\x05\x06\x07\x08\x3f");
  EXPECT_LT(stored::record(Commit{255}), stored::record(Commit{256}));
  EXPECT_LT(stored::record(Commit{1}), stored::record(Commit{~std::uint64_t{0}}));
  EXPECT_LT(stored::actor(Partition{255}), stored::actor(Partition{256}));
}

TEST(StoredKeys, NameAShardByPlaceThenKeyThenIndex) {
  const ShardRef ref{"page:home", 0x0102};
  const Placement placement(kSecret, ref);
  const std::string key = stored::shard(placement, ref);
  ASSERT_EQ(key.size(), 1 + 2 + 1 + 9 + 2U);
  EXPECT_EQ(key[0], 's');
  EXPECT_EQ(static_cast<std::uint8_t>(key[1]) << 8 | static_cast<std::uint8_t>(key[2]),
            raw(placement.partition()));
  EXPECT_EQ(static_cast<std::uint8_t>(key[3]), placement.leaf());
  EXPECT_EQ(key.substr(4), "page:home\x01\x02");
}

TEST(StoredKeys, GiveBackTheShardWhateverBytesItsKeyHolds) {
  for (const std::string& name :
       {"a"s, "\0"s, "\xff\xff\xff"s, "s\0\0\0"s, std::string(kMaxKey, 'x')}) {
    for (const ShardIndex index :
         {ShardIndex{0}, ShardIndex{255}, ShardIndex{256}, ShardIndex{kMaxShards - 1}}) {
      const std::string key = shard(name, index);
      const auto parsed = stored::parse_shard(key);
      ASSERT_TRUE(parsed.has_value());
      EXPECT_EQ(parsed->ref, ShardRef(name, index));
      EXPECT_EQ(parsed->partition, Placement(kSecret, ShardRef{name, index}).partition());
    }
  }
}

TEST(StoredKeys, GiveBackPartitionsAndCommits) {
  for (const std::uint16_t partition : std::initializer_list<std::uint16_t>{0, 1, 255, 256, 4095}) {
    EXPECT_EQ(stored::parse_actor(stored::actor(Partition{partition})), Partition{partition});
  }
  for (const std::uint64_t commit : {std::uint64_t{1}, std::uint64_t{2}, ~std::uint64_t{0}}) {
    EXPECT_EQ(stored::parse_record(stored::record(Commit{commit})), Commit{commit});
  }
}

TEST(StoredKeys, RefuseWhatIsNone) {
  std::string beyond = shard("a", kMaxShards - 1);
  beyond.replace(beyond.size() - 2, 2, "\x7c\x00"s);  // of a kind that there is not
  for (const std::string& key :
       {""s, "s"s, "s\0\0\0\0\0"s, shard(std::string(kMaxKey, 'x'), 0) + "x", beyond,
        "s\x10\0\0a\0\0"s, "x\0\0\0a\0\0"s}) {
    EXPECT_FALSE(stored::parse_shard(key).has_value()) << key.size();
  }
  for (const std::string& key : {""s, "a"s, "a\0"s, "a\0\0\0"s, "b\0\0"s, "a\x10\0"s}) {
    EXPECT_FALSE(stored::parse_actor(key).has_value()) << key.size();
  }
  for (const std::string& key : {""s, "j"s, "j\0\0\0\0\0\0\1"s, "j\0\0\0\0\0\0\0\0\1"s,
                                 "k\0\0\0\0\0\0\0\1"s, "j\0\0\0\0\0\0\0\0"s}) {
    EXPECT_FALSE(stored::parse_record(key).has_value()) << key.size();
  }
}

TEST(StoredKeys, OfATypeStandInItsRangeAndThoseOfOthersOutside) {
  using stored::Type;
  for (const auto& [key, type] : std::vector<std::pair<std::string, stored::Type>>{
           {stored::meta(), stored::Type::meta},
           {stored::actor(Partition{kPartitions - 1}), stored::Type::actor},
           {stored::record(Commit{~std::uint64_t{0}}), stored::Type::record},
           {shard(std::string(kMaxKey, '\xff'), kMaxShards - 1), stored::Type::shard},
           {stored::token(Serial{~std::uint64_t{0}}, kLanes - 1), stored::Type::token},
           {stored::namespace_definition(""), stored::Type::name_space},
           {stored::namespace_definition(std::string(64, '\xff')), stored::Type::name_space}}) {
    for (const stored::Type other :
         {stored::Type::meta, stored::Type::actor, stored::Type::record, stored::Type::shard,
          stored::Type::token, stored::Type::name_space}) {
      const auto [from, to] = stored::all(other);
      EXPECT_EQ(from <= key && key < to, type == other) << static_cast<char>(other);
    }
  }
}

}  // namespace
}  // namespace quipu::test
