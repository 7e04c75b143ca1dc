#include "tests/simulator/reference.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace quipu::sim::reference {
namespace {

template <class Value>
bool raise(Value& into, const Value& from) {
  if (!(into < from)) return false;
  into = from;
  return true;
}

bool join(Cell& into, const Cell& from) {
  std::pair sum{into.commit, into.sum}, cleared{into.cleared_commit, into.cleared_sum};
  bool changed = raise(sum, {from.commit, from.sum});
  changed |= raise(cleared, {from.cleared_commit, from.cleared_sum});
  std::tie(into.commit, into.sum) = sum;
  std::tie(into.cleared_commit, into.cleared_sum) = cleared;
  return changed;
}

}  // namespace

bool join(ShardState& into, std::span<const Cell> cells, ShardIndex count, ShardIndex usable) {
  bool changed = false;
  for (const Cell& cell : cells) {
    const auto at =
        std::lower_bound(into.cells.begin(), into.cells.end(), cell.actor,
                         [](const Cell& one, ActorId actor) { return one.actor < actor; });
    if (at != into.cells.end() && at->actor == cell.actor) {
      changed |= join(*at, cell);
    } else {
      into.cells.insert(at, cell);
      changed = true;
    }
  }
  changed |= raise(into.shard_count, count);
  changed |= raise(into.usable_shards, usable);
  return changed;
}

Wide total(const ShardState& state) {
  Wide sum = 0;
  for (const Cell& cell : state.cells) sum += Wide{cell.sum} - cell.cleared_sum;
  return sum;
}

std::vector<unsigned> ranks(std::string_view body) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(body.at(i)); };
  const bool dense = (byte(0) & 0x80) != 0;
  std::vector<unsigned> ranks(std::size_t{1} << (byte(0) & 0x7f));
  for (std::size_t i = 0; dense && i < ranks.size(); ++i) {
    const std::size_t bit = 6 * i, at = 1 + bit / 8;
    const unsigned two = byte(at) | (at + 1 < body.size() ? byte(at + 1) << 8 : 0U);
    ranks[i] = two >> bit % 8 & 63;
  }
  for (std::size_t at = 1, i = 0; !dense && at < body.size(); ++i) {
    const unsigned entry = byte(at++);
    std::size_t gap = entry & 31;
    if (gap == 31) {
      const unsigned more = byte(at++);
      gap += more;
      if (more == 255) {
        gap += byte(at) + 256U * byte(at + 1) - 255;
        at += 2;
      } else if (more >= 240) {
        gap += 256U * (more - 240) + byte(at++) + 240 - more;
      }
    }
    i += gap;
    ranks.at(i) = entry >> 5 != 0 ? entry >> 5 : byte(at++);
  }
  return ranks;
}

namespace {

// Half as many registers. The last bit of a register's number becomes the first of those in which
// the rank counts zeros.
std::vector<unsigned> halved(const std::vector<unsigned>& ranks) {
  std::vector<unsigned> coarse(ranks.size() / 2);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] == 0) continue;
    coarse[i / 2] = std::max(coarse[i / 2], i % 2 == 1 ? 1 : ranks[i] + 1);
  }
  return coarse;
}

}  // namespace

bool is_join(const ShardState& both, const ShardState& a, const ShardState& b) {
  return std::ranges::all_of(both.parts, [&](const Part& part) {
    std::vector<unsigned> greater;
    for (const ShardState* const state : {&a, &b}) {
      const auto at = std::ranges::find(state->parts, part.born, &Part::born);
      if (at == state->parts.end()) continue;
      std::vector<unsigned> theirs = ranks(at->body);
      if (greater.empty()) greater.resize(theirs.size());
      while (theirs.size() > greater.size()) theirs = halved(theirs);
      while (greater.size() > theirs.size()) greater = halved(greater);
      for (std::size_t i = 0; i < greater.size(); ++i) greater[i] = std::max(greater[i], theirs[i]);
    }
    return ranks(part.body) == greater;
  });
}

}  // namespace quipu::sim::reference
