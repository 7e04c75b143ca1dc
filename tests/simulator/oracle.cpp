#include "tests/simulator/oracle.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <variant>

#include "protocol/state_codec.h"
#include "storage/lattice.h"
#include "storage/stored_keys.h"
#include "tests/simulator/elements.h"
#include "tests/simulator/ends.h"
#include "tests/simulator/homes.h"
#include "tests/simulator/items.h"
#include "tests/simulator/reference.h"
#include "tests/simulator/transactions.h"
#include "tests/simulator/windows.h"

namespace quipu::sim {

std::string tell(const Op& op) {
  static constexpr std::array kKinds{"add",    "reset",  "raise", "open session",
                                     "expire", "decide", "apply"};
  static_assert(kKinds.size() == static_cast<std::size_t>(OpKind::apply) + 1);
  std::string text = std::to_string(op.id) + ":" + kKinds[static_cast<std::size_t>(op.kind)] + " " +
                     std::string(op.key);
  if (op.shard != kAnyShard) text += "/" + std::to_string(op.shard);
  if (op.token.number != 0)
    text += " token " + std::to_string(raw(op.token.serial) % 1000) + "." +
            std::to_string(op.token.number) + " floor " + std::to_string(op.token.floor);
  return text;
}

std::string tell(const Done& done) {
  return std::to_string(done.id) + ":" + std::string(quipu::describe(done.code).name);
}

namespace {

// What ends, or is forgotten, does so without a record, so what is at rest does not say what a node
// may show. And the records of a transaction go to the disk as one.
bool ends(ShardRef shard) {
  return shard.key.starts_with(kEndsPrefix) || shard.key.starts_with(kWindowsPrefix) ||
         shard.key.starts_with(kTogetherPrefix) || shard.key.starts_with(kHomesPrefix) ||
         shard.key.starts_with(kElementsPrefix) || shard.key.starts_with(kItemsPrefix);
}

std::string name(ShardRef shard) {
  return std::string(shard.key) + "/" + std::to_string(shard.shard);
}

const ShardState kNone;

const ShardState& shard_of(const std::vector<ShardState>& states, ShardIndex shard) {
  return shard < states.size() ? states[shard] : kNone;
}

bool has_digit(const ShardState& state, std::size_t digit, bool negative) {
  const Wide sum = reference::total(state);
  return (static_cast<std::uint64_t>(negative ? -sum : sum) >> (2 * digit) & 3) != 0;
}

}  // namespace

Partition Oracle::partition(ShardRef shard) const {
  return Placement{placement_, shard}.partition();
}

// A sum counts as said once somebody other than its writer has it for good.
void Oracle::know(MemberIndex node, ShardRef shard, ActorId actor, Commit commit,
                  std::int64_t sum) {
  if (commit == Commit{}) return;
  const auto& [writer, store] =
      writers_.try_emplace(raw(actor), Writer{node, stores_[node]}).first->second;
  if (writer != node) {
    Commit& newest = seen_[node][store];
    newest = std::max(newest, commit);
  }
  const std::uint64_t seed = raw(actor) * 0x9e3779b97f4a7c15U + raw(commit) * 8191 + shard.shard;
  const std::uint64_t name_hash = hash64(HashKey{seed}, shard.key);
  auto at = sums_.find(name_hash);
  if (at == sums_.end() && writer != node) at = sums_.emplace(name_hash, sum).first;
  std::int64_t other = at == sums_.end() ? sum : at->second;
  if (other == sum && writer != node) other = written(writer, shard, actor, commit).value_or(sum);
  if (other == sum) return;
  trace_.fail(time_.now(), Invariant::one_commit_one_sum,
              name(shard) + ": an actor's sum under commit " + std::to_string(raw(commit)) +
                  " is " + std::to_string(sum) + " on " + config_.members[node].name + " and was " +
                  std::to_string(other) + " elsewhere");
}

Commit Oracle::seen(MemberIndex node, StoreId store) const {
  const auto at = seen_[node].find(store);
  return at == seen_[node].end() ? Commit{} : at->second;
}

std::optional<std::int64_t> Oracle::written(MemberIndex writer, ShardRef shard, ActorId actor,
                                            Commit commit) const {
  for (const Cell& cell : durable(writer, shard).cells) {
    if (cell.actor == actor && cell.commit == commit) return cell.sum;
  }
  return std::nullopt;
}

const Oracle::Copies* Oracle::copies(std::string_view key) const {
  const auto at = copies_.find(key);
  return at == copies_.end() ? nullptr : &at->second;
}

const ShardState& Oracle::durable(MemberIndex node, ShardRef shard) const {
  const Copies* const copies = this->copies(shard.key);
  return copies == nullptr ? kNone : shard_of(copies->on[node], shard.shard);
}

void Oracle::join(MemberIndex node, ShardRef shard, std::span<const Cell> cells, ShardIndex count,
                  ShardIndex usable) {
  auto at = copies_.find(shard.key);
  if (at == copies_.end()) {
    at = copies_.try_emplace(std::string(shard.key)).first;
    at->second.on.resize(config_.members.size());
  }
  std::vector<ShardState>& states = at->second.on[node];
  if (states.size() <= shard.shard) states.resize(std::size_t{shard.shard} + 1);
  if (reference::join(states[shard.shard], cells, count, usable)) at->second.changed = time_.now();
}

void Oracle::absorb(MemberIndex node, const Delta& delta) {
  delta.for_each([&](const DeltaEntry& entry) {
    if (ends(entry.ref)) return;
    for (const Cell& cell : entry.cells) {
      know(node, entry.ref, cell.actor, cell.commit, cell.sum);
      know(node, entry.ref, cell.actor, cell.cleared_commit, cell.cleared_sum);
    }
    join(node, entry.ref, entry.cells, entry.shard_count, entry.usable_shards);
    if (entry.usable_shards > 1) check_usable(entry.ref, entry.usable_shards);
  });
}

void Oracle::absorb_record(MemberIndex node, const std::string& key, const std::string& value) {
  Result<Record> record = decode_record(key, value);
  if (!record.ok() || !names_[node].resolve(*record)) return;
  if (went_back_[node]) check_actors(node, record->delta);
  absorb(node, record->delta);
  for (const VersionEntry& version_entry : record->delta.versions) {
    Commit& newest = sighted_[node][version_entry.store];
    newest = std::max(newest, version_entry.commit);
  }
}

ActorId Oracle::own_actor(MemberIndex node, Partition partition) const {
  const auto& durable = disks_[node]->durable;
  const auto at = durable.find(stored::actor(partition));
  return at == durable.end() ? ActorId{} : decode_actor(at->first, at->second).value();
}

Commit Oracle::reached(MemberIndex node, ShardRef shard, ActorId actor) const {
  const std::vector<Cell>& cells = durable(node, shard).cells;
  const auto cell = std::ranges::find(cells, actor, &Cell::actor);
  return cell == cells.end() ? Commit{} : cell->commit;
}

// Whoever counts on under an actor goes on from all that others have of it; else the rest of
// that is swallowed, as the greater commit wins. Only on a disk that went back it may not.
void Oracle::check_actors(MemberIndex node, const Delta& delta) {
  delta.for_each([&](const DeltaEntry& entry) {
    if (ends(entry.ref)) return;
    const Partition partition = this->partition(entry.ref);
    if (counted_[node].contains(partition)) return;
    const ActorId actor = own_actor(node, partition);
    const auto counted = [&](const Cell& cell) {
      return cell.actor == actor && cell.commit == delta.commit();
    };
    if (std::ranges::none_of(entry.cells, counted)) return;
    counted_[node].insert(partition);
    check_goes_on(node, partition, actor);
  });
}

void Oracle::check_goes_on(MemberIndex node, Partition partition, ActorId actor) {
  for (const auto& [key, copies] : copies_) {
    for (ShardIndex shard = 0; shard < kShards; ++shard) {
      const ShardRef ref{key, shard};
      if (this->partition(ref) != partition) continue;
      for (const MemberIndex owner : config_.owners.of(partition)) {
        if (reached(owner, ref, actor) <= reached(node, ref, actor)) continue;
        trace_.fail(time_.now(), Invariant::actor_is_not_reused,
                    config_.members[node].name + " counts on under an actor of which " +
                        config_.members[owner].name + " has later cells, in " + name(ref));
      }
    }
  }
}

// When it shows for the first time. A disk that knew of it may have been lost since; then
// those whose copies count make up no majority without it.
void Oracle::check_usable(ShardRef shard, ShardIndex usable) {
  ShardIndex& right = usable_.try_emplace(std::string(shard.key), ShardIndex{1}).first->second;
  if (usable <= right || time_.now() < disk_lost_ + std::chrono::seconds(10)) return;
  std::size_t know = 0, others = 0;
  for (const MemberIndex owner : config_.owners.of(partition(shard))) {
    const bool knows = durable(owner, shard).shard_count >= usable;
    know += knows ? 1 : 0;
    others += !knows && votes_by_(owner, partition(shard)) ? 1 : 0;
  }
  right = usable;
  const std::size_t majority = config_.owners.majority();
  if (know >= majority || (disk_lost_ != Instant{} && others < majority)) return;
  trace_.fail(time_.now(), Invariant::usable_follows_count,
              std::string(shard.key) + " may use " + std::to_string(usable) + " shards, but only " +
                  std::to_string(know) + " owners of its first one know of as many");
}

void Oracle::on_start(MemberIndex node, StoreId store, const MemoryDisk& disk) {
  disks_[node] = &disk;
  counted_[node] = {};
  if (std::exchange(stores_[node], store) == store) return;
  before_[node].clear();
  for (const auto& [key, copies] : copies_) before_[node][key] = copies.on[node];
}

void Oracle::on_durable(MemberIndex node, const Batch& batch) {
  for (const Batch::Put& put : batch.puts) {
    if (stored::parse_record(put.key)) absorb_record(node, put.key, put.value);
  }
  if (disk_lost_ != Instant{}) return;
  check_versions(node);
  for (const std::string& key : batch.deletes) {
    if (const auto named = stored::parse_shard(key)) check_given_up(node, named->ref);
  }
}

// Whoever holds a store's cells has noted how far that store had come.
void Oracle::check_versions(MemberIndex node) {
  for (const auto& [store, commit] : seen_[node]) {
    const Commit noted = sighted_[node][store];
    if (noted >= commit) continue;
    trace_.fail(time_.now(), Invariant::old_copy_is_noticed,
                config_.members[node].name + " has cells of a store up to " +
                    std::to_string(raw(commit)) + ", and noted " + std::to_string(raw(noted)));
  }
}

// A state leaves a disk when all of it is on every owner's.
void Oracle::check_given_up(MemberIndex node, const ShardRef& shard) {
  if (ends(shard)) return;
  const ShardState& mine = durable(node, shard);
  for (const MemberIndex owner : config_.owners.of(partition(shard))) {
    ShardState held = durable(owner, shard);
    if (!reference::join(held, mine.cells, mine.shard_count, mine.usable_shards)) continue;
    trace_.fail(time_.now(), Invariant::nothing_acked_is_lost,
                config_.members[node].name + " gave up " + name(shard) + ", of which " +
                    config_.members[owner].name + " lacks something on its disk");
  }
}

// A state at rest is no newer than the records up to it.
void Oracle::on_disk_replaced(MemberIndex node, const MemoryDisk& disk) {
  disk_lost_ = replaced_[node] = time_.now();
  went_back_[node] = false;  // what is read now was written before
  for (auto& [key, copies] : copies_) copies.on[node].clear();
  names_[node] = {};
  seen_[node].clear();
  sighted_[node].clear();
  for (const auto& [key, value] : disk.durable) {
    if (stored::parse_record(key)) {
      absorb_record(node, key, value);
    } else if (const auto named = stored::parse_shard(key)) {
      const auto state = decode_shard_state(key, value);
      if (!state.ok() || ends(named->ref)) continue;
      join(node, named->ref, state->cells, state->shard_count, state->usable_shards);
    }
  }
  went_back_[node] = !disk.durable.empty();
}

bool Oracle::holds(MemberIndex node, const DeltaEntry& entry) const {
  if (ends(entry.ref)) return true;
  ShardState held = durable(node, entry.ref);
  return !reference::join(held, entry.cells, entry.shard_count, entry.usable_shards);
}

void Oracle::check_sent(MemberIndex from, const Delta& delta, const char* what) {
  delta.for_each([&](const DeltaEntry& entry) {
    if (holds(from, entry)) return;
    trace_.fail(time_.now(), Invariant::sent_is_durable,
                config_.members[from].name + " sent " + name(entry.ref) + " in " + what +
                    " before it was on its disk");
  });
}

void Oracle::check_acked(MemberIndex by, const Delta& delta, const std::vector<Partition>& unfilled,
                         const char* what) {
  delta.for_each([&](const DeltaEntry& entry) {
    if (std::binary_search(unfilled.begin(), unfilled.end(), partition(entry.ref)) ||
        holds(by, entry))
      return;
    trace_.fail(time_.now(), Invariant::acked_is_durable,
                config_.members[by].name + " acked " + what + " with " + name(entry.ref) +
                    ", which is not on its disk");
  });
}

// Who it is, and where it welcomes the other, by which pins: after a crash it must not say
// something else.
void Oracle::check_repaired(MemberIndex by, std::uint64_t epoch, Repairs& repairs) {
  const auto holds_it = [&](const DeltaEntry& entry) { return holds(by, entry); };
  if (!repairs.on_reported(epoch, holds_it))
    trace_.fail(time_.now(), Invariant::acked_is_durable,
                config_.members[by].name + " reported a repair before all of it was on its disk");
}

void Oracle::check_greeting(MemberIndex from, HostId to, const Hello& hello) {
  const auto& durable = disks_[from]->durable;
  const auto at = durable.find(stored::meta());
  Result<Meta> meta = Meta{};
  if (at != durable.end()) meta = decode_meta(at->first, at->second);
  const bool known = meta.ok() && meta->store == hello.store && meta->marked == hello.marked &&
                     !meta->lineage.empty() && meta->lineage.back().boot == hello.boot;
  if (known && (!hello.welcome || meta->pins == hello.pins)) return;
  trace_.fail(time_.now(), Invariant::sent_is_durable,
              config_.members[from].name + " greeted " +
                  (to < config_.members.size() ? config_.members[to].name : "?") +
                  (known ? " and welcomed it, by pins that are not on its disk"
                         : " as a store, or in a start, that is not on its disk"));
}

void Oracle::tell(MemberIndex from, HostId to, const PeerMessage& message) {
  static constexpr const char* kNames[] = {
      "hello",       "refusal",   "delta",      "delta ack",    "beat",    "forward", "forwarded",
      "collect",     "collected", "write-back", "written back", "pull",    "pulled",  "list part",
      "listed part", "size part", "sized part", "definitions",  "prefixes"};
  static_assert(std::size(kNames) == std::variant_size_v<PeerMessage>);
  trace_.say_message(time_.now(), [&] {
    std::string text = config_.members[from].name + " -> " +
                       (to < config_.members.size() ? config_.members[to].name : "?") + ": " +
                       kNames[message.index()];
    const auto states = [&](std::uint64_t id, const Delta& delta) {
      text += " " + std::to_string(id);
      delta.for_each([&](const DeltaEntry& entry) {
        text += " " + name(entry.ref) + "=" +
                std::to_string(static_cast<std::int64_t>(total(entry.cells).sum));
      });
    };
    const auto unfilled = [&](std::size_t count) {
      if (count > 0) text += " (" + std::to_string(count) + " partitions do not count)";
    };
    if (const auto* delta = std::get_if<DeltaFrame>(&message)) states(delta->number, delta->delta);
    if (const auto* write = std::get_if<WriteBack>(&message)) states(write->id, write->states);
    if (const auto* pulled = std::get_if<Pulled>(&message)) states(pulled->id, pulled->states);
    if (const auto* forward = std::get_if<Forward>(&message)) {
      for (const Op& op : forward->ops) text += " " + sim::tell(op);
    }
    if (const auto* forwarded = std::get_if<Forwarded>(&message)) {
      for (const Done& done : forwarded->done) text += " " + sim::tell(done);
    }
    if (const auto* ack = std::get_if<DeltaAck>(&message)) {
      for (const std::uint64_t number : ack->numbers) text += " " + std::to_string(number);
      unfilled(ack->unfilled.size());
    }
    if (const auto* collected = std::get_if<Collected>(&message)) {
      states(collected->id, collected->states);
      unfilled(collected->unfilled.size());
    }
    if (const auto* written = std::get_if<WrittenBack>(&message)) {
      text += " " + std::to_string(written->id);
      unfilled(written->unfilled.size());
    }
    return text;
  });
}

void Oracle::on_sent(MemberIndex from, HostId to, ConnId connection, const std::string& frame) {
  const FrameType type = type_of(frame);
  if (!trace_.tells_messages() && type != FrameType::beat && type != FrameType::delta &&
      type != FrameType::delta_ack && type != FrameType::collected &&
      type != FrameType::write_back && type != FrameType::written_back && type != FrameType::pull &&
      type != FrameType::pulled && type != FrameType::hello)
    return;
  const Payload payload{reinterpret_cast<const std::byte*>(frame.data()) + kFrameHeader,
                        frame.size() - kFrameHeader};
  const FrameVersion version{static_cast<std::uint8_t>(frame[1])};
  Result<PeerMessage> message = decode_peer(type, payload, version);
  if (!message.ok()) {
    trace_.fail(
        time_.now(), Invariant::no_crash,
        config_.members[from].name + " sent what nobody can read: " + message.status().message());
    return;
  }
  tell(from, to, *message);
  if (auto* delta = std::get_if<DeltaFrame>(&*message)) {
    check_sent(from, delta->delta, "a delta");
    owed_[{connection, from}].frames[delta->number] = std::move(delta->delta);
  } else if (const auto* collected = std::get_if<Collected>(&*message)) {
    check_sent(from, collected->states, "an answer to a collect");
  } else if (auto* pulled = std::get_if<Pulled>(&*message)) {
    check_sent(from, pulled->states, "an answer to a pull");
    repairs_[{connection, to}].on_pulled(*pulled);
  } else if (const auto* pull = std::get_if<Pull>(&*message)) {
    repairs_[{connection, from}].on_pull(*pull);
  } else if (const auto* beat = std::get_if<Heartbeat>(&*message)) {
    repairs_[{connection, to}].on_lost(beat->lost_epoch);
    check_repaired(from, beat->pulled_epoch, repairs_[{connection, from}]);
  } else if (const auto* hello = std::get_if<Hello>(&*message)) {
    check_greeting(from, to, *hello);
  } else if (auto* write = std::get_if<WriteBack>(&*message)) {
    owed_[{connection, from}].writes[write->id] = std::move(write->states);
  } else {
    // An ack goes the way that its request came.
    for (auto at = owed_.lower_bound({connection, 0});
         at != owed_.end() && at->first.first == connection; ++at) {
      if (at->first.second == from) continue;
      Owed& owed = at->second;
      if (const auto* ack = std::get_if<DeltaAck>(&*message)) {
        for (const std::uint64_t number : ack->numbers) {
          check_acked(from, owed.frames[number], ack->unfilled, "a delta");
          owed.frames.erase(number);
        }
      } else if (const auto* written = std::get_if<WrittenBack>(&*message)) {
        if (written->code == Code::ok)
          check_acked(from, owed.writes[written->id], written->unfilled, "a write-back");
        owed.writes.erase(written->id);
      }
    }
  }
}

ShardIndex Oracle::known_shards(const std::string& key) const {
  std::vector<ShardIndex> counts;
  for (const MemberIndex owner : config_.owners.of(partition({key, 0})))
    counts.push_back(durable(owner, {key, 0}).shard_count);
  std::sort(counts.begin(), counts.end(), std::greater<>{});
  return counts[config_.owners.majority() - 1];
}

std::string Oracle::who_differs(const std::string& key) const {
  for (ShardIndex shard = 0; shard < kShards; ++shard) {
    const auto owners = config_.owners.of(partition({key, shard}));
    for (const MemberIndex owner : owners) {
      if (durable(owner, {key, shard}) == durable(owners[0], {key, shard})) continue;
      return config_.members[owner].name + " and " + config_.members[owners[0]].name +
             " have different states of " + name({key, shard}) + " on their disks";
    }
  }
  return {};
}

bool Oracle::exists_for_all(const std::string& key) const {
  const Copies* const copies = this->copies(key);
  if (copies == nullptr) return false;
  const Partition at = partition({key, 0});
  std::size_t count = 0;
  for (const MemberIndex owner : config_.owners.of(at)) {
    const ShardState& state = shard_of(copies->on[owner], 0);
    const bool exists = state.shard_count > 1 || total(state.cells).exists;
    // One that is down may be up again before the answer.
    if (!exists && (votes_by_(owner, at) || !bootstrapping_(owner, at))) return false;
    count += exists ? 1 : 0;
  }
  return count > 0;
}

std::size_t Oracle::holders(const std::string& key, std::size_t digit, bool negative,
                            Instant begun) const {
  const Copies* const copies = this->copies(key);
  std::size_t most = 0;
  for (ShardIndex shard = 0; copies != nullptr && shard < kShards; ++shard) {
    std::size_t count = 0;
    const Partition home = partition({key, shard});
    for (const MemberIndex owner : config_.owners.of(home)) {
      const auto& before = before_[owner];
      const auto had = before.find(key);
      const bool renamed = had != before.end() && replaced_[owner] < begun &&
                           has_digit(shard_of(had->second, shard), digit, negative);
      const bool has = has_digit(shard_of(copies->on[owner], shard), digit, negative);
      count += has && (has_voted_(owner, home) || renamed) ? 1 : 0;
    }
    most = std::max(most, count);
  }
  return most;
}

std::vector<MemberIndex> Oracle::holding(const std::string& key, std::size_t digit,
                                         bool negative) const {
  std::vector<MemberIndex> nodes;
  const Copies* const copies = this->copies(key);
  for (MemberIndex node = 0; copies != nullptr && node < copies->on.size(); ++node) {
    const bool has = std::ranges::any_of(copies->on[node], [&](const ShardState& state) {
      return has_digit(state, digit, negative);
    });
    if (has) nodes.push_back(node);
  }
  return nodes;
}

}  // namespace quipu::sim
