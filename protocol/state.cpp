#include "protocol/state.h"

#include <algorithm>
#include <array>
#include <bit>

#include "protocol/check.h"
#include "protocol/varint.h"
#include "protocol/window.h"

namespace quipu {
namespace {

// The most that the encoded form takes besides its elements: table, vector lengths and
// alignment.
constexpr std::size_t kDeltaFixed = 176;

bool by_actor(const Cell& a, const Cell& b) { return a.actor < b.actor; }

}  // namespace

void append_part(std::string& to, const Part& part) {
  std::array<std::uint8_t, 20> head;
  std::uint8_t* end = write_varint(head.data(), ms_of(part.born));
  end = write_varint(end, part.body.size());
  to.append(head.begin(), head.begin() + (end - head.data()));
  to.append(part.body);
}

bool take_part(std::string_view& from, Part& part) {
  const auto born = take_varint(from), length = take_varint(from);
  if (!born || !length || *length == 0 || *length > from.size()) return false;
  part.born = wall_of_ms(*born);
  part.body.assign(from.substr(0, *length));
  from.remove_prefix(*length);
  return true;
}

// Actors are random, so their low bits are a hash. A record may name thousands,
// one per partition, in no order.
std::uint16_t Delta::index_of(ActorId actor) {
  if (slots_.size() < 2 * (actors_.size() + 1)) {
    slots_.assign(std::max<std::size_t>(16, std::bit_ceil(4 * actors_.size())), kNoSum);
    for (std::size_t i = 0; i < actors_.size(); ++i) {
      std::size_t at = raw(actors_[i]) & (slots_.size() - 1);
      while (slots_[at] != kNoSum) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = static_cast<std::uint16_t>(i);
    }
  }
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = raw(actor) & mask;
  while (slots_[at] != kNoSum && actors_[slots_[at]] != actor) at = (at + 1) & mask;
  if (slots_[at] == kNoSum && actors_.size() < kNoSum) {
    slots_[at] = static_cast<std::uint16_t>(actors_.size());
    actors_.push_back(actor);
  }
  return slots_[at];
}

void Delta::push(const DeltaEntry& entry) {
  // A decoder would refuse it, and a refused record is lost.
  QUIPU_CHECK(is_name(entry.ref), "a name out of bounds was refused earlier", entry.ref.key.size(),
              entry.ref.shard);
  QUIPU_CHECK(entry.shard_count <= kMaxShards, "shards beyond the limit were refused earlier",
              entry.shard_count);
  QUIPU_CHECK(entry.usable_shards >= 1 && entry.usable_shards <= entry.shard_count,
              "adds may use shards that exist", entry.usable_shards, entry.shard_count);
  QUIPU_CHECK(entry.cells.size() < kNoSum, "a state beyond the limit was refused earlier",
              entry.cells.size());
  QUIPU_CHECK(entry.parts.empty() || (!is_sum(entry.ref.shard) && entry.cells.empty()),
              "a sum has cells, and each other kind has parts", entry.ref.key, entry.ref.shard);
  std::uint16_t actor = kNoSum;  // of the cell that changed under this number
  for (const Cell& cell : entry.cells) {
    const bool own = actor == kNoSum && cell == Cell{cell.actor, commit_, cell.sum};
    if (own) actor = index_of(cell.actor);
    if (own && actor != kNoSum) {
      sums_.push_back(cell.sum);
    } else {
      QUIPU_CHECK(cell.born == Wall{} || entry.life != Life{},
                  "a counter whose cells have births has a life when it is shown", entry.ref.key);
      births_ += cell.born != Wall{} ? 1 : 0;
      cells_.push_back(cell);
    }
  }
  for (const Part& part : entry.parts) {
    QUIPU_CHECK(part.born == Wall{} || entry.life != Life{},
                "a counter whose parts have births has a life when it is shown", entry.ref.key);
    append_part(parts_, part);
  }
  if (entry.life != Life{})
    lives_.push_back({static_cast<std::uint32_t>(entries_.size()), entry.life});
  keys_.append(entry.ref.key);
  const std::size_t full = entry.cells.size() - (actor == kNoSum ? 0 : 1) + entry.parts.size();
  entries_.push_back({static_cast<std::uint16_t>(entry.ref.key.size()), entry.ref.shard,
                      entry.shard_count, entry.usable_shards, actor,
                      static_cast<std::uint16_t>(full)});
}

ShardRef Delta::Cursor::next_ref() {
  QUIPU_CHECK(entry_ < delta_.size(), "a cursor stops behind the last shard", entry_);
  const Packed& packed = delta_.entries_[entry_++];
  const ShardRef ref(std::string_view(delta_.keys_).substr(key_, packed.key_length), packed.shard);
  key_ += packed.key_length;
  return ref;
}

DeltaEntry Delta::Cursor::next() {
  const ShardRef ref = next_ref();
  const Packed& packed = delta_.entries_[entry_ - 1];
  DeltaEntry entry{ref, packed.count, packed.usable};
  if (life_ < delta_.lives_.size() && delta_.lives_[life_].entry == entry_ - 1)
    entry.life = delta_.lives_[life_++].life;
  if (!is_sum(ref.shard)) {
    entry.parts = next_parts(packed.cells);
    return entry;
  }
  std::span<const Cell> cells = std::span(delta_.cells_).subspan(cell_, packed.cells);
  cell_ += packed.cells;
  if (packed.actor != kNoSum) {
    const Cell own{delta_.actors_[packed.actor], delta_.commit_, delta_.sums_[sum_++]};
    const auto behind = std::upper_bound(cells.begin(), cells.end(), own, by_actor);
    scratch_.assign(cells.begin(), behind);
    scratch_.push_back(own);
    scratch_.insert(scratch_.end(), behind, cells.end());
    cells = scratch_;
  }
  entry.cells = cells;
  return entry;
}

std::span<const Part> Delta::Cursor::next_parts(std::size_t count) {
  std::string_view rest = std::string_view(delta_.parts_).substr(part_);
  parts_.resize(count);
  for (Part& part : parts_) {
    const bool taken = take_part(rest, part);
    QUIPU_CHECK(taken, "the parts of a delta were checked when it was read", part_);
  }
  part_ = delta_.parts_.size() - rest.size();
  return parts_;
}

std::size_t Delta::bytes() const {
  return kDeltaFixed + actors_.size() * sizeof(ActorId) + keys_.size() +
         entries_.size() * sizeof(Packed) + sums_.size() * sizeof(std::int64_t) + parts_.size() +
         cells_.size() * kCellBytes + births_ * kBirthBytes + lives_.size() * sizeof(LifeOf) +
         versions.size() * sizeof(VersionEntry);
}

}  // namespace quipu
