// Changes of namespaces, and resets whose level a namespace says, as a client sends them.
#include <gtest/gtest.h>

#include "tests/cluster/client/harness.h"

namespace quipu {
namespace {

using namespace std::chrono_literals;

const NamespaceRequest kCreate{.action = NamespaceAction::create, .name = "likes"};

const NamespaceReply* reply(const ClientHarness& client, std::uint64_t call) {
  const auto at = client.done.find(CallId{call});
  return at == client.done.end() ? nullptr : std::get_if<NamespaceReply>(&at->second);
}

TEST(ClientNamespaces, are_asked_again_over_another_link_and_answered_once) {
  ClientHarness client;
  const ConnectionId first = client.connect();
  client.namespaces(1, kCreate);
  EXPECT_EQ(client.take_namespaces().name, "likes");
  client.drop(first);
  client.connect("n2:1");
  const SentNamespaces again = client.take_namespaces();
  EXPECT_EQ(again.action, NamespaceAction::create);
  client.answer_namespaces(again, {.absent = {"n1"}});
  ASSERT_NE(reply(client, 1), nullptr);
  EXPECT_EQ(reply(client, 1)->code, Code::ok);
  EXPECT_EQ(reply(client, 1)->absent, std::vector<std::string>{"n1"});
}

// The first sending may have been carried out before another client's change.
TEST(ClientNamespaces, that_were_sent_twice_and_refused_are_in_doubt) {
  ClientHarness client;
  const ConnectionId first = client.connect();
  client.namespaces(1, kCreate);
  (void)client.take_namespaces();
  client.drop(first);
  client.connect("n2:1");
  client.answer_namespaces(client.take_namespaces(),
                           {.code = Code::invalid_argument, .detail = "it exists"});
  ASSERT_NE(reply(client, 1), nullptr);
  EXPECT_EQ(reply(client, 1)->code, Code::in_doubt);
}

TEST(ClientNamespaces, that_were_sent_once_and_refused_are_refused) {
  ClientHarness client;
  client.connect();
  client.namespaces(1, kCreate);
  client.answer_namespaces(client.take_namespaces(), {.code = Code::invalid_argument});
  ASSERT_NE(reply(client, 1), nullptr);
  EXPECT_EQ(reply(client, 1)->code, Code::invalid_argument);
}

TEST(ClientNamespaces, end_at_their_deadline) {
  for (const bool changes : {true, false}) {
    ClientHarness client;
    client.connect();
    client.namespaces(1, changes ? kCreate : NamespaceRequest{});
    client.pass(6s);
    EXPECT_EQ(client.ended(1), changes ? Code::in_doubt : Code::unavailable);
  }
}

// It asks for the shards once more, since the namespace says quorum.
TEST(ClientResets, that_name_no_level_have_that_of_the_namespace) {
  for (const Ack told : {Ack::disk, Ack::quorum}) {
    ClientHarness client;
    client.connect();
    client.reset(1, "likes:1", Ack::by_default);
    Value value{.code = Code::ok, .shards = 1};
    value.ack = told;
    const SentRead read = client.take_read();
    EXPECT_EQ(read.level, ReadLevel::local);
    client.answer_read(read, value);
    if (told == Ack::quorum) {
      const SentRead strong = client.take_read();
      EXPECT_EQ(strong.level, ReadLevel::strong);
      client.answer_read(strong, value);
    }
    EXPECT_EQ(client.take_change().op.ack, told);
  }
}

}  // namespace
}  // namespace quipu
