#include "tests/fuzz/answers.h"

#include <variant>

namespace quipu::fuzz {
namespace {

Code likely_code(Bytes& bytes) { return bytes.below(4) != 0 ? Code::ok : Code{bytes.byte()}; }

PeerMessage answer(const DeltaFrame& asked, Bytes& bytes, const Known&) {
  return DeltaAck{likely_code(bytes), {asked.number}, {}};
}

PeerMessage answer(const Heartbeat& asked, Bytes& bytes, const Known&) {
  Heartbeat answer{bytes.count(), asked.number, bytes.below(3), asked.lost_epoch, asked.full, {}};
  if (bytes.below(2) == 0) answer.namespaces = asked.namespaces;  // it holds the same
  return answer;
}

PeerMessage answer(const Forward& asked, Bytes& bytes, const Known& known) {
  Forwarded answer;
  for (const Op& op : asked.ops) {
    Done& done = answer.done.emplace_back();
    done.id = op.id;
    done.code = likely_code(bytes);
    done.usable = static_cast<ShardIndex>(bytes.below(3));
    if (op.kind != OpKind::open_session || bytes.below(8) == 0) continue;
    done.store = op.token.store;
    done.serial = known.serials.empty() ? Serial{7} : known.serials.back();
  }
  return answer;
}

// Short of some states now and then, and with others than were asked for.
PeerMessage answer(const Collect& asked, Bytes& bytes, const Known& known) {
  Collected answer;
  answer.id = asked.id;
  answer.code = likely_code(bytes);
  const bool strange = bytes.below(8) == 1;
  if (!strange) answer.boot = known.boots.front();
  for (const ShardKey& shard : asked.shards) {
    if (bytes.below(16) == 1) break;
    answer.states.push(strange ? ShardKey{"strange", 0} : shard, some_state(bytes, known));
  }
  answer.age_ms = bytes.byte();
  answer.complete = bytes.flag();
  return answer;
}

PeerMessage answer(const WriteBack& asked, Bytes& bytes, const Known&) {
  return WrittenBack{asked.id, likely_code(bytes), {}};
}

PeerMessage answer(const Pull& asked, Bytes& bytes, const Known& known) {
  Pulled answer;
  answer.id = asked.id;
  answer.kind = bytes.below(16) == 1 ? PullKind::states : asked.kind;
  answer.whole = bytes.flag();
  answer.root = {bytes.byte(), 0};
  const std::size_t count = asked.partitions.size() + asked.leaves.size() + asked.shards.size();
  answer.answered = bytes.below(8) == 1
                        ? bytes.number<std::uint32_t>()
                        : static_cast<std::uint32_t>(std::max<std::size_t>(count, 1));
  for (const Partition partition : asked.partitions) {
    if (bytes.empty()) break;
    if (bytes.flag()) answer.partitions.push_back({partition, {bytes.byte(), 0}});
    if (bytes.flag()) answer.leaves.push_back({{partition, bytes.byte()}, {bytes.byte(), 0}});
  }
  while (asked.kind == PullKind::keys && !bytes.empty() && answer.shards.size() < 4) {
    answer.shards.push_back(
        {{std::string(1, static_cast<char>('a' + bytes.below(3))), 0}, {bytes.byte(), 0}});
  }
  for (const ShardKey& shard : asked.shards) answer.states.push(shard, some_state(bytes, known));
  return answer;
}

PeerMessage answer(const ListPart& asked, Bytes& bytes, const Known&) {
  ListedPart answer;
  answer.id = asked.id;
  answer.next = bytes.below(8) == 1
                    ? bytes.number<std::uint32_t>() % (kListEnd + 1)
                    : (asked.cursor / std::uint32_t{kLeaves} + 1) * std::uint32_t{kLeaves};
  while (bytes.below(4) == 1) answer.keys.emplace_back(some_key(bytes));
  std::erase(answer.keys, "");
  return answer;
}

PeerMessage answer(const CountKeysPart& asked, Bytes& bytes, const Known&) {
  const Partitions counted = bytes.below(4) == 1 ? some_partitions(bytes) : asked.partitions;
  return KeyCountPart{asked.id, counted, bytes.count()};
}

// From a member that holds some of them.
PeerMessage answer(const Namespaces& asked, Bytes& bytes, const Known&) {
  Namespaces answer;
  for (const NamespaceDefinition& definition : asked.definitions) {
    if (bytes.flag()) answer.definitions.push_back(definition);
  }
  if (bytes.flag()) answer.definitions.push_back(some_definition(bytes));
  return answer;
}

}  // namespace

std::optional<PeerMessage> some_answer(const PeerMessage& asked, Bytes& bytes, const Known& known) {
  return std::visit(
      [&](const auto& one) -> std::optional<PeerMessage> {
        if constexpr (requires { answer(one, bytes, known); }) {
          return answer(one, bytes, known);
        } else {
          return std::nullopt;
        }
      },
      asked);
}

}  // namespace quipu::fuzz
