#include "node/settings/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/membership/config.h"
#include "node/reactor/node_plan.h"
#include "node/settings/changed_settings.h"
#include "tests/node/settings/settings_text.h"
#include "tests/node/temporary_directory.h"

namespace quipu::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kWhole = R"(
[cluster]
name = "shop"
replication = 2
members = [
  {name = "n1", peer = "127.0.0.1:7401", client = "127.0.0.1:7400", zone = "a", weight = 2},
  {name = "n2", peer = "127.0.0.1:7411"},
]
[node]
name = "n1"
data_directory = "/var/lib/quipu"
client_address = "127.0.0.1:7400"
peer_address = "127.0.0.1:7401"
insecure = false
gossip_interval_ms = 200
clock_skew_ms = 500
outbox_shards = 5000
checkpoint_bytes = 1048576
memory_limit = 1048577
log_format = "json"
log_level = "debug"
)";

// A sound [node], with `line` as the file's line 4.
LoadedSettings load_with(const std::string& line) {
  return load("[node]\nname = \"n1\"\ndata_directory = \"/data\"\n" + line + "\n");
}

TEST(ChangedSettings, TellsWhatAReloadAppliesFromWhatNeedsARestart) {
  const Settings before = load(kWhole).settings;
  EXPECT_THAT(changed_settings(before, before), IsEmpty());
  Settings after = before;
  after.log_level = LogLevel::error;
  after.node.gossip_interval = std::chrono::milliseconds(300);
  after.node.client_port.connections = 9;
  after.node.members.pop_back();
  after.node.namespaces.push_back({.name = "likes", .policy = {.shards = 4}});
  std::vector<std::string> reloaded, restarted;
  for (const ChangedSetting& one : changed_settings(before, after))
    (one.reloads ? reloaded : restarted).push_back(one.key + '=' + one.value);
  EXPECT_THAT(reloaded, ElementsAre("node.log_level=error", "client.connections=9"));
  EXPECT_THAT(restarted,
              ElementsAre("node.gossip_interval_ms=300", "cluster.members=", "namespace.likes="));
  Settings taken = before;
  take_reloaded(taken, after);
  EXPECT_EQ(taken.log_level, LogLevel::error);
  EXPECT_EQ(taken.node.client_port.connections, 9u);
  EXPECT_EQ(taken.node.gossip_interval, before.node.gossip_interval);
}

TEST(Settings, AWholeFileIsRead) {
  const LoadedSettings loaded = load(kWhole);
  ASSERT_THAT(loaded.errors, IsEmpty());
  const NodeOptions& node = loaded.settings.node;
  EXPECT_EQ(node.cluster, "shop");
  EXPECT_EQ(node.replication, 2);
  ASSERT_EQ(node.members.size(), 2u);
  EXPECT_EQ(node.members[0].name, "n1");
  EXPECT_EQ(node.members[0].peer_address, "127.0.0.1:7401");
  EXPECT_EQ(node.members[0].client_address, "127.0.0.1:7400");
  EXPECT_EQ(node.members[0].zone, "a");
  EXPECT_EQ(node.members[0].weight, 2u);
  EXPECT_EQ(node.members[1].weight, 1u);
  EXPECT_EQ(node.name, "n1");
  EXPECT_EQ(node.data_directory, "/var/lib/quipu");
  EXPECT_EQ(node.client_address, "127.0.0.1:7400");
  EXPECT_EQ(node.peer_address, "127.0.0.1:7401");
  EXPECT_EQ(node.gossip_interval, std::chrono::milliseconds(200));
  EXPECT_EQ(node.clock_skew, std::chrono::milliseconds(500));
  EXPECT_EQ(node.outbox_shards, 5000u);
  EXPECT_EQ(node.checkpoint_bytes, 1048576u);
  EXPECT_EQ(node.memory_limit, 1048577u);
  EXPECT_EQ(loaded.settings.log_format, LogFormat::json);
  EXPECT_EQ(loaded.settings.log_level, LogLevel::debug);
}

TEST(Settings, VariablesOverruleTheFileAndFlagsBoth) {
  const LoadedSettings loaded =
      load(kWhole, {{"QUIPU_GOSSIP_INTERVAL_MS", "300"}, {"QUIPU_DATA_DIRECTORY", "/by-variable"}},
           {{"--data", "/by-flag"}});
  ASSERT_THAT(loaded.errors, IsEmpty());
  EXPECT_EQ(loaded.settings.node.gossip_interval, std::chrono::milliseconds(300));
  EXPECT_EQ(loaded.settings.node.data_directory, "/by-flag");
}

TEST(Settings, EverySettingHasAVariable) {
  const LoadedSettings loaded =
      load("", {
                   {"QUIPU_CLUSTER_NAME", "shop"},
                   {"QUIPU_CLUSTER_REPLICATION", "1"},
                   {"QUIPU_CLUSTER_MEMBERS",
                    "name=n1,peer=127.0.0.1:1; name=n2, peer=127.0.0.1:2, zone=b, weight=0;"},
                   {"QUIPU_NODE_NAME", "n2"},
                   {"QUIPU_DATA_DIRECTORY", "/data"},
                   {"QUIPU_CLIENT_ADDRESS", "0.0.0.0:3"},
                   {"QUIPU_PEER_ADDRESS", "0.0.0.0:2"},
                   {"QUIPU_INSECURE", "true"},
                   {"QUIPU_OUTBOX_SHARDS", "7"},
                   {"QUIPU_CHECKPOINT_BYTES", "65536"},
                   {"QUIPU_LOG_FORMAT", "json"},
                   {"QUIPU_LOG_LEVEL", "error"},
               });
  ASSERT_THAT(loaded.errors, IsEmpty());
  EXPECT_EQ(loaded.settings.node.cluster, "shop");
  EXPECT_EQ(loaded.settings.node.members.at(1).zone, "b");
  EXPECT_EQ(loaded.settings.node.members.at(1).weight, 0u);
  EXPECT_TRUE(loaded.settings.node.insecure);
  EXPECT_EQ(loaded.settings.log_level, LogLevel::error);
}

TEST(Settings, ADaemonServesClientsWhereTheMembersSayThatTheyDial) {
  const std::string members =
      "[cluster]\nmembers = [{name = \"n1\", peer = \"127.0.0.1:1\", client = \"127.0.0.1:2\"},\n"
      "{name = \"n2\", peer = \"127.0.0.1:3\"}]\n[node]\ndata_directory = \"/data\"\n";
  const auto address = [&](const std::string& rest) {
    const LoadedSettings loaded = load(members + rest);
    EXPECT_THAT(loaded.errors, IsEmpty());
    return loaded.settings.node.client_address;
  };
  EXPECT_EQ(address("name = \"n1\"\n"), "127.0.0.1:2");
  EXPECT_EQ(address("name = \"n2\"\n"), "127.0.0.1:7400") << "nothing is said of it";
  EXPECT_EQ(address("name = \"n1\"\nclient_address = \"127.0.0.1:9\"\n"), "127.0.0.1:9");
  EXPECT_EQ(address("name = \"n1\"\nclient_address = \"\"\n"), "") << "no client port";
}

TEST(Settings, EachMistakeNamesItsLineAndWhatToDo) {
  struct Case {
    const char* line;
    const char* error;
  };
  for (const auto& [line, error] : {
           Case{"nam = \"x\"",
                "quipu.toml:4: unknown key \"node.nam\": [node] has name, data_directory, "},
           Case{"[cluste]\nname = \"x\"",
                "quipu.toml:5: unknown key \"cluste.name\": there are [cluster], [node], "
                "[admin], [client], [tls] and [[namespace]]"},
           Case{"[clientt]",
                "quipu.toml:4: unknown key \"clientt\": there are [cluster], [node], [admin], "
                "[client], [tls] and "
                "[[namespace]]"},
           Case{"\n[[clientt]]", "quipu.toml:5: unknown key \"clientt\": there are [cluster]"},
           Case{"[node.extra]", "quipu.toml:4: unknown key \"node.extra\": [node] has name, "},
           Case{"clientt = {}", "quipu.toml:4: unknown key \"node.clientt\": [node] has name, "},
           Case{"[cluster]\nmember = []",
                "quipu.toml:5: unknown key \"cluster.member\": [cluster] has members, name"},
           Case{"insecure = \"yes\"",
                "quipu.toml:4: node.insecure must be true or false, without quotes"},
           Case{"gossip_interval_ms = \"100\"",
                "quipu.toml:4: node.gossip_interval_ms must be a number, without quotes"},
           Case{"gossip_interval_ms = 9",
                "quipu.toml:4: node.gossip_interval_ms is 9: choose 10 to 10000"},
           Case{"gossip_interval_ms = 10001",
                "quipu.toml:4: node.gossip_interval_ms is 10001: choose 10 to 10000"},
           Case{"clock_skew_ms = 99", "quipu.toml:4: node.clock_skew_ms is 99: choose 100 to 4000"},
           Case{"gossip_interval_ms = -1", "must be a number from 10 to 10000, not \"-1\""},
           Case{"gossip_interval_ms = 1.5", "must be a number, without quotes"},
           Case{"outbox_shards = 0", "node.outbox_shards is 0: choose 1 to 10000000"},
           Case{"memory_limit = 17592186044417",
                "node.memory_limit is 17592186044417: choose 0, or 1048576 to "},
           Case{"checkpoint_bytes = 65535", "node.checkpoint_bytes is 65535: choose 65536 to "},
           Case{"log_format = \"xml\"", "node.log_format must be logfmt or json, not \"xml\""},
           Case{"log_level = \"loud\"",
                "node.log_level must be debug, info, warning or error, not \"loud\""},
           Case{"client_address = 7400", "node.client_address must be a text in quotes"},
           Case{"client_address = \"7400\"",
                "quipu.toml:4: node.client_address is no address: address \"7400\" has no port: "
                "write"},
           Case{"peer_address = \"7401\"",
                "quipu.toml:4: node.peer_address is no address: address \"7401\" has no port"},
           Case{"client_address = \"0.0.0.0:7400\"",
                "quipu.toml:4: client address 0.0.0.0:7400 is not loopback: set tls.certificate, "
                "tls.key and client.users_file, or node.insecure = true if the network is "
                "trusted"},
           Case{"client_address = \"0.0.0.0:7400\"\n[tls]\ncertificate = \"c\"\nkey = \"k\"",
                "quipu.toml:4: client address 0.0.0.0:7400 is not loopback: set "
                "client.users_file, or node.insecure"},
           Case{"client_address = \"0.0.0.0:7400\"\n[tls]\ncertificate = \"c\"\nkey = \"k\"\n"
                "[client]\nusers_file = \"u\"\nplaintext = \"allow\"",
                "quipu.toml:4: client address 0.0.0.0:7400 is not loopback: set "
                "client.plaintext = \"loopback\", or node.insecure"},
           Case{"[admin]\naddress = \"0.0.0.0:7402\"",
                "quipu.toml:5: admin address 0.0.0.0:7402 is not loopback: set tls.certificate, "
                "tls.key and client.users_file (or admin.open_metrics = true), or node.insecure"},
           Case{"[tls]\ncertificate = \"c\"",
                "quipu.toml: tls.certificate is set, and tls.key is "
                "missing"},
           Case{"[tls]\nkey = \"k\"", "tls.key is set, and tls.certificate is missing"},
           Case{"[tls]\nclient_ca = \"c\"", "tls.client_ca is set, and tls.certificate is missing"},
           Case{"[tls]\npeer_ca = \"c\"", "tls.peer_ca is set, and tls.certificate is missing"},
           Case{"[cluster]\nsecret_file = \"s\"\n[tls]\ncertificate = \"c\"\nkey = \"k\"\n"
                "peer_ca = \"p\"",
                "cluster.secret_file and tls.peer_ca are both set"},
           Case{"[client]\nplaintext = \"refuse\"",
                "client.plaintext = \"refuse\" is set, and tls.certificate is missing"},
           Case{"[client]\nplaintext = \"maybe\"",
                "client.plaintext must be loopback, refuse or allow, not \"maybe\""},
           Case{"[cluster]\nreplication = 8",
                "quipu.toml:5: cluster.replication is 8: choose 1 to 7"},
           Case{"[[namespace]]\nack = \"disk\"", "quipu.toml:4: a namespace has no name"},
           Case{"[[namespace]]\nname = \"a:b\"",
                "quipu.toml:4: the name of a namespace has no ':'"},
           Case{"[[namespace]]\nname = \"a\"\nack = \"often\"",
                "quipu.toml:6: the namespace's ack is \"often\": choose one of memory, disk, "
                "quorum"},
           Case{"[[namespace]]\nname = \"a\"\nread = 1",
                "quipu.toml:6: the namespace's read must be a text in quotes"},
           Case{"[[namespace]]\nname = \"a\"\nshards = 1025",
                "quipu.toml:6: the namespace's shards is 1025: choose 1 to 1024"},
           Case{"[[namespace]]\nname = \"a\"\nkind = \"distinct\"",
                "quipu.toml:6: the namespace's kind is fixed by quipu namespace create alone"},
           Case{"[[namespace]]\nname = \"a\"\nstrict = true",
                "quipu.toml:4: only the default namespace can be strict"},
           Case{"[[namespace]]\nname = \"a\"\nttl = 5",
                "quipu.toml:6: the namespace's ttl must be a text in quotes"},
           Case{"[[namespace]]\nname = \"a\"\nttl = \"soon\"",
                "quipu.toml:6: the namespace's ttl is \"soon\": write a duration above 0 and up to "
                "365000d, such as \"30s\""},
           Case{"[[namespace]]\nname = \"a\"\nttl = \"0s\"",
                "quipu.toml:6: the namespace's ttl is \"0s\": write a duration above 0"},
           Case{"[[namespace]]\nname = \"a\"\ntiers = \"1m\"",
                "quipu.toml:6: the namespace's tiers is \"1m\": write such as \"1m for 2d, 1h for "
                "90d, 1d for ever\""},
           Case{"[[namespace]]\nname = \"a\"\ntiers = \"1h for 2d, 1m for 2d\"",
                "quipu.toml:4: tiers go from short to long"},
           Case{"[[namespace]]\nname = \"a\"\nlate = \"1m\"",
                "quipu.toml:4: without tiers, no add is dated"},
           Case{"[[namespace]]\nname = \"a\"\nttl = \"30s\"\nshards = 2",
                "quipu.toml:4: a counter that is spread over shards has no end: set ttl or shards"},
           Case{"[[namespace]]\nname = \"a\"\ndecide = 1",
                "quipu.toml:6: the namespace's decide must be a text in quotes"},
           Case{"[[namespace]]\nname = \"a\"\ndecide = \"away\"",
                "quipu.toml:6: the namespace's decide is \"away\": choose one of local, home"},
           Case{"[[namespace]]\nname = \"a\"\ncolour = 5",
                "quipu.toml:6: the namespace's colour is unknown: a namespace has name, ack, read, "
                "shards, ttl, decide, tiers, late and strict"},
           Case{"[[namespace]]\nname = \"a\"\n[[namespace]]\nname = \"a\"",
                "quipu.toml:6: two namespaces are named \"a\""},
           Case{"[namespace]\nname = \"a\"", "quipu.toml:4: a namespace begins with [[namespace]]"},
           Case{"[cluster]\nmembers = 1", "quipu.toml:5: cluster.members must be a list of"},
           Case{"[cluster]\nmembers = [1]", "quipu.toml:5: a member must be {name"},
           Case{"[cluster]\nmembers = [{name = 1, peer = \"127.0.0.1:1\"}]",
                "quipu.toml:5: the member's name must be a text in quotes"},
           Case{"[cluster]\nmembers = [{name = \"n1\", peer = \"127.0.0.1:1\", port = 1}]",
                "the member's port is unknown: a member has name, peer"},
           Case{"[cluster]\nmembers = [{name = \"n1\", peer = \"127.0.0.1:1\", weight = 1001}]",
                "the member's weight is 1001: choose 0 to 1000"},
           Case{"[cluster]\nmembers = [{peer = \"127.0.0.1:1\"}]",
                "quipu.toml:5: a member has no name"},
           Case{"[cluster]\nmembers = [\n{name = \"n1\"}]", "quipu.toml:6: a member has no peer"},
           Case{"[cluster]\nmembers = [\n{name = \"n1\", peer = \"127.0.0.1\"}]",
                "quipu.toml:6: the member's peer is no address: address \"127.0.0.1\" has no port"},
           Case{"[cluster]\nmembers = [\n{name = \"n1\", peer = \"127.0.0.1:0\"}]",
                "quipu.toml:6: the member's peer has port 0, which nobody can dial"},
           Case{"[cluster]\nmembers = [\n{name = \"n1\", peer = \"127.0.0.1:1\", client = "
                "\"127.0.0.1:0\"}]",
                "quipu.toml:6: the member's client has port 0, which nobody can dial"},
           Case{"[cluster]\nmembers = [{name = \"n2\", peer = \"127.0.0.1:1\"}]",
                "quipu.toml: node \"n1\" is not among the members"},
           Case{"[cluster]\nmembers = [{name = \"n1\", peer = \"127.0.0.1:1\"},\n{name = \"n1\", "
                "peer = \"127.0.0.1:2\"}]",
                "quipu.toml:6: two members are named \"n1\""},
           Case{"[cluster]\nmembers = [{name = \"n1\", peer = \"127.0.0.1:1\"},\n{name = \"n2\", "
                "peer = \"127.0.0.1:1\"}]",
                "quipu.toml:6: two members have peer address \"127.0.0.1:1\""},
           Case{"[cluster]\nmembers = [{name = \"n2\", peer = \"10.0.0.1:1\"},\n{name = \"n1\", "
                "peer = \"10.0.0.1:2\"}]",
                "quipu.toml:6: peer address 10.0.0.1:2 is not loopback: set cluster.secret_file "
                "or tls.peer_ca, or node.insecure = true if the network is trusted"},
           Case{"[cluster]\nmembers = [\n{name = \"n1\", peer = \"127.0.0.1:1\", client = "
                "\"10.0.0.1:2\"}]",
                "quipu.toml:6: client address 10.0.0.1:2 is not loopback"},
           Case{"[cluster]\nname = \"\"", "quipu.toml: the cluster's name is empty"},
           Case{"name = \"again\"", "quipu.toml:4: "},
           Case{"not toml", "quipu.toml:4: "},
       }) {
    EXPECT_THAT(load_with(line).errors, ElementsAre(HasSubstr(error))) << line;
  }
}

TEST(Settings, AClusterOfOneListensForNoPeerSoThatAnyAddressOfItWillDo) {
  const std::string alone = "[cluster]\nmembers = [{name = \"n1\", peer = \"10.0.0.1:1\"}]";
  EXPECT_THAT(load_with(alone).errors, IsEmpty());
  EXPECT_THAT(load_with("peer_address = \"0.0.0.0:1\"\n" + alone).errors, IsEmpty());
}

TEST(Settings, AllMistakesAreToldAtOnce) {
  EXPECT_THAT(load_with("log_level = \"loud\"\nnam = 1").errors,
              ElementsAre(HasSubstr("quipu.toml:4"), HasSubstr("quipu.toml:5")));
}

TEST(Settings, MistakesInVariablesAndFlagsNameThem) {
  EXPECT_THAT(load(kWhole, {{"QUIPU_INSECURE", "1"}}).errors,
              ElementsAre("QUIPU_INSECURE: node.insecure must be true or false, not \"1\""));
  EXPECT_THAT(
      load(kWhole, {{"QUIPU_CLUSTER_MEMBERS", "n1"}}).errors,
      testing::Contains(HasSubstr("QUIPU_CLUSTER_MEMBERS: \"n1\" is no field: write name=")));
  EXPECT_THAT(load(kWhole, {}, {{"--log-level", "loud"}}).errors,
              ElementsAre(HasSubstr("--log-level: node.log_level must be")));
  EXPECT_THAT(load(kWhole, {{"QUIPU_PEER_ADDRESS", "0.0.0.0:1"}}).errors,
              ElementsAre(HasSubstr("QUIPU_PEER_ADDRESS: peer address 0.0.0.0:1 is not loopback")));
}

TEST(Settings, WhatWasWrittenDrivesNoTerminalAndForgesNoLine) {
  EXPECT_THAT(load_with("\"a\\nb\" = 1").errors,
              ElementsAre(HasSubstr("quipu.toml:4: unknown key \"node.a\\x0ab\"")));
  EXPECT_THAT(load(kWhole, {{"QUIPU_LOG_LEVEL", "\x1b[2J\x7f"}}).errors,
              ElementsAre(HasSubstr("not \"\\x1b[2J\\x7f\"")));
}

TEST(Settings, MayAskForAnyReplicationThatAClusterCanHave) {
  const auto founds = [](std::uint64_t replication) {
    Member member;
    member.name = "n";
    member.peer_address = "p";
    return found_config("c", {member}, static_cast<std::uint8_t>(replication)).ok();
  };
  EXPECT_TRUE(founds(kReplication.low) && founds(kReplication.high));
  EXPECT_FALSE(founds(kReplication.low - 1) || founds(kReplication.high + 1));
}

TEST(Settings, WhatHasNoDefaultIsAskedFor) {
  EXPECT_THAT(load_settings({}).errors, ElementsAre(HasSubstr("node.name is not set"),
                                                    HasSubstr("node.data_directory is not set")));
}

TEST(Settings, AFileThatCannotBeReadIsNamed) {
  EXPECT_THAT(load_settings({.file = "/nowhere/quipu.toml", .environment = {}, .flags = {}}).errors,
              testing::Contains("/nowhere/quipu.toml: cannot be read: No such file or directory"));
}

TEST(Settings, ADirectoryInsteadOfAFileIsNamed) {
  const TemporaryDirectory directory;
  EXPECT_THAT(load_settings({.file = directory.path(), .environment = {}, .flags = {}}).errors,
              testing::Contains(directory.path().string() + ": cannot be read: Is a directory"));
}

TEST(Settings, RebuildNeedsPeers) {
  const LoadedSettings loaded = load_settings({.file = {},
                                               .environment = {},
                                               .flags = {{"--name", "n1"}, {"--data", "/data"}},
                                               .rebuild = true});
  EXPECT_THAT(loaded.errors, ElementsAre(HasSubstr("a cluster of one has none")));
}

TEST(Settings, TheAdminPortNeedsAnAddressOfItsOwn) {
  const std::string node = "[node]\nname = \"n1\"\ndata_directory = \"/data\"\n";
  EXPECT_THAT(load(node + "client_address = \"127.0.0.1:7499\"\n[admin]\naddress = "
                          "\"127.0.0.1:7499\"\n")
                  .errors,
              ElementsAre(HasSubstr("where this node listens for clients")));
  EXPECT_THAT(load(node + "[admin]\naddress = \"127.0.0.1:7499\"\n").errors, IsEmpty());
  EXPECT_THAT(load(node + "client_address = \"127.0.0.1:0\"\n[admin]\naddress = "
                          "\"127.0.0.1:0\"\n")
                  .errors,
              IsEmpty());
}

}  // namespace
}  // namespace quipu::test
