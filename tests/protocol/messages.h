// messages.h: every message of both ports, from the emptiest to the fullest, with functions to
// compare and decode them.
#pragma once

#include <cstring>
#include <iterator>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "protocol/message_codec.h"
#include "protocol/window.h"

namespace quipu {

// ---- equality: a message with a new field does not compile here ----

// clang-format off
inline auto fields(const Op& m) { const auto& [a, b, c, d, e, f, g, h, i, j, k, l] = m; return std::tie(a, b, c, d, e, f, g, h, i, j, k, l); }
inline auto fields(const Done& m) { const auto& [a, b, c, d, e, f, g, not_sent] = m; return std::tie(a, b, c, d, e, f, g); }
inline auto fields(const Read& m) { const auto& [a, b, c, d] = m; return std::tie(a, b, c, d); }
inline auto fields(const Value& m) { const auto& [a, b, c, d, e, f, g, h, i, j, k] = m; return std::tie(a, b, c, d, e, f, g, h, i, j, k); }
inline auto fields(const Values& m) { const auto& [a, b, not_sent] = m; return std::tie(a, b); }
inline auto fields(const Query& m) { const auto& [a, b, c, d, e, f] = m; return std::tie(a, b, c, d, e, f); }
inline auto fields(const QueryReply& m) { const auto& [a, b, c, d, e, f, g, h, not_sent] = m; return std::tie(a, b, c, d, e, f, g, h); }
inline auto fields(const StateHash& m) { const auto& [a, b] = m; return std::tie(a, b); }
inline auto fields(const List& m) { const auto& [a, b, c, d, e] = m; return std::tie(a, b, c, d, e); }
inline auto fields(const Keys& m) { const auto& [a, b, c, d, e, f] = m; return std::tie(a, b, c, d, e, f); }
inline auto fields(const CountKeys& m) { const auto& [a, b] = m; return std::tie(a, b); }
inline auto fields(const KeyCount& m) { const auto& [a, b, c, d] = m; return std::tie(a, b, c, d); }
inline auto fields(const NamespaceRequest& m) { const auto& [a, b, c, d, e, f] = m; return std::tie(a, b, c, d, e, f); }
inline auto fields(const NamespaceReply& m) { const auto& [a, b, c, d, e] = m; return std::tie(a, b, c, d, e); }
inline auto fields(const RangeRequest& m) { const auto& [a, b, c, d, e, f, g, h, i, j] = m; return std::tie(a, b, c, d, e, f, g, h, i, j); }
inline auto fields(const RangeReply& m) { const auto& [a, b, c, d, e, f, g, h, not_sent] = m; return std::tie(a, b, c, d, e, f, g, h); }
inline auto fields(const ConfigRequest& m) { const auto& [a] = m; return std::tie(a); }
inline auto fields(const MemberInfo& m) { const auto& [a, b, c, d, e] = m; return std::tie(a, b, c, d, e); }
inline auto fields(const ConfigReply& m) { const auto& [a, b, c, d, e, f, g, h, i, j, k] = m; return std::tie(a, b, c, d, e, f, g, h, i, j, k); }
inline auto fields(const StatusRequest& m) { const auto& [a, b] = m; return std::tie(a, b); }
inline auto fields(const PeerStatus& m) { const auto& [a, b, c, d, e, f] = m; return std::tie(a, b, c, d, e, f); }
inline auto fields(const Stat& m) { const auto& [a, b] = m; return std::tie(a, b); }
inline auto fields(const StatusReply& m) { const auto& [a, b, c, d, e, f, g, h, i, j, k, l] = m; return std::tie(a, b, c, d, e, f, g, h, i, j, k, l); }
inline auto fields(const Authenticate& m) { const auto& [a, b, c] = m; return std::tie(a, b, c); }
inline auto fields(const Authenticated& m) { const auto& [a, b, c] = m; return std::tie(a, b, c); }
inline auto fields(const Refusal& m) { const auto& [a, b, c] = m; return std::tie(a, b, c); }
inline auto fields(const Hello& m) { const auto& [a, b, c, d, e, f, g, h, i] = m; return std::tie(a, b, c, d, e, f, g, h, i); }
inline auto fields(const DeltaFrame& m) { const auto& [a, b, c] = m; return std::tie(a, b, c); }
inline auto fields(const DeltaAck& m) { const auto& [a, b, c] = m; return std::tie(a, b, c); }
inline auto fields(const Heartbeat& m) { const auto& [a, b, c, d, e, f, g, h, i, j] = m; return std::tie(a, b, c, d, e, f, g, h, i, j); }
inline auto fields(const Forward& m) { return std::tie(m.ops); }
inline auto fields(const Forwarded& m) { const auto& [a] = m; return std::tie(a); }
inline auto fields(const Collect& m) { const auto& [a, b, c, d] = m; return std::tie(a, b, c, d); }
inline auto fields(const Collected& m) { const auto& [a, b, c, d, e, f, g, h, i] = m; return std::tie(a, b, c, d, e, f, g, h, i); }
inline auto fields(const WriteBack& m) { const auto& [a, b, c, d] = m; return std::tie(a, b, c, d); }
inline auto fields(const WrittenBack& m) { const auto& [a, b, c] = m; return std::tie(a, b, c); }
inline auto fields(const ShardDigest& m) { const auto& [a, b] = m; return std::tie(a, b); }
inline auto fields(const PartitionDigest& m) { const auto& [a, b] = m; return std::tie(a, b); }
inline auto fields(const LeafDigest& m) { const auto& [a, b] = m; return std::tie(a, b); }
inline auto fields(const Pull& m) { const auto& [a, b, c, d, e] = m; return std::tie(a, b, c, d, e); }
inline auto fields(const Pulled& m) { const auto& [a, b, c, d, e, f, g, h, i] = m; return std::tie(a, b, c, d, e, f, g, h, i); }
inline auto fields(const ListPart& m) { const auto& [a, b, c, d] = m; return std::tie(a, b, c, d); }
inline auto fields(const ListedPart& m) { const auto& [a, b, c, d] = m; return std::tie(a, b, c, d); }
inline auto fields(const CountKeysPart& m) { const auto& [a, b] = m; return std::tie(a, b); }
inline auto fields(const KeyCountPart& m) { const auto& [a, b, c] = m; return std::tie(a, b, c); }
inline auto fields(const Namespaces& m) { const auto& [a] = m; return std::tie(a); }
inline auto fields(const Prefixes& m) { const auto& [a] = m; return std::tie(a); }
inline auto fields(const Record& m) { const auto& [a, b, c, d, e] = m; return std::tie(a, b, c, d, e); }
// clang-format on

// The result of for_each on a Delta.
struct SeenShard {
  ShardKey shard;
  ShardState state;
  bool operator==(const SeenShard&) const = default;
};
inline std::vector<SeenShard> shards_of(const Delta& delta) {
  std::vector<SeenShard> seen;
  delta.for_each([&](const DeltaEntry& entry) {
    seen.push_back({{std::string(entry.ref.key), entry.ref.shard},
                    {{entry.cells.begin(), entry.cells.end()},
                     entry.shard_count,
                     entry.usable_shards,
                     entry.life,
                     {entry.parts.begin(), entry.parts.end()}}});
  });
  return seen;
}
inline bool operator==(const Delta& a, const Delta& b) {
  return a.commit() == b.commit() && a.versions == b.versions && shards_of(a) == shards_of(b);
}

template <class Message>
requires requires(const Message& message) { fields(message); }
bool operator==(const Message& a, const Message& b) { return fields(a) == fields(b); }

using ClientMessage = std::variant<Op, Done, Read, Values, List, Keys, CountKeys, KeyCount,
                                   NamespaceRequest, NamespaceReply, RangeRequest, RangeReply,
                                   ConfigRequest, ConfigReply, StatusRequest, StatusReply, Refusal,
                                   Query, QueryReply, Authenticate, Authenticated>;

namespace test {

inline constexpr std::uint64_t kMax64 = ~std::uint64_t{0};
inline constexpr std::uint32_t kMax32 = ~std::uint32_t{0};
inline constexpr std::int64_t kHighest = INT64_MAX;
inline constexpr std::int64_t kLowest = INT64_MIN;
inline const std::string kLongestKey(kMaxKey, 'k');
inline const std::string kOddKey("\0\xff\r\n:", 5);

// ---- samples ----

inline Wall wall_ms(std::int64_t ms) { return Wall{std::chrono::milliseconds(ms)}; }

inline Life largest_life() { return {kLatestDate, kLatestDate, kLatestDate, kLatestDate, true}; }

// Own cells alone, between others, cleared, and none at all; counts and times at their edges.
inline Delta sample_delta() {
  const Commit commit{77};
  const Cell own{ActorId{5}, commit, -3};
  Delta delta(commit);
  delta.push({"likes:1", 0}, {{own}, 1, 1});
  delta.push({kOddKey, 1}, {{{ActorId{1}, Commit{9}, 8}, own, {ActorId{9}, Commit{4}, 2}}, 4, 2});
  delta.push({"cleared", 0}, {{{ActorId{5}, commit, 6, Commit{76}, 5}}, 1, 1});
  delta.push({kLongestKey, kMaxShards - 1},
             {{{ActorId{kMax64}, commit, kLowest}}, kMaxShards, kMaxShards});
  delta.push({"absent", 0}, {});
  const ShardKey window = window_at({kLongestKey, kMaxShards - 1}, kMaxTierLength, wall_ms(77));
  delta.push(window, {{own}, 1, 1});
  delta.push({"ends", 0},
             {{{ActorId{1}, Commit{9}, 8, {}, 0, wall_ms(7)}, own, {ActorId{9}, commit, 1}},
              1,
              1,
              {{}, wall_ms(5), wall_ms(9), wall_ms(11), true}});
  delta.push({"ended", 0}, {{}, 1, 1, largest_life()});
  delta.push({"born", 0}, {{{ActorId{5}, commit, 1, {}, 0, kLatestDate}}, 1, 1, largest_life()});
  // Bodies are opaque here.
  const ShardIndex distinct = shard_of(Kind::distinct);
  delta.push({"visitors", distinct}, {{}, 1, 1, {}, {{{}, std::string("\0\xff", 2)}}});
  delta.push({"visitors", shard_of(Kind::distinct)}, {});
  const ShardKey of_window = window_at({kOddKey, distinct}, kMaxTierLength, wall_ms(77));
  delta.push(of_window, {{}, 1, 1, largest_life(), {{kLatestDate, "b"}}});
  delta.push({kLongestKey, distinct}, {{},
                                       1,
                                       1,
                                       {{}, wall_ms(5), wall_ms(9), wall_ms(11), true},
                                       {{{}, std::string(1000, 'b')}, {wall_ms(1), "c"}}});
  delta.push({"full", 2},
             {{{ActorId{kMax64}, Commit{kMax64}, kHighest, Commit{kMax64}, kLowest}}, 3, 3});
  delta.versions = {{StoreId{1}, BootId{2}, Commit{3}},
                    {StoreId{kMax64}, BootId{kMax64}, Commit{kMax64}}};
  return delta;
}

inline Pins sample_pins() {
  return {.founded = true,
          .founding = {{NodeId{1}, StoreId{}, 0}, {NodeId{kMax64}, StoreId{8}, 0}},
          .current = {{NodeId{1}, StoreId{7}, 1}, {NodeId{kMax64}, StoreId{kMax64}, kMax64}},
          .retired = {StoreId{3}, StoreId{4}}};
}

inline const std::string kOddNamespace("\0\xff\r\n", 4);
inline const std::string kLongestNamespace(kMaxNamespaceName, '\xff');

inline NamespacePolicy sample_policy() {
  return {
      .ack = Ack::quorum,
      .read = ReadLevel::strong,
      .shards = kMaxShards,
      .ttl = kMaxTtl,
      .decide = Decide::home,
      .tiers = {{std::chrono::seconds(1), std::chrono::seconds(1)},
                {std::chrono::seconds(60), std::chrono::hours(48)},
                {std::chrono::hours(1), std::chrono::duration_cast<std::chrono::seconds>(kMaxTtl)},
                {kMaxTierLength, std::nullopt}},
      .late = std::chrono::seconds(1),
      .strict = true,
      .kind = Kind::distinct,
      .precision = kMostPrecision};
}

inline NamespaceDefinition largest_definition() {
  const Stamp latest{kLatestStamp, NodeId{kMax64}};
  std::vector<FixedKind> fixed{{{}, Kind::sum, 0}};
  for (std::uint8_t i = 1; i < kMostFixed; ++i)
    fixed.push_back({{kLatestStamp, NodeId{kMax64 - kMostFixed + 1 + i}}, Kind::distinct, 10});
  return {.name = kLongestNamespace,
          .changed = latest,
          .policy = sample_policy(),
          .dropped = latest,
          .fixed = fixed,
          .whole_from = {kMax64, 0, 1, 2},
          .counted_from = kMax64,
          .longest_late = kMaxTtl};
}

inline Token largest_token() { return {StoreId{kMax64}, Serial{kMax64}, kMax64, kMax64}; }

inline Op largest_op() {
  return {.id = kMax64,
          .key = kLongestKey,
          .amount = kHighest,
          .token = largest_token(),
          .affinity = Affinity{kMax64},
          .ttl_ms = kMax64,
          .at_ms = kHighest,
          .timeout_ms = kMaxTimeoutMs,
          .shard = kMaxShards - 1,
          .kind = OpKind::open_session,
          .ack = Ack::quorum};
}

inline Done largest_done() {
  return {.id = kMax64,
          .code = Code{0xffff},
          .detail = std::string(200, 'd'),
          .usable = kMaxShards,
          .store = StoreId{kMax64},
          .serial = Serial{kMax64},
          .total = kHighest};
}

inline std::vector<std::uint16_t> sample_owners(std::uint16_t members, std::size_t replication) {
  std::vector<std::uint16_t> owners(kPartitions * replication);
  for (std::size_t i = 0; i < owners.size(); ++i)
    owners[i] = static_cast<std::uint16_t>(i % members);
  return owners;
}

inline std::vector<ClientMessage> client_messages() {
  const Value largest_value{.code = Code{0xffff},
                            .kind = kLastKind,
                            .shards = kMaxShards,
                            .exists = true,
                            .complete = true,
                            .detail = "größer",
                            .value = kHighest,
                            .expires_in_ms = kLatestDateMs,
                            .age_ms = kUnknownAge};
  return {
      Op{},
      Op{.id = 1, .key = "likes:42", .amount = -1, .kind = OpKind::add},
      Op{.id = 1, .key = "likes:42", .amount = 1, .affinity = Affinity{1}},
      Op{.id = 2, .key = kOddKey, .amount = kLowest, .kind = OpKind::reset, .ack = Ack::memory},
      Op{.id = 3, .key = "x", .token = {.floor = 1}, .shard = 0, .kind = OpKind::raise},
      Op{.id = 4, .key = "x", .amount = 1'700'000'000'000, .kind = OpKind::expire},
      Op{.id = 5, .key = "x", .amount = 1, .ttl_ms = 1},
      Op{.id = 6, .key = "x", .amount = 1, .at_ms = kLowest},
      largest_op(),
      Done{},
      Done{.id = 1, .code = Code::in_doubt, .detail = "x"},
      Done{.id = 2, .total = 0},
      largest_done(),
      Read{},
      Read{.id = 1, .level = ReadLevel::fresh, .keys = {""}},
      Read{.id = kMax64,
           .level = ReadLevel::strong,
           .timeout_ms = kMaxTimeoutMs,
           .keys = {"a", kOddKey, "", kLongestKey, "a"}},
      Values{},
      Values{.id = kMax64, .values = {Value{}, Value{.value = kLowest}, largest_value}},
      List{},
      List{.id = kMax64,
           .prefix = kLongestKey,
           .cursor = kListEnd,
           .limit = 0,
           .timeout_ms = kMaxTimeoutMs},
      Keys{},
      Keys{.id = kMax64, .keys = {"a", kOddKey, kLongestKey}, .next = 0},
      Keys{.id = 1, .keys = {}, .next = 256, .code = Code{0xffff}, .detail = "x"},
      Keys{.id = 2, .keys = {"a", "b"}, .kinds = {Kind::sum, Kind::distinct}},
      Query{.kind = Kind::distinct, .keys = {"a"}},
      Query{.id = kMax64,
            .kind = kLastKind,
            .level = ReadLevel::strong,
            .timeout_ms = kMaxTimeoutMs,
            .words = kOddKey,
            .keys = {kLongestKey, "", kOddKey}},
      QueryReply{},
      QueryReply{.id = kMax64,
                 .code = Code{0xffff},
                 .detail = "x",
                 .reply = kOddKey,
                 .exists = true,
                 .complete = true,
                 .age_ms = kUnknownAge,
                 .expires_in_ms = kLatestDateMs},
      Op{.id = 5,
         .key = "visitors",
         .words = kOddKey,
         .shard = shard_of(Kind::distinct),
         .kind = OpKind::apply},
      CountKeys{},
      CountKeys{kMax64, kMaxTimeoutMs},
      KeyCount{},
      KeyCount{kMax64, kMax64, Code{0xffff}, std::string(256, 'd')},
      Op{.id = 4, .key = "likes:42", .amount = 1, .ack = Ack::by_default},
      Read{.id = 2, .level = ReadLevel::by_default, .keys = {"likes:42"}},
      NamespaceRequest{},
      NamespaceRequest{.id = 1,
                       .action = NamespaceAction::create,
                       .name = "likes",
                       .policy = {.ack = Ack::memory, .read = ReadLevel::local, .shards = 1}},
      NamespaceRequest{.id = kMax64,
                       .action = NamespaceAction::drop,
                       .name = kLongestNamespace,
                       .policy = sample_policy(),
                       .fields = 0xffff,
                       .timeout_ms = kMaxTimeoutMs},
      NamespaceRequest{.action = NamespaceAction::set,
                       .policy = {.strict = false},
                       .fields = NamespaceRequest::kStrict},
      NamespaceRequest{.action = NamespaceAction::set,
                       .policy = {.decide = Decide::local},
                       .fields = NamespaceRequest::kDecide},
      NamespaceRequest{.action = NamespaceAction::create,
                       .name = "likes",
                       .policy = {.kind = Kind::sum},
                       .fields = NamespaceRequest::kKind},
      NamespaceRequest{.action = NamespaceAction::set,
                       .policy = {.precision = 255},
                       .fields = NamespaceRequest::kPrecision},
      NamespaceReply{},
      NamespaceReply{.id = kMax64,
                     .code = Code{0xffff},
                     .detail = std::string(256, 'd'),
                     .namespaces = {Namespace{}, Namespace{"likes", {.strict = false}},
                                    Namespace{kLongestNamespace, sample_policy()}},
                     .absent = {"n0", "a longer name", ""}},
      NamespaceRequest{.action = NamespaceAction::set,
                       .policy = {.tiers = {{std::chrono::seconds(60), std::nullopt}}},
                       .fields = NamespaceRequest::kTiers},
      NamespaceRequest{.action = NamespaceAction::set,
                       .policy = {.late = std::chrono::milliseconds(1)},
                       .fields = NamespaceRequest::kLate},
      RangeRequest{},
      RangeRequest{.id = kMax64,
                   .key = kLongestKey,
                   .level = ReadLevel::strong,
                   .from = kLatestDate,
                   .to = kLatestDate,
                   .last = std::chrono::seconds(kLatestDateMs / 1000),
                   .only_past = true,
                   .step = std::chrono::seconds(kLatestDateMs / 1000),
                   .timeout_ms = kMaxTimeoutMs,
                   .kind = kLastKind},
      RangeReply{},
      RangeReply{.id = kMax64,
                 .code = Code{0xffff},
                 .detail = std::string(256, 'd'),
                 .begin = kLatestDate,
                 .step = std::chrono::seconds(kLatestDateMs / 1000),
                 .counts = std::vector<std::int64_t>(kMaxRange, kLowest),
                 .complete = true,
                 .settled_until = kLatestDate},
      RangeReply{.id = 1, .step = std::chrono::seconds(60), .counts = {0, 1}},
      ConfigRequest{},
      ConfigRequest{kMax64},
      ConfigReply{},
      ConfigReply{.id = kMax64,
                  .cluster = ClusterId{kMax64},
                  .cluster_name = "demo",
                  .node = NodeId{kMax64},
                  .version = kMax64,
                  .ready = true,
                  .placement_key = HashKey{kMax64},
                  .members = {MemberInfo{}, MemberInfo{NodeId{kMax64}, "b", "host:7400",
                                                       StoreId{kMax64}, kMax32}},
                  .replication = 1,
                  .owners = sample_owners(2, 1),
                  .by = {"1.2.3", {FrameVersion{1}, FrameVersion{255}}}},
      StatusRequest{},
      StatusRequest{kMax64, NodeId{kMax64}},
      StatusReply{},
      StatusReply{.id = kMax64,
                  .name = "a",
                  .state = "ready",
                  .cluster = ClusterId{kMax64},
                  .node = NodeId{kMax64},
                  .store = StoreId{kMax64},
                  .peers = {PeerStatus{}, PeerStatus{"b", "host:7401", "up", kMax64, 0, -7}},
                  .stats = {Stat{}, Stat{"adds", kMax64}},
                  .clock_ms = 1'200,
                  .clock_trusted = false,
                  .clock_doubt = "it is ahead",
                  .users = "3fadabc8"},
      Authenticate{},
      Authenticate{kMax64, std::string_view(kLongestKey).substr(0, kMaxUserWord), kOddKey},
      Authenticated{},
      Authenticated{kMax64, Code::unauthenticated, "no such user"},
      Refusal{},
      Refusal{Code::invalid_argument, "no"},
  };
}

inline std::vector<PeerMessage> peer_messages() {
  const std::vector<ShardKey> shards{{"a", 0},
                                     {kOddKey, 1},
                                     {kLongestKey, kMaxShards - 1},
                                     window_at({"hits:1", 0}, std::chrono::seconds(60), {})};
  const std::vector<Partition> partitions{Partition{0}, Partition{kPartitions - 1}};
  const LeafId last_leaf{Partition{kPartitions - 1}, kLeaves - 1};
  const Hash128 hash{kMax64, kMax64 - 1};
  return {
      Hello{},
      Hello{.cluster = ClusterId{1},
            .node = NodeId{kMax64},
            .store = StoreId{3},
            .boot = BootId{4},
            .marked = true,
            .welcome = true,
            .pins = sample_pins(),
            .versions = {{StoreId{1}, BootId{2}, Commit{3}}},
            .by = {"1.2.3", {FrameVersion{7}, FrameVersion{7}}}},
      Refusal{},
      Refusal{
          Code::stale_config, "another cluster", {"9.8.7", {FrameVersion{3}, FrameVersion{255}}}},
      DeltaFrame{},
      DeltaFrame{kMax64, Fence{kMax64}, sample_delta()},
      DeltaAck{},
      DeltaAck{Code{0xffff}, {0, 1, kMax64}, partitions},
      Heartbeat{},
      Heartbeat{1, 2, 3, kMax64, true},
      Heartbeat{kMax64, kMax64, kMax64, kMax64, true, hash},
      Heartbeat{1, 0, 0, 0, false, {0, 1}},
      Heartbeat{.number = 1, .closing = true},
      Heartbeat{1, 0, 0, 0, false, {}, kLatestWall, kMax64, kMax32},
      Forward{},
      Forward{{Op{}, largest_op(), Op{.id = 9, .key = "likes:42", .amount = 1}}},
      Forward{{Op{.id = 10, .key = "likes:42", .words = kOddKey, .kind = OpKind::decide}}},
      Forwarded{},
      Forwarded{{Done{}, largest_done(), Done{.id = 3, .code = Code::out_of_range, .detail = "x"}}},
      Forwarded{{Done{.id = 10, .detail = std::string(300, '\xff')}}},
      Collect{},
      Collect{kMax64, Fence{kMax64}, shards, true},
      Collected{},
      Collected{kMax64, Code{0xffff}, sample_delta(), partitions, 0, true, BootId{kMax64}},
      Collected{.id = 1,
                .states = sample_delta(),
                .hashes = {{0, {}}, {4, hash}},
                .others = {{1, Kind::distinct, {}}, {4, kLastKind, kLatestDate}}},
      WriteBack{},
      WriteBack{kMax64, Fence{kMax64}, sample_delta(), {BootId{1}, BootId{kMax64}}},
      WrittenBack{},
      WrittenBack{kMax64, Code{0xffff}, partitions},
      Pull{},
      Pull{kMax64, PullKind::states, partitions, {{}, last_leaf}, shards},
      Pulled{},
      Pulled{.id = kMax64,
             .kind = PullKind::keys,
             .answered = kMax32,
             .whole = true,
             .root = hash,
             .partitions = {{}, {Partition{kPartitions - 1}, hash}},
             .leaves = {{}, {last_leaf, hash}},
             .shards = {{shards[0], {}}, {shards[2], hash}},
             .states = sample_delta()},
      ListPart{},
      ListPart{kMax64, kLongestKey, kListEnd, 0},
      ListedPart{},
      ListedPart{kMax64, {"a", kOddKey, kLongestKey}, kListEnd},
      ListedPart{1, {"a", "b"}, 7, {kLastKind, Kind::sum}},
      CountKeysPart{},
      CountKeysPart{
          kMax64, Partitions::from_bytes(std::string("\1\2", 2) + std::string(509, '\0') + '\x80')},
      KeyCountPart{},
      KeyCountPart{kMax64, Partitions::all(), kMaxCounters},
      Namespaces{},
      Namespaces{{NamespaceDefinition{},
                  {.name = "likes", .changed = {3, NodeId{4}}, .policy = {.strict = false}},
                  {.name = "otp", .changed = {3, NodeId{4}}, .policy = {.decide = Decide::local}},
                  {.name = kOddNamespace, .dropped = {1, NodeId{1}}},
                  largest_definition()}},
      Prefixes{},
      Prefixes{{0, 7, 0xffff}},
  };
}

// ---- both ports alike ----

using Message = std::variant<ClientMessage, PeerMessage>;

inline constexpr ClusterId kCluster{0xc1};

struct Sample {
  std::string name;
  Message message;
  friend void PrintTo(const Sample& sample, std::ostream* os) { *os << sample.name; }
};

inline std::string name_of(const Message& message) {
  static constexpr const char* kClient[] = {
      "Op",           "Done",       "Read",          "Values",           "List",
      "Keys",         "CountKeys",  "KeyCount",      "NamespaceRequest", "NamespaceReply",
      "RangeRequest", "RangeReply", "ConfigRequest", "ConfigReply",      "StatusRequest",
      "StatusReply",  "Refusal",    "Query",         "QueryReply",       "Authenticate",
      "Authenticated"};
  static constexpr const char* kPeer[] = {
      "Hello",         "PeerRefusal",  "DeltaFrame", "DeltaAck",  "Heartbeat",
      "Forward",       "Forwarded",    "Collect",    "Collected", "WriteBack",
      "WrittenBack",   "Pull",         "Pulled",     "ListPart",  "ListedPart",
      "CountKeysPart", "KeyCountPart", "Namespaces", "Prefixes"};
  static_assert(std::size(kClient) == std::variant_size_v<ClientMessage>);
  static_assert(std::size(kPeer) == std::variant_size_v<PeerMessage>);
  if (const auto* peer = std::get_if<PeerMessage>(&message)) return kPeer[peer->index()];
  return kClient[std::get<ClientMessage>(message).index()];
}

inline std::vector<Sample> all_messages() {
  std::vector<Sample> all;
  const auto add = [&all](Message message) {
    const std::string name = name_of(message);
    all.push_back({name + "_" + std::to_string(all.size()), std::move(message)});
  };
  for (ClientMessage& message : client_messages()) add(std::move(message));
  for (PeerMessage& message : peer_messages()) add(std::move(message));
  return all;
}

inline std::string encoded(const Message& message) {
  std::string frame;
  if (const auto* peer = std::get_if<PeerMessage>(&message)) {
    encode_peer(frame, *peer, kCluster);
  } else {
    std::visit([&](const auto& one) { encode(frame, one); }, std::get<ClientMessage>(message));
  }
  return frame;
}

template <class One>
Result<Message> as_message(Result<One> decoded) {
  if (!decoded.ok()) return decoded.status();
  if constexpr (std::is_same_v<One, PeerMessage>) {
    return Message(std::move(*decoded));
  } else {
    return Message(ClientMessage(std::move(*decoded)));
  }
}

// Decodes as the type of `like`.
inline Result<Message> decoded_as(const Message& like, FrameType type, Payload payload) {
  if (std::holds_alternative<PeerMessage>(like)) return as_message(decode_peer(type, payload));
  switch (std::get<ClientMessage>(like).index()) {
    case 0:
      return as_message(decode_op(payload));
    case 1:
      return as_message(decode_done(payload));
    case 2:
      return as_message(decode_read(payload));
    case 3:
      return as_message(decode_values(payload));
    case 4:
      return as_message(decode_list(payload));
    case 5:
      return as_message(decode_keys(payload));
    case 6:
      return as_message(decode_count_keys(payload));
    case 7:
      return as_message(decode_key_count(payload));
    case 8:
      return as_message(decode_namespace_request(payload));
    case 9:
      return as_message(decode_namespace_reply(payload));
    case 10:
      return as_message(decode_range_request(payload));
    case 11:
      return as_message(decode_range_reply(payload));
    case 17:
      return as_message(decode_query(payload));
    case 18:
      return as_message(decode_query_reply(payload));
    case 19:
      return as_message(decode_authenticate(payload));
    case 20:
      return as_message(decode_authenticated(payload));
    case 12:
      return as_message(decode_config_request(payload));
    case 13:
      return as_message(decode_config_reply(payload));
    case 14:
      return as_message(decode_status_request(payload));
    case 15:
      return as_message(decode_status_reply(payload));
    default:
      return as_message(decode_refusal(payload));
  }
}

inline void feed(FrameDecoder& decoder, std::string_view bytes) {
  const std::span<std::byte> room = decoder.prepare(bytes.size());
  if (!bytes.empty()) std::memcpy(room.data(), bytes.data(), bytes.size());
  decoder.commit(bytes.size());
}

inline FrameType type_of_frame(std::string_view frame) {
  std::uint16_t type = 0;
  std::memcpy(&type, frame.data() + 2, sizeof type);
  return FrameType{type};
}

// A payload in memory of its own, of exactly its size, so that AddressSanitizer sees a read
// beyond it.
class OwnPayload {
 public:
  explicit OwnPayload(std::string_view bytes) : bytes_(bytes.size()) {
    if (!bytes.empty()) std::memcpy(bytes_.data(), bytes.data(), bytes.size());
  }
  [[nodiscard]] Payload get() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace test
}  // namespace quipu
