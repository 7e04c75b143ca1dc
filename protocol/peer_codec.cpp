#include "protocol/message_codec.h"
#include "protocol/message_tables.h"
#include "protocol/state_tables.h"

namespace quipu {
namespace {

// ---- parts of several messages ----

using WirePartitions = Vector<std::uint16_t>;

void read_partitions(Reader& in, const char* field, const WirePartitions* from,
                     std::vector<Partition>& to) {
  in.copy(field, from, to, [&](std::uint16_t value) { return in.partition(field, value); });
}

wire::Hash128 to_wire(const Hash128& hash) { return {hash.low, hash.high}; }
Hash128 from_wire(const wire::Hash128& hash) { return {hash.low(), hash.high()}; }

wire::LeafId to_wire(const LeafId& leaf) { return {raw(leaf.partition), leaf.leaf}; }
LeafId from_wire(Reader& in, const wire::LeafId& leaf) {
  return {in.partition("leaf", leaf.partition()), leaf.leaf()};
}

// `shard_of` finds the ShardKey in an item.
template <class Items, class ShardOf>
Offset<wire::ShardList> build_shards(Builder& builder, const Items& items, ShardOf shard_of) {
  std::string keys;
  for (const auto& item : items) keys.append(shard_of(item).key);
  const auto bytes = build_bytes(builder, keys);
  const auto names = build_structs<wire::ShardName>(builder, items, [&](const auto& item) {
    const ShardKey& shard = shard_of(item);
    return wire::ShardName(static_cast<std::uint16_t>(shard.key.size()), shard.shard);
  });
  return wire::CreateShardList(builder, bytes, names);
}

Offset<wire::ShardList> build_shards(Builder& builder, const std::vector<ShardKey>& shards) {
  return build_shards(builder, shards,
                      [](const ShardKey& shard) -> const ShardKey& { return shard; });
}

void read_shards(Reader& in, const wire::ShardList* from, std::vector<ShardKey>& shards) {
  if (from == nullptr) return;
  KeyCutter cutter(in, "shards", from->bytes());
  in.copy("shards", from->names(), shards, [&](const wire::ShardName* name) {
    ShardKey shard{std::string(cutter.next(name->key_length())), name->shard()};
    in.name("shards", shard);
    return shard;
  });
  cutter.end();
}

// ---- handshake ----

Offset<wire::Hello> build(Builder& builder, const Hello& message) {
  const auto pins = build(builder, message.pins);
  const auto versions = build_versions(builder, message.versions);
  const auto release = build_release(builder, message.by);
  return wire::CreateHello(builder, raw(message.cluster), raw(message.node), raw(message.store),
                           raw(message.boot), message.marked, message.welcome, pins, versions,
                           release, raw(message.by.frames.from), raw(message.by.frames.to));
}

void read(Reader& in, const wire::Hello& from, Hello& message) {
  message.cluster = ClusterId{from.cluster()};
  message.node = NodeId{from.node()};
  message.store = StoreId{from.store()};
  message.boot = BootId{from.boot()};
  message.marked = from.marked();
  message.welcome = from.welcome();
  read(in, from.pins(), message.pins);
  read_versions(in, from.versions(), message.versions);
  read_speaker(in, from, message.by);
}

// ---- replication ----

Offset<wire::DeltaFrame> build(Builder& builder, const DeltaFrame& message) {
  const auto delta = StateCodec::build(builder, message.delta);
  return wire::CreateDeltaFrame(builder, message.number, raw(message.fence), delta);
}

void read(Reader& in, const wire::DeltaFrame& from, DeltaFrame& message) {
  message.number = from.number();
  message.fence = Fence{from.fence()};
  StateCodec::read(in, from.delta(), message.delta);
}

Offset<wire::DeltaAck> build(Builder& builder, const DeltaAck& message) {
  const auto numbers = build_scalars<std::uint64_t>(builder, message.numbers);
  const auto unfilled = build_scalars<std::uint16_t>(builder, message.unfilled);
  return wire::CreateDeltaAck(builder, static_cast<std::uint16_t>(message.code), numbers, unfilled);
}

void read(Reader& in, const wire::DeltaAck& from, DeltaAck& message) {
  message.code = Code{from.code()};
  in.copy("numbers", from.numbers(), message.numbers);
  read_partitions(in, "unfilled", from.unfilled(), message.unfilled);
}

Offset<wire::Heartbeat> build(Builder& builder, const Heartbeat& message) {
  const wire::Hash128 namespaces = to_wire(message.namespaces);
  return wire::CreateHeartbeat(builder, message.number, message.covered, message.lost_epoch,
                               message.pulled_epoch, message.full,
                               message.namespaces == Hash128{} ? nullptr : &namespaces,
                               static_cast<std::uint64_t>(message.wall.time_since_epoch().count()),
                               message.newest, message.held_us, message.closing);
}

void read(Reader& in, const wire::Heartbeat& from, Heartbeat& message) {
  message.number = from.number();
  message.covered = from.covered();
  message.lost_epoch = from.lost_epoch();
  message.pulled_epoch = from.pulled_epoch();
  message.full = from.full();
  if (from.namespaces() != nullptr) message.namespaces = from_wire(*from.namespaces());
  if (from.wall_ms() > static_cast<std::uint64_t>(kLatestWall.time_since_epoch().count()))
    in.refuse("wall_ms", "is no time that a clock shows");
  message.wall = Wall(Wall::duration(static_cast<std::int64_t>(from.wall_ms())));
  message.newest = from.newest();
  message.held_us = from.held_us();
  message.closing = from.closing();
}

Offset<wire::Prefixes> build(Builder& builder, const Prefixes& message) {
  return wire::CreatePrefixes(builder, build_scalars<std::uint16_t>(builder, message.bits));
}

void read(Reader& in, const wire::Prefixes& from, Prefixes& message) {
  in.copy("bits", from.bits(), message.bits);
}

Offset<wire::Namespaces> build(Builder& builder, const Namespaces& message) {
  const auto definitions = build_tables<wire::NamespaceDefinition>(
      builder, message.definitions,
      [&builder](const NamespaceDefinition& one) { return build(builder, one); });
  return wire::CreateNamespaces(builder, definitions);
}

void read(Reader& in, const wire::Namespaces& from, Namespaces& message) {
  in.copy("definitions", from.definitions(), message.definitions,
          [&in](const wire::NamespaceDefinition* table) {
            NamespaceDefinition one;
            read(in, *table, one);
            return one;
          });
}

// ---- requests ----

Offset<wire::Forward> build(Builder& builder, const Forward& message) {
  const auto ops = build_tables<wire::Op>(builder, message.ops,
                                          [&builder](const Op& op) { return build(builder, op); });
  return wire::CreateForward(builder, ops);
}

void read(Reader& in, const wire::Forward& from, Forward& message) {
  in.copy("ops", from.ops(), message.ops, [&in](const wire::Op* table) {
    Op op;
    read(in, *table, op);
    return op;
  });
}

Offset<wire::Forwarded> build(Builder& builder, const Forwarded& message) {
  const std::size_t room = detail_room(message.done.size());
  const auto done = build_tables<wire::Done>(
      builder, message.done, [&](const Done& one) { return build(builder, one, room); });
  return wire::CreateForwarded(builder, done);
}

void read(Reader& in, const wire::Forwarded& from, Forwarded& message) {
  in.copy("done", from.done(), message.done, [&in](const wire::Done* table) {
    Done done;
    read(in, *table, done);
    return done;
  });
}

Offset<wire::Collect> build(Builder& builder, const Collect& message) {
  const auto shards = build_shards(builder, message.shards);
  return wire::CreateCollect(builder, message.id, raw(message.fence), shards, message.hashes);
}

void read(Reader& in, const wire::Collect& from, Collect& message) {
  message.id = from.id();
  message.fence = Fence{from.fence()};
  read_shards(in, from.shards(), message.shards);
  message.hashes = from.hashes();
}

// Ascending, and each of a state that is there.
template <class Sparse>
void check_places(Reader& in, const char* field, const std::vector<Sparse>& some,
                  std::size_t states) {
  for (std::size_t i = 0; i < some.size(); ++i) {
    if (some[i].shard >= states || (i > 0 && some[i].shard <= some[i - 1].shard))
      return in.refuse(field, "name no ascending states");
  }
}

Offset<wire::Collected> build(Builder& builder, const Collected& message) {
  const auto states = StateCodec::build(builder, message.states);
  const auto unfilled = build_scalars<std::uint16_t>(builder, message.unfilled);
  const auto hashes = build_structs<wire::StateHash>(
      builder, message.hashes,
      [](const StateHash& one) { return wire::StateHash(to_wire(one.hash), one.shard); });
  const auto others =
      build_structs<wire::OtherKind>(builder, message.others, [](const OtherKind& one) {
        return wire::OtherKind(ms_of(one.ends), one.shard, static_cast<std::uint8_t>(one.kind));
      });
  return wire::CreateCollected(builder, message.id, static_cast<std::uint16_t>(message.code),
                               states, unfilled, message.age_ms, message.complete,
                               raw(message.boot), hashes, others);
}

void read(Reader& in, const wire::Collected& from, Collected& message) {
  message.id = from.id();
  message.code = Code{from.code()};
  StateCodec::read(in, from.states(), message.states);
  read_partitions(in, "unfilled", from.unfilled(), message.unfilled);
  message.age_ms = from.age_ms();
  message.complete = from.complete();
  message.boot = BootId{from.boot()};
  in.copy("hashes", from.hashes(), message.hashes, [](const wire::StateHash* one) {
    return StateHash{one->shard(), from_wire(one->hash())};
  });
  in.copy("others", from.others(), message.others, [&in](const wire::OtherKind* one) {
    return OtherKind{one->shard(), in.kind("others", one->kind()), wall_of_ms(one->ends_ms())};
  });
  check_places(in, "hashes", message.hashes, message.states.size());
  check_places(in, "others", message.others, message.states.size());
}

Offset<wire::WriteBack> build(Builder& builder, const WriteBack& message) {
  const auto states = StateCodec::build(builder, message.states);
  const auto boots = build_scalars<std::uint64_t>(builder, message.boots);
  return wire::CreateWriteBack(builder, message.id, raw(message.fence), states, boots);
}

void read(Reader& in, const wire::WriteBack& from, WriteBack& message) {
  message.id = from.id();
  message.fence = Fence{from.fence()};
  StateCodec::read(in, from.states(), message.states);
  in.copy("boots", from.boots(), message.boots);
}

Offset<wire::WrittenBack> build(Builder& builder, const WrittenBack& message) {
  const auto unfilled = build_scalars<std::uint16_t>(builder, message.unfilled);
  return wire::CreateWrittenBack(builder, message.id, static_cast<std::uint16_t>(message.code),
                                 unfilled);
}

void read(Reader& in, const wire::WrittenBack& from, WrittenBack& message) {
  message.id = from.id();
  message.code = Code{from.code()};
  read_partitions(in, "unfilled", from.unfilled(), message.unfilled);
}

// ---- repair ----

Offset<wire::Pull> build(Builder& builder, const Pull& message) {
  const auto partitions = build_scalars<std::uint16_t>(builder, message.partitions);
  const auto leaves = build_structs<wire::LeafId>(builder, message.leaves,
                                                  [](const LeafId& leaf) { return to_wire(leaf); });
  const auto shards = build_shards(builder, message.shards);
  return wire::CreatePull(builder, message.id, static_cast<wire::PullKind>(message.kind),
                          partitions, leaves, shards);
}

void read(Reader& in, const wire::Pull& from, Pull& message) {
  message.id = from.id();
  message.kind = in.one_of<PullKind>("kind", from.kind());
  read_partitions(in, "partitions", from.partitions(), message.partitions);
  in.copy("leaves", from.leaves(), message.leaves,
          [&in](const wire::LeafId* leaf) { return from_wire(in, *leaf); });
  read_shards(in, from.shards(), message.shards);
}

Offset<wire::Pulled> build(Builder& builder, const Pulled& message) {
  const wire::Hash128 root = to_wire(message.root);
  const auto partitions = build_structs<wire::PartitionDigest>(
      builder, message.partitions, [](const PartitionDigest& digest) {
        return wire::PartitionDigest(to_wire(digest.hash), raw(digest.partition));
      });
  const auto leaves =
      build_structs<wire::LeafDigest>(builder, message.leaves, [](const LeafDigest& digest) {
        return wire::LeafDigest(to_wire(digest.hash), to_wire(digest.leaf));
      });
  const auto shards =
      build_shards(builder, message.shards,
                   [](const ShardDigest& digest) -> const ShardKey& { return digest.shard; });
  const auto hashes = build_structs<wire::Hash128>(
      builder, message.shards, [](const ShardDigest& digest) { return to_wire(digest.hash); });
  const auto states = StateCodec::build(builder, message.states);
  return wire::CreatePulled(builder, message.id, static_cast<wire::PullKind>(message.kind),
                            message.answered, message.whole, &root, partitions, leaves, shards,
                            hashes, states);
}

void read_digests(Reader& in, const wire::Pulled& from, std::vector<ShardDigest>& digests) {
  std::vector<ShardKey> shards;
  std::vector<Hash128> hashes;
  read_shards(in, from.shards(), shards);
  in.copy("shard_hashes", from.shard_hashes(), hashes,
          [](const wire::Hash128* hash) { return from_wire(*hash); });
  if (hashes.size() != shards.size()) return in.refuse("shard_hashes", "are not as many as shards");
  digests.reserve(shards.size());
  for (std::size_t i = 0; i < shards.size(); ++i) {
    digests.push_back({std::move(shards[i]), hashes[i]});
  }
}

void read(Reader& in, const wire::Pulled& from, Pulled& message) {
  message.id = from.id();
  message.kind = in.one_of<PullKind>("kind", from.kind());
  message.answered = from.answered();
  message.whole = from.whole();
  if (from.root() != nullptr) message.root = from_wire(*from.root());
  in.copy("partitions", from.partitions(), message.partitions,
          [&in](const wire::PartitionDigest* digest) {
            return PartitionDigest{in.partition("partitions", digest->partition()),
                                   from_wire(digest->hash())};
          });
  in.copy("leaves", from.leaves(), message.leaves, [&in](const wire::LeafDigest* digest) {
    return LeafDigest{from_wire(in, digest->leaf()), from_wire(digest->hash())};
  });
  read_digests(in, from, message.shards);
  StateCodec::read(in, from.states(), message.states);
}

// ---- existing counters ----

Offset<wire::ListPart> build(Builder& builder, const ListPart& message) {
  const auto prefix = build_bytes(builder, message.prefix);
  return wire::CreateListPart(builder, message.id, prefix, message.cursor, message.limit);
}

void read(Reader& in, const wire::ListPart& from, ListPart& message) {
  message.id = from.id();
  message.prefix = Reader::view(from.prefix());
  in.within<std::size_t>("prefix", message.prefix.size(), 0, kMaxKey);
  message.cursor = in.within<std::uint32_t>("cursor", from.cursor(), 0, kListEnd);
  message.limit = std::min<std::uint32_t>(from.limit(), kMaxListKeys);
}

Offset<wire::ListedPart> build(Builder& builder, const ListedPart& message) {
  const auto keys = build_keys(builder, message.keys);
  return wire::CreateListedPart(builder, message.id, keys, message.next,
                                build_kinds(builder, message.kinds));
}

void read(Reader& in, const wire::ListedPart& from, ListedPart& message) {
  message.id = from.id();
  read_keys(in, from.keys(), kMaxListKeys, message.keys);
  for (const std::string& key : message.keys) (void)in.key_length("key_length", key.size());
  read_kinds(in, from.kinds(), message.keys.size(), message.kinds);
  message.next = in.within<std::uint32_t>("next", from.next(), 0, kListEnd);
}

Offset<Bytes> build_set(Builder& builder, const Partitions& partitions) {
  return partitions.empty() ? 0 : build_bytes(builder, partitions.bytes());
}

void read_set(Reader& in, const char* field, const Bytes* from, Partitions& partitions) {
  const std::string_view bytes = Reader::view(from);
  if (bytes.empty()) return;
  if (bytes.size() != Partitions::kBytes) return in.refuse(field, "is not 512 bytes");
  partitions = Partitions::from_bytes(bytes);
}

Offset<wire::CountKeysPart> build(Builder& builder, const CountKeysPart& message) {
  const auto partitions = build_set(builder, message.partitions);
  return wire::CreateCountKeysPart(builder, message.id, partitions);
}

void read(Reader& in, const wire::CountKeysPart& from, CountKeysPart& message) {
  message.id = from.id();
  read_set(in, "partitions", from.partitions(), message.partitions);
}

Offset<wire::KeyCountPart> build(Builder& builder, const KeyCountPart& message) {
  const auto counted = build_set(builder, message.counted);
  return wire::CreateKeyCountPart(builder, message.id, counted, message.counters);
}

void read(Reader& in, const wire::KeyCountPart& from, KeyCountPart& message) {
  message.id = from.id();
  read_set(in, "counted", from.counted(), message.counted);
  message.counters = in.within<std::uint64_t>("counters", from.counters(), 0, kMaxCounters);
}

// After the overloads, so that these find them all.
// (A table that differs between versions has a build() and a read() with the version.)
constexpr auto build_peer_message = [](Builder& builder, const auto& message,
                                       FrameVersion version) {
  if constexpr (requires { build(builder, message, version); }) {
    return build(builder, message, version);
  } else {
    return build(builder, message);
  }
};

template <class Table, class Message>
Result<PeerMessage> decode_as(Payload payload, FrameVersion version, const char* name) {
  const auto read_table = [version](Reader& in, const Table& from, Message& to) {
    if constexpr (requires { read(in, from, to, version); }) {
      read(in, from, to, version);
    } else {
      static_cast<void>(version);
      read(in, from, to);
    }
  };
  Result<Message> message =
      read_message<Table, Message>(payload, Code::protocol_error, name, read_table);
  if (!message.ok()) return message.status();
  return PeerMessage(std::move(*message));
}

FrameType type_of(const Hello&) { return FrameType::hello; }
FrameType type_of(const Refusal&) { return FrameType::refusal; }
FrameType type_of(const DeltaFrame&) { return FrameType::delta; }
FrameType type_of(const DeltaAck&) { return FrameType::delta_ack; }
FrameType type_of(const Heartbeat&) { return FrameType::beat; }
FrameType type_of(const Forward&) { return FrameType::forward; }
FrameType type_of(const Forwarded&) { return FrameType::forwarded; }
FrameType type_of(const Collect&) { return FrameType::collect; }
FrameType type_of(const Collected&) { return FrameType::collected; }
FrameType type_of(const WriteBack&) { return FrameType::write_back; }
FrameType type_of(const WrittenBack&) { return FrameType::written_back; }
FrameType type_of(const Pull&) { return FrameType::pull; }
FrameType type_of(const Pulled&) { return FrameType::pulled; }
FrameType type_of(const ListPart&) { return FrameType::list_part; }
FrameType type_of(const ListedPart&) { return FrameType::listed_part; }
FrameType type_of(const CountKeysPart&) { return FrameType::count_keys_part; }
FrameType type_of(const KeyCountPart&) { return FrameType::key_count_part; }
FrameType type_of(const Namespaces&) { return FrameType::definitions; }
FrameType type_of(const Prefixes&) { return FrameType::prefixes; }

}  // namespace

void encode_peer(std::string& out, const PeerMessage& message, ClusterId cluster,
                 FrameVersion version) {
  std::visit(
      [&](const auto& one) {
        append_message(out, type_of(one), one, build_peer_message, version, raw(cluster));
      },
      message);
}

Result<PeerMessage> decode_peer(FrameType type, Payload payload, FrameVersion version) {
  switch (type) {
    case FrameType::hello:
      return decode_as<wire::Hello, Hello>(payload, version, "Hello");
    case FrameType::refusal:
      return decode_as<wire::Refusal, Refusal>(payload, version, "Refusal");
    case FrameType::delta:
      return decode_as<wire::DeltaFrame, DeltaFrame>(payload, version, "DeltaFrame");
    case FrameType::delta_ack:
      return decode_as<wire::DeltaAck, DeltaAck>(payload, version, "DeltaAck");
    case FrameType::beat:
      return decode_as<wire::Heartbeat, Heartbeat>(payload, version, "Heartbeat");
    case FrameType::forward:
      return decode_as<wire::Forward, Forward>(payload, version, "Forward");
    case FrameType::forwarded:
      return decode_as<wire::Forwarded, Forwarded>(payload, version, "Forwarded");
    case FrameType::collect:
      return decode_as<wire::Collect, Collect>(payload, version, "Collect");
    case FrameType::collected:
      return decode_as<wire::Collected, Collected>(payload, version, "Collected");
    case FrameType::write_back:
      return decode_as<wire::WriteBack, WriteBack>(payload, version, "WriteBack");
    case FrameType::written_back:
      return decode_as<wire::WrittenBack, WrittenBack>(payload, version, "WrittenBack");
    case FrameType::pull:
      return decode_as<wire::Pull, Pull>(payload, version, "Pull");
    case FrameType::pulled:
      return decode_as<wire::Pulled, Pulled>(payload, version, "Pulled");
    case FrameType::list_part:
      return decode_as<wire::ListPart, ListPart>(payload, version, "ListPart");
    case FrameType::listed_part:
      return decode_as<wire::ListedPart, ListedPart>(payload, version, "ListedPart");
    case FrameType::count_keys_part:
      return decode_as<wire::CountKeysPart, CountKeysPart>(payload, version, "CountKeysPart");
    case FrameType::key_count_part:
      return decode_as<wire::KeyCountPart, KeyCountPart>(payload, version, "KeyCountPart");
    case FrameType::definitions:
      return decode_as<wire::Namespaces, Namespaces>(payload, version, "Namespaces");
    case FrameType::prefixes:
      return decode_as<wire::Prefixes, Prefixes>(payload, version, "Prefixes");
    default:
      return {Code::protocol_error,
              "frame of type " + std::to_string(static_cast<unsigned>(type)) + " on the peer port"};
  }
}

}  // namespace quipu
