#include "protocol/state_tables.h"

#include <algorithm>
#include <utility>

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

Offset<Vector<std::uint64_t>> build_births(Builder& builder, const std::vector<Cell>& cells) {
  std::vector<std::uint64_t> births;
  births.reserve(cells.size());
  for (const Cell& cell : cells) births.push_back(ms_of(cell.born));
  if (std::ranges::all_of(births, [](std::uint64_t born) { return born == 0; })) return 0;
  return build_scalars<std::uint64_t>(builder, births);
}

void read_births(Reader& in, const Vector<std::uint64_t>* from, std::vector<Cell>& to) {
  std::vector<std::uint64_t> births;
  in.copy("births", from, births);
  if (births.empty()) return;
  if (births.size() != to.size()) return in.refuse("births", "are not as many as the cells");
  for (std::size_t i = 0; i < to.size(); ++i) to[i].born = wall_of_ms(births[i]);
}

wire::Life build_life(const Life& life) {
  return {ms_of(life.ended), ms_of(life.stamp), ms_of(life.at), ms_of(life.latest), life.once};
}

Life read_life(const wire::Life& life) {
  return {wall_of_ms(life.ended()), wall_of_ms(life.stamp()), wall_of_ms(life.at()),
          wall_of_ms(life.latest()), life.once()};
}

namespace {

// What was born before the end would have been dropped.
void check_births(Reader& in, const char* field, Wall earliest, Wall latest, const Life& life) {
  latest = std::max({latest, life.ended, life.stamp, life.latest});
  const bool dated = latest != Wall{};
  if (dated && life == Life{}) in.refuse(field, "were born, though their counter has no end");
  if (earliest < life.ended) in.refuse(field, "were born before their counter's end");
  if (life.at > life.latest) in.refuse("life", "has a deadline beyond its latest");
  if (latest > kLatestDate) in.refuse("life", "has a time that no counter has");
}

}  // namespace

void check_cells(Reader& in, const char* field, std::span<const Cell> cells, const Life& life) {
  ActorId previous{};
  Wall latest{}, earliest = life.ended;
  for (const Cell& cell : cells) {
    if (cell.actor <= previous) return in.refuse(field, "are not ascending by actor");
    previous = cell.actor;
    latest = std::max(latest, cell.born);
    earliest = std::min(earliest, cell.born);
  }
  check_births(in, field, earliest, latest, life);
}

void read_parts(Reader& in, std::string_view& from, std::size_t count, std::vector<Part>& to) {
  for (to.clear(); to.size() < count && !from.empty();) {
    Part part;
    if (to.size() == kMaxParts || !take_part(from, part))
      return in.refuse("parts", "are no births and bodies, or too many");
    to.push_back(std::move(part));
  }
}

void check_parts(Reader& in, std::span<const Part> parts, const Life& life) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    bytes += parts[i].body.size();
    if (i > 0 && parts[i].born <= parts[i - 1].born)
      return in.refuse("parts", "are not ascending by birth");
  }
  if (bytes > kMaxBodies) in.refuse("parts", "have more bytes than a state may have");
  if (parts.empty()) return check_births(in, "parts", life.ended, {}, life);
  check_births(in, "parts", parts.front().born, parts.back().born, life);
}

void check_counts(Reader& in, ShardIndex count, ShardIndex usable) {
  in.within<ShardIndex>("count", count, 1, kMaxShards);
  in.within<ShardIndex>("usable", usable, 1, count);
}

// Enums on the wire have a value for "not set"; in memory they have none.
Offset<wire::NamespacePolicy> build(Builder& builder, const NamespacePolicy& policy) {
  const flatbuffers::Optional<bool> strict = policy.strict;
  flatbuffers::Optional<wire::Decide> decide;
  if (policy.decide) decide = static_cast<wire::Decide>(*policy.decide);
  flatbuffers::Optional<std::uint8_t> kind;
  if (policy.kind) kind = static_cast<std::uint8_t>(*policy.kind);
  const auto tiers = build_structs<wire::Tier>(builder, policy.tiers, [](const Tier& tier) {
    return wire::Tier(
        static_cast<std::uint64_t>(tier.length.count()),
        static_cast<std::uint64_t>(tier.kept.value_or(std::chrono::seconds(0)).count()));
  });
  return wire::CreateNamespacePolicy(
      builder, static_cast<wire::Ack>(policy.ack.value_or(Ack::by_default)),
      static_cast<wire::ReadLevel>(policy.read.value_or(ReadLevel::by_default)),
      policy.shards.value_or(0), strict,
      static_cast<std::uint64_t>(policy.ttl.value_or(std::chrono::milliseconds(0)).count()), decide,
      tiers, static_cast<std::uint64_t>(policy.late.value_or(std::chrono::milliseconds(0)).count()),
      kind, policy.precision.value_or(0));
}

void read(Reader& in, const wire::NamespacePolicy* from, NamespacePolicy& policy) {
  if (from == nullptr) return;
  const auto ack = in.one_of<Ack>("ack", from->ack());
  if (ack != Ack::by_default) policy.ack = ack;
  const auto level = in.one_of<ReadLevel>("read", from->read());
  if (level != ReadLevel::by_default) policy.read = level;
  const auto shards = in.within<ShardIndex>("shards", from->shards(), 0, kMaxShards);
  if (shards > 0) policy.shards = shards;
  const auto ttl = in.within<std::uint64_t>("ttl_ms", from->ttl_ms(), 0,
                                            static_cast<std::uint64_t>(kMaxTtl.count()));
  if (ttl > 0) policy.ttl = std::chrono::milliseconds(static_cast<std::int64_t>(ttl));
  if (const auto decide = from->decide()) policy.decide = in.one_of<Decide>("decide", *decide);
  if (const auto strict = from->strict()) policy.strict = *strict;
  in.copy("tiers", from->tiers(), policy.tiers, [&in](const wire::Tier* one) {
    constexpr auto kLongest = std::chrono::duration_cast<std::chrono::seconds>(kMaxTtl).count();
    const auto seconds = [&in](const char* field, std::uint64_t value) {
      return std::chrono::seconds(in.within<std::uint64_t>(field, value, 0, kLongest));
    };
    const auto kept = seconds("kept_s", one->kept_s());
    return Tier{seconds("length_s", one->length_s()),
                kept.count() > 0 ? std::optional(kept) : std::nullopt};
  });
  const auto late = in.within<std::uint64_t>("late_ms", from->late_ms(), 0,
                                             static_cast<std::uint64_t>(kMaxTtl.count()));
  if (late > 0) policy.late = std::chrono::milliseconds(static_cast<std::int64_t>(late));
  if (const auto kind = from->kind()) policy.kind = in.kind("kind", *kind);
  if (from->precision() != 0) policy.precision = from->precision();
}

namespace {

using WireFixed = Vector<const wire::FixedKind*>;

Offset<WireFixed> build_fixed(Builder& builder, const std::vector<FixedKind>& fixed) {
  return build_structs<wire::FixedKind>(builder, fixed, [](const FixedKind& one) {
    return wire::FixedKind(one.since.at, raw(one.since.node), static_cast<std::uint8_t>(one.kind),
                           one.precision);
  });
}

void read_fixed(Reader& in, const WireFixed* from, NamespaceDefinition& definition) {
  if (from != nullptr) in.within<std::size_t>("fixed", from->size(), 0, kMostFixed);
  in.copy("fixed", from, definition.fixed, [&in](const wire::FixedKind* one) {
    return FixedKind{
        {one->at(), NodeId{one->node()}}, in.kind("kind", one->kind()), one->precision()};
  });
  if (!in.ok()) return;
  const FixedKind* before = nullptr;
  for (const FixedKind& one : definition.fixed) {
    NamespacePolicy policy{.kind = one.kind};
    if (one.precision != 0) policy.precision = one.precision;
    if (const std::string why = objection_to_kind(policy); !why.empty())
      in.refuse("fixed", "cannot be: " + why);
    if (before != nullptr && one <= *before) in.refuse("fixed", "is not ascending");
    if (one.since > definition.changed) in.refuse("fixed", "is later than the last change");
    before = &one;
  }
}

}  // namespace

Offset<wire::NamespaceDefinition> build(Builder& builder, const NamespaceDefinition& definition) {
  const auto name = build_bytes(builder, definition.name);
  const auto to_wire = [](const Stamp& stamp) { return wire::Stamp(stamp.at, raw(stamp.node)); };
  const auto policy = build(builder, definition.policy);
  const wire::Stamp changed = to_wire(definition.changed), dropped = to_wire(definition.dropped);
  const auto whole_from = builder.CreateVector(definition.whole_from);
  const auto fixed = build_fixed(builder, definition.fixed);
  return wire::CreateNamespaceDefinition(
      builder, name, &changed, policy, &dropped, whole_from, definition.counted_from,
      static_cast<std::uint64_t>(definition.longest_late.count()), fixed);
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
  in.copy("whole_from_ms", from.whole_from_ms(), definition.whole_from);
  definition.counted_from = from.counted_from_ms();
  definition.longest_late = std::chrono::milliseconds(in.within<std::uint64_t>(
      "longest_late_ms", from.longest_late_ms(), 0, static_cast<std::uint64_t>(kMaxTtl.count())));
  if (in.pay("name", name.size())) definition.name = name;
  definition.changed = from_wire("changed", from.changed());
  definition.dropped = from_wire("dropped", from.dropped());
  read(in, from.policy(), definition.policy);
  read_fixed(in, from.fixed(), definition);
  if (!in.ok()) return;  // its numbers may be anything
  if (const std::string why = objection_to_windows(definition.policy); !why.empty())
    in.refuse("policy", "cannot be: " + why);
  if (const std::string why = objection_to_kind(definition.policy); !why.empty())
    in.refuse("policy", "cannot be: " + why);
  if (definition.whole_from.size() > definition.policy.tiers.size())
    in.refuse("whole_from_ms", "is of more tiers than there are");
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
  const auto lives = build_structs<wire::LifeOf>(
      builder, delta.lives_,
      [](const Delta::LifeOf& one) { return wire::LifeOf(build_life(one.life), one.entry); });
  std::vector<wire::Birth> born;
  if (!delta.lives_.empty()) {
    for (std::uint32_t i = 0; i < delta.cells_.size(); ++i) {
      const Wall at = delta.cells_[i].born;
      if (at != Wall{}) born.emplace_back(ms_of(at), i);
    }
  }
  const auto births =
      build_structs<wire::Birth>(builder, born, [](const wire::Birth& one) { return one; });
  const auto parts = build_bytes(builder, delta.parts_);
  return wire::CreateDelta(builder, raw(delta.commit_), actors, keys, entries, sums, cells,
                           versions, lives, births, parts);
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
  if (const auto parts = Reader::view(from.parts()); in.pay("parts", parts.size()))
    delta.parts_ = parts;
  in.copy("lives", from.lives(), delta.lives_, [](const wire::LifeOf* one) {
    return Delta::LifeOf{one->entry(), read_life(one->life())};
  });
}

void StateCodec::copy_births(Reader& in, const wire::Delta& from, Delta& delta) {
  std::vector<std::pair<std::uint32_t, Wall>> births;
  in.copy("births", from.births(), births, [](const wire::Birth* one) {
    return std::pair{one->cell(), wall_of_ms(one->born())};
  });
  for (const auto& [cell, born] : births) {
    if (cell >= delta.cells_.size()) return in.refuse("births", "name a cell that is not there");
    delta.cells_[cell].born = born;
  }
}

// Whether the entries divide the cells exactly, so that a cursor stays within them.
bool StateCodec::check_lengths(Reader& in, const Delta& delta) {
  std::size_t keys = 0, sums = 0, cells = 0;
  std::string_view parts = delta.parts_;
  std::vector<Part> some;
  for (const Delta::Packed& packed : delta.entries_) {
    keys += packed.key_length;
    if (is_sum(packed.shard)) {
      cells += packed.cells;
    } else {
      read_parts(in, parts, packed.cells, some);
      if (some.size() != packed.cells || packed.actor != Delta::kNoSum)
        in.refuse("parts", "are not as many as the entries say");
    }
    if (packed.actor == Delta::kNoSum) continue;
    ++sums;
    if (packed.actor >= delta.actors_.size())
      in.refuse("entries", "name an actor that is not there");
  }
  if (keys != delta.keys_.size()) in.refuse("keys", "are not as long as the entries say");
  if (sums != delta.sums_.size()) in.refuse("sums", "are not as many as the entries say");
  if (cells != delta.cells_.size()) in.refuse("cells", "are not as many as the entries say");
  if (!parts.empty()) in.refuse("parts", "are more than the entries say");
  std::size_t next = 0;
  for (const Delta::LifeOf& one : delta.lives_) {
    if (one.entry < next || one.entry >= delta.entries_.size() || one.life == Life{})
      in.refuse("lives", "are not ascending lives of the entries");
    next = std::size_t{one.entry} + 1;
  }
  return in.ok();
}

void StateCodec::read(Reader& in, const wire::Delta* from, Delta& delta) {
  if (from == nullptr) return;
  copy(in, *from, delta);
  if (!in.ok() || !check_lengths(in, delta)) return;
  copy_births(in, *from, delta);
  delta.for_each([&in](const DeltaEntry& entry) {
    in.name("entries", entry.ref);
    check_counts(in, entry.shard_count, entry.usable_shards);
    const bool sum = is_sum(entry.ref.shard);
    const bool may_end = !sum || !is_window(entry.ref.shard);
    const bool may_spread = sum && !is_window(entry.ref.shard);
    if ((!may_end && entry.life != Life{}) || (!may_spread && entry.shard_count != 1))
      in.refuse("entries", "are windows with an end, or spread over shards");
    sum ? check_cells(in, "cells", entry.cells, entry.life)
        : check_parts(in, entry.parts, entry.life);
  });
}

}  // namespace quipu
