#include "protocol/state_tables.h"

namespace quipu {
namespace {

using WirePins = Vector<const wire::Pin*>;

Offset<WirePins> build_pin_list(Builder& builder, const std::vector<Pin>& pins) {
  return build_structs<wire::Pin>(builder, pins, [](const Pin& pin) {
    return wire::Pin(raw(pin.node), raw(pin.store), pin.generation);
  });
}

void read_pin_list(Reader& in, const char* field, const WirePins* from, std::vector<Pin>& to) {
  in.copy(field, from, to, [](const wire::Pin* pin) {
    return Pin{NodeId{pin->node()}, StoreId{pin->store()}, pin->generation()};
  });
  for (std::size_t i = 1; i < to.size(); ++i) {
    if (to[i].node <= to[i - 1].node) in.refuse(field, "is not sorted by node");
  }
}

}  // namespace

Offset<Cells> build_cells(Builder& builder, const std::vector<Cell>& cells) {
  return build_structs<wire::Cell>(builder, cells, [](const Cell& cell) {
    return wire::Cell(raw(cell.actor), raw(cell.commit), cell.sum, raw(cell.cleared_commit),
                      cell.cleared_sum);
  });
}

void read_cells(Reader& in, const char* field, const Cells* from, std::vector<Cell>& to) {
  in.copy(field, from, to, [](const wire::Cell* cell) {
    return Cell{ActorId{cell->actor()}, Commit{cell->commit()}, cell->sum(),
                Commit{cell->cleared_commit()}, cell->cleared_sum()};
  });
}

void check_cells(Reader& in, const char* field, std::span<const Cell> cells) {
  ActorId previous{};
  for (const Cell& cell : cells) {
    if (cell.actor <= previous) return in.refuse(field, "are not ascending by actor");
    previous = cell.actor;
  }
}

void check_counts(Reader& in, ShardIndex count, ShardIndex usable) {
  in.within<ShardIndex>("count", count, 1, kMaxShards);
  in.within<ShardIndex>("usable", usable, 1, count);
}

// Enums on the wire have a value for "not set"; in memory they have none.
Offset<wire::NamespacePolicy> build(Builder& builder, const NamespacePolicy& policy) {
  const flatbuffers::Optional<bool> strict = policy.strict;
  return wire::CreateNamespacePolicy(
      builder, static_cast<wire::Ack>(policy.ack.value_or(Ack::by_default)),
      static_cast<wire::ReadLevel>(policy.read.value_or(ReadLevel::by_default)),
      policy.shards.value_or(0), strict);
}

void read(Reader& in, const wire::NamespacePolicy* from, NamespacePolicy& policy) {
  if (from == nullptr) return;
  const auto ack = in.one_of<Ack>("ack", from->ack());
  if (ack != Ack::by_default) policy.ack = ack;
  const auto level = in.one_of<ReadLevel>("read", from->read());
  if (level != ReadLevel::by_default) policy.read = level;
  const auto shards = in.within<ShardIndex>("shards", from->shards(), 0, kMaxShards);
  if (shards > 0) policy.shards = shards;
  if (const auto strict = from->strict()) policy.strict = *strict;
}

Offset<wire::NamespaceDefinition> build(Builder& builder, const NamespaceDefinition& definition) {
  const auto name = build_bytes(builder, definition.name);
  const auto to_wire = [](const Stamp& stamp) { return wire::Stamp(stamp.at, raw(stamp.node)); };
  const auto policy = build(builder, definition.policy);
  const wire::Stamp changed = to_wire(definition.changed), dropped = to_wire(definition.dropped);
  return wire::CreateNamespaceDefinition(builder, name, &changed, policy, &dropped);
}

void read(Reader& in, const wire::NamespaceDefinition& from, NamespaceDefinition& definition) {
  const auto from_wire = [&in](const char* field, const wire::Stamp* stamp) {
    if (stamp == nullptr) return Stamp{};
    return Stamp{in.within<std::uint64_t>(field, stamp->at(), 0, kLatestStamp),
                 NodeId{stamp->node()}};
  };
  const std::string_view name = Reader::view(from.name());
  in.within<std::size_t>("name", name.size(), 0, kMaxNamespaceName);
  if (name.find(':') != std::string_view::npos) in.refuse("name", "has a ':'");
  if (in.pay("name", name.size())) definition.name = name;
  definition.changed = from_wire("changed", from.changed());
  definition.dropped = from_wire("dropped", from.dropped());
  read(in, from.policy(), definition.policy);
}

Offset<VersionVector> build_versions(Builder& builder, const std::vector<VersionEntry>& versions) {
  return build_structs<wire::VersionEntry>(builder, versions, [](const VersionEntry& seen) {
    return wire::VersionEntry(raw(seen.store), raw(seen.boot), raw(seen.commit));
  });
}

void read_versions(Reader& in, const VersionVector* from, std::vector<VersionEntry>& to) {
  if (from != nullptr) in.within<std::size_t>("versions", from->size(), 0, kMaxWireVersions);
  in.copy("versions", from, to, [](const wire::VersionEntry* seen) {
    return VersionEntry{StoreId{seen->store()}, BootId{seen->boot()}, Commit{seen->commit()}};
  });
}

Offset<wire::Pins> build(Builder& builder, const Pins& pins) {
  const auto founding = build_pin_list(builder, pins.founding);
  const auto current = build_pin_list(builder, pins.current);
  const auto retired = build_scalars<std::uint64_t>(builder, pins.retired);
  return wire::CreatePins(builder, pins.founded, founding, current, retired);
}

void read(Reader& in, const wire::Pins* from, Pins& pins) {
  if (from == nullptr) return;
  pins.founded = from->founded();
  read_pin_list(in, "pins.founding", from->founding(), pins.founding);
  read_pin_list(in, "pins.current", from->current(), pins.current);
  in.copy("pins.retired", from->retired(), pins.retired);
  for (std::size_t i = 1; i < pins.retired.size(); ++i) {
    if (pins.retired[i] <= pins.retired[i - 1]) in.refuse("pins.retired", "is not sorted");
  }
  if (!pins.founded && !pins.retired.empty())
    in.refuse("pins.retired", "names stores, though nothing is replaced before the founding");
}

// ---- Delta ----

Offset<wire::Delta> StateCodec::build(Builder& builder, const Delta& delta) {
  const auto actors = build_scalars<std::uint64_t>(builder, delta.actors_);
  const auto keys = build_bytes(builder, delta.keys_);
  const auto entries =
      build_structs<wire::DeltaEntry>(builder, delta.entries_, [](const Delta::Packed& packed) {
        return wire::DeltaEntry(packed.key_length, packed.shard, packed.count, packed.usable,
                                packed.actor, packed.cells);
      });
  const auto sums = build_scalars<std::int64_t>(builder, delta.sums_);
  const auto cells = build_cells(builder, delta.cells_);
  const auto versions = build_versions(builder, delta.versions);
  return wire::CreateDelta(builder, raw(delta.commit_), actors, keys, entries, sums, cells,
                           versions);
}

void StateCodec::copy(Reader& in, const wire::Delta& from, Delta& delta) {
  delta.commit_ = Commit{from.commit()};
  in.copy("actors", from.actors(), delta.actors_);
  if (const auto keys = Reader::view(from.keys()); in.pay("keys", keys.size())) delta.keys_ = keys;
  in.copy("entries", from.entries(), delta.entries_, [](const wire::DeltaEntry* entry) {
    return Delta::Packed{entry->key_length(), entry->shard(), entry->count(),
                         entry->usable(),     entry->actor(), entry->cells()};
  });
  in.copy("sums", from.sums(), delta.sums_);
  read_cells(in, "cells", from.cells(), delta.cells_);
  read_versions(in, from.versions(), delta.versions);
}

// Whether the entries divide the cells exactly, so that a cursor stays within them.
bool StateCodec::check_lengths(Reader& in, const Delta& delta) {
  std::size_t keys = 0, sums = 0, cells = 0;
  for (const Delta::Packed& packed : delta.entries_) {
    keys += packed.key_length;
    cells += packed.cells;
    if (packed.actor == Delta::kNoSum) continue;
    ++sums;
    if (packed.actor >= delta.actors_.size())
      in.refuse("entries", "name an actor that is not there");
  }
  if (keys != delta.keys_.size()) in.refuse("keys", "are not as long as the entries say");
  if (sums != delta.sums_.size()) in.refuse("sums", "are not as many as the entries say");
  if (cells != delta.cells_.size()) in.refuse("cells", "are not as many as the entries say");
  return in.ok();
}

void StateCodec::read(Reader& in, const wire::Delta* from, Delta& delta) {
  if (from == nullptr) return;
  copy(in, *from, delta);
  if (!in.ok() || !check_lengths(in, delta)) return;
  delta.for_each([&in](const DeltaEntry& entry) {
    in.key_length("key_length", entry.ref.key.size());
    in.shard("shard", entry.ref.shard);
    check_counts(in, entry.shard_count, entry.usable_shards);
    check_cells(in, "cells", entry.cells);
  });
}

}  // namespace quipu
