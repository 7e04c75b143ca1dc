// state_tables.h: the tables of state.fbs that stored values and messages share.
// Private to protocol/*.cpp.
#pragma once

#include <vector>

#include "protocol/namespace.h"
#include "protocol/state.h"
#include "protocol/wire.h"

namespace quipu {

// More would be far beyond the store's own bound (storage/lineage.h).
inline constexpr std::size_t kMaxWireVersions = 4096;

using Cells = Vector<const wire::Cell*>;
[[nodiscard]] Offset<Cells> build_cells(Builder& builder, const std::vector<Cell>& cells);
void read_cells(Reader& in, const char* field, const Cells* from, std::vector<Cell>& to);
// The births of these cells, in order; nothing if all are zero.
[[nodiscard]] Offset<Vector<std::uint64_t>> build_births(Builder& builder,
                                                         const std::vector<Cell>& cells);
void read_births(Reader& in, const Vector<std::uint64_t>* from, std::vector<Cell>& to);
[[nodiscard]] wire::Life build_life(const Life& life);
[[nodiscard]] Life read_life(const wire::Life& life);
// Refuses cells that are not strictly ascending or have no actor, and times that no sound node
// says.
void check_cells(Reader& in, const char* field, std::span<const Cell> cells, const Life& life);

// As many parts as these bytes hold, at most `count`; and a refusal of parts that are not strictly
// ascending by birth, or too many, or have births that no sound node says. Whether the bodies are
// sound is for storage/kinds/ to say.
void read_parts(Reader& in, std::string_view& from, std::size_t count, std::vector<Part>& to);
void check_parts(Reader& in, std::span<const Part> parts, const Life& life);

// How many shards a counter has. Refuses numbers that no sound node sends.
void check_counts(Reader& in, ShardIndex count, ShardIndex usable);

using VersionVector = Vector<const wire::VersionEntry*>;
[[nodiscard]] Offset<VersionVector> build_versions(Builder& builder,
                                                   const std::vector<VersionEntry>& versions);
void read_versions(Reader& in, const VersionVector* from, std::vector<VersionEntry>& to);

[[nodiscard]] Offset<wire::Pins> build(Builder& builder, const Pins& pins);
void read(Reader& in, const wire::Pins* from, Pins& pins);  // absent: none

[[nodiscard]] Offset<wire::NamespacePolicy> build(Builder& builder, const NamespacePolicy& policy);
void read(Reader& in, const wire::NamespacePolicy* from, NamespacePolicy& policy);  // absent: none

[[nodiscard]] Offset<wire::NamespaceDefinition> build(Builder& builder,
                                                      const NamespaceDefinition& definition);
// Refuses names that no namespace has, and stamps behind kLatestStamp.
void read(Reader& in, const wire::NamespaceDefinition& from, NamespaceDefinition& definition);

// A friend of Delta: it knows how a Delta is packed.
struct StateCodec {
  [[nodiscard]] static Offset<wire::Delta> build(Builder& builder, const Delta& delta);
  static void read(Reader& in, const wire::Delta* from, Delta& delta);  // absent: empty

 private:
  static void copy(Reader& in, const wire::Delta& from, Delta& delta);
  static void copy_births(Reader& in, const wire::Delta& from, Delta& delta);
  static bool check_lengths(Reader& in, const Delta& delta);
};

}  // namespace quipu
