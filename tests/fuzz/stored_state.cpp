// stored_state.cpp: a disk that anything may stand on: recovered, or refused; and if
// it was recovered, a node can live on it.
//
// Checksums are true, as otherwise nothing would get past them; but for one kind.
#include <bit>
#include <cstring>

#include "protocol/state_codec.h"
#include "storage/stored_keys.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/chunks.h"
#include "tests/fuzz/node.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace quipu::fuzz {
namespace {

enum Kind : std::uint8_t {
  raw_value,
  meta_value,
  actor_value,
  record_value,
  state_value,
  token_value,
  some_meta,
  some_actor,
  some_record,
  some_shard_state,
  some_tokens,
  namespace_value,
  some_namespace_definition,
  kKinds
};

constexpr std::size_t kMembers = 3;

// | version 8 | 3 zeros | checksum u32 | table |, as protocol/README.md says.
std::string guarded(const std::string& key, std::string_view table) {
  const HashKey of_key{hash64(HashKey{}, key)};
  const auto sum = static_cast<std::uint32_t>(hash64(of_key, table));
  std::string value{8, 0, 0, 0};
  value.append(reinterpret_cast<const char*>(&sum), sizeof sum);
  return value.append(table);
}

TokenRecord some_token_record(Bytes& bytes) {
  TokenRecord record{Serial{bytes.count()}, bytes.count(), {}};
  std::uint64_t number = 0;
  for (std::size_t left = bytes.below(5); left > 0; --left) {
    number += 1 + bytes.byte();
    record.entries.push_back(
        {number, bytes.byte(), Code{bytes.byte()}, static_cast<std::uint8_t>(bytes.below(kLanes))});
  }
  return record;
}

// Few, so that most were given.
void some_aliases(Bytes& bytes, Record& record) {
  const auto some_alias = [&] { return static_cast<Alias>(bytes.below(4)); };
  for (std::size_t left = bytes.below(4); left > 0; --left) record.aliases.push_back(some_alias());
  for (std::size_t left = bytes.below(4); left > 0; --left)
    record.aliased.push_back({some_alias(), bytes.number<std::int64_t>()});
}

Meta altered(Bytes& bytes, Meta meta) {
  const std::uint8_t how = bytes.byte();
  if ((how & 1) != 0) meta.journal_first = Commit{bytes.count()};
  if ((how & 2) != 0) meta.lineage.push_back({bytes.number<BootId>(), Commit{bytes.count()}});
  if ((how & 4) != 0) meta.marked = !meta.marked;
  if ((how & 8) != 0) meta.pins.founded = !meta.pins.founded;
  if ((how & 16) != 0) meta.pins.founding.resize(bytes.below(kMembers));
  if ((how & 32) != 0) meta.pins.current.resize(bytes.below(kMembers));
  if ((how & 64) != 0) meta.pins.retired = {meta.store};
  if ((how & 128) != 0)
    meta.filled_from.push_back(meta.pins.founding.empty() ? NodeId{1}
                                                          : meta.pins.founding.back().node);
  return meta;
}

// Puts one key and its value.
class Scribe {
 public:
  explicit Scribe(MemoryDisk& disk) : disk_(disk), meta_(decode_founded()) {}

  void put(const Chunk& chunk) {
    Bytes bytes(chunk.bytes);
    switch (chunk.kind % kKinds) {
      case raw_value: {
        const std::string key(bytes.text(bytes.byte()));
        disk_.durable[key] = bytes.rest();
        break;
      }
      case meta_value:
        put_table(stored::meta(), bytes.rest());
        break;
      case actor_value:
        put_table("a" + std::string(bytes.text(2)), bytes.rest());
        break;
      case record_value:
        put_table("j" + std::string(bytes.text(8)), bytes.rest());
        break;
      case state_value: {
        std::string key(1, 's');
        key.append(bytes.text(bytes.byte()));
        put_table(key, bytes.rest());
        break;
      }
      case token_value:
        put_table("t" + std::string(bytes.text(9)), bytes.rest());
        break;
      case namespace_value: {
        const std::string name(bytes.text(bytes.byte()));
        put_table(stored::namespace_definition(name), bytes.rest());
        break;
      }
      default:
        put_sound(chunk.kind % kKinds, bytes);
    }
  }

 private:
  [[nodiscard]] static Meta decode_founded() {
    const auto& disk = Node::founded_disk(kMembers);
    return *decode_meta(stored::meta(), disk.durable.at(stored::meta()));
  }

  void put_table(const std::string& key, std::string_view table) {
    disk_.durable[key] = guarded(key, table);
  }

  void put_sound(std::uint8_t kind, Bytes& bytes) {
    std::string key;
    switch (kind) {
      case some_meta:
        key = stored::meta();
        disk_.durable[key] = encode_meta(key, altered(bytes, meta_));
        break;
      case some_actor: {
        const auto number = static_cast<std::uint16_t>(bytes.number<std::uint16_t>() % kPartitions);
        key = stored::actor(Partition{number});
        disk_.durable[key] = encode_actor(key, ActorId{bytes.count()});
        break;
      }
      case some_record: {
        const Commit commit{bytes.count()};
        if (commit == Commit{}) return;  // no writer gives such a name
        Record record{Delta(commit), {}};
        some_delta(bytes, {}).for_each([&](const DeltaEntry& entry) { record.delta.push(entry); });
        for (std::size_t left = bytes.below(3); left > 0; --left)
          record.tokens.push_back(some_token_record(bytes));
        some_aliases(bytes, record);
        key = stored::record(commit);
        disk_.durable[key] = encode_record(key, record);
        break;
      }
      case some_shard_state: {
        const std::string name(some_key(bytes));
        if (name.empty() || name.size() > kMaxKey) return;
        const ShardRef ref(name, static_cast<ShardIndex>(bytes.below(4)));
        key = stored::shard(Placement(placement_key(meta_.pins), ref), ref);
        disk_.durable[key] = encode_shard_state(key, some_state(bytes, {}));
        break;
      }
      case some_tokens: {
        const TokenRecord record = some_token_record(bytes);
        if (record.serial == Serial{}) return;  // no writer gives such a name
        key = stored::token(record.serial, static_cast<std::uint8_t>(bytes.below(kLanes)));
        disk_.durable[key] = encode_token_record(key, record);
        break;
      }
      case some_namespace_definition: {
        const NamespaceDefinition definition = some_definition(bytes);
        key = stored::namespace_definition(definition.name);
        disk_.durable[key] = encode_namespace(key, definition);
        break;
      }
      default:
        break;
    }
  }

  MemoryDisk& disk_;
  const Meta meta_;
};

// Members and clients as they should be: only the disk is strange.
void live(Node& node) {
  const Known known = node.known();
  for (const std::string_view decisions : {"\1\0\0\0\1\0", "\2\0\1\0\2\1", "\3\1\1\0\1\2"}) {
    Bytes bytes(decisions);
    std::string frame;
    encode(frame, some_op(bytes, known));
    node.client_bytes(frame);
  }
  for (MemberIndex member = 1; member < kMembers; ++member) {
    std::string frame;
    encode_peer(frame, node.hello(member), node.core().cluster().id);
    node.connect(member);
    node.peer_bytes(member, frame);
  }
  node.finish();
}

}  // namespace
}  // namespace quipu::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace quipu::fuzz;
  using namespace quipu;
  MemoryDisk disk = Node::founded_disk(kMembers);
  Scribe scribe(disk);
  for (const Chunk& chunk : split({reinterpret_cast<const char*>(data), size})) scribe.put(chunk);

  const ClusterConfig& config = Node::config(kMembers);
  MemoryStore store(disk);
  Random random(1);
  const MemoryDisk found = disk;
  auto executor = recover(store, Node::owner(config), Node::options(), random);
  if (!executor.ok()) {
    check(
        executor.status().code() == Code::corrupt || executor.status().code() == Code::cannot_start,
        "a disk is refused as damaged, or as somebody else's");
    check(disk.durable == found.durable, "a disk that is refused is left as it was");
    return 0;
  }
  Node node(config, std::move(*executor), disk);
  live(node);
  return 0;
}
