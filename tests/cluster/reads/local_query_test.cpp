// Local queries of counters that other nodes own: what they cost, how old they are, and what they
// are never used for.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "protocol/element.h"
#include "protocol/shard_number.h"
#include "storage/kinds/distinct.h"
#include "storage/kinds/frequency.h"
#include "tests/cluster/hand_driven.h"

namespace quipu::test {
namespace {

class LocalQuery : public testing::Test {
 protected:
  LocalQuery() { nodes_.pass(1s); }

  std::optional<Code> see(MemberIndex node, std::string_view key, std::uint64_t from,
                          std::uint64_t to) {
    std::vector<std::uint64_t> hashes;
    for (std::uint64_t one = from; one < to; ++one)
      hashes.push_back(element_hash(HashKey{7}, std::to_string(one)));
    words_ = distinct::words_of(hashes);
    return nodes_.code(nodes_.op(node, {.key = key,
                                        .words = words_,
                                        .shard = shard_of(Kind::distinct),
                                        .kind = OpKind::apply,
                                        .ack = Ack::quorum}));
  }
  std::uint64_t ask(std::vector<std::string_view> keys, ReadLevel level = ReadLevel::local) {
    return nodes_.query(0, {.level = level, .keys = std::move(keys)});
  }
  QueryReply reply(std::uint64_t id) {
    return nodes_.queried(id).value_or(QueryReply{.code = Code::in_doubt});
  }
  static std::uint64_t number(const QueryReply& reply) {
    return reply.code == Code::ok ? distinct::count(reply.reply).value_or(9999) : 9999;
  }
  std::uint64_t count(std::vector<std::string_view> keys, ReadLevel level = ReadLevel::local) {
    return number(reply(ask(std::move(keys), level)));
  }
  // How many questions reached other nodes since the last call.
  std::size_t asked() { return nodes_.take_traffic()[FrameType::collect]; }

  HandDriven nodes_{five()};
  const std::string key_ = nodes_.key_not_of(0);
  std::string words_;
};

TEST_F(LocalQuery, OfAnotherNodesCounterAsksAnOwnerOnceAndThenRemembers) {
  ASSERT_EQ(see(0, key_, 0, 10), Code::ok);
  nodes_.pass(1s);
  (void)asked();
  EXPECT_EQ(count({key_}), 10u);
  EXPECT_EQ(count({key_}), 10u);
  EXPECT_EQ(asked(), 1u);
  EXPECT_TRUE(reply(ask({key_})).complete);
  EXPECT_TRUE(reply(ask({key_})).exists);
}

TEST_F(LocalQuery, RemembersTheUnionOfSeveralAndEachAlone) {
  const std::string other = nodes_.key_not_of(0, 1);
  ASSERT_EQ(see(0, key_, 0, 10), Code::ok);
  ASSERT_EQ(see(0, other, 5, 20), Code::ok);
  nodes_.pass(1s);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(count({key_, other}), 20u);
    EXPECT_EQ(count({other, key_, other}), 20u);
    EXPECT_EQ(count({key_}), 10u);
    EXPECT_EQ(count({other}), 15u);
    if (i == 0) (void)asked();
  }
  EXPECT_EQ(asked(), 0u);
}

TEST_F(LocalQuery, ConcurrentReadersShareOneQuestion) {
  ASSERT_EQ(see(0, key_, 0, 10), Code::ok);
  nodes_.pass(1s);
  for (const MemberIndex owner : nodes_.owners(key_)) nodes_.hold(0, owner);
  (void)asked();
  const std::uint64_t one = ask({key_});
  const std::uint64_t two = ask({key_});
  EXPECT_FALSE(nodes_.queried(one) || nodes_.queried(two));
  for (const MemberIndex owner : nodes_.owners(key_)) nodes_.release(0, owner);
  EXPECT_EQ(number(reply(one)), 10u);
  EXPECT_EQ(number(reply(two)), 10u);
  EXPECT_EQ(asked(), 1u);
}

TEST_F(LocalQuery, OfAHotCounterCostsOneQuestionAnInterval) {
  (void)asked();
  for (int i = 0; i < 100; ++i) {
    for (int reader = 0; reader < 5; ++reader) (void)ask({key_});
    nodes_.pass(10ms);
  }
  EXPECT_LE(asked(), 11u);
}

TEST_F(LocalQuery, SeesWhatTheOwnersLearnWithinTwoIntervals) {
  EXPECT_EQ(count({key_}), 0u);
  ASSERT_EQ(see(nodes_.owners(key_)[1], key_, 0, 10), Code::ok);
  nodes_.pass(200ms);
  (void)count({key_});
  nodes_.pass(200ms);
  EXPECT_EQ(count({key_}), 10u);
}

TEST_F(LocalQuery, OfWhatNobodyReadsAnyMoreIsNotAskedFor) {
  (void)count({key_});
  nodes_.pass(1s);
  (void)asked();
  nodes_.pass(10s);
  EXPECT_EQ(asked(), 0u);
}

// The add was acked just now: an answer that lacks it must say that it is older.
TEST_F(LocalQuery, NeverClaimsToBeYoungerThanItIs) {
  EXPECT_EQ(count({key_}), 0u);
  ASSERT_EQ(see(nodes_.owners(key_)[0], key_, 0, 10), Code::ok);
  for (unsigned ms = 10; ms <= 500; ms += 10) {
    nodes_.pass(10ms);
    const QueryReply told = reply(ask({key_}));
    ASSERT_TRUE(number(told) == 10 || told.age_ms >= ms) << told.age_ms << " after " << ms;
  }
}

TEST_F(LocalQuery, GrowsOldWhileNoOwnerAnswersAndIsThenUnavailable) {
  ASSERT_EQ(see(0, key_, 0, 10), Code::ok);
  nodes_.pass(1s);
  EXPECT_EQ(count({key_}), 10u);
  nodes_.cut_off(0);
  nodes_.pass(250ms);
  EXPECT_EQ(count({key_}), 10u);
  EXPECT_GE(reply(ask({key_})).age_ms, 250u);
  nodes_.pass(1s);
  EXPECT_EQ(reply(ask({key_})).code, Code::unavailable);
}

TEST_F(LocalQuery, IsNotUsedForFreshAndStrongOnes) {
  EXPECT_EQ(count({key_}), 0u);
  ASSERT_EQ(see(nodes_.owners(key_)[0], key_, 0, 10), Code::ok);
  nodes_.pass(20ms);
  EXPECT_EQ(count({key_}), 0u) << "the cached answer";
  EXPECT_EQ(count({key_}, ReadLevel::strong), 10u);
  EXPECT_EQ(count({key_}, ReadLevel::fresh), 10u);
}

TEST_F(LocalQuery, WithACounterOfThisNodeShowsWhatWasJustAddedHere) {
  const std::string own = nodes_.key_of(0);
  ASSERT_EQ(see(0, key_, 0, 10), Code::ok);
  nodes_.pass(1s);
  EXPECT_EQ(count({key_, own}), 10u);
  ASSERT_EQ(see(0, own, 10, 15), Code::ok);
  EXPECT_EQ(count({key_, own}), 15u);
}

TEST_F(LocalQuery, OfAnotherReactorsCounterShowsWhatWasJustAddedThere) {
  HandDriven::Options options = five();
  HandDriven nodes(options);
  const std::string key = nodes.key_not_of(0);
  const MemberIndex sibling = nodes.owners(key)[0];
  nodes.settings(0).same_clock = {0, sibling};
  nodes.restart(0);
  nodes.pass(1s);
  for (std::uint64_t count = 1; count < 5; ++count) {
    const std::uint64_t hash = element_hash(HashKey{7}, std::to_string(count));
    const std::string words = distinct::words_of({&hash, 1});
    (void)nodes.op(
        sibling,
        {.key = key, .words = words, .shard = shard_of(Kind::distinct), .kind = OpKind::apply});
    const auto told = nodes.queried(nodes.query(0, {.level = ReadLevel::local, .keys = {key}}));
    ASSERT_TRUE(told);
    EXPECT_EQ(number(*told), count);
  }
}

TEST_F(LocalQuery, DoesNotOutliveTheEndOfACounter) {
  ASSERT_EQ(see(0, key_, 0, 10), Code::ok);
  const Wall at = nodes_.wall(0) + 605ms;
  ASSERT_EQ(nodes_.code(nodes_.op(0, {.key = key_,
                                      .amount = at.time_since_epoch().count(),
                                      .shard = shard_of(Kind::distinct),
                                      .kind = OpKind::expire,
                                      .ack = Ack::quorum})),
            Code::ok);
  for (nodes_.pass(300ms); nodes_.wall(0) < at; nodes_.pass(10ms)) {
    const QueryReply told = reply(ask({key_}));
    ASSERT_EQ(number(told), 10u);
    EXPECT_EQ(told.expires_in_ms, static_cast<std::uint64_t>((at - nodes_.wall(0)).count()));
  }
  EXPECT_EQ(count({key_}), 0u);
  EXPECT_FALSE(reply(ask({key_})).exists);
}

TEST_F(LocalQuery, OfAnotherKindsCounterSaysSoFromTheCache) {
  ASSERT_EQ(nodes_.code(nodes_.add(0, key_, 3)), Code::ok);
  nodes_.pass(1s);
  (void)asked();
  EXPECT_EQ(reply(ask({key_})).code, Code::wrong_type);
  EXPECT_EQ(reply(ask({key_})).code, Code::wrong_type);
  EXPECT_EQ(asked(), 1u);
}

// Though all of it is in memory, and could be answered at once.
TEST_F(LocalQuery, OfMoreBytesThanOneQueryMayReadIsRefusedUnlessItIsOfOneCounter) {
  nodes_.settings(0).pending_read_bytes = 1000;
  nodes_.restart(0);
  nodes_.pass(1s);
  const std::string first = nodes_.key_of(0), second = nodes_.key_of(0, 1);
  for (const std::string& key : {first, second}) ASSERT_EQ(see(0, key, 0, 500), Code::ok);
  const std::uint64_t one = count({first});
  EXPECT_NEAR(static_cast<double>(one), 500, 30);
  EXPECT_EQ(reply(ask({first, second})).code, Code::invalid_argument);
  nodes_.settings(0).pending_read_bytes = std::size_t{16} << 10;
  nodes_.restart(0);
  nodes_.pass(1s);
  EXPECT_EQ(count({first, second}), one);
}

TEST_F(LocalQuery, IsForgottenForNewerOnesBeyondTheBound) {
  HandDriven::Options options = five();
  options.settings.question_bytes = 3'000;
  HandDriven nodes(options);
  nodes.pass(1s);
  for (std::size_t nth = 0; nth < 50; ++nth) {
    const std::string key = nodes.key_not_of(0, nth);
    (void)nodes.query(0, {.level = ReadLevel::local, .keys = {key}});
    EXPECT_LE(nodes.stat(0, "question_cache_bytes"), 3'000u);
  }
  EXPECT_GT(nodes.stat(0, "question_cache_bytes"), 2'000u);
}

// ---- counters in slices (storage/kinds/kind.h) ----

class SlicedQuery : public LocalQuery {
 protected:
  std::optional<Code> change(MemberIndex node, std::string_view key, std::string words,
                             Ack ack = Ack::quorum) {
    words_ = std::move(words);
    return nodes_.code(nodes_.op(node, {.key = key,
                                        .words = words_,
                                        .shard = shard_of(Kind::frequency),
                                        .kind = OpKind::apply,
                                        .ack = ack}));
  }
  std::optional<Code> count_items(MemberIndex node, std::string_view key, std::uint64_t times) {
    std::vector<frequency::Increment> increments;
    for (const std::uint64_t hash : kItems) increments.push_back({hash, times});
    return change(node, key, frequency::words_to_add(increments));
  }
  std::vector<std::uint64_t> told(MemberIndex node, std::string_view key, ReadLevel level) {
    const std::string question = frequency::question_about(kItems);
    const std::uint64_t id = nodes_.query(
        node, {.kind = Kind::frequency, .level = level, .words = question, .keys = {key}});
    const QueryReply answer = reply(id);
    const auto estimates = frequency::estimates(answer.reply);
    return answer.code == Code::ok && estimates ? estimates->counts : std::vector<std::uint64_t>{};
  }
  static inline const std::vector<std::uint64_t> kItems{1, std::uint64_t{1} << 40,
                                                        std::uint64_t{1} << 63, 77};
};

TEST_F(SlicedQuery, ReadsTheSlicesOfItsItemsThroughAnyNode) {
  ASSERT_EQ(change(0, key_, frequency::words_to_begin({100'000, 7})), Code::ok);
  ASSERT_EQ(count_items(0, key_, 3), Code::ok);
  ASSERT_EQ(count_items(1, key_, 4), Code::ok);
  nodes_.pass(1s);
  for (MemberIndex node = 0; node < 5; ++node) {
    for (const ReadLevel level : {ReadLevel::local, ReadLevel::fresh, ReadLevel::strong})
      EXPECT_EQ(told(node, key_, level), std::vector<std::uint64_t>(4, 7)) << node;
  }
}

TEST_F(SlicedQuery, SeesNothingOfALifeThatEnded) {
  ASSERT_EQ(change(0, key_, frequency::words_to_begin({100'000, 7})), Code::ok);
  ASSERT_EQ(count_items(0, key_, 3), Code::ok);
  ASSERT_EQ(nodes_.code(nodes_.op(0, {.key = key_, .kind = OpKind::reset, .ack = Ack::quorum})),
            Code::ok);
  EXPECT_EQ(told(0, key_, ReadLevel::strong), std::vector<std::uint64_t>(4, 0));
  nodes_.pass(3s);
  ASSERT_EQ(change(1, key_, frequency::words_to_begin({100'000, 7})), Code::ok);
  ASSERT_EQ(count_items(1, key_, 2), Code::ok);
  nodes_.pass(1s);
  for (MemberIndex node = 0; node < 5; ++node)
    EXPECT_EQ(told(node, key_, ReadLevel::strong), std::vector<std::uint64_t>(4, 2)) << node;
}

// What is acknowledged at quorum is with a majority, slices and all.
TEST_F(SlicedQuery, SeesWhatWasAcknowledgedAtQuorumThoughTheHomeIsGone) {
  ASSERT_EQ(change(0, key_, frequency::words_to_begin({100'000, 7})), Code::ok);
  ASSERT_EQ(count_items(0, key_, 3), Code::ok);
  const MemberIndex home = nodes_.owners(key_).front();
  nodes_.crash(home);
  nodes_.pass(10s);
  const MemberIndex other = home == 0 ? 1 : 0;
  EXPECT_EQ(told(other, key_, ReadLevel::strong), std::vector<std::uint64_t>(4, 3));
}

}  // namespace
}  // namespace quipu::test
