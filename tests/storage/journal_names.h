// journal_names.h: a store's records with all shards named.
#pragma once

#include <string>
#include <unordered_map>

#include "protocol/state.h"

namespace quipu::test {

class JournalNames {
 public:
  // For records in order. False if one has an alias that no earlier record gave.
  [[nodiscard]] bool resolve(Record& record) {
    auto alias = record.aliases.begin();
    record.delta.for_each([&](const DeltaEntry& entry) {
      if (alias == record.aliases.end()) return;
      const std::uint32_t given = raw(*alias++);
      if (given != 0)
        names_[given] = {{std::string(entry.ref.key), entry.ref.shard}, entry.cells[0].actor};
    });
    for (const Record::Aliased& one : record.aliased) {
      const auto named = names_.find(raw(one.alias));
      if (named == names_.end()) return false;
      const Cell cell{named->second.actor, record.delta.commit(), one.sum, {}, 0};
      record.delta.push(named->second.shard, {{cell}});
    }
    record.aliases.clear();
    record.aliased.clear();
    return true;
  }

 private:
  struct Named {
    ShardKey shard;
    ActorId actor{};
  };
  std::unordered_map<std::uint32_t, Named> names_;  // by alias; never iterated
};

}  // namespace quipu::test
