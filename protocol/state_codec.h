// state_codec.h: stored and replicated state as bytes.
//
// Decoding trusts nothing. FlatBuffers' verifier comes first, then a check of every index,
// count and length. Refused input leaves nothing half-decoded.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/namespace.h"
#include "protocol/state.h"

namespace quipu {

// Values at rest: [version 1 | zero 3 | checksum 4 | FlatBuffers table]. The
// checksum covers the key too, so a value under another's key is damage.
[[nodiscard]] std::string encode_shard_state(std::string_view key, const ShardState& state);
[[nodiscard]] Result<ShardState> decode_shard_state(std::string_view key, std::string_view value);

[[nodiscard]] std::string encode_record(std::string_view key, const Record& record);
[[nodiscard]] Result<Record> decode_record(std::string_view key, std::string_view value);

[[nodiscard]] std::string encode_token_record(std::string_view key, const TokenRecord& record);
[[nodiscard]] Result<TokenRecord> decode_token_record(std::string_view key, std::string_view value);

// The partition's own actor.
[[nodiscard]] std::string encode_actor(std::string_view key, ActorId actor);
[[nodiscard]] Result<ActorId> decode_actor(std::string_view key, std::string_view value);

[[nodiscard]] std::string encode_meta(std::string_view key, const Meta& meta);
[[nodiscard]] Result<Meta> decode_meta(std::string_view key, std::string_view value);

// A page of a set of prefixes: kPrefixPage bytes.
inline constexpr std::size_t kPrefixPage = 32;
[[nodiscard]] std::string encode_prefixes(std::string_view key,
                                          const std::vector<std::uint8_t>& page);
[[nodiscard]] Result<std::vector<std::uint8_t>> decode_prefixes(std::string_view key,
                                                                std::string_view value);

[[nodiscard]] std::string encode_namespace(std::string_view key,
                                           const NamespaceDefinition& definition);
[[nodiscard]] Result<NamespaceDefinition> decode_namespace(std::string_view key,
                                                           std::string_view value);

}  // namespace quipu
