// Counters with bodies across nodes: what of a body travels, what comes of a lost frame, and how
// questions are answered.
#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "protocol/element.h"
#include "protocol/shard_number.h"
#include "storage/kinds/distinct.h"
#include "storage/kinds/parts.h"
#include "storage/kinds/top.h"
#include "tests/cluster/hand_driven.h"

namespace quipu::test {
namespace {

constexpr ShardIndex kDistinctShard = shard_of(Kind::distinct);

class BodiesOfNodes : public testing::Test {
 protected:
  std::uint64_t add(MemberIndex node, std::uint64_t from, std::uint64_t to,
                    std::string_view key = "v", Ack ack = Ack::disk) {
    std::vector<std::uint64_t> hashes;
    for (std::uint64_t one = from; one < to; ++one)
      hashes.push_back(element_hash(HashKey{7}, std::to_string(one)));
    const std::string words = distinct::words_of(hashes);
    return nodes_.op(
        node,
        {.key = key, .words = words, .shard = kDistinctShard, .kind = OpKind::apply, .ack = ack});
  }
  std::string body(MemberIndex node, std::string_view key = "v") {
    const ShardState state = nodes_.state(node, key, kDistinctShard);
    return state.parts.size() == 1 ? state.parts[0].body : "";
  }
  std::optional<QueryReply> query(MemberIndex node, std::vector<std::string_view> keys,
                                  ReadLevel level) {
    return nodes_.queried(nodes_.query(node, {.level = level, .keys = std::move(keys)}));
  }
  std::uint64_t count(MemberIndex node, std::vector<std::string_view> keys, ReadLevel level) {
    const auto reply = query(node, std::move(keys), level);
    return reply && reply->code == Code::ok ? distinct::count(reply->reply).value_or(9999) : 9999;
  }
  // The bytes of bodies in messages of that type, between any two nodes, from now on.
  template <class Message>
  void watch(std::size_t& bytes) {
    nodes_.meddle([&bytes](MemberIndex, MemberIndex, PeerMessage& message) {
      if (auto* const one = std::get_if<Message>(&message)) {
        const Delta* const states = states_in(message);
        if (states == nullptr) return HandDriven::Fate::deliver;
        states->for_each([&](const DeltaEntry& entry) { bytes += bytes_of(entry.parts); });
        (void)one;
      }
      return HandDriven::Fate::deliver;
    });
  }

  HandDriven nodes_;
};

// ---- replication ----

TEST_F(BodiesOfNodes, once_a_peer_has_the_rest_only_changed_registers_travel) {
  (void)add(0, 0, 20'000);
  nodes_.pass(5s);
  ASSERT_EQ(body(1).size(), distinct::dense_size(14));
  std::size_t bytes = 0;
  watch<DeltaFrame>(bytes);
  for (std::uint64_t one = 20'000; one < 20'020; ++one) (void)add(0, one, one + 1);
  nodes_.pass(1s);
  EXPECT_GT(bytes, 0u);
  EXPECT_LE(bytes, 2u * 20 * 7) << "to two peers";
  EXPECT_EQ(body(0), body(1));
  EXPECT_EQ(body(0), body(2));
}

TEST_F(BodiesOfNodes, an_add_at_quorum_sends_no_more_than_the_registers_that_it_rests_on) {
  (void)add(0, 0, 20'000);
  nodes_.pass(5s);
  ASSERT_EQ(body(0), body(1));
  std::size_t bytes = 0;
  watch<DeltaFrame>(bytes);
  const std::string before = body(0);
  const auto unchanged = add(0, 100, 120, "v", Ack::quorum);
  nodes_.pass(300ms);
  ASSERT_EQ(nodes_.code(unchanged), Code::ok);
  EXPECT_EQ(body(0), before);
  EXPECT_GT(bytes, 0u);
  EXPECT_LE(bytes, 2u * 20 * 7) << "to two peers";
  const auto changing = add(0, 20'000, 20'200, "v", Ack::quorum);
  nodes_.pass(300ms);
  ASSERT_EQ(nodes_.code(changing), Code::ok);
  EXPECT_NE(body(0), before);
  EXPECT_LE(bytes, 2u * 220 * 7);
}

TEST_F(BodiesOfNodes, registers_of_a_lost_frame_go_with_the_next) {
  (void)add(0, 0, 20'000);
  nodes_.pass(5s);
  // The frame is lost, and so is the link.
  nodes_.meddle([](MemberIndex from, MemberIndex to, PeerMessage& message) {
    const bool lost = from == 0 && to == 1 && std::holds_alternative<DeltaFrame>(message);
    return lost ? HandDriven::Fate::drop : HandDriven::Fate::deliver;
  });
  for (std::uint64_t one = 30'000; one < 30'100; one += 10) (void)add(0, one, one + 10);
  nodes_.pass(300ms);
  EXPECT_NE(body(0), body(1));
  nodes_.be_fair();
  nodes_.cut(0, 1);
  nodes_.connect(0, 1);
  nodes_.pass(500ms);
  EXPECT_EQ(body(0), body(1));
}

// An ack of the second frame must mean that the peer has what the first one brought.
TEST_F(BodiesOfNodes, a_frame_has_also_the_registers_of_frames_that_are_not_acknowledged) {
  (void)add(0, 0, 20'000);
  nodes_.pass(5s);
  bool first = true;
  nodes_.meddle([&](MemberIndex from, MemberIndex to, PeerMessage& message) {
    const bool frame = from == 0 && to == 1 && std::holds_alternative<DeltaFrame>(message);
    return frame && std::exchange(first, false) ? HandDriven::Fate::drop
                                                : HandDriven::Fate::deliver;
  });
  nodes_.cut_off(2);
  (void)add(0, 30'000, 30'100);
  nodes_.pass(200ms);
  ASSERT_FALSE(first);
  const auto at_quorum = add(0, 40'000, 40'100, "v", Ack::quorum);
  nodes_.pass(500ms);
  ASSERT_EQ(nodes_.code(at_quorum), Code::ok);
  EXPECT_EQ(body(0), body(1));
}

TEST_F(BodiesOfNodes, an_add_at_quorum_that_changes_nothing_waits_for_a_majority) {
  nodes_.cut_off(0);
  (void)add(0, 0, 10);
  nodes_.connect(0);
  nodes_.stall(1);
  nodes_.stall(2);
  const auto again = add(0, 0, 10, "v", Ack::quorum);
  nodes_.pass(300ms);
  EXPECT_FALSE(nodes_.code(again).has_value());
  nodes_.resume(1);
  nodes_.pass(300ms);
  EXPECT_EQ(nodes_.code(again), Code::ok);
}

TEST_F(BodiesOfNodes, a_local_query_shows_what_was_just_counted_through_the_same_node) {
  const ShardIndex shard = shard_of(Kind::top);
  const std::string words = top::words_to_add(std::vector<top::Increment>{{"ann", 1}});
  for (int i = 0; i < 10; ++i) {
    const std::string key = "k" + std::to_string(i);
    for (MemberIndex node = 0; node < 3; ++node) {
      const auto added =
          nodes_.op(node, {.key = key, .words = words, .shard = shard, .kind = OpKind::apply});
      nodes_.pass(2ms);
      ASSERT_EQ(nodes_.code(added), Code::ok);
      const auto id = nodes_.query(node, {.kind = Kind::top, .keys = {key}});
      nodes_.pass(2ms);
      const auto reply = nodes_.queried(id);
      ASSERT_TRUE(reply && reply->code == Code::ok);
      EXPECT_EQ(top::total(reply->reply), node + 1u) << key;
    }
  }
}

// Each of three actors has 1,600 slots. Together they take half a megabyte, so one message has
// nothing else.
TEST_F(BodiesOfNodes, of_several_full_shares_are_replicated_and_read) {
  const ShardIndex shard = shard_of(Kind::top);
  const auto apply = [&](MemberIndex node, const std::string& words, Ack ack) {
    return nodes_.op(
        node, {.key = "t", .words = words, .shard = shard, .kind = OpKind::apply, .ack = ack});
  };
  (void)apply(0, top::words_to_begin({.k = 100}), Ack::disk);
  nodes_.pass(1s);
  for (MemberIndex node = 0; node < 3; ++node) {
    nodes_.cut_off(node);
    nodes_.pass(5s);
    for (std::size_t i = 0; i < 1600; i += 800) {
      std::vector<std::string> items;
      for (std::size_t j = i; j < i + 800; ++j)
        items.push_back(std::to_string(node) + "-" + std::to_string(j) + std::string(100, 'x'));
      std::vector<top::Increment> increments;
      for (const std::string& item : items) increments.push_back({item, node + std::uint64_t{1}});
      const auto added = apply(node, top::words_to_add(increments), Ack::disk);
      nodes_.pass(100ms);
      ASSERT_EQ(nodes_.code(added), Code::ok);
    }
    nodes_.connect(node);
    nodes_.pass(5s);
  }
  const auto body_of = [&](MemberIndex node) {
    const ShardState state = nodes_.state(node, "t", shard);
    return state.parts.size() == 1 ? state.parts[0].body : "";
  };
  ASSERT_GT(body_of(0).size(), std::size_t{500} << 10);
  EXPECT_EQ(body_of(0), body_of(1));
  EXPECT_EQ(body_of(0), body_of(2));
  const auto quorum =
      apply(1, top::words_to_add(std::vector<top::Increment>{{"new", 9}}), Ack::quorum);
  nodes_.pass(1s);
  EXPECT_EQ(nodes_.code(quorum), Code::ok);
  const auto reply = nodes_.queried(
      nodes_.query(2, {.kind = Kind::top, .level = ReadLevel::strong, .keys = {"t"}}));
  ASSERT_TRUE(reply && reply->code == Code::ok);
  EXPECT_EQ(top::total(reply->reply), 1600u * (1 + 2 + 3) + 9);
}

TEST_F(BodiesOfNodes, a_message_with_a_body_that_is_none_ends_its_link) {
  DeltaFrame frame;
  frame.number = 1;
  frame.delta.push({"v", kDistinctShard}, {{}, 1, 1, {}, {{{}, "no body"}}});
  nodes_.forge(1, 0, frame);
  nodes_.run();
  EXPECT_FALSE(nodes_.up(0, 1));
  EXPECT_EQ(body(0), "");
}

// ---- questions ----

TEST_F(BodiesOfNodes, the_union_of_several_keys_is_counted_through_any_node) {
  (void)add(0, 0, 100, "a");
  (void)add(1, 50, 150, "b");
  (void)add(2, 140, 200, "c");
  nodes_.pass(1s);
  for (const MemberIndex node : nodes_.all()) {
    EXPECT_NEAR(static_cast<double>(count(node, {"a", "b", "c", "none"}, ReadLevel::local)), 200,
                2);
    EXPECT_NEAR(static_cast<double>(count(node, {"a", "b"}, ReadLevel::strong)), 150, 2);
  }
}

TEST(BodiesOfFive, are_counted_through_a_node_that_owns_none_of_them) {
  HandDriven nodes(five());
  const std::string key = nodes.key_not_of(0);
  const std::uint64_t hash = 12'345;
  const std::string words = distinct::words_of({&hash, 1});
  ASSERT_EQ(nodes.code(nodes.op(
                0, {.key = key, .words = words, .shard = kDistinctShard, .kind = OpKind::apply})),
            Code::ok);
  for (const ReadLevel level : {ReadLevel::local, ReadLevel::fresh, ReadLevel::strong}) {
    const auto reply = nodes.queried(nodes.query(0, {.level = level, .keys = {key}}));
    ASSERT_TRUE(reply);
    EXPECT_EQ(distinct::count(reply->reply), 1u);
    EXPECT_TRUE(reply->exists);
  }
}

TEST_F(BodiesOfNodes, a_strong_query_moves_no_body_where_a_majority_has_the_same) {
  (void)add(0, 0, 20'000);
  nodes_.pass(5s);
  std::size_t bytes = 0;
  watch<Collected>(bytes);
  const std::uint64_t counted = count(1, {"v"}, ReadLevel::strong);
  EXPECT_NEAR(static_cast<double>(counted), 20'000, 500);
  EXPECT_EQ(bytes, 0u) << "its own body agrees with another one's";
}

TEST_F(BodiesOfNodes, a_strong_query_shows_what_a_majority_has_though_copies_differ) {
  (void)add(0, 0, 20'000);
  nodes_.pass(5s);
  const std::string before = body(1);
  (void)add(0, 20'000, 21'000);  // only on 0 until the next interval
  nodes_.cut(1, 2);
  const std::uint64_t counted = count(1, {"v"}, ReadLevel::strong);
  EXPECT_NE(body(1), before) << "the join was written back";
  EXPECT_EQ(count(1, {"v"}, ReadLevel::local), counted);
  EXPECT_EQ(body(1), body(0));
}

TEST_F(BodiesOfNodes, a_strong_query_asks_again_for_bodies_that_were_lost) {
  (void)add(1, 0, 20'000);
  nodes_.pass(5s);
  nodes_.meddle([](MemberIndex, MemberIndex, PeerMessage& message) {
    const auto* const ask = std::get_if<Collect>(&message);
    return ask != nullptr && !ask->hashes ? HandDriven::Fate::drop : HandDriven::Fate::deliver;
  });
  (void)add(0, 30'000, 30'010);  // so that this node's body is another one
  nodes_.cut(0, 2);
  const auto asked = nodes_.query(0, {.level = ReadLevel::strong, .keys = {"v"}});
  nodes_.pass(100ms);
  EXPECT_FALSE(nodes_.queried(asked));
  nodes_.be_fair();
  nodes_.cut(0, 1);
  nodes_.connect(0, 1);
  nodes_.pass(1s);
  ASSERT_TRUE(nodes_.queried(asked));
  EXPECT_EQ(nodes_.queried(asked)->code, Code::ok);
}

TEST_F(BodiesOfNodes, a_read_of_a_sum_says_that_the_key_has_another_kind) {
  (void)add(0, 0, 10);
  nodes_.pass(1s);
  for (const ReadLevel level : {ReadLevel::local, ReadLevel::fresh, ReadLevel::strong}) {
    const auto value = nodes_.value(nodes_.read(1, "v", level));
    ASSERT_TRUE(value);
    EXPECT_EQ(value->code, Code::wrong_type);
    EXPECT_EQ(value->kind, Kind::distinct);
    EXPECT_TRUE(value->exists);
  }
  (void)nodes_.add(0, "sum", 1);
  nodes_.pass(1s);
  const auto reply = query(1, {"v", "sum"}, ReadLevel::local);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->code, Code::wrong_type);
}

// Each empty item takes one byte of the question and three of its answer.
TEST_F(BodiesOfNodes, a_question_that_no_answer_has_room_for_is_refused) {
  for (const std::size_t items : {200'000u, 400'000u}) {
    const std::string question = top::kAbout + std::string(items, '\0');
    const auto reply =
        nodes_.queried(nodes_.query(0, {.kind = Kind::top, .words = question, .keys = {"x"}}));
    ASSERT_TRUE(reply.has_value());
    EXPECT_EQ(reply->code, Code::invalid_argument) << items;
    EXPECT_LT(reply->reply.size(), 1000u);
  }
  const std::string some(1000, 'x');
  const std::vector<std::string_view> many(1000, "x");
  EXPECT_EQ(nodes_.queried(nodes_.query(0, {.words = some, .keys = many}))->code,
            Code::invalid_argument);
}

TEST_F(BodiesOfNodes, one_query_may_be_about_the_most_keys) {
  (void)add(0, 0, 10);
  nodes_.pass(1s);
  std::vector<std::string> names{"v"};
  while (names.size() < kMaxReadKeys) names.push_back("none" + std::to_string(names.size()));
  const std::vector<std::string_view> keys(names.begin(), names.end());
  for (const ReadLevel level : {ReadLevel::local, ReadLevel::strong}) {
    const auto id = nodes_.query(1, {.level = level, .keys = keys});
    nodes_.pass(1s);
    const auto reply = nodes_.queried(id);
    ASSERT_TRUE(reply && reply->code == Code::ok);
    EXPECT_EQ(distinct::count(reply->reply), 10u);
  }
}

TEST_F(BodiesOfNodes, a_counter_of_another_kind_cannot_be_spread_as_a_sum) {
  (void)add(0, 0, 10);
  const auto raised = nodes_.raise(0, "v", 4);
  nodes_.pass(1s);
  EXPECT_EQ(nodes_.code(raised), Code::wrong_type);
  const auto sum = nodes_.add(0, "v", 1);
  nodes_.pass(1s);
  EXPECT_EQ(nodes_.code(sum), Code::wrong_type);
}

TEST_F(BodiesOfNodes, are_listed_with_their_kind) {
  (void)add(0, 0, 10, "a");
  (void)nodes_.add(0, "b", 1);
  nodes_.pass(1s);
  std::map<std::string, Kind> listed;
  for (std::uint32_t cursor = 0; cursor != kListEnd;) {
    const auto keys = nodes_.keys(nodes_.list(1, {.cursor = cursor}));
    ASSERT_TRUE(keys && keys->code == Code::ok);
    for (std::size_t i = 0; i < keys->keys.size(); ++i)
      listed[keys->keys[i]] = keys->kinds.empty() ? Kind::sum : keys->kinds[i];
    cursor = keys->next;
  }
  EXPECT_EQ(listed, (std::map<std::string, Kind>{{"a", Kind::distinct}, {"b", Kind::sum}}));
}

}  // namespace
}  // namespace quipu::test
