#include "storage/recovery.h"

#include <cstdint>
#include <limits>
#include <optional>

#include "protocol/check.h"
#include "protocol/state_codec.h"
#include "storage/kinds/parts.h"
#include "storage/loader.h"
#include "storage/stored_keys.h"

namespace quipu {
namespace {

using stored::Type;

Status scan_all(Store& store, Type type, const Store::Visit& visit) {
  const stored::KeyRange range = stored::all(type);
  return store.scan(range.from, range.to, visit);
}

Status damaged(std::string_view what) {
  return {Code::corrupt, "a stored " + std::string(what) + " has a name that it cannot have"};
}

Result<Meta> read_meta(Store& store) {
  std::optional<Meta> meta;
  const Status scanned =
      scan_all(store, Type::meta, [&](std::string_view key, std::string_view value) {
        Result<Meta> decoded = decode_meta(key, value);
        if (!decoded.ok()) return decoded.status();
        meta = std::move(*decoded);
        return Status{};
      });
  if (!scanned.ok()) return scanned;
  if (!meta) return {Code::corrupt, "the store has lost its identity"};
  // From a number below this, no store reaches the end of the numbers.
  constexpr std::uint64_t kLatest = std::numeric_limits<std::uint64_t>::max() / 2;
  if (meta->journal_first == Commit{} || raw(meta->journal_first) > kLatest)
    return {Code::corrupt, "the store's first record has an impossible number"};
  return std::move(*meta);
}

Status check_owner(const Meta& meta, const StoreOwner& owner) {
  if (meta.cluster != owner.cluster) {
    return {
        Code::cannot_start,
        "the data directory belongs to another cluster, or the settings of this one have changed "
        "(its name, replication or reactors, or a member's name, peer, zone or weight): correct "
        "the settings, or choose another directory"};
  }
  if (meta.node != owner.node) {
    return {
        Code::cannot_start,
        "the data directory belongs to another node of this cluster: choose that node's name or "
        "another directory"};
  }
  return {};
}

Status load_actors(Store& store, Executor& executor) {
  return scan_all(store, Type::actor, [&](std::string_view key, std::string_view value) -> Status {
    const auto partition = stored::parse_actor(key);
    if (!partition) return damaged("actor");
    const Result<ActorId> actor = decode_actor(key, value);
    if (!actor.ok()) return actor.status();
    executor.load_actor(*partition, *actor);
    return {};
  });
}

Status load_states(Store& store, Executor& executor) {
  return scan_all(store, Type::shard, [&](std::string_view key, std::string_view value) -> Status {
    const Result<StoredState> found = decode_stored(executor.map().placement_key(), key, value);
    if (!found.ok()) return found.status();
    if (!executor.load(found->ref, found->state)) {
      return {Code::corrupt,
              "a stored state comes from a record that is missing, or has more cells than a shard "
              "may have"};
    }
    return {};
  });
}

Status load_tokens(Store& store, Executor& executor) {
  return scan_all(store, Type::token, [&](std::string_view key, std::string_view value) -> Status {
    Result<TokenRecord> tokens = decode_token_record(key, value);
    if (!tokens.ok()) return tokens.status();
    executor.load_tokens(*tokens);
    return {};
  });
}

Status load_namespaces(Store& store, Executor& executor) {
  return scan_all(store, Type::name_space,
                  [&](std::string_view key, std::string_view value) -> Status {
                    Result<NamespaceDefinition> definition = decode_namespace(key, value);
                    if (!definition.ok()) return definition.status();
                    if (key != stored::namespace_definition(definition->name))
                      return damaged("namespace");
                    executor.load_namespace(std::move(*definition));
                    return {};
                  });
}

Status load_prefixes(Store& store, Executor& executor) {
  return scan_all(store, Type::prefixes,
                  [&](std::string_view key, std::string_view value) -> Status {
                    const auto page = stored::parse_prefixes(key);
                    if (!page) return damaged("page of prefixes");
                    const auto bits = decode_prefixes(key, value);
                    if (!bits.ok()) return bits.status();
                    executor.load_prefixes(*page, *bits);
                    return {};
                  });
}

Status missing(Commit from, Commit to) {
  return {Code::corrupt, "records " + std::to_string(raw(from)) + " to " +
                             std::to_string(raw(to) - 1) + " are missing"};
}

Result<Record> read_record(std::string_view key, std::string_view value) {
  const auto commit = stored::parse_record(key);
  if (!commit) return damaged("record");
  Result<Record> record = decode_record(key, value);
  if (record.ok() && record->delta.commit() != *commit) return damaged("record");
  if (record.ok() && !is_sound(record->delta))
    return Status{Code::corrupt, "a stored record has a body that is none of its kind"};
  return record;
}

// Records that a cut left, up to the first that is needed, must be sound and complete, too.
Status replay_records(Store& store, Executor& executor) {
  const Commit first = executor.meta().journal_first;
  Commit expected = first;
  JournalAliases aliases;
  const auto replay = [&](std::string_view key, std::string_view value) -> Status {
    Result<Record> record = read_record(key, value);
    if (!record.ok()) return record.status();
    const Commit commit = record->delta.commit();
    if (expected == first && commit < first) {
      executor.resume_cut(commit);
      expected = commit;
    }
    if (commit != expected) return missing(expected, commit);
    expected = next(expected);
    if (commit < first) return {};
    QUIPU_CHECK(commit == next(executor.sealed()), "records are replayed without a gap", commit,
                executor.sealed());
    if (!executor.replay(*record, aliases, value.size())) {
      return {Code::corrupt, "record " + std::to_string(raw(commit)) +
                                 " has more cells of a shard than any may have, or an alias that"
                                 " no record before it gave"};
    }
    return {};
  };
  const Status replayed = scan_all(store, Type::record, replay);
  return replayed.ok() && expected < first ? missing(expected, first) : replayed;
}

// Before the founding no counter has a place, so nothing is counted.
Status check_founded(Store&, Executor& executor) {
  const Pins& pins = executor.meta().pins;
  if ((pins.founded && !pins.founding.empty()) || executor.map().ledger().size() == 0) return {};
  return {Code::corrupt, "the store holds counters, though it was never founded"};
}

// Each start wrote its record together with its place in the lineage.
Status check_last_start(Store&, Executor& executor) {
  const std::vector<LineageStart>& lineage = executor.meta().lineage;
  if (lineage.empty() || lineage.back().first <= executor.sealed()) return {};
  return missing(next(executor.sealed()), next(lineage.back().first));
}

}  // namespace

Meta new_meta(const StoreOwner& owner, NewStore kind, Random& random) {
  Meta meta;
  meta.cluster = owner.cluster;
  meta.node = owner.node;
  meta.store = random.id<StoreId>();
  meta.marked = kind == NewStore::marked;
  return meta;
}

HashKey placement_key(const Pins& pins) {
  std::string bytes;
  for (const Pin& pin : pins.founding) bytes.append(std::to_string(raw(pin.store))).push_back(' ');
  return HashKey{hash64(HashKey{}, bytes)};
}

Status initialize(Store& store, const Meta& meta) {
  QUIPU_CHECK(meta.store != StoreId{}, "a new store has an id");
  Batch batch;
  std::string key = stored::meta();
  std::string value = encode_meta(key, meta);
  batch.puts.push_back({std::move(key), std::move(value)});
  return store.write(batch);
}

namespace {

Result<std::unique_ptr<Executor>> read_all(Store& store, const StoreOwner& owner,
                                           ExecutorOptions options, Random& random) {
  Result<Meta> meta = read_meta(store);
  if (!meta.ok()) return meta.status();
  if (Status owned = check_owner(*meta, owner); !owned.ok()) return owned;
  options.placement = placement_key(meta->pins);

  auto executor = std::make_unique<Executor>(std::move(*meta), options, random.split());
  for (const auto load : {load_actors, load_tokens, load_namespaces, load_prefixes, replay_records,
                          load_states, check_founded, check_last_start}) {
    if (Status loaded = load(store, *executor); !loaded.ok()) return loaded;
  }
  QUIPU_CHECK(!executor->has_open(), "what was read back is in the store already",
              executor->sealed());
  return executor;
}

}  // namespace

Result<std::unique_ptr<Executor>> recover(Store& store, const StoreOwner& owner,
                                          ExecutorOptions options, Random& random) {
  auto executor = read_all(store, owner, options, random);
  if (!executor.ok()) return executor;
  // This also makes durable what the last process wrote and never synced.
  (*executor)->start(random.id<BootId>());
  (*executor)->seal();
  for (const Sealed& sealed : (*executor)->take_sealed()) {
    if (Status written = store.write(sealed.batch); !written.ok()) return written;
  }
  QUIPU_CHECK((*executor)->meta().lineage.back().first == (*executor)->sealed(),
              "a start begins with a record of its own", (*executor)->sealed());
  return executor;
}

Result<std::unique_ptr<Executor>> recover_for_reads(Store& store, const StoreOwner& owner,
                                                    ExecutorOptions options, Random& random) {
  auto executor = read_all(store, owner, options, random);
  if (executor.ok() && (*executor)->meta().lineage.empty())
    return {Code::storage_full, "the store was never used, and there is no room to create it"};
  return executor;
}

}  // namespace quipu
