// Values at rest: what comes back, and that damage never does.
#include "protocol/state_codec.h"

#include <gtest/gtest.h>

#include <functional>

#include "protocol/state_tables.h"
#include "tests/protocol/messages.h"

namespace quipu::test {
namespace {

constexpr std::size_t kValueHeader = 8;

// One kind of value with one content; `again` decodes and, if that went well,
// encodes what came out.
struct Stored {
  std::string name;
  std::string value;
  std::function<Result<std::string>(std::string_view key, std::string_view value)> again;
  bool same;  // what came back equals what went in
  friend void PrintTo(const Stored& one, std::ostream* os) { *os << one.name; }
};

const std::string kKey("s\0\x01likes:42", 11);

template <class Value, class Encode, class Decode>
Stored stored(std::string name, const Value& value, Encode encode, Decode decode) {
  const std::string bytes = encode(kKey, value);
  const auto back = decode(kKey, bytes);
  return {std::move(name), bytes,
          [=](std::string_view key, std::string_view from) -> Result<std::string> {
            const auto decoded = decode(key, from);
            if (!decoded.ok()) return decoded.status();
            return encode(key, *decoded);
          },
          back.ok() && *back == value};
}

Stored stored_state(std::string name, const ShardState& state) {
  return stored(std::move(name), state, encode_shard_state, decode_shard_state);
}
Stored stored_record(std::string name, const Record& record) {
  return stored(std::move(name), record, encode_record, decode_record);
}
Stored stored_tokens(std::string name, const TokenRecord& record) {
  return stored(std::move(name), record, encode_token_record, decode_token_record);
}
Stored stored_actor(std::string name, ActorId actor) {
  return stored(std::move(name), actor, encode_actor, decode_actor);
}
Stored stored_meta(std::string name, const Meta& meta) {
  return stored(std::move(name), meta, encode_meta, decode_meta);
}

Stored stored_prefixes(std::string name, const std::vector<std::uint8_t>& page) {
  return stored(std::move(name), page, encode_prefixes, decode_prefixes);
}

Stored stored_namespace(std::string name, const NamespaceDefinition& definition) {
  return stored(std::move(name), definition, encode_namespace, decode_namespace);
}

TokenRecord full_tokens() {
  return {Serial{kMax64},
          kMax64,
          {{0, 0, Code::ok, 0},
           {1, 7, Code::out_of_range, 5},
           {kMax64, kMax32, Code{0xffff}, kLanes - 1}}};
}

Meta full_meta() {
  return {.cluster = ClusterId{kMax64},
          .node = NodeId{1},
          .store = StoreId{2},
          .marked = true,
          .lineage = {{BootId{1}, Commit{1}}, {BootId{kMax64}, Commit{kMax64}}},
          .pins = sample_pins(),
          .filled_from = {NodeId{3}, NodeId{kMax64}},
          .journal_first = Commit{kMax64},
          .versions = {{StoreId{1}, BootId{2}, Commit{3}}}};
}

std::vector<Stored> stored_values() {
  const Cell largest{ActorId{kMax64}, Commit{kMax64}, kHighest, Commit{kMax64}, kLowest};
  return {
      stored_state("empty_state", {}),
      stored_state("state", {{{ActorId{1}, Commit{2}, -3}, largest}, 2, 1}),
      stored_state("most_shards", {{largest}, kMaxShards, kMaxShards}),
      stored_state("spent", {{}, 1, 1, {wall_ms(1), {}, {}, {}, false}}),
      stored_state("ending", {{{ActorId{1}, Commit{2}, -3, {}, 0, wall_ms(3)}, largest},
                              1,
                              1,
                              {{}, wall_ms(2), wall_ms(5), wall_ms(9), true}}),
      stored_state("ending_last",
                   {{{ActorId{1}, Commit{2}, -3, {}, 0, kLatestDate}}, 1, 1, largest_life()}),
      stored_prefixes("prefixes", std::vector<std::uint8_t>(kPrefixPage, 0x81)),
      stored_record("empty_record", {}),
      stored_record("record",
                    {sample_delta(), {full_tokens(), {.serial = Serial{1}}, full_tokens()}}),
      stored_record(
          "record_of_aliases",
          {sample_delta(), {}, {Alias{7}, Alias{}}, {{Alias{8}, -1}, {Alias{7}, kLowest}}}),
      stored_record("record_of_a_drop",
                    {Delta(Commit{7}), {}, {}, {}, {Partition{0}, Partition{kPartitions - 1}}}),
      stored_record("record_of_tokens", {Delta(Commit{kMax64}), {TokenRecord{Serial{1}, 0, {}}}}),
      stored_tokens("empty_tokens", {.serial = Serial{1}}),
      stored_tokens("tokens", full_tokens()),
      stored_actor("first_actor", ActorId{1}),
      stored_actor("last_actor", ActorId{kMax64}),
      stored_meta("empty_meta", {}),
      stored_meta("zero_meta", {.journal_first = Commit{}}),
      stored_meta("meta", full_meta()),
      stored_namespace("empty_namespace", {}),
      stored_namespace("dropped_namespace", {.name = "likes", .dropped = {1, NodeId{2}}}),
      stored_namespace("relaxed_namespace",
                       {.changed = {1, NodeId{2}}, .policy = {.strict = false}}),
      stored_namespace("namespace_that_decides_locally",
                       {.changed = {1, NodeId{2}}, .policy = {.decide = Decide::local}}),
      stored_namespace("namespace", largest_definition()),
  };
}

class StoredValue : public testing::TestWithParam<Stored> {};

INSTANTIATE_TEST_SUITE_P(Samples, StoredValue, testing::ValuesIn(stored_values()),
                         [](const auto& one) { return one.param.name; });

TEST_P(StoredValue, comes_back_as_it_was_written) { EXPECT_TRUE(GetParam().same); }

TEST_P(StoredValue, comes_back_from_any_address) {
  for (std::size_t offset = 0; offset < 8; ++offset) {
    const std::string shifted = std::string(offset, 'x') + GetParam().value;
    const auto again = GetParam().again(kKey, std::string_view(shifted).substr(offset));
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(*again, GetParam().value);
  }
}

TEST_P(StoredValue, begins_with_its_version) {
  EXPECT_EQ(GetParam().value.substr(0, 4), std::string("\x10\0\0\0", 4));
}

TEST_P(StoredValue, cut_at_any_byte_is_corrupt) {
  for (std::size_t length = 0; length < GetParam().value.size(); ++length) {
    const std::vector<char> cut(GetParam().value.begin(),
                                GetParam().value.begin() + static_cast<std::ptrdiff_t>(length));
    const auto again = GetParam().again(kKey, {cut.data(), cut.size()});
    ASSERT_FALSE(again.ok()) << length;
    EXPECT_EQ(again.status().code(), Code::corrupt);
    EXPECT_FALSE(again.status().detail().empty());
  }
}

TEST_P(StoredValue, with_any_bit_flipped_is_corrupt) {
  for (std::size_t bit = 0; bit < GetParam().value.size() * 8; ++bit) {
    std::string flipped = GetParam().value;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    const auto again = GetParam().again(kKey, flipped);
    ASSERT_FALSE(again.ok()) << bit;
    EXPECT_EQ(again.status().code(), Code::corrupt);
  }
}

TEST_P(StoredValue, followed_by_other_bytes_is_corrupt) {
  EXPECT_FALSE(GetParam().again(kKey, GetParam().value + '\0').ok());
  EXPECT_FALSE(GetParam().again(kKey, GetParam().value + GetParam().value).ok());
}

TEST_P(StoredValue, under_another_key_is_corrupt) {
  for (const std::string& key : {std::string(), kKey + "0", kKey.substr(1)}) {
    EXPECT_FALSE(GetParam().again(key, GetParam().value).ok());
  }
}

// The checksum of version 1, as README.md has it: of the payload, keyed by the
// key's own. It makes a value of any bytes, as a bug or a forger would.
std::string sealed(std::string value) {
  const std::string_view payload = std::string_view(value).substr(kValueHeader);
  const HashKey of_key{hash64(HashKey{0}, kKey)};
  const auto checksum = static_cast<std::uint32_t>(hash64(of_key, payload));
  std::memcpy(value.data() + 4, &checksum, sizeof checksum);
  return value;
}

TEST_P(StoredValue, has_the_documented_checksum) {
  EXPECT_EQ(sealed(GetParam().value), GetParam().value);
}

TEST_P(StoredValue, with_any_bit_flipped_behind_a_right_checksum_is_corrupt_or_whole) {
  for (std::size_t bit = kValueHeader * 8; bit < GetParam().value.size() * 8; ++bit) {
    std::string flipped = GetParam().value;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    const auto again = GetParam().again(kKey, sealed(flipped));
    if (!again.ok()) {
      EXPECT_EQ(again.status().code(), Code::corrupt);
      continue;
    }
    const auto once_more = GetParam().again(kKey, *again);
    ASSERT_TRUE(once_more.ok()) << bit;
    EXPECT_EQ(*once_more, *again) << bit;
  }
}

TEST_P(StoredValue, cut_behind_a_right_checksum_is_corrupt_or_the_same) {
  for (std::size_t length = kValueHeader; length < GetParam().value.size(); ++length) {
    const auto again = GetParam().again(kKey, sealed(GetParam().value.substr(0, length)));
    if (again.ok()) {
      EXPECT_EQ(*again, GetParam().value);
    }
  }
}

TEST(StoredState, of_another_version_is_told_apart_from_damage) {
  std::string value = encode_shard_state(kKey, {});
  for (const char version : {'\0', '\3', '\5', '\x7', '\x20'}) {
    value[0] = version;
    EXPECT_EQ(decode_shard_state(kKey, value).status().detail(),
              "shard state: version " + std::to_string(version) + ": this build reads up to 16");
  }
  for (const char version : {'\1', '\2', '\4', '\x8'}) {
    value[0] = version;
    EXPECT_TRUE(decode_shard_state(kKey, value).ok());
  }
  value[4] = static_cast<char>(value[4] + 1);
  EXPECT_EQ(decode_shard_state(kKey, value).status().detail(), "shard state: wrong checksum");
}

TEST(StoredRecord, takes_four_or_five_bytes_for_a_small_sum_of_one_of_a_million) {
  const auto bytes_each = [](std::int64_t sum) {
    Record record{Delta(Commit{1})};
    record.aliased.resize(1000, {Alias{2'000'000}, sum});
    const std::string value = encode_record(kKey, record);
    EXPECT_EQ(decode_record(kKey, value)->aliased, record.aliased);
    return value.size() / 1000;
  };
  EXPECT_EQ(bytes_each(63), 4u);
  EXPECT_EQ(bytes_each(-64), 4u);
  EXPECT_EQ(bytes_each(8191), 5u);
  EXPECT_EQ(bytes_each(kHighest), 13u);
  EXPECT_EQ(bytes_each(kLowest), 13u);
}

TEST(StoredRecord, with_more_aliases_than_shards_is_corrupt) {
  const Record record{Delta(Commit{1}), {}, {Alias{1}}};
  EXPECT_EQ(decode_record(kKey, encode_record(kKey, record)).status().detail(),
            "record: aliases are more than the delta has shards");
}

// What other versions wrote, or a bug.
class RecordTable : public testing::Test {
 protected:
  Result<std::vector<Record::Aliased>> read(char version = 16) {
    builder_.Finish(wire::CreateRecord(builder_, 0, 0, 0, aliased_, wide_, narrow_, changes_));
    const std::string table(reinterpret_cast<const char*>(builder_.GetBufferPointer()),
                            builder_.GetSize());
    const std::string head{version, 0, 0, 0, 0, 0, 0, 0};
    Result<Record> record = decode_record(kKey, sealed(head + table));
    if (!record.ok()) return record.status();
    return std::move(record->aliased);
  }
  std::string detail() { return read().status().detail(); }
  void change(const std::vector<std::uint8_t>& bytes) { changes_ = builder_.CreateVector(bytes); }

  Builder builder_;
  Offset<Vector<std::uint32_t>> aliased_;
  Offset<Vector<std::int64_t>> wide_;
  Offset<Vector<std::int32_t>> narrow_;
  Offset<Bytes> changes_;
};

TEST_F(RecordTable, of_version_2_is_read) {
  aliased_ = builder_.CreateVector(std::vector<std::uint32_t>{1, 7});
  wide_ = builder_.CreateVector(std::vector<std::int64_t>{-5, kHighest});
  EXPECT_EQ(*read(2), (std::vector<Record::Aliased>{{Alias{1}, -5}, {Alias{7}, kHighest}}));
}

TEST_F(RecordTable, of_version_4_is_read) {
  aliased_ = builder_.CreateVector(std::vector<std::uint32_t>{1, 7});
  narrow_ = builder_.CreateVector(std::vector<std::int32_t>{-5, INT32_MAX});
  EXPECT_EQ(*read(4), (std::vector<Record::Aliased>{{Alias{1}, -5}, {Alias{7}, INT32_MAX}}));
}

TEST_F(RecordTable, with_fewer_sums_than_aliases_is_corrupt) {
  aliased_ = builder_.CreateVector(std::vector<std::uint32_t>{1, 7});
  wide_ = builder_.CreateVector(std::vector<std::int64_t>{1});
  EXPECT_EQ(detail(), "record: aliased_sums are not as many as the aliases");
}

TEST_F(RecordTable, with_more_sums_than_aliases_is_corrupt) {
  narrow_ = builder_.CreateVector(std::vector<std::int32_t>{1});
  EXPECT_EQ(detail(), "record: aliased_sums are not as many as the aliases");
}

TEST_F(RecordTable, with_sums_of_both_widths_is_corrupt) {
  aliased_ = builder_.CreateVector(std::vector<std::uint32_t>{1, 2});
  wide_ = builder_.CreateVector(std::vector<std::int64_t>{1});
  narrow_ = builder_.CreateVector(std::vector<std::int32_t>{1});
  EXPECT_EQ(detail(), "record: aliased_sums are not as many as the aliases");
}

TEST_F(RecordTable, with_an_alias_without_a_sum_is_corrupt) {
  change({3, 1, 3});
  EXPECT_EQ(detail(), "record: changes are no aliases and sums");
}

TEST_F(RecordTable, with_an_alias_of_33_bits_is_corrupt) {
  change({0xff, 0xff, 0xff, 0xff, 0x1f, 1});
  EXPECT_EQ(detail(), "record: changes are no aliases and sums");
}

TEST_F(RecordTable, with_a_sum_that_is_cut_off_is_corrupt) {
  change({3, 0x80});
  EXPECT_EQ(detail(), "record: changes are no aliases and sums");
}

// What a bug could write, with a right checksum.
TEST(StoredTokens, that_no_executor_holds_are_corrupt) {
  const auto detail = [](const std::vector<TokenEntry>& entries) {
    const TokenRecord record{Serial{1}, 0, entries};
    return decode_token_record(kKey, encode_token_record(kKey, record)).status().detail();
  };
  EXPECT_EQ(detail({{.number = 1}, {.number = 2, .lane = kLanes - 1}}), "");
  EXPECT_EQ(detail({{.number = 2}, {.number = 1}}),
            "token record: entries are not ascending by number");
  EXPECT_EQ(detail({{.number = 2}, {.number = 2}}),
            "token record: entries are not ascending by number");
  EXPECT_EQ(detail({{.number = 1, .lane = kLanes}}), "token record: lane is 64: must be 0 to 63");
  const std::string nobodys = encode_token_record(kKey, TokenRecord{Serial{}, 0, {}});
  EXPECT_EQ(decode_token_record(kKey, nobodys).status().detail(),
            "token record: serial is 0, which is none");
}

TEST(StoredActor, that_is_none_is_corrupt) {
  EXPECT_EQ(decode_actor(kKey, encode_actor(kKey, ActorId{})).status().code(), Code::corrupt);
}

TEST(StoredNamespace, that_no_node_holds_is_corrupt) {
  const auto detail = [](const NamespaceDefinition& definition) {
    return decode_namespace(kKey, encode_namespace(kKey, definition)).status().detail();
  };
  EXPECT_EQ(detail({.name = "likes"}), "");
  EXPECT_EQ(detail({.name = "likes:"}), "namespace: name has a ':'");
  EXPECT_EQ(detail({.name = std::string(65, 'x')}), "namespace: name is 65: must be 0 to 64");
  EXPECT_EQ(detail({.name = "a", .policy = {.shards = 1025}}),
            "namespace: shards is 1025: must be 0 to 1024");
  EXPECT_EQ(detail({.name = "a", .changed = {kLatestStamp + 1, NodeId{1}}}),
            "namespace: changed is 9223372036854775809: must be 0 to 9223372036854775808");
  EXPECT_EQ(detail({.name = "a", .dropped = {kMax64, NodeId{1}}}),
            "namespace: dropped is 18446744073709551615: must be 0 to 9223372036854775808");
}

TEST(StoredState, that_no_merge_makes_is_corrupt) {
  const auto detail = [](const ShardState& state) {
    return decode_shard_state(kKey, encode_shard_state(kKey, state)).status().detail();
  };
  const Cell one{.actor = ActorId{1}}, two{.actor = ActorId{2}}, none{};
  EXPECT_EQ(detail({{one, two}, 1, 1}), "");
  EXPECT_EQ(detail({{two, one}, 1, 1}), "shard state: cells are not ascending by actor");
  EXPECT_EQ(detail({{one, one}, 1, 1}), "shard state: cells are not ascending by actor");
  EXPECT_EQ(detail({{none, one}, 1, 1}), "shard state: cells are not ascending by actor");
  EXPECT_EQ(detail({{}, 0, 1}), "shard state: count is 0: must be 1 to 1024");
  EXPECT_EQ(detail({{}, 1025, 1}), "shard state: count is 1025: must be 1 to 1024");
  EXPECT_EQ(detail({{}, 2, 3}), "shard state: usable is 3: must be 1 to 2");
}

TEST(StoredState, of_three_cells_takes_little_more_than_the_cells) {
  const ShardState state{
      {{ActorId{1}, Commit{2}, 3}, {ActorId{2}, {}, 3}, {ActorId{3}, {}, 3}}, 1, 1};
  EXPECT_LE(encode_shard_state(kKey, state).size(), 3 * sizeof(Cell) + 40);
}

}  // namespace
}  // namespace quipu::test
