// settings.h: quipud's settings: a TOML file, then QUIPU_* variables, then flags, each with
// priority over the ones before it, as one plain struct.
//
//   [cluster]                        variable                    flag
//   name = "quipu"                   QUIPU_CLUSTER_NAME
//   replication = 3                  QUIPU_CLUSTER_REPLICATION
//   reactors = 1                     QUIPU_CLUSTER_REACTORS      --reactors
//   secret_file = "…"                QUIPU_CLUSTER_SECRET_FILE   protects the links to members
//   members = [                      QUIPU_CLUSTER_MEMBERS (name=n1,peer=…,client=…;name=n2,…)
//     {name = "n1", peer = "10.0.0.1:7401", client = "10.0.0.1:7400", zone = "a", weight = 1},
//   ]
//   [node]
//   name = "n1"                      QUIPU_NODE_NAME             --name
//   data_directory = "/var/lib/…"    QUIPU_DATA_DIRECTORY        --data
//   client_address = "127.0.0.1:7400"  QUIPU_CLIENT_ADDRESS     --client  (default: as in members)
//   peer_address = "127.0.0.1:7401"  QUIPU_PEER_ADDRESS          --peer
//   insecure = false                 QUIPU_INSECURE              --insecure
//   gossip_interval_ms = 100         QUIPU_GOSSIP_INTERVAL_MS
//   clock_skew_ms = 1000             QUIPU_CLOCK_SKEW_MS
//   outbox_shards = 100000           QUIPU_OUTBOX_SHARDS
//   checkpoint_bytes = 268435456     QUIPU_CHECKPOINT_BYTES
//   memory_limit = 0                 QUIPU_MEMORY_LIMIT          bytes; 0: none
//   log_format = "logfmt"            QUIPU_LOG_FORMAT            --log-format   logfmt, json
//   log_level = "info"               QUIPU_LOG_LEVEL             --log-level    debug … error
//   drain_delay_ms = 5000            QUIPU_DRAIN_DELAY_MS
//   [admin]
//   address = ""                     QUIPU_ADMIN_ADDRESS         none, or "127.0.0.1:7402"
//   [tls]                            QUIPU_TLS_ and the key in capitals. Files in PEM
//   certificate = "…"                with key: TLS on the client and admin ports
//   key = "…"
//   client_ca = "…"                  clients must show a certificate of these CAs
//   peer_ca = "…"                    members show theirs, of these CAs
//   [client]                         QUIPU_CLIENT_ and the key in capitals
//   users_file = "…"                 a TOML file, as quipu user new makes it
//   plaintext = "loopback"           loopback, refuse, allow; where there is a certificate
//   resp_ack = "disk"                memory, disk, quorum
//   flushall = false
//   databases = 16
//   connections = 10000
//   idle_seconds = 0                 0: never
//   request_seconds = 30
//   soft_output_bytes = 1048576
//   soft_output_seconds = 10
//   hard_output_bytes = 8388608
//
//   [[namespace]]                    only in the file; as often as needed
//   name = "likes"
//   ack = "quorum"                   memory, disk, quorum
//   read = "strong"                  local, fresh, strong
//   shards = 16
//   ttl = "30s"                      ms, s, m, h, d
//   decide = "home"                  local, home
//   tiers = "1m for 2d, 1h for ever" windows, from short to long
//   late = "10m"                     how long ago an add may say that it happened
//   strict = false                   only where name = ""
//
// An unknown key is an error, since a misspelt one would silently leave a default.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "node/base/stderr_log.h"
#include "quipu/node_options.h"

namespace quipu {

inline constexpr std::string_view kMembersKey = "cluster.members";

struct Settings {
  Settings();  // quipud's defaults

  NodeOptions node;
  LogFormat log_format = LogFormat::logfmt;
  LogLevel log_level = LogLevel::info;
  // How long quipud goes on to serve after SIGTERM.
  std::chrono::milliseconds drain_delay{5'000};
  bool open_metrics = false;  // /metrics needs no user
  std::string admin_address;  // where the admin port listens; empty: there is none
};

struct SettingSources {
  std::filesystem::path file;  // empty: none
  // The value of a variable, if it is set.
  std::function<std::optional<std::string>(const std::string& name)> environment;
  std::vector<std::pair<std::string, std::string>> flags;  // ("--name", "n1")
  bool rebuild = false;                                    // for one start, so it is only a flag
};

struct LoadedSettings {
  Settings settings;
  // One line each: where, what is wrong, what to do. Empty: the settings may be used.
  std::vector<std::string> errors;
  // Where each setting that is not a default was written, by its key: "quipu.toml:3". The key
  // for the members is kMembersKey, and that of the namespace likes is "namespace.likes".
  std::map<std::string, std::string, std::less<>> places;
};

[[nodiscard]] LoadedSettings load_settings(const SettingSources& sources);

// A setting with a flag, for the command line's help.
struct SettingFlag {
  std::string_view flag;      // "--name"
  std::string_view variable;  // "QUIPU_NODE_NAME"
  std::string_view help;
  bool takes_value;  // else the flag alone means "true"
};
[[nodiscard]] std::vector<SettingFlag> setting_flags();

// Every variable that is read.
[[nodiscard]] std::vector<std::string> setting_variables();

}  // namespace quipu
