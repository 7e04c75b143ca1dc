// What `quipu config show` prints: it would set the same again.
#include "node/settings/settings_toml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node/settings/setting_table.h"
#include "tests/node/settings/settings_text.h"

namespace quipu::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

std::string shown(const LoadedSettings& loaded) {
  EXPECT_THAT(loaded.errors, IsEmpty());
  const Result<std::string> text = to_toml(loaded);
  EXPECT_TRUE(text.ok()) << text.status().message();
  return text.ok() ? *text : "";
}

// Sets everything to something else than its default.
constexpr const char* kNoDefault = R"(
[cluster]
name = "shop"
replication = 2
reactors = 2
secret_file = "/etc/quipu/cluster.secret"
members = [
  {name = "n1", peer = "127.0.0.1:7401", client = "127.0.0.1:7400", zone = "a", weight = 2},
  {name = "n2", peer = "127.0.0.1:7411"},
]
[node]
name = "n1"
data_directory = "/var/lib/quipu"
client_address = "0.0.0.0:7400"
peer_address = "0.0.0.0:7401"
insecure = true
gossip_interval_ms = 200
clock_skew_ms = 500
outbox_shards = 5000
checkpoint_bytes = 1048576
memory_limit = 1073741824
log_format = "json"
log_level = "debug"
drain_delay_ms = 100
[admin]
address = "0.0.0.0:7402"
open_metrics = true
[tls]
certificate = "/etc/quipu/n1.crt"
key = "/etc/quipu/n1.key"
client_ca = "/etc/quipu/clients.crt"
[client]
plaintext = "refuse"
users_file = "/etc/quipu/users.toml"
resp_ack = "quorum"
flushall = true
databases = 3
connections = 100
idle_seconds = 60
request_seconds = 90
soft_output_bytes = 2097152
soft_output_seconds = 20
hard_output_bytes = 16777216
[[namespace]]
name = "likes"
ack = "quorum"
read = "fresh"
shards = 16
[[namespace]]
name = "otp"
ttl = "90s"
decide = "home"
[[namespace]]
name = "hits"
tiers = "1m for 2d, 1h for ever"
late = "10m"
[[namespace]]
name = ""
strict = true
)";

constexpr const char* kLeast = "[node]\nname = \"n1\"\ndata_directory = \"data\"\n";

void expect_same_again(const LoadedSettings& loaded) {
  const LoadedSettings again = load(shown(loaded));
  ASSERT_THAT(again.errors, IsEmpty());
  for (const SettingRow& row : setting_table())
    EXPECT_EQ(row.show(again.settings), row.show(loaded.settings)) << row.key;
  const std::vector<NodeMember>& members = loaded.settings.node.members;
  ASSERT_EQ(again.settings.node.members.size(), members.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    const NodeMember& member = again.settings.node.members[i];
    EXPECT_EQ(member.name, members[i].name);
    EXPECT_EQ(member.peer_address, members[i].peer_address);
    EXPECT_EQ(member.client_address, members[i].client_address);
    EXPECT_EQ(member.zone, members[i].zone);
    EXPECT_EQ(member.weight, members[i].weight);
  }
  EXPECT_EQ(again.settings.node.namespaces, loaded.settings.node.namespaces);
}

TEST(SettingsToml, SetsTheSameAgain) {
  expect_same_again(load(kNoDefault));
  expect_same_again(load(kLeast));
  expect_same_again(load(kLeast, {{"QUIPU_CLIENT_ADDRESS", ""}}));
}

TEST(SettingsToml, TellsEverySettingAndWhetherItIsADefault) {
  const LoadedSettings all = load(kNoDefault);
  const LoadedSettings least = load(kLeast);
  const std::string text = shown(least);
  for (const SettingRow& row : setting_table()) {
    const bool needed = row.key == "node.name" || row.key == "node.data_directory";
    EXPECT_EQ(least.places.contains(row.key), needed) << row.key;
    if (row.key == "tls.peer_ca") continue;  // excludes secret_file
    EXPECT_TRUE(all.places.contains(row.key)) << row.key;
    EXPECT_NE(row.show(all.settings), row.show(Settings())) << row.key;
    EXPECT_THAT(text, HasSubstr('\n' + std::string(row.name()) + " = ")) << row.key;
  }
  for (const char* const line :
       {"name = \"quipu\"  # default\n", "connections = 10000  # default\n",
        "databases = 16  # default\n", "idle_seconds = 0  # default\n",
        "request_seconds = 30  # default\n", "soft_output_bytes = 1048576  # default\n",
        "soft_output_seconds = 10  # default\n", "hard_output_bytes = 8388608  # default\n",
        "client_address = \"127.0.0.1:7400\"  # default\n"})
    EXPECT_THAT(text, HasSubstr(line));
}

TEST(SettingsToml, TellsWhereEachWasWritten) {
  const std::string text =
      shown(load("[cluster]\nmembers = [\n"
                 "  {name = \"n1\", peer = \"127.0.0.1:7401\", client = \"127.0.0.1:7999\"},\n]\n"
                 "[node]\nname = \"n1\"\n",
                 {{"QUIPU_GOSSIP_INTERVAL_MS", "300"}}, {{"--data", "d"}}));
  for (const char* const line :
       {"quipu.toml:3\n  {name = \"n1\", ", "quipu.toml:6\n",
        "gossip_interval_ms = 300  # QUIPU_GOSSIP_INTERVAL_MS\n",
        "data_directory = \"d\"  # --data\n", "client_address = \"127.0.0.1:7999\"  # "})
    EXPECT_THAT(text, HasSubstr(line));
  EXPECT_THAT(text, testing::Not(HasSubstr("7999\"  # default")));
}

TEST(SettingsToml, QuotesWhateverAVariableHolds) {
  const std::string odd = "a \"b\" 'c' \\ # \n\t\x1b \xc3\xbc = []";
  const LoadedSettings loaded = load(kLeast, {{"QUIPU_DATA_DIRECTORY", odd}});
  EXPECT_EQ(loaded.settings.node.data_directory, odd);
  expect_same_again(loaded);
  const Result<std::string> text = to_toml(load(kLeast, {{"QUIPU_DATA_DIRECTORY", "a\xff"}}));
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.status().code(), Code::invalid_argument);
  EXPECT_THAT(text.status().detail(), HasSubstr("node.data_directory"));
}

}  // namespace
}  // namespace quipu::test
