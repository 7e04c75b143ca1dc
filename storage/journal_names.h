// journal_names.h: gives the shards in a journal their names back.
//
// Most records of a busy node change what a recent one changed, in one cell: the own
// one of this store. To name the shard each time would take most of a record, and of
// what LevelDB then compresses, moves and forgets. So the record that names it gives it
// an alias, and those behind it a sum for that. (Dictionary coding, as in LZ78.)
//
// Who writes (Executor) sees to it that
//   1. an alias is given in a record that stays as long as those that use it: with each
//      checkpoint that begins, all are given anew (Checkpoint::alias);
//   2. one that is given again, to whichever shard, means that one from then on.
// So it is enough to read records in their order, from the first that there is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "protocol/state.h"

namespace quipu {

// What a record counts for in a journal that is to be no longer than so many bytes: a
// start takes as long for what it has by alias as for the same by name.
[[nodiscard]] std::size_t journaled_bytes(const Record& record, std::size_t encoded);

class JournalNames {
 public:
  // Takes the record's aliases to know, and puts what it has by alias into its delta.
  // False, if one was never given: the record cannot be what an executor wrote.
  [[nodiscard]] bool resolve(Record& record);

 private:
  struct Name {
    std::size_t key = 0;  // where in keys_
    std::uint16_t key_size = 0;
    ShardIndex shard = 0;
    ActorId actor{};  // whose cell
  };
  using Page = std::vector<std::uint32_t>;  // of names_, from 1; 0: none

  void give(Alias alias, const DeltaEntry& entry);
  [[nodiscard]] const Name* find(Alias alias) const;

  std::string keys_;
  std::vector<Name> names_;
  std::vector<Page> pages_;  // by alias
};

}  // namespace quipu
