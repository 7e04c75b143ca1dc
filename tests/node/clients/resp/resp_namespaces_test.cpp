// QUIPU.NAMESPACE, and what the definitions of namespaces do to other commands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/node/api/nodes.h"
#include "tests/node/clients/resp/resp_conversation.h"

namespace quipu::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr auto npos = std::string::npos;
constexpr const char* kSyntax = "-ERR syntax error at '";

class RespNamespaces : public Resp {};

INSTANTIATE_TEST_SUITE_P(, RespNamespaces, testing::Values(1, 2));

TEST_P(RespNamespaces, AreCreatedChangedShownAndDropped) {
  RawConnection client = connect();
  converse(
      connect(),
      {{"QUIPU.NAMESPACE SHOW likes", "$-1 "},
       {"QUIPU.NAMESPACE CREATE likes ACK memory", "*0 "},
       {"quipu.namespace create likes ack MEMORY", "*0 "},  // nothing is left to do
       {"QUIPU.NAMESPACE SET likes READ strong SHARDS 4", "*0 "},
       {"QUIPU.NAMESPACE SHOW likes",
        "*22 $4 name $5 likes $3 ack $6 memory $4 read $6 strong $6 shards :4 $6 ttl_ms $-1 "
        "$6 decide $-1 $5 tiers $-1 $7 late_ms $-1 $6 strict $-1 $4 kind $-1 $9 precision $-1 "},
       {"QUIPU.NAMESPACE SET likes ACK default SHARDS default", "*0 "},
       {"QUIPU.NAMESPACE SHOW likes",
        "*22 $4 name $5 likes $3 ack $-1 $4 read $6 strong $6 shards $-1 $6 ttl_ms $-1 "
        "$6 decide $-1 $5 tiers $-1 $7 late_ms $-1 $6 strict $-1 $4 kind $-1 $9 precision $-1 "},
       {"QUIPU.NAMESPACE LS",
        "*2 *22 $4 name $0  $3 ack $-1 $4 read $-1 $6 shards $-1 $6 ttl_ms $-1 "
        "$6 decide $-1 $5 tiers $-1 $7 late_ms $-1 $6 strict $-1 $4 kind $-1 $9 precision $-1 "
        "*22 $4 name $5 likes $3 ack $-1 $4 read $6 strong $6 shards $-1 $6 ttl_ms $-1 "
        "$6 decide $-1 $5 tiers $-1 $7 late_ms $-1 $6 strict $-1 $4 kind $-1 $9 precision $-1 "},
       {"QUIPU.NAMESPACE DROP likes", ":0 "},
       {"QUIPU.NAMESPACE DROP likes", ":0 "},
       {"QUIPU.NAMESPACE SHOW likes", "$-1 "}});
}

TEST_P(RespNamespaces, ADropResetsTheCountersOfItsNamespaceAlone) {
  RawConnection client = connect();
  ASSERT_EQ(client.reply_to("QUIPU.NAMESPACE CREATE likes"), "*0\r\n");
  for (const char* key : {"likes:1", "likes:2", "like:1", "likes", "likess:1"})
    ASSERT_EQ(client.reply_to(std::string("INCR ") + key), ":1\r\n");
  converse(connect(), {{"QUIPU.NAMESPACE DROP likes", ":2 "},
                       {"EXISTS likes:1 likes:2", ":0 "},
                       {"EXISTS like:1 likes likess:1", ":3 "}});
}

TEST_P(RespNamespaces, SayHowLongTheirNewCountersLive) {
  converse(connect(), {{"QUIPU.NAMESPACE CREATE otp TTL 1h", "*0 "},
                       {"QUIPU.NAMESPACE SHOW otp",
                        "*22 $4 name $3 otp $3 ack $-1 $4 read $-1 $6 shards $-1 "
                        "$6 ttl_ms :3600000 $6 decide $-1 $5 tiers $-1 $7 late_ms $-1 $6 strict "
                        "$-1 $4 kind $-1 $9 precision $-1 "},
                       {"INCR otp:1", ":1 "},
                       {"QUIPU.NAMESPACE SET otp TTL default", "*0 "},
                       {"INCR otp:2", ":1 "},
                       {"quipu.namespace set otp ttl 1ms", "*0 "},
                       {"INCR otp:1", ":2 "}});
  EXPECT_TRUE(node_->counter("otp:1").read()->expires_in);
  EXPECT_FALSE(node_->counter("otp:2").read()->expires_in);
  RawConnection client = connect();
  ASSERT_EQ(client.reply_to("INCR otp:3"), ":1\r\n");
  EXPECT_TRUE(eventually([&] { return !node_->counter("otp:3").read()->exists; }));
}

TEST_P(RespNamespaces, SayWhereConditionalCommandsDecide) {
  const auto shown = [](const std::string& decide) {
    return "*22 $4 name $3 otp $3 ack $-1 $4 read $-1 $6 shards $-1 $6 ttl_ms $-1 $6 decide " +
           decide + " $5 tiers $-1 $7 late_ms $-1 $6 strict $-1 $4 kind $-1 $9 precision $-1 ";
  };
  converse(connect(), {{"QUIPU.NAMESPACE CREATE otp DECIDE HOME", "*0 "},
                       {"QUIPU.NAMESPACE SHOW otp", shown("$4 home")},
                       {"QUIPU.NAMESPACE SET otp DECIDE local", "*0 "},
                       {"QUIPU.NAMESPACE SHOW otp", shown("$5 local")},
                       {"quipu.namespace set otp decide home", "*0 "},
                       {"QUIPU.NAMESPACE SET otp DECIDE default", "*0 "},
                       {"QUIPU.NAMESPACE SHOW otp", shown("$-1")}});
}

TEST_P(RespNamespaces, FixTheKindOfTheirCounters) {
  converse(connect(),
           {{"INCR visitors:old", ":1 "},
            {"QUIPU.NAMESPACE CREATE visitors KIND distinct PRECISION 11", "*0 "},
            {"quipu.namespace create visitors kind DISTINCT precision 11", "*0 "},
            {"QUIPU.NAMESPACE SHOW visitors",
             "*22 $4 name $8 visitors $3 ack $-1 $4 read $-1 $6 shards $-1 $6 ttl_ms $-1 "
             "$6 decide $-1 $5 tiers $-1 $7 late_ms $-1 $6 strict $-1 $4 kind $8 distinct "
             "$9 precision :11 "},
            {"PFADD visitors:1 ann bob ann", ":1 "},
            {"PFCOUNT visitors:1", ":2 "},
            {"INCR visitors:old", ":2 "},
            {"INCR visitors", ":1 "},
            {"QUIPU.NAMESPACE CREATE likes KIND sum", "*0 "},
            {"INCR likes:1", ":1 "}});
  RawConnection client = connect();
  const std::string refusal =
      "-WRONGTYPE the namespace 'visitors' has counters of the kind distinct: its kind was fixed "
      "when it was created\r\n";
  for (const char* command :
       {"INCR visitors:2", "DECRBY visitors:2 2", "SET visitors:2 7", "SET visitors:2 7 NX",
        "SETEX visitors:2 10 7", "QUIPU.ADD visitors:2 3", "INCREX visitors:2"})
    EXPECT_EQ(client.reply_to(command), refusal) << command;
  EXPECT_THAT(client.reply_to("INCR visitors:1"),
              StartsWith("-WRONGTYPE Operation against a key holding"));
  EXPECT_THAT(client.reply_to("PFADD likes:2 ann"), StartsWith("-WRONGTYPE the namespace 'likes'"));
  EXPECT_EQ(client.reply_to("EXISTS visitors:2 likes:2"), ":0\r\n");
}

TEST_P(RespNamespaces, KeepTheirKindUntilTheyAreDropped) {
  RawConnection client = connect();
  ASSERT_EQ(client.reply_to("QUIPU.NAMESPACE CREATE visitors KIND distinct"), "*0\r\n");
  for (const char* options : {"KIND sum", "KIND default", "PRECISION 11", "READ fresh KIND sum"})
    EXPECT_THAT(client.reply_to(std::string("QUIPU.NAMESPACE SET visitors ") + options),
                HasSubstr("are fixed when it is created: no set changes or unsets them"))
        << options;
  EXPECT_THAT(client.reply_to("QUIPU.NAMESPACE CREATE visitors KIND sum"),
              HasSubstr("are fixed when it is created"));
  EXPECT_THAT(client.reply_to("QUIPU.NAMESPACE CREATE a PRECISION 11"),
              HasSubstr("only counters of the kind distinct have a precision"));
  EXPECT_THAT(client.reply_to("QUIPU.NAMESPACE CREATE a KIND distinct SHARDS 2"),
              HasSubstr("only a sum is spread over shards"));
  converse(connect(), {{"PFADD visitors:1 ann", ":1 "},
                       {"QUIPU.NAMESPACE SET visitors READ fresh", "*0 "},
                       {"PFADD visitors:1 bob", ":1 "},
                       {"QUIPU.NAMESPACE DROP visitors", ":1 "},
                       {"INCR visitors:1", ":1 "}});
}

// What was added after a drop, or had not been heard of.
TEST_P(RespNamespaces, AreDroppedAgainWithWhatWasLeft) {
  converse(connect(), {{"QUIPU.NAMESPACE CREATE likes", "*0 "},
                       {"QUIPU.NAMESPACE DROP likes", ":0 "},
                       {"INCR likes:1", ":1 "},
                       {"QUIPU.NAMESPACE DROP likes", ":1 "},
                       {"EXISTS likes:1", ":0 "}});
}

TEST_P(RespNamespaces, WhatIsWrongSaysSo) {
  RawConnection client = connect();
  ASSERT_EQ(client.reply_to("QUIPU.NAMESPACE CREATE likes"), "*0\r\n");
  for (const char* options :
       {"ACK often", "READ disk", "SHARDS 0", "SHARDS 1025", "TTL 0s", "TTL soon", "TTL 365001d",
        "DECIDE away", "DECIDE", "STRICT maybe", "KIND colour", "KIND", "KIND sum KIND sum",
        "PRECISION 9", "PRECISION 17", "PRECISION high", "ACK disk ACK disk", "COLOUR red", "ACK"})
    EXPECT_THAT(client.reply_to(std::string("QUIPU.NAMESPACE CREATE a ") + options),
                StartsWith(kSyntax))
        << options;
  EXPECT_THAT(client.reply_to("QUIPU.NAMESPACE CREATE a ACK disk SHARDS 1025"),
              StartsWith("-ERR syntax error at 'SHARDS' '1025': the options are "));
  EXPECT_THAT(client.reply_to("QUIPU.NAMESPACE SET likes"), HasSubstr("give at least one option"));
  EXPECT_THAT(client.reply_to("QUIPU.NAMESPACE CREATE likes ACK disk"),
              HasSubstr("the namespace 'likes' exists with other settings: set changes it"));
  EXPECT_THAT(client.reply_to("QUIPU.NAMESPACE SET views ACK disk"),
              HasSubstr("there is no namespace 'views': create it"));
  EXPECT_THAT(client.reply_to("QUIPU.NAMESPACE DROP views"),
              HasSubstr("there is no namespace 'views'"));
  EXPECT_THAT(client.reply_to("QUIPU.NAMESPACE DROP \"\""),
              HasSubstr("the default namespace cannot be dropped"));
  EXPECT_THAT(client.reply_to("QUIPU.NAMESPACE CREATE a TTL 30s SHARDS 2"),
              HasSubstr("set ttl or shards, not both"));
  EXPECT_THAT(client.reply_to("QUIPU.NAMESPACE SET likes STRICT yes"),
              HasSubstr("only the default namespace can be strict"));
  EXPECT_THAT(client.reply_to("QUIPU.NAMESPACE CREATE a:b"), HasSubstr("has no ':'"));
}

TEST_P(RespNamespaces, AreNeededForAddsWhereTheDefaultOneIsStrict) {
  RawConnection client = connect();
  ASSERT_EQ(client.reply_to("INCR views:1"), ":1\r\n");
  ASSERT_EQ(client.reply_to("QUIPU.NAMESPACE SET \"\" STRICT yes"), "*0\r\n");
  for (const char* command :
       {"INCR views:1", "DECRBY views:1 2", "SET views:1 7", "QUIPU.ADD views:1 3", "INCR views:2"})
    EXPECT_THAT(client.reply_to(command),
                HasSubstr("the namespace 'views' is not defined: quipu namespace create 'views'"))
        << command;
  converse(connect(), {{"GET views:1", "$1 1 "},
                       {"INCR views", ":1 "},
                       {"QUIPU.NAMESPACE CREATE views", "*0 "},
                       {"INCR views:1", ":2 "},
                       {"SET views:1 7", "+OK "},
                       {"QUIPU.NAMESPACE SET \"\" STRICT default", "*0 "},
                       {"INCR other:1", ":1 "}});
}

TEST_P(RespNamespaces, SpreadTheirNewCounters) {
  RawConnection client = connect();
  ASSERT_EQ(client.reply_to("INCR views:old"), ":1\r\n");
  ASSERT_EQ(client.reply_to("QUIPU.NAMESPACE CREATE views SHARDS 4"), "*0\r\n");
  ASSERT_EQ(client.reply_to("INCR views:old"), ":2\r\n");
  ASSERT_EQ(client.reply_to("INCRBY views:new 5"), ":5\r\n");
  const auto shards = [this](const std::string& key) {
    const auto reading = node_->counter(key).read();
    return reading.ok() ? reading->shards : 0;
  };
  EXPECT_TRUE(eventually([&] { return shards("views:new") == 4; }));
  EXPECT_EQ(shards("views:old"), 1);
  for (int i = 0; i < 20; ++i) ASSERT_THAT(client.reply_to("INCR views:new"), StartsWith(":"));
  EXPECT_TRUE(eventually([&] { return client.reply_to("GET views:new") == "$2\r\n25\r\n"; }));
}

// Reads that name no level are strong, so a node that has lost its peers does not answer them.
TEST(RespNamespacesOfThree, SayHowOthersReadAndAdd) {
  const TemporaryDirectory directory;
  Nodes nodes = open_all(cluster_of(3, directory / "data"));
  RawConnection client(nodes[0]->client_address());
  RawConnection other(nodes[1]->client_address());
  ASSERT_TRUE(eventually([&] {  // once all hear each other
    return client.reply_to("QUIPU.NAMESPACE CREATE likes ACK quorum READ strong") == "*0\r\n";
  }));
  ASSERT_EQ(other.reply_to("INCR likes:1"), ":1\r\n");
  EXPECT_EQ(client.reply_to("GET likes:1"), "$1\r\n1\r\n") << "without a gossip interval";
  nodes[1].reset();
  nodes[2].reset();
  const auto lost = [&] { return client.reply_to("GET likes:1").find("no_quorum") != npos; };
  ASSERT_TRUE(eventually(lost));
  EXPECT_THAT(client.reply_to("INCR likes:1"), HasSubstr("no_quorum"));
  EXPECT_THAT(client.reply_to("QUIPU.GET likes:1 LOCAL"), HasSubstr(":1\r\n"));
  EXPECT_EQ(client.reply_to("INCR other:1"), ":1\r\n");
  EXPECT_EQ(client.reply_to("QUIPU.NAMESPACE SET likes ACK disk READ local"),
            "*2\r\n$2\r\nn2\r\n$2\r\nn3\r\n");
  EXPECT_EQ(client.reply_to("INCR likes:1"), ":2\r\n");
  EXPECT_EQ(client.reply_to("GET likes:1"), "$1\r\n2\r\n");
}

}  // namespace
}  // namespace quipu::test
