// Random histories of one node's store, with power failing at every point of them.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/storage/executors.h"
#include "tests/storage/lives.h"
#include "tests/storage/samples.h"

namespace quipu::test {
namespace {

using Numbers = std::array<std::uint8_t, 4>;
using States = std::map<ShardKey, ShardState>;

bool at_most(const ShardState& a, const ShardState& b) {
  ShardState joined = b;
  return !merge(joined, as_entry(kLikes, a)).changed;
}

// A change under a token, and what came of it.
struct Noted {
  OpKind kind;
  ShardKey name;
  std::int64_t amount;
  Token token;
  Code code;
  Commit commit;
};

// What one batch must have made durable.
struct Point {
  Sealed sealed;
  States least;  // what is held; a dropped partition may come back from the journal, as
  States most;   // … all that was ever sealed
  Commit sighted{};
};

// One node's store over many lives.
class Node {
 public:
  explicit Node(ExecutorOptions options) : options_(options), disk_(new_disk()) { live(); }

  void step(const Numbers& drawn) {
    const ShardKey& name = names_[drawn[1] % names_.size()];
    switch (drawn[0] % 16) {
      case 0:
      case 1:
      case 2:
        return (void)add(*executor_, name, drawn[2]), note_sealed();
      case 3:
      case 4:
      case 5:
      case 6:
        return change_with_token(name, drawn);
      case 7:
        return retry(drawn[2] * 256u + drawn[3]);
      case 8:
        return (void)reset(*executor_, name), note_sealed();
      case 9:
        return merge_from_peer(name, drawn[2], drawn[3]);
      case 10:
        return issue();
      case 11:
        return forget_or_drop(name, drawn[2]);
      case 12:
        return confirm(*executor_);
      case 13:
      case 14:
        return executor_->seal(), note_sealed();
      case 15:
        return drawn[2] % 4 == 0 ? crash(drawn[3] % 3u) : (executor_->seal(), note_sealed());
    }
  }

  // Power fails after each of this life's batches in turn; then, for good, when
  // all but the last `lost` were durable.
  void crash(std::size_t lost) {
    MemoryDisk disk = disk_;
    check_recovers_to(disk, at_start_);
    for (const Point& point : history_) {
      write(disk, {point.sealed});
      check_recovers_to(disk, point);
    }
    history_.resize(history_.size() - std::min(lost, history_.size()));
    for (const Point& point : history_) write(disk_, {point.sealed});
    const Point last = history_.empty() ? at_start_ : history_.back();
    std::erase_if(noted_, [&](const Noted& noted) { return noted.commit > last.sealed.commit; });
    std::erase_if(forgotten_, [&](const auto& row) { return row.second > last.sealed.commit; });
    std::erase_if(serials_, [&](const auto& row) { return row.second > last.sealed.commit; });
    live();
  }

 private:
  void live() {
    const Point before = history_.empty() ? at_start_ : history_.back();
    executor_ = std::move(*start(disk_, options_, ++seed_));
    history_.clear();
    at_start_ = before;
    at_start_.sealed = {executor_->sealed(), {}, {}};
    at_start_.least.clear();  // recovery may have brought more back
    for (const ShardKey& name : names_) {
      ShardState held;
      if (executor_->map().read(name, held)) at_start_.least[name] = held;
    }
  }

  // Four in one partition, more than a slice takes, and two elsewhere.
  static const std::vector<ShardKey>& names() {
    static const std::vector<ShardKey> found = [] {
      const HashKey key = placement_key({});
      const auto partition = [&](const ShardKey& name) { return Placement(key, name).partition(); };
      std::vector<ShardKey> names{{"a", 0}, {"a", 1}, {"b", 0}};
      for (int i = 0; names.size() < 6; ++i) {
        const ShardKey name{"k" + std::to_string(i), 0};
        if (partition(name) == partition(names[0])) names.push_back(name);
      }
      return names;
    }();
    return found;
  }

  const Point& newest() const { return history_.empty() ? at_start_ : history_.back(); }

  void note_sealed() {
    for (Sealed& sealed : executor_->take_sealed()) {
      Point point{std::move(sealed), newest().least, newest().most, newest().sighted};
      const Record record = record_of(point.sealed, journal_names_);
      record.delta.for_each([&](const DeltaEntry& entry) {
        const ShardKey name{std::string(entry.ref.key), entry.ref.shard};
        merge(point.least[name], entry);
        merge(point.most[name], entry);
      });
      for (const VersionEntry& seen : record.delta.versions)
        point.sighted = std::max(point.sighted, seen.commit);
      for (const std::string& key : point.sealed.batch.deletes) {
        if (const auto name = stored::parse_shard(key)) {
          point.least.erase({std::string(name->ref.key), name->ref.shard});
        }
      }
      history_.push_back(std::move(point));
    }
    if (executor_->has_open()) return;
    for (const ShardKey& name : names_) {
      const auto held = newest().least.find(name);
      RC_ASSERT(state(*executor_, name) ==
                (held == newest().least.end() ? ShardState{} : held->second));
    }
    check_sums(*executor_);
  }

  void check_recovers_to(MemoryDisk disk, const Point& point) {
    const auto executor = std::move(*start(disk, options_, 99));
    for (const auto& [name, least] : point.least) RC_ASSERT(at_most(least, state(*executor, name)));
    for (const ShardKey& name : names_) {
      ShardState held;
      if (!executor->map().read(name, held)) continue;
      RC_ASSERT(point.most.contains(name));
      RC_ASSERT(at_most(held, point.most.at(name)));
    }
    check_sums(*executor);
    if (point.sighted != Commit{}) {
      RC_ASSERT(executor->meta().versions ==
                (std::vector<VersionEntry>{{kPeer, kBoot, point.sighted}}));
    }
    check_tokens(*executor, point.sealed.commit);
    RC_ASSERT(raw(executor->sealed()) - raw(executor->meta().journal_first) < 200u);
  }

  // What is kept up with each change is what all that is held adds up to.
  void check_sums(const Executor& executor) {
    for (const ShardKey& name : names_) {
      const Partition partition = executor.map().place(name).partition();
      Hash128 expected;
      executor.map().index().for_each(
          partition, [&](const Entry& entry) { expected += executor.map().ledger().hash(entry); });
      RC_ASSERT(executor.map().ledger().digest(partition) == expected);
      RC_ASSERT(executor.map().ledger().counters(partition) ==
                counters_walked(executor.map(), partition));
    }
  }

  // Whatever was sealed is known, before and after the store is confirmed; what
  // was not is not.
  void check_tokens(Executor& executor, Commit durable) {
    for (const bool confirmed : {false, true}) {
      if (confirmed) confirm(executor);
      for (const Noted& noted : noted_) {
        if (noted.commit > durable) continue;
        const ShardState before = state(executor, noted.name);
        const Applied again = apply(executor, change(noted));
        RC_ASSERT(state(executor, noted.name) == before);
        const bool floor_passed = noted.token.number < floors_[noted.token.serial];
        const bool may_be_dropped = options_.tokens.sessions < 50;
        if (again.code == noted.code) continue;
        RC_ASSERT(floor_passed || may_be_dropped);
        RC_ASSERT(again.code == Code::token_expired ||
                  (!confirmed && again.code == Code::in_doubt));
      }
    }
  }

  static Change change(const Noted& noted) {
    return {.kind = noted.kind, .ref = noted.name, .amount = noted.amount, .token = noted.token};
  }

  void change_with_token(const ShardKey& name, const Numbers& drawn) {
    if (serials_.empty()) return issue();
    const Serial serial = serials_[drawn[2] % serials_.size()].first;
    const std::uint64_t number = 1 + drawn[3] % 24u;
    const bool edge = drawn[2] % 8 == 0;
    Noted noted{drawn[2] % 5 == 0 ? OpKind::reset : OpKind::add,
                name,
                edge ? kMax : drawn[3],
                {executor_->meta().store, serial, number, number < 8 ? 0 : number - 7},
                {},
                {}};
    const bool known = std::any_of(noted_.begin(), noted_.end(), [&](const Noted& other) {
      return other.token.serial == serial && other.token.number == number;
    });
    const ShardState before = state(*executor_, name);
    const Applied applied = apply(*executor_, change(noted));
    floors_[serial] = std::max(floors_[serial], noted.token.floor);
    if (!known && (applied.code == Code::ok || applied.code == Code::out_of_range)) {
      noted.code = applied.code;
      noted.commit = applied.commit;
      noted_.push_back(noted);
    } else {
      RC_ASSERT(state(*executor_, name) == before);
    }
    note_sealed();
  }

  void retry(std::size_t drawn) {
    if (noted_.empty()) return;
    const Noted& noted = noted_[drawn % noted_.size()];
    const ShardState before = state(*executor_, noted.name);
    (void)apply(*executor_, change(noted));
    RC_ASSERT(state(*executor_, noted.name) == before);
  }

  // A peer keeps the law, too: one number, one sum.
  void merge_from_peer(const ShardKey& name, std::uint8_t commit, std::uint8_t cleared) {
    const auto sum = [](std::uint64_t c) { return static_cast<std::int64_t>(c * c); };
    Cell cell{ActorId{5}, Commit{commit}, sum(commit), {}, 0};
    if (cleared < commit) cell.cleared_commit = Commit{cleared}, cell.cleared_sum = sum(cleared);
    Delta delta;
    const ShardIndex shards = name.shard == 0 && commit % 8 == 0 ? 4 : 1;
    delta.push(name, {.cells = {cell}, .shard_count = shards});
    delta.versions = {{kPeer, kBoot, Commit{commit}}};
    RC_ASSERT(conflicts(*executor_, delta) == 0u);
  }

  void issue() {
    const Serial serial = executor_->issue_session();
    serials_.emplace_back(serial, executor_->covering());
    floors_[serial] = 0;
  }

  void forget_or_drop(const ShardKey& name, std::uint8_t drawn) {
    const Partition partition = executor_->map().place(name).partition();
    if (drawn % 2 == 0) {
      executor_->drop(partition);
      return note_sealed();
    }
    if (!executor_->has_actor(partition)) return;
    executor_->seal();
    const Applied applied = add(*executor_, name, 0);  // shows who the actor is
    for (const Cell& cell : state(*executor_, name).cells) {
      if (cell.commit != applied.commit) continue;
      RC_ASSERT(!forgotten_.contains(cell.actor));
      executor_->forget_actor(partition);
      forgotten_[cell.actor] = applied.commit;
    }
    note_sealed();
  }

  static constexpr StoreId kPeer{77};
  static constexpr BootId kBoot{78};

  const std::vector<ShardKey>& names_ = names();
  ExecutorOptions options_;
  MemoryDisk disk_;  // as at the start of this life
  Point at_start_;
  std::vector<Point> history_;  // of this life
  JournalNames journal_names_;
  std::unique_ptr<Executor> executor_;
  std::uint64_t seed_ = 100;
  std::vector<std::pair<Serial, Commit>> serials_;  // and when they were given out
  std::map<Serial, std::uint64_t> floors_;
  std::vector<Noted> noted_;
  std::map<ActorId, Commit> forgotten_;
};

void survive(ExecutorOptions options, std::size_t sessions) {
  options.tokens.sessions = sessions;
  const auto steps = *rc::gen::resize(200, rc::gen::arbitrary<std::vector<Numbers>>());
  Node node(options);
  for (const Numbers& drawn : steps) node.step(drawn);
  node.crash(0);
}

RC_GTEST_PROP(RecoveryLaw, power_may_fail_after_any_batch, ()) { survive(kTiny, 100); }

RC_GTEST_PROP(RecoveryLaw, and_no_token_counts_twice_though_sessions_are_dropped, ()) {
  survive(kTiny, 2);
}

}  // namespace
}  // namespace quipu::test
