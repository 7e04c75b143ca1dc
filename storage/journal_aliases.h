// journal_aliases.h: resolves the aliases in a journal while a start replays it.
//
// Most records of a busy node change one cell of a recently changed shard: this store's own.
// Naming the shard each time would take most of the record, and of what LevelDB then
// compresses, moves and deletes. So the record that names the shard gives it an alias, and
// later records hold the alias and a sum. (Dictionary coding, as in LZ78.)
//
// The writer (Executor::seal) guarantees that
//   1. the record with an alias stays as long as the records that use it: each checkpoint
//      that begins makes the writer give all aliases anew (Checkpoint::alias);
//   2. an alias that is given again means its new shard from then on.
// So it is enough to read the records in order, from the first one left, and to remember for
// each alias the place of its cell in memory.
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
    Entry* entry = nullptr;   // at that time (Entry::current); null: never given
    std::uint32_t actor = 0;  // the cell's actor, by its number in ActorNames
  };

  void give(Alias alias, const Target& target);
  // Forgets the aliases of those entries.
  template <class Gone>
  void forget_if(Gone gone) {
    for (const auto& page : pages_) {
      if (page == nullptr) continue;
      for (Target& target : *page) {
        if (target.entry != nullptr && gone(target.entry)) target = {};
      }
    }
  }
  // Null if it was never given. Does not look at the entry itself.
  [[nodiscard]] const Target* find(Alias alias) const;

 private:
  static constexpr std::size_t kPage = 4096;
  using Page = std::array<Target, kPage>;

  std::vector<std::unique_ptr<Page>> pages_;
};

}  // namespace quipu
