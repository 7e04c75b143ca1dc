// What holds for executors whatever is done to them, in whatever order.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "tests/storage/executors.h"
#include "tests/storage/samples.h"

namespace quipu::test {
namespace {

// ---- three executors ----

using Numbers = std::array<std::uint8_t, 4>;

// What each executor should know: which adds it has seen, and which of them it
// knows to be cleared. An add is named by its place in `amounts`.
struct Knowledge {
  std::set<std::size_t> seen;
  std::set<std::size_t> cleared;

  void merge(const Knowledge& other) {
    seen.insert(other.seen.begin(), other.seen.end());
    cleared.insert(other.cleared.begin(), other.cleared.end());
  }
};

class Trio {
 public:
  void step(const Numbers& drawn) {
    const std::size_t who = drawn[1] % 3u;
    const ShardKey& name = names_[drawn[2] % names_.size()];
    switch (drawn[0] % 10) {
      case 0:
      case 1:
      case 2:
      case 3:
        return add_some(who, name, drawn[3]);
      case 4:
        return clear(who, name);
      case 5:
      case 6:
        return send(who, name);
      case 7:
      case 8:
        return deliver(who, drawn[2] * 256u + drawn[3]);
      case 9:
        return forget_or_seal(who, name, drawn[3]);
    }
  }

  // Everybody hears the last word of everybody.
  void heal() {
    for (int round = 0; round < 2; ++round) {
      for (std::size_t who = 0; who < 3; ++who) {
        for (const ShardKey& name : names_) send(who, name);
      }
      const std::size_t recent = 3 * names_.size();
      for (std::size_t i = messages_.size() - recent; i < messages_.size(); ++i) {
        for (std::size_t who = 0; who < 3; ++who) deliver(who, i);
      }
    }
  }

  void check() const {
    for (std::size_t who = 0; who < 3; ++who) {
      for (const ShardKey& name : names_) {
        const auto at = known_[who].find(name);
        const Knowledge known = at == known_[who].end() ? Knowledge{} : at->second;
        Wide expected = 0;
        bool expected_exists = false;
        for (const std::size_t i : known.seen) {
          if (known.cleared.contains(i)) continue;
          expected += amounts_[i];
          expected_exists = true;
        }
        const Total total = executors_[who].map().total(name);
        RC_ASSERT((total.sum == expected));
        RC_ASSERT(total.exists == expected_exists);
        const ShardMap& map = executors_[who].map();
        const Partition partition = map.place(name).partition();
        RC_ASSERT(map.ledger().counters(partition) == counters_walked(map, partition));
      }
    }
  }

  void check_converged() const {
    for (const ShardKey& name : names_) {
      RC_ASSERT(state(executors_[0], name) == state(executors_[1], name));
      RC_ASSERT(state(executors_[0], name) == state(executors_[2], name));
      const Partition partition = partition_of(executors_[0], name);
      RC_ASSERT(executors_[0].map().ledger().digest(partition) ==
                executors_[1].map().ledger().digest(partition));
      RC_ASSERT(executors_[0].map().ledger().digest(partition) ==
                executors_[2].map().ledger().digest(partition));
    }
  }

 private:
  void add_some(std::size_t who, const ShardKey& name, std::uint8_t drawn) {
    constexpr std::array<std::int64_t, 8> kEdges{kMax, kMin, kMax / 2, kMin / 2,
                                                 1,    -1,   0,        kMax - 1};
    const std::int64_t amount = drawn < 64 ? kEdges[drawn % 8u] : drawn - 160;
    const ShardState before = state(executors_[who], name);
    if (add(executors_[who], name, amount).code == Code::ok) {
      known_[who][name].seen.insert(amounts_.size());
      amounts_.push_back(amount);
    } else {
      RC_ASSERT(state(executors_[who], name) == before);
    }
    note_sealed(who);
  }

  void clear(std::size_t who, const ShardKey& name) {
    reset(executors_[who], name);
    Knowledge& known = known_[who][name];
    known.cleared.insert(known.seen.begin(), known.seen.end());
    note_sealed(who);
  }

  void send(std::size_t who, const ShardKey& name) {
    executors_[who].seal();
    note_sealed(who);
    if (executors_[who].map().find(executors_[who].map().place(name), name) == nullptr) {
      messages_.emplace_back(name, Delta(), Knowledge{});
      return;
    }
    messages_.emplace_back(name, tell(executors_[who], {name}), known_[who][name]);
    note(name, state(executors_[who], name).cells);
  }

  // Any message ever sent: late, twice, out of order, or back to who sent it.
  void deliver(std::size_t who, std::size_t drawn) {
    if (messages_.empty()) return;
    const auto& [name, delta, known] = messages_[drawn % messages_.size()];
    RC_ASSERT(conflicts(executors_[who], delta) == 0u);
    known_[who][name].merge(known);
  }

  void forget_or_seal(std::size_t who, const ShardKey& name, std::uint8_t drawn) {
    if (drawn % 4 == 0) executors_[who].forget_actor(partition_of(executors_[who], name));
    executors_[who].seal();
    note_sealed(who);
  }

  void note_sealed(std::size_t who) {
    for (const Sealed& sealed : executors_[who].take_sealed()) {
      record_of(sealed, journal_names_[who]).delta.for_each([&](const DeltaEntry& entry) {
        note({std::string(entry.ref.key), entry.ref.shard}, entry.cells);
      });
    }
  }

  // Equal number, equal sum: for ever, and for what a reset names too.
  void note(const ShardKey& name, std::span<const Cell> cells) {
    const auto once = [&](ActorId actor, Commit commit, std::int64_t sum) {
      if (commit == Commit{}) return;
      RC_ASSERT(ledger_.try_emplace({name, actor, commit}, sum).first->second == sum);
    };
    for (const Cell& cell : cells) {
      once(cell.actor, cell.commit, cell.sum);
      once(cell.actor, cell.cleared_commit, cell.cleared_sum);
    }
  }

  std::vector<ShardKey> names_{{"a", 0}, {"b", 0}};
  std::array<Executor, 3> executors_{fresh_executor(1), fresh_executor(2), fresh_executor(3)};
  std::array<JournalNames, 3> journal_names_;
  std::array<std::map<ShardKey, Knowledge>, 3> known_;
  std::vector<std::int64_t> amounts_;
  std::vector<std::tuple<ShardKey, Delta, Knowledge>> messages_;
  std::map<std::tuple<ShardKey, ActorId, Commit>, std::int64_t> ledger_;
};

RC_GTEST_PROP(ExecutorLaw,
              three_that_exchange_deltas_count_every_add_once_and_no_number_has_two_sums, ()) {
  const auto steps = *rc::gen::resize(300, rc::gen::arbitrary<std::vector<Numbers>>());
  Trio trio;
  for (const Numbers& drawn : steps) {
    trio.step(drawn);
    trio.check();
  }
  trio.heal();
  trio.check();
  trio.check_converged();
}

}  // namespace
}  // namespace quipu::test
