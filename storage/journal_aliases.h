// journal_aliases.h: what the aliases in a journal stand for, while a start replays it.
//
// Most records of a busy node change what a recent one changed, in one cell: the own
// one of this store. To name the shard each time would take most of a record, and of
// what LevelDB then compresses, moves and forgets. So the record that names it gives it
// an alias, and those behind it a sum for that. (Dictionary coding, as in LZ78.)
//
// Who writes (Executor::seal) sees to it that
//   1. an alias is given in a record that stays as long as those that use it: with each
//      checkpoint that begins, all are given anew (Checkpoint::alias);
//   2. one that is given again, to whichever shard, means that one from then on.
// So it is enough to read records in their order, from the first that there is, and to
// know of each alias where in memory its cell is.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "protocol/state.h"
#include "storage/entry.h"

namespace quipu {

class JournalAliases {
 public:
  struct Target {
    Entry* entry = nullptr;   // as it was then (Entry::current); null: it was never given
    std::uint32_t actor = 0;  // whose cell, by its number in ActorNames
  };

  void give(Alias alias, const Target& target);
  // Null, too: it was never given. Does not look at what it leads to.
  [[nodiscard]] const Target* find(Alias alias) const;

 private:
  static constexpr std::size_t kPage = 4096;
  using Page = std::array<Target, kPage>;

  std::vector<std::unique_ptr<Page>> pages_;
};

}  // namespace quipu
