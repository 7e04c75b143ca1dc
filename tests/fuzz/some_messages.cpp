#include "tests/fuzz/some_messages.h"

#include <algorithm>
#include <array>

#include "protocol/window.h"

namespace quipu::fuzz {
namespace {

constexpr std::size_t kShards = 4;
constexpr std::size_t kActors = 6;

template <class Id>
Id one_of(Bytes& bytes, const std::vector<Id>& known) {
  const std::size_t choice = bytes.below(known.size() + 2);
  if (choice < known.size()) return known[choice];
  return choice == known.size() ? Id{} : bytes.number<Id>();
}

ShardIndex some_shard(Bytes& bytes) {
  const std::uint8_t choice = bytes.byte();
  if (choice < 240) return choice % kShards;
  return choice < 250 ? kAnyShard : ShardIndex{kMaxShards - 1};
}

// As peers name them: never "any".
ShardKey some_shard_key(Bytes& bytes) {
  std::string key(some_key(bytes));
  if (key.empty() || key.size() > kMaxKey) key = "k";
  ShardKey shard{std::move(key), static_cast<ShardIndex>(some_shard(bytes) % kMaxShards)};
  if (bytes.below(4) != 1) return shard;
  const Wall at{Wall::duration(bytes.count() % kLatestWall.time_since_epoch().count())};
  return window_at(shard, std::chrono::seconds(1 + bytes.byte()), at);
}

Cell some_cell(Bytes& bytes, ActorId actor) {
  return {actor, Commit{bytes.count()}, bytes.amount(), Commit{bytes.count()}, bytes.amount()};
}

Partition some_partition(Bytes& bytes) {
  return Partition{static_cast<std::uint16_t>(bytes.number<std::uint16_t>() % kPartitions)};
}

template <class Make>
auto some(Bytes& bytes, std::size_t most, Make make) {
  std::vector<decltype(make())> all(bytes.below(most + 1));
  for (auto& one : all) one = make();
  return all;
}

VersionEntry some_version(Bytes& bytes, const Known& known) {
  return {one_of(bytes, known.stores), BootId{bytes.count()}, Commit{bytes.count()}};
}

Fence some_fence(Bytes& bytes, const Known& known) {
  return one_of(bytes, std::vector<Fence>{known.fence});
}

Code some_code(Bytes& bytes) { return Code{bytes.byte()}; }

// Those of the keys, and others.
std::string_view some_namespace(Bytes& bytes) {
  constexpr std::array<std::string_view, 6> kNames{"", "likes", "views", "a", "a:b", "other"};
  const std::uint8_t choice = bytes.byte();
  return choice < 240 ? kNames[choice % kNames.size()] : bytes.text(kMaxNamespaceName + 1);
}

NamespacePolicy some_policy(Bytes& bytes) {
  NamespacePolicy policy;
  const std::uint8_t set = bytes.byte();
  if ((set & 1) != 0) policy.ack = Ack{static_cast<std::uint8_t>(bytes.below(3))};
  if ((set & 2) != 0) policy.read = ReadLevel{static_cast<std::uint8_t>(bytes.below(3))};
  if ((set & 4) != 0) policy.shards = static_cast<std::uint16_t>(1 + bytes.below(4));
  if ((set & 8) != 0) policy.strict = bytes.flag();
  if ((set & 16) != 0)
    policy.ttl = std::chrono::milliseconds(1 + static_cast<std::int64_t>(bytes.count() >> 30));
  if ((set & 32) != 0) policy.decide = Decide{static_cast<std::uint8_t>(bytes.below(2))};
  if ((set & 64) != 0) {
    for (std::size_t tiers = bytes.below(5), length = 1; tiers > 0; --tiers, length *= 4) {
      const std::chrono::seconds tier(bytes.below(8) == 0 ? bytes.byte() : length);
      policy.tiers.push_back({tier, 3600 * tier});
    }
    if (bytes.flag()) policy.late = std::chrono::milliseconds(bytes.number<std::uint16_t>() + 1);
  }
  return policy;
}

Stamp some_stamp(Bytes& bytes) { return {bytes.count(), NodeId{bytes.below(3)}}; }

Pull some_pull(Bytes& bytes) {
  Pull pull;
  pull.id = bytes.count();
  pull.kind = PullKind{static_cast<std::uint8_t>(bytes.below(5))};
  pull.partitions = some(bytes, 5, [&] { return some_partition(bytes); });
  pull.leaves = some(bytes, 5, [&] { return LeafId{some_partition(bytes), bytes.byte()}; });
  pull.shards = some(bytes, 5, [&] { return some_shard_key(bytes); });
  return pull;
}

}  // namespace

std::string_view some_key(Bytes& bytes) {
  constexpr std::array<std::string_view, 8> kKeys{"a", "b",  "likes:42", "views:7",
                                                  "x", "yy", "zzz",      std::string_view("\0", 1)};
  const std::uint8_t choice = bytes.byte();
  if (choice < 240) return kKeys[choice % kKeys.size()];
  return choice < 250 ? bytes.text(bytes.byte()) : bytes.text(kMaxKey + 1);
}

// What a decoder lets through: near the node's time, or anywhere.
void some_life(Bytes& bytes, ShardState& state) {
  const auto time = [&bytes] {
    const std::uint64_t most = static_cast<std::uint64_t>(kLatestDate.time_since_epoch().count());
    return Wall{std::chrono::milliseconds(static_cast<std::int64_t>(bytes.count() % (most + 1)))};
  };
  Life& life = state.life;
  life = {time(), time(), time(), {}, bytes.flag()};
  life.latest = bytes.flag() ? life.at : std::max(life.at, time());
  if (life == Life{}) life.once = true;
  for (Cell& cell : state.cells) cell.born = std::max(life.ended, time());
}

ShardState some_state(Bytes& bytes, const Known& known) {
  ShardState state;
  const std::size_t cells = bytes.below(kActors + 1);
  for (std::size_t i = 0; i < cells; ++i) {
    const ActorId own = one_of(bytes, known.actors);
    const ActorId actor = own == ActorId{} ? ActorId{i + 1} : own;
    state.cells.push_back(some_cell(bytes, actor));
  }
  const auto by_actor = [](const Cell& a, const Cell& b) { return a.actor < b.actor; };
  std::sort(state.cells.begin(), state.cells.end(), by_actor);
  const auto same = [](const Cell& a, const Cell& b) { return a.actor == b.actor; };
  state.cells.erase(std::unique(state.cells.begin(), state.cells.end(), same), state.cells.end());
  state.shard_count = static_cast<ShardIndex>(1 + bytes.below(kShards));
  state.usable_shards = static_cast<ShardIndex>(1 + bytes.below(state.shard_count));
  if (bytes.flag()) some_life(bytes, state);
  return state;
}

Delta some_delta(Bytes& bytes, const Known& known) {
  Delta delta(Commit{bytes.count()});
  const std::size_t shards = bytes.below(6);
  for (std::size_t i = 0; i < shards; ++i) {
    const ShardKey shard = some_shard_key(bytes);
    ShardState state = some_state(bytes, known);
    if (is_window(shard.shard)) {
      state.life = {};
      state.shard_count = state.usable_shards = 1;
      for (Cell& cell : state.cells) cell.born = {};
    }
    delta.push(shard, state);
  }
  delta.versions = some(bytes, 2, [&] { return some_version(bytes, known); });
  return delta;
}

Op some_op(Bytes& bytes, const Known& known) {
  Op op;
  op.id = bytes.byte();
  op.kind = OpKind{static_cast<std::uint8_t>(bytes.below(6))};
  op.key = some_key(bytes);
  if (op.kind == OpKind::decide) op.words = bytes.text(bytes.byte());
  op.shard = some_shard(bytes);
  op.amount = op.kind == OpKind::raise ? bytes.number<std::int8_t>() : bytes.amount();
  op.ack = Ack{static_cast<std::uint8_t>(bytes.below(4))};
  op.timeout_ms = bytes.number<std::uint16_t>();
  if (bytes.below(4) == 1) op.ttl_ms = bytes.count();
  if (bytes.below(8) == 1) op.at_ms = bytes.amount();
  if (op.shard == kAnyShard && bytes.flag()) op.affinity = Affinity{bytes.byte()};
  if (!bytes.flag()) return op;
  op.token.store = one_of(bytes, known.stores);
  op.token.serial = one_of(bytes, known.serials);
  op.token.number = bytes.count();
  op.token.floor = bytes.count();
  return op;
}

Read some_read(Bytes& bytes) {
  Read read;
  read.id = bytes.byte();
  read.level = ReadLevel{static_cast<std::uint8_t>(bytes.below(4))};
  read.timeout_ms = bytes.number<std::uint16_t>();
  read.keys = some(bytes, 5, [&] { return some_key(bytes); });
  return read;
}

List some_list(Bytes& bytes) {
  List list;
  list.id = bytes.byte();
  list.cursor = bytes.flag() ? 0 : bytes.number<std::uint32_t>() % (kListEnd + 1);
  list.limit = bytes.flag() ? kMaxListKeys : bytes.number<std::uint32_t>();
  list.prefix = bytes.text(2);
  return list;
}

// Untrue in a place or two.
Hello some_hello(Bytes& bytes, Hello honest) {
  const std::uint8_t untrue = bytes.byte();
  if ((untrue & 1) != 0) honest.store = bytes.number<StoreId>();
  if ((untrue & 2) != 0) honest.boot = bytes.number<BootId>();
  if ((untrue & 4) != 0) honest.marked = !honest.marked;
  if ((untrue & 8) != 0) honest.welcome = !honest.welcome;
  if ((untrue & 16) != 0) honest.pins.founded = !honest.pins.founded;
  if ((untrue & 32) != 0 && !honest.pins.current.empty()) {
    Pin& pin = honest.pins.current[bytes.below(honest.pins.current.size())];
    pin = {pin.node, bytes.flag() ? honest.store : bytes.number<StoreId>(), bytes.count()};
  }
  if ((untrue & 64) != 0) honest.pins.retired = {bytes.number<StoreId>()};
  if ((untrue & 128) != 0 && !honest.pins.founding.empty()) honest.pins.founding.pop_back();
  return honest;
}

Partitions some_partitions(Bytes& bytes) {
  const bool all = bytes.flag();
  Partitions partitions = all ? Partitions::all() : Partitions{};
  for (int i = 0; i < 3; ++i) {
    const Partition other = some_partition(bytes);
    all ? partitions.erase(other) : partitions.insert(other);
  }
  return partitions;
}

RangeRequest some_range(Bytes& bytes) {
  RangeRequest range;
  range.id = bytes.byte();
  range.key = some_key(bytes);
  range.level = ReadLevel{static_cast<std::uint8_t>(bytes.below(4))};
  const auto time = [&] { return Wall{Wall::duration(bytes.count() % (kLatestDateMs + 1))}; };
  range.from = time();
  range.to = bytes.flag() ? range.from + std::chrono::seconds(bytes.byte()) : time();
  range.to = std::min(range.to, kLatestDate);
  if (bytes.flag()) range.last = std::chrono::seconds(bytes.number<std::uint16_t>());
  range.only_past = bytes.flag();
  range.step = std::chrono::seconds(bytes.byte());
  range.timeout_ms = bytes.number<std::uint16_t>();
  return range;
}

NamespaceRequest some_namespace_request(Bytes& bytes) {
  NamespaceRequest request;
  request.id = bytes.byte();
  request.action = NamespaceAction{static_cast<std::uint8_t>(bytes.below(4))};
  request.name = some_namespace(bytes);
  request.policy = some_policy(bytes);
  request.fields = bytes.byte();
  request.timeout_ms = bytes.number<std::uint16_t>();
  return request;
}

NamespaceDefinition some_definition(Bytes& bytes) {
  NamespaceDefinition definition;
  definition.name = some_namespace(bytes);
  definition.changed = some_stamp(bytes);
  definition.policy = some_policy(bytes);
  definition.dropped = some_stamp(bytes);
  return definition;
}

PeerMessage some_peer_message(Bytes& bytes, const Known& known) {
  const std::uint64_t id = bytes.count();
  switch (bytes.below(17)) {
    case 0:
      return DeltaFrame{id, some_fence(bytes, known), some_delta(bytes, known)};
    case 1:
      return DeltaAck{some_code(bytes), some(bytes, 4, [&] { return bytes.count(); }),
                      some(bytes, 2, [&] { return some_partition(bytes); })};
    case 2:
      return Heartbeat{id,
                       bytes.count(),
                       bytes.count(),
                       bytes.count(),
                       bytes.below(2) != 0,
                       {bytes.byte(), 0},
                       Wall(std::chrono::milliseconds(bytes.count())),
                       bytes.count(),
                       bytes.number<std::uint32_t>()};
    case 3:
      return Forward{some(bytes, 5, [&] { return some_op(bytes, known); })};
    case 4:
      return Forwarded{some(bytes, 3, [&] {
        return Done{
            bytes.count(),        some_code(bytes), {}, bytes.byte(), one_of(bytes, known.stores),
            Serial{bytes.count()}};
      })};
    case 5:
      return Collect{id, some_fence(bytes, known),
                     some(bytes, 5, [&] { return some_shard_key(bytes); })};
    case 6:
      return Collected{id,
                       some_code(bytes),
                       some_delta(bytes, known),
                       some(bytes, 2, [&] { return some_partition(bytes); }),
                       bytes.number<std::uint32_t>(),
                       bytes.flag(),
                       one_of(bytes, known.boots)};
    case 7:
      return WriteBack{id, some_fence(bytes, known), some_delta(bytes, known),
                       some(bytes, 2, [&] { return one_of(bytes, known.boots); })};
    case 8:
      return WrittenBack{id, some_code(bytes),
                         some(bytes, 2, [&] { return some_partition(bytes); })};
    case 9:
      return some_pull(bytes);
    case 10: {
      const List list = some_list(bytes);
      return ListPart{id, std::string(list.prefix), list.cursor, list.limit};
    }
    case 11:
      return ListedPart{id, some(bytes, 4, [&] { return std::string(some_key(bytes)); }),
                        bytes.number<std::uint32_t>() % (kListEnd + 1)};
    case 12:
      return CountKeysPart{id, some_partitions(bytes)};
    case 13:
      return KeyCountPart{id, some_partitions(bytes), bytes.count()};
    case 14:
      return Namespaces{some(bytes, 4, [&] { return some_definition(bytes); })};
    case 15:
      return Prefixes{some(bytes, 4, [&] { return bytes.number<std::uint16_t>(); })};
    default:
      return Refusal{some_code(bytes), std::string(bytes.text(8))};
  }
}

}  // namespace quipu::fuzz
