// commands.h: the commands of `quipu`. arguments.cpp parses the arguments, and checks them as
// far as no node is needed. Each command has a file of its own, prints its data to stdout
// and errors to stderr, and returns the exit code.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "node/cli/environment.h"
#include "protocol/client_messages.h"
#include "quipu/frequency.h"
#include "quipu/levels.h"
#include "quipu/namespace.h"

namespace quipu::cli {

struct AddCommand {
  std::string key;
  std::int64_t amount = 1;
  Ack ack = Ack::by_default;
  std::string affinity;                                     // empty: none
  std::optional<std::chrono::system_clock::time_point> at;  // when it happened; nullopt: now
};
int run(const Environment& environment, const AddCommand& command);

struct GetCommand {
  std::vector<std::string> keys;
  ReadLevel level = ReadLevel::by_default;
};
int run(const Environment& environment, const GetCommand& command);

struct DistinctAddCommand {
  std::string key;
  std::vector<std::string> elements;
  Ack ack = Ack::by_default;
};
int run(const Environment& environment, const DistinctAddCommand& command);

struct DistinctCountCommand {
  std::vector<std::string> keys;
  ReadLevel level = ReadLevel::by_default;
};
int run(const Environment& environment, const DistinctCountCommand& command);

// Counts an item, in a counter of this kind.
struct ItemAddCommand {
  Kind kind{};
  std::string key;
  std::string item;
  std::uint64_t count = 1;
  Ack ack = Ack::by_default;
};
int run(const Environment& environment, const ItemAddCommand& command);

// Begins a counter of this kind with a size or a length.
struct ItemBeginCommand {
  Kind kind{};
  std::string key;
  FrequencySize size{};
  std::uint32_t length = 10;
  Ack ack = Ack::by_default;
};
int run(const Environment& environment, const ItemBeginCommand& command);

struct FrequencyQueryCommand {
  std::string key;
  std::vector<std::string> items;
  ReadLevel level = ReadLevel::by_default;
};
int run(const Environment& environment, const FrequencyQueryCommand& command);

struct TopListCommand {
  std::string key;
  ReadLevel level = ReadLevel::by_default;
};
int run(const Environment& environment, const TopListCommand& command);

struct RangeCommand {
  std::string key;
  std::chrono::seconds last{};  // not 0: instead of these two
  std::chrono::system_clock::time_point from{}, to{};
  std::chrono::seconds step{};  // 0: the shortest that there is for all of it
  bool of_union = false;        // of a `distinct`
  ReadLevel level = ReadLevel::by_default;
};
int run(const Environment& environment, const RangeCommand& command);

struct ResetCommand {
  std::string key;
  Ack ack = Ack::by_default;
  bool windows = false;  // these, too
};
int run(const Environment& environment, const ResetCommand& command);

struct ShardsCommand {
  std::string key;
  std::uint16_t count = 1;
};
int run(const Environment& environment, const ShardsCommand& command);

struct ListCommand {
  std::string prefix;
  std::optional<Kind> kind;  // only counters of this kind
};
int run(const Environment& environment, const ListCommand& command);

struct IngestCommand {
  std::string file = "-";  // "-": stdin
  // A kind with elements: each line is an element of the counter `key`. Else there is no key.
  Kind kind = Kind::sum;
  std::string key;
  Ack ack = Ack::by_default;
  std::optional<std::uint64_t> rate;  // lines per second
  std::string report;                 // a file for each line that was not counted; empty: none
  std::string resume;                 // the state file of an earlier ingest; empty: none
  // How long an outcome may stay unknown. After that its lines are named and given up.
  std::chrono::milliseconds timeout{30'000};
};
int run(const Environment& environment, const IngestCommand& command);

struct NamespaceChangeCommand {
  NamespaceAction action = NamespaceAction::create;  // or set
  std::string name;
  NamespacePolicy policy{};
  std::uint16_t fields = 0;  // those that were given, as in NamespaceRequest
};
int run(const Environment& environment, const NamespaceChangeCommand& command);

struct NamespaceDropCommand {
  std::string name;
};
int run(const Environment& environment, const NamespaceDropCommand& command);

struct NamespaceShowCommand {
  std::string name;
};
int run(const Environment& environment, const NamespaceShowCommand& command);

struct NamespaceListCommand {};
int run(const Environment& environment, const NamespaceListCommand& command);

struct StatusCommand {};
int run(const Environment& environment, const StatusCommand& command);

struct ConfigShowCommand {
  std::string file;                                        // empty: none
  std::vector<std::pair<std::string, std::string>> flags;  // those of quipud: ("--name", "n1")
};
int run(const Environment& environment, const ConfigShowCommand& command);

struct UserNewCommand {
  std::string name;
  std::vector<std::string> may;
  std::optional<std::vector<std::string>> keys;  // prefixes; nullopt: all keys
  bool secret_from_stdin = false;
};
int run(const Environment& environment, const UserNewCommand& command);

struct SecretCommand {};
int run(const Environment& environment, const SecretCommand& command);

struct BenchCommand {
  enum class What { adds, reads };
  What what = What::adds;
  std::size_t connections = 50;
  std::size_t pipeline = 64;
  std::uint64_t keys = 1'000'000;
  bool hot = false;     // a single key
  bool tokens = false;  // each connection has a session, so that adds could be retried
  Ack ack = Ack::disk;
  ReadLevel level = ReadLevel::local;
  std::chrono::seconds seconds{5};
};
int run(const Environment& environment, const BenchCommand& command);

}  // namespace quipu::cli
