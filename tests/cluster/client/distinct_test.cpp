// Counters of different elements, as a client asks for them: their changes are tokened like adds.
#include <gtest/gtest.h>

#include "protocol/distinct_words.h"
#include "protocol/item_words.h"
#include "protocol/shard_number.h"
#include "tests/cluster/client/harness.h"

namespace quipu {
namespace {

using namespace std::chrono_literals;

constexpr ShardIndex kDistinctShard = shard_of(Kind::distinct);

std::string words_in(const ClientHarness& t, const std::vector<std::string>& elements) {
  std::vector<Item> items;
  for (const std::string& element : elements) items.push_back({element});
  return words_to_add(Kind::distinct, t.config_of("n1:1").placement_key, items);
}

TEST(ClientDistinct, ElementsTravelAsHashesWithTheClustersSalt) {
  ClientHarness t;
  t.connect("n1:1");
  t.apply(1, "visitors", {"ann", "bob"});
  const SentOp sent = t.take_change();
  EXPECT_EQ(sent.op.kind, OpKind::apply);
  EXPECT_EQ(sent.op.shard, kDistinctShard);
  EXPECT_EQ(sent.key, "visitors");
  EXPECT_EQ(sent.words, words_in(t, {"ann", "bob"}));
  EXPECT_EQ(sent.words.size(), 1 + 2 * sizeof(std::uint64_t));
  t.answer(sent, Code::ok);
  EXPECT_EQ(t.ended(1), Code::ok);
}

TEST(ClientDistinct, AnAddIsSentAgainWithItsTokenAndTheSameWords) {
  ClientHarness t;
  const ConnectionId n1 = t.connect("n1:1");
  t.apply(1, "visitors", {"ann"});
  const SentOp first = t.take_change();
  ASSERT_NE(first.op.token, Token{});
  t.drop(n1);
  t.connect("n2:1");
  const SentOp second = t.take_op();
  EXPECT_EQ(second.op.token, first.op.token);
  EXPECT_EQ(second.op.shard, first.op.shard);
  EXPECT_EQ(second.words, first.words);
  t.answer(second, Code::ok);
  EXPECT_EQ(t.ended(1), Code::ok);
}

TEST(ClientDistinct, AnAddOfNoElementsBeginsTheCounter) {
  ClientHarness t;
  t.connect("n1:1");
  t.apply(1, "visitors", {});
  EXPECT_EQ(t.take_change().words, distinct::words_of({}));
}

TEST(ClientDistinct, AnAddOfAnEarlierClientWaitsForAFoundedCluster) {
  ClientHarness t;
  const ClientBinding bound{kDistinctShard, {kStore1, Serial{7}, 3, 3}};
  t.apply_bound(1, "visitors", {"ann"}, bound);
  const ConnectionId n1 = t.open("n1:1");
  ConfigReply unfounded = t.config_of("n1:1");
  const HashKey placement = unfounded.placement_key;
  unfounded.placement_key = HashKey{};
  t.tell_config(n1, unfounded);
  t.pass(3 * kRetry);
  EXPECT_TRUE(t.ops.empty()) << "words need the cluster's salt";
  t.tell_config(n1, t.config_of("n1:1"));
  t.pass(kRetry);
  const SentOp sent = t.take_op();
  EXPECT_EQ(sent.words, words_to_add(Kind::distinct, placement, std::vector<Item>{{"ann"}}));
  EXPECT_EQ(sent.op.token.number, 3u);
  EXPECT_EQ(sent.op.shard, kDistinctShard);
}

TEST(ClientDistinct, AKeyOfAnotherKindIsRefusedForGood) {
  ClientHarness t;
  t.connect("n1:1");
  t.apply(1, "likes", {"ann"});
  t.answer(t.take_change(), Code::wrong_type, "the key has a counter of another kind");
  EXPECT_EQ(t.ended(1), Code::wrong_type);
  t.count_distinct(2, {"likes"});
  t.answer_query(t.take_query(), {.code = Code::wrong_type});
  EXPECT_EQ(std::get<QueryReply>(t.done.at(CallId{2})).code, Code::wrong_type);
  t.read(3, "visitors");
  t.answer_read(t.take_read(), Value{.code = Code::wrong_type, .kind = Kind::distinct});
  EXPECT_EQ(std::get<Values>(t.done.at(CallId{3})).values.at(0).code, Code::wrong_type);
}

TEST(ClientDistinct, MalformedWordsAreNoMissingShard) {
  ClientHarness t;
  t.connect("n1:1");
  t.apply(1, "visitors", {"ann"});
  t.answer(t.take_change(), Code::invalid_argument, "a body is not sound");
  EXPECT_EQ(t.ended(1), Code::invalid_argument);
}

TEST(ClientDistinct, AnAddHasALimitOfElements) {
  const std::pair<std::size_t, bool> kCases[] = {
      {0, true}, {1, true}, {distinct::kMaxElements, true}, {distinct::kMaxElements + 1, false}};
  for (const auto& [count, valid] : kCases) {
    ClientHarness t;
    t.connect("n1:1");
    t.apply(1, "visitors", std::vector<std::string>(count, "ann"));
    EXPECT_EQ(t.ended(1) != Code::invalid_argument, valid) << count;
    EXPECT_EQ(t.ops.empty(), !valid) << count;
  }
}

TEST(ClientDistinct, AQueryIsAskedAgainOverTheNextLink) {
  ClientHarness t;
  const ConnectionId n1 = t.connect("n1:1");
  t.count_distinct(1, {"a", "b"});
  EXPECT_EQ(t.take_query().keys, (std::vector<std::string>{"a", "b"}));
  t.drop(n1);
  t.connect("n2:1");
  const SentQuery again = t.take_query();
  t.answer_query(again, {.code = Code::unavailable, .detail = "no owner of a is reachable"});
  EXPECT_EQ(t.ended(1), std::nullopt) << "a refusal for now";
  t.pass(kRetry);
  t.answer_query(t.take_query(), {.reply = "\x02", .exists = true});
  EXPECT_EQ(std::get<QueryReply>(t.done.at(CallId{1})).reply, "\x02");
}

TEST(ClientDistinct, AQueryHasLimits) {
  const std::pair<std::vector<std::string>, bool> kCases[] = {
      {{}, false},
      {{""}, false},
      {{std::string(kMaxKey, 'k')}, true},
      {{std::string(kMaxKey + 1, 'k')}, false},
      {std::vector<std::string>(kMaxReadKeys, "k"), true},
      {std::vector<std::string>(kMaxReadKeys + 1, "k"), false},
  };
  for (const auto& [keys, valid] : kCases) {
    ClientHarness t;
    t.connect("n1:1");
    t.count_distinct(1, keys);
    EXPECT_EQ(t.queries.size(), valid ? 1u : 0u) << keys.size();
    EXPECT_EQ(t.ended(1) == Code::invalid_argument, !valid) << keys.size();
  }
}

TEST(ClientDistinct, AResetFindsTheKindOfTheCounter) {
  ClientHarness t;
  t.connect("n1:1");
  t.reset(1, "visitors");
  t.answer_read(t.take_read(), Value{.code = Code::wrong_type, .kind = Kind::distinct});
  const SentOp sent = t.take_change();
  EXPECT_EQ(sent.op.kind, OpKind::reset);
  EXPECT_EQ(sent.op.shard, kDistinctShard);
  t.answer(sent, Code::ok);
  EXPECT_EQ(t.ended(1), Code::ok);
  EXPECT_TRUE(t.ops.empty());
}

TEST(ClientDistinct, AResetOfAKnownKindAsksNothing) {
  ClientHarness t;
  t.connect("n1:1");
  t.reset(1, "visitors", Ack::quorum, Kind::distinct);
  const SentOp sent = t.take_change();
  EXPECT_EQ(sent.op.kind, OpKind::reset);
  EXPECT_EQ(sent.op.shard, kDistinctShard);
  EXPECT_EQ(sent.op.ack, Ack::quorum);
  EXPECT_TRUE(t.reads.empty());
}

}  // namespace
}  // namespace quipu
