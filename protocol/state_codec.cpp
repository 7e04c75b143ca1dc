#include "protocol/state_codec.h"

#include <bit>
#include <cstring>
#include <optional>

#include "protocol/keyed_hash.h"
#include "protocol/state_tables.h"
#include "protocol/varint.h"

namespace quipu {
namespace {

// 2: records may use aliases. 4: … with sums of 32 bits. 8: … and both as varints. 16: counters
// may end, and be of other kinds. Powers of two, so that no single flipped bit turns one into
// another.
constexpr std::uint8_t kValueVersion = 16;

struct ValueHeader {
  std::uint8_t version;
  std::uint8_t zero[3];
  std::uint32_t checksum;
};
static_assert(sizeof(ValueHeader) == 8);

// The key's hash is the payload's seed, so that the checksum covers both.
std::uint32_t checksum(std::string_view key, std::string_view payload) {
  const HashKey of_key{hash64(HashKey{}, key)};
  return static_cast<std::uint32_t>(hash64(of_key, payload));
}

// ---- tables ----

Offset<wire::ShardState> build(Builder& builder, const ShardState& state) {
  const auto cells = build_cells(builder, state.cells);
  std::string bytes;
  for (const Part& part : state.parts) append_part(bytes, part);
  const auto parts = build_bytes(builder, bytes);
  if (state.life == Life{}) {
    return wire::CreateShardState(builder, cells, state.shard_count, state.usable_shards, nullptr,
                                  0, parts);
  }
  const auto births = build_births(builder, state.cells);
  const wire::Life life = build_life(state.life);
  return wire::CreateShardState(builder, cells, state.shard_count, state.usable_shards, &life,
                                births, parts);
}

void read(Reader& in, const wire::ShardState& from, ShardState& state) {
  state.shard_count = from.count();
  state.usable_shards = from.usable();
  read_cells(in, "cells", from.cells(), state.cells);
  if (from.life() != nullptr) state.life = read_life(*from.life());
  read_births(in, from.births(), state.cells);
  check_cells(in, "cells", state.cells, state.life);
  std::string_view parts = Reader::view(from.parts());
  if (in.pay("parts", parts.size())) read_parts(in, parts, kMaxParts + 1, state.parts);
  check_parts(in, state.parts, state.life);
  if (!state.cells.empty() && !state.parts.empty()) in.refuse("parts", "are beside cells");
  check_counts(in, state.shard_count, state.usable_shards);
}

Offset<wire::TokenRecord> build(Builder& builder, const TokenRecord& record) {
  const auto entries =
      build_structs<wire::TokenEntry>(builder, record.entries, [](const TokenEntry& entry) {
        return wire::TokenEntry(entry.number, entry.fingerprint,
                                static_cast<std::uint16_t>(entry.code), entry.lane);
      });
  return wire::CreateTokenRecord(builder, raw(record.serial), record.floor, entries);
}

void read(Reader& in, const wire::TokenRecord& from, TokenRecord& record) {
  record.serial = Serial{from.serial()};
  if (record.serial == Serial{}) in.refuse("serial", "is 0, which is none");
  record.floor = from.floor();
  in.copy("entries", from.entries(), record.entries, [&in](const wire::TokenEntry* entry) {
    const auto lane = in.within<std::uint8_t>("lane", entry->lane(), 0, kLanes - 1);
    return TokenEntry{entry->number(), entry->fingerprint(), Code{entry->code()}, lane};
  });
  for (std::size_t i = 1; i < record.entries.size(); ++i) {
    if (record.entries[i].number <= record.entries[i - 1].number) {
      return in.refuse("entries", "are not ascending by number");
    }
  }
}

Offset<Bytes> build_changes(Builder& builder, const Record& record) {
  if (record.aliased.empty()) return 0;
  std::size_t size = 0;
  for (const auto& [alias, sum] : record.aliased)
    size += varint_size(raw(alias)) + varint_size(zigzag(sum));
  std::uint8_t* to = nullptr;
  const auto offset = builder.CreateUninitializedVector<std::uint8_t>(size, &to);
  for (const auto& [alias, sum] : record.aliased) {
    to = write_varint(to, raw(alias));
    to = write_varint(to, zigzag(sum));
  }
  return offset;
}

void read_changes(Reader& in, std::string_view changes, Record& record) {
  while (!changes.empty()) {
    const std::optional<std::uint64_t> alias = take_varint(changes);
    const std::optional<std::uint64_t> sum = take_varint(changes);
    if (!alias || *alias > UINT32_MAX || !sum)
      return in.refuse("changes", "are no aliases and sums");
    record.aliased.push_back({Alias{static_cast<std::uint32_t>(*alias)}, unzigzag(*sum)});
  }
}

// In versions 2 and 4 only.
void read_older_changes(Reader& in, const wire::Record& from, Record& record) {
  std::vector<Alias> aliased;
  std::vector<std::int64_t> sums;
  in.copy("aliased", from.aliased(), aliased);
  in.copy("aliased_sums", from.aliased_sums(), sums);
  in.copy("aliased_sums_32", from.aliased_sums_32(), sums);
  const bool both = from.aliased_sums() != nullptr && from.aliased_sums_32() != nullptr;
  if (both || aliased.size() != sums.size())
    return in.refuse("aliased_sums", "are not as many as the aliases");
  for (std::size_t i = 0; i < sums.size(); ++i) record.aliased.push_back({aliased[i], sums[i]});
}

Offset<wire::Record> build(Builder& builder, const Record& record) {
  const auto delta = StateCodec::build(builder, record.delta);
  const auto tokens = build_tables<wire::TokenRecord>(
      builder, record.tokens, [&builder](const TokenRecord& one) { return build(builder, one); });
  const auto aliases = build_scalars<std::uint32_t>(builder, record.aliases);
  const auto changes = build_changes(builder, record);
  const auto dropped = build_scalars<std::uint16_t>(builder, record.dropped);
  return wire::CreateRecord(builder, delta, tokens, aliases, 0, 0, 0, changes, dropped);
}

void read(Reader& in, const wire::Record& from, Record& record) {
  StateCodec::read(in, from.delta(), record.delta);
  in.copy("tokens", from.tokens(), record.tokens, [&in](const wire::TokenRecord* tokens) {
    TokenRecord one;
    read(in, *tokens, one);
    return one;
  });
  in.copy("aliases", from.aliases(), record.aliases);
  if (record.aliases.size() > record.delta.size())
    in.refuse("aliases", "are more than the delta has shards");
  read_older_changes(in, from, record);
  const std::string_view changes = Reader::view(from.changes());
  if (in.pay("changes", changes.size())) read_changes(in, changes, record);
  in.copy("dropped", from.dropped(), record.dropped,
          [&in](std::uint16_t partition) { return in.partition("dropped", partition); });
}

Offset<wire::OwnActor> build(Builder& builder, ActorId actor) {
  return wire::CreateOwnActor(builder, raw(actor));
}

void read(Reader& in, const wire::OwnActor& from, ActorId& actor) {
  actor = ActorId{from.actor()};
  if (actor == ActorId{}) in.refuse("actor", "is 0, which is none");
}

Offset<wire::Meta> build(Builder& builder, const Meta& meta) {
  const auto lineage =
      build_structs<wire::LineageStart>(builder, meta.lineage, [](const LineageStart& start) {
        return wire::LineageStart(raw(start.boot), raw(start.first));
      });
  const auto pins = build(builder, meta.pins);
  const auto filled_from = build_scalars<std::uint64_t>(builder, meta.filled_from);
  const auto versions = build_versions(builder, meta.versions);
  return wire::CreateMeta(builder, raw(meta.cluster), raw(meta.node), raw(meta.store), meta.marked,
                          lineage, pins, filled_from, raw(meta.journal_first), versions);
}

void read(Reader& in, const wire::Meta& from, Meta& meta) {
  meta.cluster = ClusterId{from.cluster()};
  meta.node = NodeId{from.node()};
  meta.store = StoreId{from.store()};
  meta.marked = from.marked();
  in.copy("lineage", from.lineage(), meta.lineage, [](const wire::LineageStart* start) {
    return LineageStart{BootId{start->boot()}, Commit{start->first()}};
  });
  read(in, from.pins(), meta.pins);
  in.copy("filled_from", from.filled_from(), meta.filled_from);
  meta.journal_first = Commit{from.journal_first()};
  read_versions(in, from.versions(), meta.versions);
}

Offset<wire::PrefixPage> build(Builder& builder, const std::vector<std::uint8_t>& page) {
  return wire::CreatePrefixPage(builder, build_scalars<std::uint8_t>(builder, page));
}

void read(Reader& in, const wire::PrefixPage& from, std::vector<std::uint8_t>& page) {
  in.copy("bits", from.bits(), page);
  in.within<std::size_t>("bits", page.size(), kPrefixPage, kPrefixPage);
}

// ---- values ----

template <class Message>
std::string encode(std::string_view key, const Message& message) {
  Builder& builder = fresh_builder();
  const auto table = finish(builder, build(builder, message));
  const std::string_view payload(reinterpret_cast<const char*>(table.data()), table.size());
  const ValueHeader header{kValueVersion, {}, checksum(key, payload)};
  std::string value;
  value.reserve(sizeof header + payload.size());
  value.append(reinterpret_cast<const char*>(&header), sizeof header);
  return value.append(payload);
}

// What is wrong with a value, without a look at its table. Empty: nothing.
std::string damage(std::string_view key, std::string_view value) {
  ValueHeader header;
  if (value.size() < sizeof header) return "cut off";
  std::memcpy(&header, value.data(), sizeof header);
  if (!std::has_single_bit(header.version) || header.version > kValueVersion) {
    return "version " + std::to_string(header.version) + ": this build reads up to " +
           std::to_string(kValueVersion);
  }
  const bool zero = header.zero[0] == 0 && header.zero[1] == 0 && header.zero[2] == 0;
  if (!zero || header.checksum != checksum(key, value.substr(sizeof header))) {
    return "wrong checksum";
  }
  return {};
}

template <class Table, class Message>
Result<Message> decode(std::string_view key, std::string_view value, const char* name) {
  if (const std::string problem = damage(key, value); !problem.empty()) {
    return {Code::corrupt, std::string(name) + ": " + problem};
  }
  value.remove_prefix(sizeof(ValueHeader));
  // A store returns bytes at any address. FlatBuffers needs an aligned one.
  std::vector<std::uint64_t> words(value.size() / 8 + 1);
  std::memcpy(words.data(), value.data(), value.size());
  const auto bytes = std::as_bytes(std::span(words)).first(value.size());
  return read_message<Table, Message>(
      bytes, Code::corrupt, name,
      [](Reader& in, const Table& from, Message& message) { read(in, from, message); });
}

}  // namespace

std::string encode_shard_state(std::string_view key, const ShardState& state) {
  return encode(key, state);
}

Result<ShardState> decode_shard_state(std::string_view key, std::string_view value) {
  return decode<wire::ShardState, ShardState>(key, value, "shard state");
}

std::string encode_record(std::string_view key, const Record& record) {
  return encode(key, record);
}

Result<Record> decode_record(std::string_view key, std::string_view value) {
  return decode<wire::Record, Record>(key, value, "record");
}

std::string encode_token_record(std::string_view key, const TokenRecord& record) {
  return encode(key, record);
}

Result<TokenRecord> decode_token_record(std::string_view key, std::string_view value) {
  return decode<wire::TokenRecord, TokenRecord>(key, value, "token record");
}

std::string encode_actor(std::string_view key, ActorId actor) { return encode(key, actor); }

Result<ActorId> decode_actor(std::string_view key, std::string_view value) {
  return decode<wire::OwnActor, ActorId>(key, value, "actor");
}

std::string encode_meta(std::string_view key, const Meta& meta) { return encode(key, meta); }

Result<Meta> decode_meta(std::string_view key, std::string_view value) {
  return decode<wire::Meta, Meta>(key, value, "meta");
}

std::string encode_prefixes(std::string_view key, const std::vector<std::uint8_t>& page) {
  return encode(key, page);
}

Result<std::vector<std::uint8_t>> decode_prefixes(std::string_view key, std::string_view value) {
  return decode<wire::PrefixPage, std::vector<std::uint8_t>>(key, value, "page of prefixes");
}

std::string encode_namespace(std::string_view key, const NamespaceDefinition& definition) {
  return encode(key, definition);
}

Result<NamespaceDefinition> decode_namespace(std::string_view key, std::string_view value) {
  return decode<wire::NamespaceDefinition, NamespaceDefinition>(key, value, "namespace");
}

}  // namespace quipu
