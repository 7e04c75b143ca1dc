// The calls about namespaces, through a Node and through a Client.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/node/api/node_and_client.h"

namespace quipu::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class NamespacesTest : public NodeAndClientTest {};

INSTANTIATE_TEST_SUITE_P(, NamespacesTest, kThroughBoth, name_of);

struct Dropped {
  Status status{};
  std::uint64_t reset = 0;
  std::size_t steps = 0;
};

Dropped drop(Counters& counters, const std::string& name) {
  Dropped whole;
  for (ListCursor at = ListCursor::begin; at != ListCursor::end && whole.status.ok();) {
    NamespaceDrop step = counters.drop_namespace(name, at);
    whole.status = std::move(step.status);
    whole.reset += step.reset;
    ++whole.steps;
    at = step.next;
  }
  return whole;
}

TEST_P(NamespacesTest, AreCreatedChangedListedAndDropped) {
  const Namespace likes{"likes", {.ack = Ack::memory, .shards = 2}};
  const NamespaceAnswer created = counters().create_namespace(likes);
  EXPECT_TRUE(created.status.ok()) << created.status.message();
  EXPECT_THAT(created.absent, IsEmpty());
  EXPECT_TRUE(counters().create_namespace_async(likes).get().status.ok()) << "it is done already";
  EXPECT_EQ(counters().create_namespace({"likes", {}}).status.code(), Code::invalid_argument);
  EXPECT_EQ(counters().set_namespace({"views", {}}).status.code(), Code::invalid_argument);
  EXPECT_EQ(counters().create_namespace({"a:b", {}}).status.code(), Code::invalid_argument);
  EXPECT_EQ(counters().create_namespace({std::string(65, 'a'), {}}).status.code(),
            Code::invalid_argument);

  const Namespace strong{"likes",
                         {.read = ReadLevel::strong,
                          .decide = Decide::home,
                          .tiers = {{.length = 60s, .kept = 48h}},
                          .late = 1s}};
  EXPECT_TRUE(counters().set_namespace(strong).status.ok());
  const auto all = counters().namespaces();
  ASSERT_TRUE(all.ok()) << all.status().message();
  EXPECT_THAT(*all, ElementsAre(Namespace{}, strong));
  EXPECT_THAT(*counters().namespaces_async().get(), ElementsAre(Namespace{}, strong));

  EXPECT_TRUE(drop(counters(), "likes").status.ok());
  EXPECT_THAT(*counters().namespaces(), ElementsAre(Namespace{}));
}

TEST_P(NamespacesTest, RefuseAPolicyThatNoneMayHave) {
  const NamespacePolicy policies[] = {{.ttl = -1ms},          {.ttl = 0ms},
                                      {.ttl = kMaxTtl + 1ms}, {.shards = 2, .ttl = 1h},
                                      {.shards = 0},          {.shards = 1025}};
  for (const NamespacePolicy& policy : policies)
    EXPECT_EQ(counters().create_namespace({"otp", policy}).status.code(), Code::invalid_argument);
  EXPECT_EQ(counters().namespaces()->size(), 1u);
}

TEST_P(NamespacesTest, FixTheKindOfTheirCountersForGood) {
  const Namespace visitors{"visitors", {.kind = Kind::distinct, .precision = 11}};
  ASSERT_TRUE(counters().create_namespace(visitors).status.ok());
  EXPECT_THAT(*counters().namespaces(), ElementsAre(Namespace{}, visitors));
  EXPECT_EQ(counters().counter("visitors:1").add().code(), Code::wrong_type);
  Namespace changed = visitors;
  changed.policy.ack = Ack::memory;
  EXPECT_TRUE(counters().set_namespace(changed).status.ok());
  EXPECT_THAT(*counters().namespaces(), ElementsAre(Namespace{}, changed));
  for (const NamespacePolicy& policy :
       {NamespacePolicy{}, {.kind = Kind::sum}, {.kind = Kind::distinct}, {.precision = 12}})
    EXPECT_EQ(counters().set_namespace({"visitors", policy}).status.code(), Code::invalid_argument);
  EXPECT_THAT(*counters().namespaces(), ElementsAre(Namespace{}, changed));
}

TEST_P(NamespacesTest, ADropGoesStepByStepToItsEnd) {
  ASSERT_TRUE(counters().create_namespace({"likes", {}}).status.ok());
  constexpr std::size_t kMany = 2'500;
  for (std::size_t begun = 0; begun < kMany; begun += 500) {
    std::vector<Addition> items;
    for (std::size_t i = 0; i < 500; ++i) items.push_back({"likes:" + std::to_string(begun + i)});
    for (const Status& status : counters().add_many(std::move(items))) ASSERT_TRUE(status.ok());
  }
  ASSERT_TRUE(counters().counter("like:1").add(3).ok());
  const Dropped dropped = drop(counters(), "likes");
  EXPECT_TRUE(dropped.status.ok()) << dropped.status.message();
  EXPECT_EQ(dropped.reset, kMany);
  EXPECT_GT(dropped.steps, kMany / 128) << "64 counters each, about";
  EXPECT_THAT(counters().list({.prefix = "likes:"}).keys, IsEmpty());
  EXPECT_EQ(counters().counter("like:1").read()->value, 3);
  const Dropped again = drop(counters(), "likes");
  EXPECT_TRUE(again.status.ok()) << "it is done already";
  EXPECT_EQ(again.reset, 0U);
  EXPECT_EQ(counters().drop_namespace("views").status.code(), Code::invalid_argument);
  EXPECT_EQ(counters().drop_namespace("").status.code(), Code::invalid_argument);
}

TEST_P(NamespacesTest, ADropDoesNotBeginAtItsEnd) {
  ASSERT_TRUE(counters().create_namespace({"likes", {}}).status.ok());
  ASSERT_TRUE(counters().counter("likes:1").add(3).ok());
  const NamespaceDrop step = counters().drop_namespace("likes", ListCursor::end);
  EXPECT_EQ(step.status.code(), Code::invalid_argument);
  EXPECT_THAT(*counters().namespaces(), SizeIs(2));
  EXPECT_EQ(counters().counter("likes:1").read()->value, 3);
}

TEST_P(NamespacesTest, ADropResetsAgainWhatWasAddedSince) {
  ASSERT_TRUE(counters().create_namespace({"likes", {}}).status.ok());
  ASSERT_TRUE(drop(counters(), "likes").status.ok());
  ASSERT_TRUE(counters().counter("likes:1").add(3).ok());
  EXPECT_EQ(drop(counters(), "likes").reset, 1U);
}

// Alone, a node of three can do nothing at quorum.
TEST_P(NamespacesTest, SayTheLevelOfCallsThatNameNone) {
  Nodes nodes = open_all(cluster_of(3, directory_ / "three"));
  ASSERT_TRUE(nodes[0]->wait_ready(kPatience));
  auto client = Client::connect({.seeds = {nodes[0]->client_address()}});
  ASSERT_TRUE(client.ok()) << client.status().message();
  Counters& three =
      GetParam() == CalledThrough::client ? static_cast<Counters&>(**client) : *nodes[0];
  const NamespacePolicy policy{.ack = Ack::quorum, .read = ReadLevel::strong};
  ASSERT_TRUE(three.create_namespace({"likes", policy}).status.ok());
  Counter counter = three.counter("likes:1");
  ASSERT_TRUE(counter.add(2).ok());
  nodes[1].reset(), nodes[2].reset();
  EXPECT_FALSE(counter.add(1, {.timeout = 300ms}).ok());
  EXPECT_FALSE(counter.reset({.timeout = 300ms}).ok());
  EXPECT_FALSE(counter.read({.timeout = 300ms}).ok());
  EXPECT_TRUE(three.counter("likes:2").add(1, {.ack = Ack::disk}).ok());
  EXPECT_EQ(three.counter("likes:2").read({.level = ReadLevel::local})->value, 1);
}

TEST(NamespacesAtTheStart, AreThoseOfTheOptionsThatWereNeverMade) {
  const TemporaryDirectory directory;
  NodeOptions options = alone(directory / "data");
  const Namespace likes{"likes", {.ack = Ack::quorum}};
  options.namespaces = {likes, {"views", {.shards = 3}}};
  const Namespace changed{"likes", {.read = ReadLevel::fresh}};
  {
    const auto node = open_node(options);
    ASSERT_TRUE(node->wait_ready(kPatience));
    EXPECT_TRUE(eventually([&] { return node->namespaces()->size() == 3; }));
    ASSERT_TRUE(node->set_namespace(changed).status.ok());
    ASSERT_TRUE(drop(*node, "views").status.ok());
  }
  options.namespaces.push_back({"clicks", {}});
  const auto node = open_node(options);
  ASSERT_TRUE(node->wait_ready(kPatience));
  EXPECT_TRUE(eventually([&] { return node->namespaces()->size() == 3; }));
  EXPECT_THAT(*node->namespaces(), ElementsAre(Namespace{}, Namespace{"clicks", {}}, changed));
  options.data_directory = directory / "other";
  options.namespaces = std::vector<Namespace>(kMaxNamespaces + 1);
  EXPECT_EQ(Node::open(options).status().code(), Code::invalid_argument);
  options.namespaces = {{"a:b", {}}};
  EXPECT_EQ(Node::open(options).status().code(), Code::invalid_argument);
  options.namespaces = {{"a", {.kind = Kind::sum}}};
  EXPECT_EQ(Node::open(options).status().code(), Code::invalid_argument);
}

}  // namespace
}  // namespace quipu::test
