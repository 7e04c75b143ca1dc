// Counters that end, through a Node and through a Client.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "tests/node/api/node_and_client.h"

namespace quipu::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using std::chrono::system_clock;
using testing::AllOf;
using testing::Each;
using testing::Gt;
using testing::HasSubstr;
using testing::Le;
using testing::Lt;
using testing::Optional;

class ExpiryTest : public NodeAndClientTest {};

INSTANTIATE_TEST_SUITE_P(, ExpiryTest, kThroughBoth, name_of);

bool has_ended(Counter& counter) {
  const Result<Reading> reading = counter.read();
  EXPECT_TRUE(reading.ok()) << reading.status().message();
  return reading.ok() && !reading->exists && reading->value == 0 && !reading->expires_in;
}

TEST_P(ExpiryTest, ACounterNeverEndsUnlessItIsTold) {
  Counter likes = counters().counter("likes");
  ASSERT_TRUE(likes.add(1).ok());
  EXPECT_EQ(likes.read()->expires_in, std::nullopt);
}

TEST_P(ExpiryTest, TheAddThatCreatesACounterSaysHowLongItLives) {
  Counter likes = counters().counter("likes");
  ASSERT_TRUE(likes.add(2, {.ttl = 1h}).ok());
  ASSERT_TRUE(likes.add(3, {.ttl = 24h}).ok()) << "this one does not create it";
  EXPECT_EQ(*likes.add_and_read(4, {.ttl = 24h})->total, 9);
  for (const ReadLevel level : {ReadLevel::local, ReadLevel::fresh, ReadLevel::strong}) {
    const Result<Reading> reading = likes.read({.level = level});
    ASSERT_TRUE(reading.ok()) << reading.status().message();
    EXPECT_EQ(reading->value, 9);
    EXPECT_THAT(reading->expires_in, Optional(AllOf(Gt(0ms), Le(milliseconds(1h)))));
  }
}

TEST_P(ExpiryTest, EachCounterOfAnAddManyHasTheTimeToLive) {
  const auto added = counters().add_many({{"a", 1}, {"b", 2}}, {.ttl = 1h});
  for (const Status& status : added) ASSERT_TRUE(status.ok()) << status.message();
  for (const auto& reading : counters().read_many({"a", "b"}))
    EXPECT_THAT(reading->expires_in, Optional(Le(milliseconds(1h))));
}

TEST_P(ExpiryTest, ACounterEndsByItselfAndTheNextAddBeginsANewOne) {
  Counter likes = counters().counter("likes");
  ASSERT_TRUE(likes.add(5, {.ttl = 1ms}).ok());
  EXPECT_TRUE(eventually([&] { return has_ended(likes); }));
  ASSERT_TRUE(likes.add(3).ok());
  EXPECT_EQ(likes.read()->value, 3);
  EXPECT_EQ(likes.read()->expires_in, std::nullopt);
}

TEST_P(ExpiryTest, ATimeInThePastEndsACounterAtOnce) {
  const system_clock::time_point past[] = {system_clock::now() - 1s, system_clock::time_point{},
                                           system_clock::time_point{} - 1h,
                                           system_clock::time_point::min()};
  for (const auto when : past) {
    Counter likes = counters().counter("likes");
    ASSERT_TRUE(likes.add(5).ok());
    const Status ended = likes.expire_at(when);
    ASSERT_TRUE(ended.ok()) << ended.message();
    EXPECT_TRUE(has_ended(likes)) << when.time_since_epoch().count();
  }
  EXPECT_TRUE(counters().list().keys.empty());
}

TEST_P(ExpiryTest, ATimeInTheFutureIsWhenACounterEndsUntilItIsMoved) {
  Counter likes = counters().counter("likes");
  ASSERT_TRUE(likes.add(5).ok());
  ASSERT_TRUE(likes.expire_at(system_clock::now() + 1h).ok());
  EXPECT_THAT(likes.read()->expires_in, Optional(AllOf(Gt(59min), Lt(milliseconds(61min)))));
  ASSERT_TRUE(likes.expire_at(system_clock::now() + 2h).ok());
  EXPECT_THAT(likes.read()->expires_in, Optional(Gt(milliseconds(119min))));
  ASSERT_TRUE(likes.expire_at(system_clock::time_point::max()).ok());
  EXPECT_EQ(likes.read()->value, 5);
}

TEST_P(ExpiryTest, AnEndCanBeRemoved) {
  Counter likes = counters().counter("likes");
  ASSERT_TRUE(likes.add(5, {.ttl = 1h}).ok());
  ASSERT_TRUE(likes.persist().ok());
  EXPECT_EQ(likes.read()->value, 5);
  EXPECT_EQ(likes.read()->expires_in, std::nullopt);
  EXPECT_TRUE(likes.persist().ok()) << "it has none now";
}

TEST_P(ExpiryTest, ACounterThatDoesNotExistIsNotChanged) {
  Counter likes = counters().counter("likes");
  EXPECT_TRUE(likes.expire_at(system_clock::now() + 1h).ok());
  EXPECT_TRUE(likes.expire_at(system_clock::now() - 1h).ok());
  EXPECT_TRUE(likes.persist().ok());
  EXPECT_TRUE(has_ended(likes));
  ASSERT_TRUE(likes.add(1).ok());
  EXPECT_EQ(likes.read()->expires_in, std::nullopt);
}

TEST_P(ExpiryTest, AResetEndsACounterWithAnEnd) {
  Counter likes = counters().counter("likes");
  ASSERT_TRUE(likes.add(5, {.ttl = 1h}).ok());
  ASSERT_TRUE(likes.reset().ok());
  EXPECT_TRUE(has_ended(likes));
  ASSERT_TRUE(likes.add(2).ok());
  EXPECT_EQ(likes.read()->value, 2);
  EXPECT_EQ(likes.read()->expires_in, std::nullopt);
}

TEST_P(ExpiryTest, EachFormOfTheCallsDoesTheSame) {
  Counter likes = counters().counter("likes");
  ASSERT_TRUE(likes.add(5).ok());
  EXPECT_TRUE(likes.expire_at_async(system_clock::now() + 1h).get().ok());
  EXPECT_NE(likes.read()->expires_in, std::nullopt);
  EXPECT_TRUE(likes.persist_async().get().ok());
  EXPECT_EQ(likes.read()->expires_in, std::nullopt);
  std::promise<Status> expired, persisted;
  likes.expire_at(system_clock::now() + 1h, {}, [&](Status s) { expired.set_value(std::move(s)); });
  EXPECT_TRUE(expired.get_future().get().ok());
  EXPECT_NE(likes.read()->expires_in, std::nullopt);
  likes.persist({}, [&](Status s) { persisted.set_value(std::move(s)); });
  EXPECT_TRUE(persisted.get_future().get().ok());
  EXPECT_EQ(likes.read()->expires_in, std::nullopt);
}

TEST_P(ExpiryTest, ABlockingCallInACallbackWouldDeadlock) {
  Counter likes = counters().counter("likes");
  std::promise<std::vector<Code>> codes;
  likes.add(1, {}, [&](const Status&) {
    codes.set_value({likes.expire_at(system_clock::now()).code(), likes.persist().code(),
                     likes.expire_at_async(system_clock::now()).get().code(),
                     likes.persist_async().get().code()});
  });
  EXPECT_THAT(codes.get_future().get(), Each(Code::would_deadlock));
  EXPECT_EQ(likes.read()->value, 1);
}

TEST_P(ExpiryTest, ATimeToLiveThatNoCounterHasIsRefused) {
  Counter likes = counters().counter("likes");
  for (const milliseconds ttl : {-1ms, kMaxTtl + 1ms, milliseconds::min(), milliseconds::max()}) {
    const Status refused = likes.add(1, {.ttl = ttl});
    EXPECT_EQ(refused.code(), Code::invalid_argument) << ttl.count();
    EXPECT_THAT(refused.detail(), HasSubstr("1,000 years"));
  }
  EXPECT_TRUE(likes.add(1, {.ttl = kMaxTtl}).ok());
  EXPECT_EQ(likes.read()->value, 1);
}

TEST_P(ExpiryTest, ACounterThatIsSpreadHasNoEndAndOneWithAnEndIsNotSpread) {
  Counter hot = counters().counter("hot");
  ASSERT_TRUE(hot.add(1).ok());
  ASSERT_TRUE(hot.raise_shards(4).ok());
  for (const Status& refused : {hot.expire_at(system_clock::now() + 1h), hot.persist()}) {
    EXPECT_EQ(refused.code(), Code::invalid_argument);
    EXPECT_THAT(refused.detail(), HasSubstr("spread"));
  }
  EXPECT_TRUE(hot.add(1, {.ttl = 1h}).ok());
  EXPECT_EQ(hot.read()->value, 2);
  EXPECT_EQ(hot.read()->expires_in, std::nullopt);

  Counter likes = counters().counter("likes");
  ASSERT_TRUE(likes.add(1, {.ttl = 1h}).ok());
  EXPECT_EQ(likes.raise_shards(4).code(), Code::invalid_argument);
}

TEST_P(ExpiryTest, ANamespaceSaysHowLongItsNewCountersLive) {
  Counter old = counters().counter("otp:old");
  ASSERT_TRUE(old.add(1).ok());
  ASSERT_TRUE(counters().create_namespace({"otp", {.ttl = 1h}}).status.ok());
  Counter otp = counters().counter("otp:1");
  ASSERT_TRUE(otp.add(1).ok());
  EXPECT_THAT(otp.read()->expires_in, Optional(AllOf(Gt(0ms), Le(milliseconds(1h)))));
  ASSERT_TRUE(old.add(1).ok());
  EXPECT_EQ(old.read()->expires_in, std::nullopt) << "it is not new";
  Counter longer = counters().counter("otp:2");
  ASSERT_TRUE(longer.add(1, {.ttl = 2h}).ok());
  EXPECT_THAT(longer.read()->expires_in, Optional(Gt(milliseconds(1h))));
  EXPECT_EQ((*counters().namespaces())[1].policy.ttl, milliseconds(1h));

  ASSERT_TRUE(counters().set_namespace({"otp", {}}).status.ok());
  Counter later = counters().counter("otp:3");
  ASSERT_TRUE(later.add(1).ok());
  EXPECT_EQ(later.read()->expires_in, std::nullopt);
}

// A node trusts its clock once it has compared it with another member's.
TEST_P(ExpiryTest, AnEndAtQuorumHoldsForStrongReadsAtEveryMember) {
  Nodes nodes = open_all(cluster_of(3, directory_ / "three"));
  auto client = Client::connect({.seeds = {nodes[0]->client_address()}});
  ASSERT_TRUE(client.ok()) << client.status().message();
  Counters& three =
      GetParam() == CalledThrough::client ? static_cast<Counters&>(**client) : *nodes[0];
  Counter likes = three.counter("likes");
  const AddOptions living{.ack = Ack::quorum, .ttl = 1h};
  ASSERT_TRUE(eventually([&] { return likes.add(1, living).ok(); }));
  for (const auto& node : nodes) {
    const auto reading = node->counter("likes").read({.level = ReadLevel::strong});
    ASSERT_TRUE(reading.ok()) << reading.status().message();
    EXPECT_EQ(reading->value, 1);
    EXPECT_THAT(reading->expires_in, Optional(Gt(59min)));
  }
  const Status ended = likes.expire_at(system_clock::now() - 10s, {.ack = Ack::quorum});
  ASSERT_TRUE(ended.ok()) << ended.message();
  for (const auto& node : nodes)
    EXPECT_FALSE(node->counter("likes").read({.level = ReadLevel::strong})->exists);
}

// Alone, a member of three has no other clock to compare its own with.
TEST_P(ExpiryTest, ANodeThatDoesNotTrustItsClockRefusesWhatNeedsADateAndSaysWhy) {
  const auto cluster = cluster_of(3, directory_ / "three");
  open_all(cluster).clear();
  const auto lonely = open_node(cluster[0]);
  auto client = Client::connect({.seeds = {lonely->client_address()}});
  ASSERT_TRUE(client.ok()) << client.status().message();
  Counters& counters =
      GetParam() == CalledThrough::client ? static_cast<Counters&>(**client) : *lonely;
  Counter likes = counters.counter("likes");
  ASSERT_TRUE(eventually([&] { return likes.add(1).ok(); })) << "a plain counter needs no date";
  const std::function<Status()> dated[] = {
      [&] { return likes.expire_at(system_clock::now() + 1h, {.timeout = 500ms}); },
      [&] { return counters.counter("new").add(1, {.timeout = 500ms, .ttl = 1h}); }};
  for (const auto& ask : dated) {
    Status refused;
    // On a busy machine, it may take longer.
    EXPECT_TRUE(eventually([&] { return (refused = ask()).code() == Code::unavailable; }))
        << refused.message();
    // A client then asks the other owners, and repeats what it heard last.
    if (GetParam() == CalledThrough::node) {
      EXPECT_THAT(refused.detail(), HasSubstr("clock"));
    }
  }
  EXPECT_EQ(likes.read()->value, 1);
  EXPECT_FALSE(counters.counter("new").read()->exists);
}

}  // namespace
}  // namespace quipu::test
