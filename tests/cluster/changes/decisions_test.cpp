// Commands that decide on what they read: who decides, once, and what a lost answer means.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "protocol/distinct_words.h"
#include "protocol/frequency_words.h"
#include "protocol/shard_number.h"
#include "tests/cluster/hand_driven.h"

namespace quipu::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class Decisions : public ::testing::Test {
 protected:
  explicit Decisions(HandDriven::Options options = five()) : nodes_(std::move(options)) {}

  // Several commands, each with its key, or one for `key`.
  std::uint64_t ask(MemberIndex node, std::string_view key, std::string_view words, Ask ask = {}) {
    const bool several = words.find(';') != words.npos;
    const std::string all =
        several ? std::string(words) : std::string(key) + ' ' + std::string(words);
    return nodes_.op(node, {.key = key,
                            .words = all,
                            .token = ask.token,
                            .timeout_ms = ask.timeout_ms,
                            .kind = OpKind::decide,
                            .ack = ask.ack});
  }
  std::string reply(std::uint64_t id) {
    const auto done = nodes_.done(id);
    if (!done) return "none yet";
    if (done->code != Code::ok) return std::string(describe(done->code).name);
    return done->detail;
  }
  std::string decide(MemberIndex node, std::string_view key, std::string_view words) {
    return reply(ask(node, key, words));
  }
  void define(std::string_view name, NamespacePolicy policy) {
    nodes_.namespaces(0, {.action = NamespaceAction::create, .name = name, .policy = policy});
    nodes_.pass(1s);
  }
  std::size_t decided(MemberIndex node) { return nodes_.stat(node, "decisions_executed"); }

  HandDriven nodes_;
};

TEST_F(Decisions, AResetEndsTheCountersOfAllKinds) {
  const std::string key = nodes_.key_of(1);
  const std::vector<MemberIndex> owners = nodes_.owners(key);
  const std::uint64_t hash = 7;
  const std::string element = distinct::words_of({&hash, 1});
  const ShardIndex shard = shard_of(Kind::distinct);
  nodes_.cut_off(owners[0]);
  (void)nodes_.op(owners[0], {.key = key, .words = element, .shard = shard, .kind = OpKind::apply});
  (void)nodes_.op(owners[1], {.key = key, .amount = 5, .shard = 0});
  nodes_.pass(1s);
  nodes_.connect(owners[0]);
  nodes_.pass(2s);
  ASSERT_EQ(nodes_.held(owners[2], key), 5);
  ASSERT_EQ(nodes_.state(owners[2], key, shard).parts.size(), 1u) << "two nodes made one each";
  EXPECT_EQ(decide(1, key, "reset"), "0");
  nodes_.pass(1s);
  for (const MemberIndex owner : owners) {
    EXPECT_EQ(nodes_.held(owner, key), 0);
    EXPECT_TRUE(nodes_.state(owner, key, shard).parts.empty());
  }
}

// What was just counted through a node went home, and came back to nobody yet. And what the home
// does not know to have ended, it would go on with.
TEST_F(Decisions, AreMadeAtHomeAboutACounterThatCountsThere) {
  const std::string key = nodes_.key_of(1);
  const std::vector<MemberIndex> owners = nodes_.owners(key);
  const frequency::Increment one{7, 5};
  const std::string words = frequency::words_to_add({&one, 1});
  const ShardIndex shard = shard_of(Kind::frequency);
  const auto count = [&] {
    return nodes_.code(
        nodes_.op(owners[1], {.key = key, .words = words, .shard = shard, .kind = OpKind::apply}));
  };
  const auto total = [&] { return nodes_.state(owners[0], key, shard).parts.size(); };
  ASSERT_EQ(count(), Code::ok);
  EXPECT_EQ(decide(owners[1], key, "reset"), "0") << "at once";
  EXPECT_EQ(decided(owners[0]), 1u);
  EXPECT_EQ(total(), 0u);
  ASSERT_EQ(count(), Code::ok);
  nodes_.pass(1s);
  EXPECT_EQ(decide(owners[2], key, "reset"), "0") << "it has heard of the counter";
  EXPECT_EQ(decided(owners[0]), 2u);
  EXPECT_EQ(total(), 0u);
  // A sum counts wherever it is asked, and is decided about there.
  nodes_.pass(1s);
  nodes_.add(owners[1], key, 5);
  EXPECT_EQ(decide(owners[1], key, "reset"), "0");
  EXPECT_EQ(decided(owners[1]), 1u);
  EXPECT_EQ(nodes_.held(owners[1], key), 0);
}

// What this node sent home, it hears of soon. Then its own memory tells.
TEST_F(Decisions, AKeyThatOnceCountedAtHomeIsASumLikeAnyOther) {
  const std::string key = nodes_.key_of(1);
  const std::vector<MemberIndex> owners = nodes_.owners(key);
  const frequency::Increment one{7, 5};
  const std::string words = frequency::words_to_add({&one, 1});
  const ShardIndex shard = shard_of(Kind::frequency);
  ASSERT_EQ(nodes_.code(nodes_.op(
                owners[1], {.key = key, .words = words, .shard = shard, .kind = OpKind::apply})),
            Code::ok);
  EXPECT_EQ(decide(owners[1], key, "reset"), "0");
  nodes_.pass(2s);
  ASSERT_EQ(nodes_.code(nodes_.op(owners[1], {.key = key, .amount = 5, .shard = 0})), Code::ok);
  EXPECT_EQ(nodes_.held(owners[1], key), 5) << "who acknowledges it shows it";
}

TEST_F(Decisions, AnOwnerDecidesByItself) {
  const std::string key = nodes_.key_of(1);
  EXPECT_EQ(decide(1, key, "new set 5"), "5");
  EXPECT_EQ(decide(1, key, "new set 6"), "0 no");
  EXPECT_EQ(decide(1, key, "below 6 add 1"), "6");
  EXPECT_EQ(decide(1, key, "below 6 add 1"), "0 no");
  EXPECT_EQ(decided(1), 4u);
  nodes_.pass(1s);
  for (const MemberIndex owner : nodes_.owners(key)) EXPECT_EQ(nodes_.held(owner, key), 6);
}

TEST_F(Decisions, TheWordsTravelToAnOwner) {
  const std::string key = nodes_.key_not_of(0);
  EXPECT_EQ(decide(0, key, "new set 5"), "5");
  EXPECT_EQ(decide(0, key, "below 6 add 1"), "6");
  EXPECT_EQ(decided(0), 0u);
  EXPECT_EQ(nodes_.held(0, key), 0) << "who owns nothing of it holds nothing";
}

TEST_F(Decisions, AllThatADecisionChangesIsInOneRecord) {
  const std::string key = nodes_.key_of(1);
  nodes_.add(1, key, 4);
  const Commit before = nodes_.core(1).executor().sealed();
  EXPECT_EQ(decide(1, key, "add 3 for 60000"), "7");
  EXPECT_EQ(nodes_.core(1).executor().sealed(), next(before));
  EXPECT_TRUE(in_force(nodes_.state(1, key).life));
}

TEST_F(Decisions, SeveralAreOne) {
  const std::string a = nodes_.key_of(1);
  const std::string words =
      a + " add 3; " + a + " set 7; " + a + " set 8; " + a + " add 1 for 60000";
  EXPECT_EQ(decide(1, a, words), "3; 7; 8; 9");
  EXPECT_EQ(decided(1), 1u);
  nodes_.pass(1s);
  for (const MemberIndex owner : nodes_.owners(a)) EXPECT_EQ(nodes_.held(owner, a), 9);
}

// Its records are written as one, together with what was open before. Who has none of it must not
// call that young.
TEST_F(Decisions, WhatWasOpenBeforeItIsNotTakenForSent) {
  const std::string key = nodes_.key_of(1), a = nodes_.key_of(1, 2);
  nodes_.add(1, a, 1);
  nodes_.pass(1s);
  nodes_.stall(1);
  nodes_.op(1, {.kind = OpKind::open_session});  // this is being written …
  nodes_.add(1, key, 3, {.ack = Ack::memory});   // … while this waits
  nodes_.pass(150ms);                            // heartbeats come
  ask(1, a, a + " set 7; " + a + " set 8; " + a + " set 9", {.ack = Ack::memory});
  nodes_.pass(1s);
  for (const MemberIndex owner : nodes_.owners(key)) {
    if (owner == 1) continue;
    const auto read = nodes_.value(nodes_.read(owner, key, ReadLevel::local));
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->value, 0);
    EXPECT_GE(read->age_ms, 1150u);
  }
}

// Five nodes, three owners each: for many pairs one node owns both counters, for some none does.
TEST_F(Decisions, ANodeThatOwnsAllDecidesAboutSeveralCounters) {
  std::size_t here = 0, elsewhere = 0, apart = 0;
  for (int i = 0; i < 60; ++i) {
    const std::string a = "a" + std::to_string(i), b = "b" + std::to_string(i);
    std::vector<MemberIndex> both;
    for (const MemberIndex owner : nodes_.owners(a)) {
      const auto of_b = nodes_.owners(b);
      if (std::find(of_b.begin(), of_b.end(), owner) != of_b.end()) both.push_back(owner);
    }
    const std::uint64_t before = decided(0);
    const std::string reply = decide(0, a, a + " set 5; " + b + " set 6");
    const bool self = std::find(both.begin(), both.end(), MemberIndex{0}) != both.end();
    if (both.empty()) {
      EXPECT_EQ(reply, "invalid_argument");
    } else {
      EXPECT_EQ(reply, "5; 6");
      EXPECT_EQ(decided(0) - before, self ? 1u : 0u);
    }
    ++(both.empty() ? apart : self ? here : elsewhere);
  }
  EXPECT_GT(here, 0u);
  EXPECT_GT(elsewhere, 0u);
  EXPECT_EQ(apart, 0u) << "of five nodes, two groups of three share one";
}

TEST_F(Decisions, AtQuorumSeveralWaitForAMajorityOfEachCounter) {
  const std::string a = nodes_.key_of(1);
  std::string b;
  for (int i = 0;; ++i) {
    b = "b" + std::to_string(i);
    const std::vector<MemberIndex> owners = nodes_.owners(b);
    if (owners != nodes_.owners(a) && std::find(owners.begin(), owners.end(), 1) != owners.end())
      break;
  }
  for (const MemberIndex owner : nodes_.owners(b))
    if (owner != 1) nodes_.stall(owner);
  const auto id = ask(1, a, a + " set 5; " + b + " set 6", {.ack = Ack::quorum});
  nodes_.run();
  EXPECT_EQ(reply(id), "none yet");
  for (const MemberIndex owner : nodes_.owners(b)) nodes_.resume(owner);
  nodes_.pass(1s);
  EXPECT_EQ(reply(id), "5; 6");
}

TEST_F(Decisions, ItIsAnsweredOnceItIsDurable) {
  const std::string key = nodes_.key_of(1);
  nodes_.stall(1);
  const auto id = ask(1, key, "set 5");
  nodes_.run();
  EXPECT_EQ(reply(id), "none yet");
  nodes_.resume(1);
  nodes_.run();
  EXPECT_EQ(reply(id), "5");
}

TEST_F(Decisions, ALostAnswerLeavesItInDoubt) {
  const std::string key = nodes_.key_not_of(0);
  decide(0, key, "set 5");
  nodes_.meddle([](MemberIndex, MemberIndex, PeerMessage& message) {
    return std::holds_alternative<Forwarded>(message) ? HandDriven::Fate::drop
                                                      : HandDriven::Fate::deliver;
  });
  const auto id = ask(0, key, "add 1");
  nodes_.run();
  EXPECT_EQ(reply(id), "none yet");
  nodes_.be_fair();
  nodes_.cut_off(0);
  nodes_.run();
  EXPECT_EQ(reply(id), "in_doubt");
  nodes_.connect_all();
  nodes_.pass(2s);
  EXPECT_EQ(nodes_.held(nodes_.owners(key)[0], key), 6) << "it is not sent again";
}

TEST_F(Decisions, WhatWasNotSentIsRefusedOrGoesElsewhere) {
  const std::string key = nodes_.key_not_of(0);
  for (const MemberIndex owner : nodes_.owners(key)) nodes_.cut(0, owner);
  EXPECT_EQ(decide(0, key, "add 1"), "unavailable") << "nobody else may decide";
  EXPECT_EQ(nodes_.code(nodes_.add(0, key, 1)), Code::ok) << "plain adds go on";
}

TEST_F(Decisions, ADoubledMessageCountsOnce) {
  const std::string key = nodes_.key_not_of(0);
  decide(0, key, "set 5");
  std::vector<std::pair<MemberIndex, Forward>> seen;
  std::set<std::string> words;
  nodes_.meddle([&](MemberIndex, MemberIndex to, PeerMessage& message) {
    if (const auto* forward = std::get_if<Forward>(&message)) {
      for (const Op& op : forward->ops) {
        if (op.kind != OpKind::decide) continue;
        Op copy = op;
        copy.key = *words.insert(std::string(op.key)).first;
        copy.words = *words.insert(std::string(op.words)).first;
        seen.push_back({to, Forward{{copy}}});
      }
    }
    return HandDriven::Fate::deliver;
  });
  EXPECT_EQ(decide(0, key, "add 1"), "6");
  nodes_.be_fair();
  ASSERT_EQ(seen.size(), 1u);
  const auto [executor, copy] = seen.front();
  nodes_.forge(0, executor, PeerMessage(copy));
  nodes_.pass(1s);
  EXPECT_EQ(nodes_.held(executor, key), 6);
}

// It could not know whether another copy is still on its way with another outcome.
TEST_F(Decisions, AnAnswerWithoutAReplyIsInDoubt) {
  const std::string key = nodes_.key_not_of(0);
  nodes_.meddle([](MemberIndex, MemberIndex, PeerMessage& message) {
    if (auto* forwarded = std::get_if<Forwarded>(&message))
      for (Done& done : forwarded->done) done.detail.clear();
    return HandDriven::Fate::deliver;
  });
  EXPECT_EQ(decide(0, key, "add 1"), "in_doubt");
}

TEST_F(Decisions, AtQuorumItSeesWhatAMajorityHas) {
  const std::string key = nodes_.key_of(0);
  nodes_.meddle([](MemberIndex from, MemberIndex, PeerMessage& message) {
    return from != 0 && std::holds_alternative<DeltaFrame>(message) ? HandDriven::Fate::drop
                                                                    : HandDriven::Fate::deliver;
  });
  const auto owners = nodes_.owners(key);
  for (const MemberIndex owner : owners)
    if (owner != 0) nodes_.add(owner, key, 5);
  ASSERT_EQ(nodes_.held(0, key), 0);
  const auto id = ask(0, key, "below 5 add 1", {.ack = Ack::quorum});
  nodes_.pass(1s);
  EXPECT_EQ(reply(id), "0 no");
  EXPECT_EQ(decide(0, key, "below 5 add 1"), "0 no") << "which it knows from then on";
}

TEST_F(Decisions, ACounterThatIsSpreadIsRefused) {
  const std::string key = nodes_.key_of(0);
  nodes_.raise(0, key, 4);
  const auto id = ask(0, key, "add 1");
  EXPECT_EQ(reply(id), "invalid_argument");
  EXPECT_THAT(nodes_.done(id)->detail, HasSubstr("spread"));
}

TEST_F(Decisions, AStrictClusterRefusesUndefinedNamespaces) {
  nodes_.namespaces(0, {.action = NamespaceAction::set,
                        .policy = {.strict = true},
                        .fields = NamespaceRequest::kStrict});
  nodes_.pass(1s);
  EXPECT_THAT(decide(1, "other:1", "add 1"), StartsWith("0 refused"));
  EXPECT_THAT(decide(1, "other:1", "set 1"), StartsWith("0 refused"));
  EXPECT_EQ(nodes_.total(1, "other:1", ReadLevel::strong), 0);
}

TEST_F(Decisions, HasAFewWords) {
  EXPECT_EQ(nodes_.code(nodes_.op(0, {.key = "a", .kind = OpKind::decide})),
            Code::invalid_argument);
  const std::string long_words(kMaxDecisionWords + 1, 'x');
  EXPECT_EQ(decide(0, "a", long_words), "invalid_argument");
}

// ---- decide = home ----

class AtHome : public Decisions {
 protected:
  AtHome() { define("seats", {.decide = Decide::home}); }
  MemberIndex home(std::string_view key) { return nodes_.owners(key)[0]; }
};

TEST_F(AtHome, AllNodesLetOneDecide) {
  for (int i = 0; i < 8; ++i) {
    const std::string key = "seats:" + std::to_string(i);
    std::size_t admitted = 0;
    for (int round = 0; round < 3; ++round) {
      for (const MemberIndex node : nodes_.all())
        admitted += decide(node, key, "below 7 add 1") == "0 no" ? 0 : 1;
    }
    EXPECT_EQ(admitted, 7u) << "fifteen asked, at five nodes, within a moment";
    EXPECT_EQ(nodes_.held(home(key), key), 7);
  }
}

TEST_F(AtHome, PlainChangesGoThereToo) {
  const std::string key = "seats:1";
  for (const MemberIndex node : nodes_.all()) nodes_.add(node, key, 1);
  EXPECT_EQ(nodes_.held(home(key), key), 5) << "before any gossip";
  nodes_.reset(nodes_.owners(key)[1], key);
  EXPECT_EQ(nodes_.held(home(key), key), 0);
}

TEST_F(AtHome, TheNextOwnerDecidesWhileTheFirstIsDown) {
  const std::string key = "seats:1";
  EXPECT_EQ(decide(nodes_.owners(key)[1], key, "set 5"), "5");
  nodes_.pass(1s);
  nodes_.crash(home(key));
  nodes_.run();
  for (const MemberIndex node : nodes_.all()) {
    if (node != home(key)) nodes_.add(node, key, 1);
  }
  EXPECT_EQ(nodes_.held(nodes_.owners(key)[1], key), 9);
  EXPECT_EQ(decide(nodes_.owners(key)[2], key, "below 10 add 1"), "10");
}

// The home of the first of several counters decides. Here it is not the home of the second.
TEST_F(AtHome, TheHomeOfTheFirstCounterDecidesAboutSeveral) {
  const auto owns = [this](MemberIndex node, const std::string& key) {
    return std::ranges::count(nodes_.owners(key), node) > 0;
  };
  const std::string first = "seats:1";
  std::string second;
  for (int i = 2; second.empty(); ++i) {
    const std::string key = "seats:" + std::to_string(i);
    if (home(key) != home(first) && owns(home(first), key) && owns(home(key), first)) second = key;
  }
  for (const MemberIndex node : nodes_.all())
    EXPECT_NE(decide(node, first, first + " add 1; " + second + " add 1"), "0 no");
  for (const MemberIndex node : nodes_.all())
    EXPECT_EQ(decided(node), node == home(first) ? 5u : 0u);
  nodes_.pass(1s);
  EXPECT_EQ(decide(home(first), second, first + " add 1; " + second + " add 1"), "6; 6");
  EXPECT_EQ(decided(home(second)), 1u);
}

TEST_F(AtHome, OtherNamespacesDecideWhereTheyAreAsked) {
  const std::string key = nodes_.key_of(1);
  EXPECT_EQ(decide(1, key, "add 1"), "1");
  EXPECT_EQ(decided(1), 1u);
}

}  // namespace
}  // namespace quipu::test
