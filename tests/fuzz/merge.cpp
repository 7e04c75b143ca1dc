// merge.cpp: copies that take in the same states in another order, twice, or by way
// of an encoder, agree; and so do their digests.
#include <tuple>

#include "protocol/state_codec.h"
#include "storage/digest.h"
#include "storage/executor.h"
#include "tests/fuzz/bytes.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/chunks.h"
#include "tests/fuzz/some_messages.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace quipu::fuzz {
namespace {

constexpr std::string_view kName = "sample";
constexpr HashKey kKey{7};
const ShardRef kRef("likes:42", 0);

// Nothing but what the codec demands holds of it.
ShardState some_state(Bytes& bytes) {
  ShardState state;
  state.shard_count = static_cast<ShardIndex>(1 + bytes.number<std::uint16_t>() % kMaxShards);
  state.usable_shards =
      static_cast<ShardIndex>(1 + bytes.number<std::uint16_t>() % state.shard_count);
  std::uint64_t actor = 0;
  const bool dated = bytes.flag();
  while (!bytes.empty()) {
    actor += 1 + bytes.below(4);
    const Commit commit{bytes.count()};
    const std::int64_t sum = bytes.amount();
    const Commit cleared{bytes.count()};
    state.cells.push_back({ActorId{actor}, commit, sum, cleared, bytes.amount()});
  }
  if (dated) some_life(bytes, state);
  return state;
}

ShardState joined(ShardState into, const ShardState& from) {
  merge(into, as_entry(kRef, from));
  return into;
}

ShardState recoded(const ShardState& state) {
  const auto decoded = decode_shard_state(kName, encode_shard_state(kName, state));
  check(decoded.ok(), "a state that was encoded can be decoded");
  return *decoded;
}

// Through the packed form of a record, whose own cells cost less.
ShardState packed(const ShardState& state, Commit commit) {
  Record record{Delta(commit), {}};
  record.delta.push(kRef, state);
  const auto decoded = decode_record(kName, encode_record(kName, record));
  check(decoded.ok(), "a record that was encoded can be decoded");
  ShardState result;
  decoded->delta.for_each([&](const DeltaEntry& entry) {
    result = {{entry.cells.begin(), entry.cells.end()},
              entry.shard_count,
              entry.usable_shards,
              entry.life};
  });
  return result;
}

Executor executor() {
  Meta meta;
  meta.store = StoreId{1};
  meta.lineage = {{BootId{1}, Commit{1}}};
  ExecutorOptions options;
  options.placement = kKey;
  return Executor(std::move(meta), options, Random(1));
}

Delta said(const ShardState& state) {
  Delta delta;
  delta.push(kRef, state);
  return delta;
}

void check_laws(const ShardState& a, const ShardState& b, const ShardState& c) {
  const ShardState ab = joined(a, b);
  check(ab == joined(b, a), "merge is commutative");
  check(joined(ab, c) == joined(a, joined(b, c)), "merge is associative");
  check(joined(a, a) == a && joined(ab, b) == ab, "merge is idempotent");
  ShardState into = ab;
  check(!merge(into, as_entry(kRef, a)).changed, "what is held already changes nothing");
  into = a;
  check(merge(into, as_entry(kRef, b)).changed == (into != a), "a change is told");
  check(hash_state(kKey, kRef, ab) == hash_state(kKey, kRef, joined(b, a)), "digests agree");
  check((hash_state(kKey, kRef, a) == hash_state(kKey, kRef, b)) ==
            (a == b || (is_spent(a) && is_spent(b))),
        "digests differ where states do");
  into = ab;
  clear(into);
  ShardState twice = into;
  for (const Cell& cell : into.cells) {
    check(std::tie(cell.cleared_commit, cell.cleared_sum) >= std::tie(cell.commit, cell.sum),
          "a reset clears what it has seen");
  }
  check(!clear(twice) && twice == into, "a reset that is repeated is the same reset");
}

void check_codecs(const ShardState& a, const ShardState& b) {
  const ShardState ab = joined(a, b);
  check(recoded(ab) == joined(recoded(a), recoded(b)), "encoding changes no merge");
  const Commit commit = a.cells.empty() ? Commit{} : a.cells.back().commit;
  check(packed(a, commit) == a, "packing changes nothing");
}

// The packed entries in memory are another implementation of the same.
void check_in_memory(const ShardState& a, const ShardState& b, const ShardState& c) {
  Executor one = executor();
  Executor two = executor();
  for (const ShardState& state : {a, b, c}) one.merge(said(state));
  for (const ShardState& state : {c, a, b, c}) two.merge(said(state));
  ShardState held;
  (void)one.map().read(kRef, held);
  check(held == joined(joined(a, b), c), "memory holds the join");
  const Partition partition = one.map().place(kRef).partition();
  check(one.map().ledger().digest(partition) == two.map().ledger().digest(partition),
        "partition digests agree");
  check(one.map().total(kRef).sum == total(held.cells).sum, "sums agree");
}

}  // namespace
}  // namespace quipu::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace quipu::fuzz;
  quipu::ShardState states[3];
  const std::vector<Chunk> chunks = split({reinterpret_cast<const char*>(data), size});
  for (std::size_t i = 0; i < std::min<std::size_t>(chunks.size(), 3); ++i) {
    Bytes bytes(chunks[i].bytes);
    states[i] = some_state(bytes);
  }
  check_laws(states[0], states[1], states[2]);
  check_codecs(states[0], states[1]);
  check_in_memory(states[0], states[1], states[2]);
  return 0;
}
