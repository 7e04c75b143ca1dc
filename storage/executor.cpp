#include "storage/executor.h"

#include <algorithm>
#include <utility>

#include "protocol/check.h"
#include "protocol/state_codec.h"
#include "storage/fetch_ahead.h"
#include "storage/stored_keys.h"

namespace quipu {
namespace {

std::uint32_t fingerprint(const Change& change) {
  const std::uint64_t seed = static_cast<std::uint64_t>(change.amount) * 0x9e3779b97f4a7c15U +
                             change.ref.shard * std::uint64_t{2} +
                             (change.kind == OpKind::reset ? 1 : 0);
  return static_cast<std::uint32_t>(hash64(HashKey{seed}, change.ref.key));
}

std::uint8_t lane(Partition partition) {
  return static_cast<std::uint8_t>(raw(partition) % kLanes);
}

bool before(const Cell& cell, ActorId actor) { return cell.actor < actor; }

auto find_cell(auto& state, ActorId actor) {
  return std::lower_bound(state.cells.begin(), state.cells.end(), actor, before);
}

bool holds(const ShardState& state, std::vector<Cell>::const_iterator at, ActorId actor) {
  return at != state.cells.end() && at->actor == actor;
}

// For a state where only the own cell changed: that cell has the record's number. (Another cell
// may have it by chance. Then both are kept.)
void keep_changed(ShardState& state, Commit sealing) {
  std::erase_if(state.cells, [sealing](const Cell& cell) { return cell.commit != sealing; });
}

// Far from 2^64, so that it never wraps to 0, which is no serial.
Serial first_serial(Random& random) { return Serial{raw(random.id<Serial>()) >> 1 | 1}; }

// It counts nothing, under a sealed number. (Only a faulty peer clears another.)
bool may_start_again(const Cell& cell, Commit sealed) {
  const bool fully_cleared = cell.commit == cell.cleared_commit && cell.sum == cell.cleared_sum;
  return fully_cleared && cell.sum != 0 && cell.commit <= sealed;
}

}  // namespace

Executor::Executor(Meta meta, ExecutorOptions options, Random random)
    : meta_(std::move(meta)),
      random_(random),
      map_(options.placement, options.memory),
      tokens_(options.tokens, first_serial(random_)),
      checkpoint_(options.checkpoint),
      has_peers_(options.has_peers),
      actors_(kPartitions) {
  QUIPU_CHECK(meta_.journal_first != Commit{}, "commits count from 1");
  sealed_ = Commit{raw(meta_.journal_first) - 1};
}

Applied Executor::apply(const Change& change, const Placement& placement) {
  Applied applied = apply_new(change, placement);
  // A change that an earlier start applied needs no look at the shard, which may not be in memory.
  if (applied.code == Code::ok && applied.usable == 0 && change.ref.shard == 0 &&
      map_.resident(placement, change.ref))
    applied.usable = map_.usable(placement, change.ref);
  return applied;
}

Applied Executor::apply_new(const Change& change, const Placement& placement) {
  QUIPU_CHECK(change.kind == OpKind::add || change.kind == OpKind::reset,
              "other ops change no shard", change.kind, change.ref.key);
  const bool tokened = change.token.serial != Serial{};
  const std::uint32_t print = tokened ? fingerprint(change) : 0;
  if (tokened) {
    const bool confirmed = confirmed_.contains(placement.partition());
    const TokenTable::Found found = tokens_.check(change.token, print, confirmed);
    if (found.status != TokenStatus::fresh) return answer_token(found);
  }
  if (change.refuse != Code::ok && !change.refuse_for_good) return {change.refuse};
  Applied applied;
  if (change.refuse != Code::ok) {
    applied.code = change.refuse;
  } else if (change.kind == OpKind::reset) {
    reset(change, placement);
  } else {
    applied = add(change.ref, change.amount, placement);
  }
  QUIPU_CHECK(
      applied.code != Code::ok || change.kind == OpKind::reset || applied.commit == next(sealed_),
      "a change and its token are in one record", applied.commit, sealed_);
  // A final refusal is noted, too. Otherwise a delayed copy of the change might still succeed.
  if (tokened) {
    tokens_.note(change.token,
                 {change.token.number, print, applied.code, lane(placement.partition())},
                 next(sealed_));
  }
  applied.commit = covering();
  QUIPU_CHECK(applied.commit >= sealed_, "a change is held by the open record, or before it",
              applied.commit, sealed_);
  return applied;
}

Applied Executor::answer_token(const TokenTable::Found& found) const {
  switch (found.status) {
    case TokenStatus::duplicate:
      return {found.code, found.commit};
    case TokenStatus::reused:
      return {Code::token_reused};
    case TokenStatus::expired:
      return {Code::token_expired};
    case TokenStatus::doubtful:
      return {Code::in_doubt};
    case TokenStatus::window_full:
    case TokenStatus::fresh:
      break;
  }
  return {Code::session_window};
}

Applied Executor::add(const ShardRef& ref, std::int64_t amount, const Placement& placement) {
  Entry* entry = map_.find(placement, ref);
  if (entry == nullptr || !has_actor(placement.partition()))
    return add_first(ref, amount, placement);
  auto [mine, held] = entry->tally(own(placement.partition()).index);
  if (!mine || !fits(mine.sum(), held.sum, amount)) return add_first(ref, amount, placement);
  if (!held.exists && mine.sum() != 0) return add_first(ref, amount, placement);
  const Commit open = next(sealed_);
  const std::int64_t sum = mine.sum() + amount;
  if (!mine.holds(open, sum)) return add_first(ref, amount, placement);
  map_.touch(placement, entry, Entry::kLocal);
  mine.set(open, sum);
  if (!held.exists) map_.revived(placement, *entry);
  if (ref.shard != 0 || entry->has(Entry::kHasShardCount)) return {Code::ok, open};
  return {Code::ok, open, 1, narrow(held.sum + amount)};
}

// The cell is missing, has too little room, or starts again: work on the plain form.
Applied Executor::add_first(const ShardRef& ref, std::int64_t amount, const Placement& placement) {
  ShardState& state = scratch_;
  (void)map_.read(placement, ref, state);
  const ActorId held = own(placement.partition()).id;
  auto at = find_cell(state, held);
  const bool has_cell = held != ActorId{} && holds(state, at, held);
  const bool starts_again = has_cell && may_start_again(*at, sealed_);
  if (!has_cell && state.cells.size() >= kMaxWriters) return {Code::out_of_range};
  const std::int64_t own_sum = has_cell && !starts_again ? at->sum : 0;
  const Wide held_sum = total(state.cells).sum;
  if (!fits(own_sum, held_sum, amount)) return {Code::out_of_range};

  if (starts_again) start_again(*at);
  const ActorId actor = own_actor(placement.partition());
  at = find_cell(state, actor);
  const bool inserted = !holds(state, at, actor);
  if (inserted) at = state.cells.insert(at, Cell{actor, {}, 0, {}, 0});
  at->commit = next(sealed_);
  at->sum += amount;
  map_.actors().expect(own(placement.partition()).index);
  map_.put(placement, ref, state, Entry::kLocal | (inserted || starts_again ? Entry::kWhole : 0));
  if (ref.shard != 0 || state.shard_count > 1) return {Code::ok, next(sealed_)};
  return {Code::ok, next(sealed_), 1, narrow(held_sum + amount)};
}

// A cell that counts nothing starts again from 0, so that an old sum cannot make an add
// overflow. Only its writer may do so. The cell says that it was cleared at 0, under a commit
// between its last change and this one. It never had a sum under that commit, so no copy
// disagrees, and no reset has named a later one.
void Executor::start_again(Cell& cell) {
  if (cell.commit == sealed_) seal(Step::none);
  QUIPU_CHECK(cell.commit < sealed_, "a cell starts again under a later number than it had",
              cell.commit, sealed_);
  cell = Cell{cell.actor, {}, 0, sealed_, 0};
}

// A reset names cells by number. They must be sealed: no cell may change under that number again.
void Executor::reset(const Change& change, const Placement& placement) {
  Entry* entry = map_.find(placement, change.ref);
  if (entry == nullptr) return;
  if (entry->has(Entry::kOpen)) seal(Step::none);
  QUIPU_CHECK(!entry->has(Entry::kOpen),
              "a reset names no number under which the sum may still grow", change.ref.key,
              sealed_);
  map_.read(placement, change.ref, scratch_);
  if (clear(scratch_)) map_.put(placement, change.ref, scratch_, Entry::kLocal | Entry::kWhole);
}

template <class Visit>
void Executor::for_each_fetched(const Delta& delta, Visit visit) {
  Delta::Cursor ahead(delta);
  Delta::Cursor entries(delta);
  map_.for_each_fetched(
      delta.size(), [&](std::size_t) { return ahead.next_ref(); },
      [&](std::size_t, const Placement& placement) { visit(entries.next(), placement); });
}

std::vector<Partition> Executor::merge(const Delta& delta) {
  std::vector<Partition> refused;
  for_each_fetched(delta, [&](const DeltaEntry& entry, const Placement& placement) {
    doubt_actor(entry, placement);
    if (!merge_entry(entry, placement, Entry::kWhole)) refused.push_back(placement.partition());
  });
  versions_changed_ |= merge_versions(meta_.versions, delta.versions);
  std::sort(refused.begin(), refused.end());
  refused.erase(std::unique(refused.begin(), refused.end()), refused.end());
  return refused;
}

// A peer has more of our own cell than we have, or another sum under its number. Then it is from
// a life that this memory lost: the actor is not ours any more.
void Executor::doubt_actor(const DeltaEntry& theirs, const Placement& placement) {
  const OwnActor& actor = own(placement.partition());
  const auto told = std::lower_bound(theirs.cells.begin(), theirs.cells.end(), actor.id, before);
  if (actor.id == ActorId{} || told == theirs.cells.end() || told->actor != actor.id) return;
  Cell held{actor.id, {}, 0, {}, 0};
  if (Entry* entry = map_.find(placement, theirs.ref)) {
    const Entry::CellRef cell = entry->find(actor.index);
    if (cell) held = cell.cell(map_.actors());
  }
  const bool lost =
      told->commit > held.commit || (told->commit == held.commit && told->sum != held.sum);
  if (lost) forget_actor(placement.partition());
}

bool Executor::merge_entry(const DeltaEntry& theirs, const Placement& placement,
                           std::uint8_t flags) {
  map_.read(placement, theirs.ref, scratch_);
  const Merged merged = quipu::merge(scratch_, theirs);
  const bool fits = scratch_.cells.size() <= kMaxCells;
  if (merged.conflict || !fits) ++conflicts_;
  if (merged.changed && fits) map_.put(placement, theirs.ref, scratch_, flags);
  return fits;
}

Meta& Executor::edit_meta() {
  meta_changed_ = true;
  return meta_;
}

bool Executor::has_open() const {
  return map_.has_open() || tokens_.has_open() || meta_changed_ || versions_changed_ ||
         !new_actors_.empty() || !deletes_.empty() || namespaces_.has_open();
}

ActorId Executor::own_actor(Partition partition) {
  if (!has_actor(partition)) {
    load_actor(partition, random_.id<ActorId>());
    new_actors_.push_back(partition);
  }
  return own(partition).id;
}

void Executor::load_actor(Partition partition, ActorId actor) {
  QUIPU_CHECK(actor != ActorId{}, "an actor is not 0", partition);
  actors_[raw(partition)] = {actor, map_.actors().intern(actor)};
}

// At rest, too. Otherwise a restart would bring it back.
void Executor::forget_actor(Partition partition) {
  if (!has_actor(partition)) return;
  actors_[raw(partition)] = {};
  new_actors_.push_back(partition);
}

void Executor::push_open(Record& record, ShardList& local) {
  const Commit commit = record.delta.commit();
  ShardState state;
  map_.take_open([&](Entry& entry) {
    QUIPU_CHECK(entry.dirty(), "a record holds what has changed since the last checkpoint", commit);
    if (has_peers_ && entry.has(Entry::kLocal)) local.push(entry.ref());
    const bool whole = entry.has(Entry::kWhole);
    const Entry::CellRef changed = whole ? Entry::CellRef{} : entry.find_only(commit);
    if (changed && entry.journaled() == checkpoint_.alias()) {
      record.aliased.push_back({entry.alias(), changed.sum()});
      return;
    }
    map_.index().unpack(entry, state);
    if (!whole) keep_changed(state, commit);
    const Alias alias = state.cells.size() == 1 ? entry.alias() : Alias{};
    entry.set_journaled(alias != Alias{} ? checkpoint_.alias() : Entry::Journaled::by_name);
    record.delta.push(entry.ref(), state);
    record.aliases.push_back(alias);
  });
  QUIPU_CHECK(record.aliases.size() == record.delta.size(), "each state has an alias, or none",
              record.aliases.size(), record.delta.size());
}

void Executor::put_meta(Batch& batch) {
  std::string key = stored::meta();
  std::string value = encode_meta(key, meta_);
  batch.puts.push_back({std::move(key), std::move(value)});
}

// A partition may have changed its actor more than once.
void Executor::put_actors(Batch& batch) {
  std::sort(new_actors_.begin(), new_actors_.end());
  new_actors_.erase(std::unique(new_actors_.begin(), new_actors_.end()), new_actors_.end());
  for (const Partition partition : std::exchange(new_actors_, {})) {
    std::string key = stored::actor(partition);
    if (!has_actor(partition)) {
      batch.deletes.push_back(std::move(key));
      continue;
    }
    std::string value = encode_actor(key, own(partition).id);
    batch.puts.push_back({std::move(key), std::move(value)});
  }
}

void Executor::seal() { seal(Step::one); }

void Executor::seal(Step step) {
  Sealed& sealed = out_.emplace_back();
  sealed.commit = next(sealed_);
  Record record{Delta(sealed.commit), tokens_.take_open(sealed.commit)};
  push_open(record, sealed.local);
  if (std::exchange(versions_changed_, false)) record.delta.versions = meta_.versions;

  std::string key = stored::record(sealed.commit);
  std::string value = encode_record(key, record);
  checkpoint_.wrote(value.size());
  sealed.batch.puts.push_back({std::move(key), std::move(value)});
  put_actors(sealed.batch);
  namespaces_.put_open(sealed.batch);
  for (std::string& name : std::exchange(deletes_, {}))
    sealed.batch.deletes.push_back(std::move(name));

  if (step == Step::one) {
    meta_changed_ |=
        checkpoint_.step(sealed.commit, map_, tokens_, sealed.batch, meta_.journal_first);
  }
  if (std::exchange(meta_changed_, false)) put_meta(sealed.batch);
  QUIPU_CHECK(meta_.journal_first <= sealed.commit,
              "the journal begins no later than with its newest record", meta_.journal_first,
              sealed.commit);
  sealed_ = sealed.commit;
  QUIPU_CHECK(!has_open(), "a seal leaves nothing open", sealed_);
  QUIPU_CHECK(
      out_.front().commit <= sealed_ && raw(sealed_) - raw(out_.front().commit) + 1 == out_.size(),
      "commits are dense", out_.front().commit, sealed_, out_.size());
  QUIPU_CHECK(meta_.lineage.empty() || meta_.lineage.back().first <= sealed_,
              "a start is sealed with its first record", meta_.lineage.back().first, sealed_);
}

void Executor::found(HashKey placement) { map_.rekey(placement); }

void Executor::become(StoreId store) {
  QUIPU_CHECK(store != meta_.store && !meta_.lineage.empty(), "another store has another id",
              store);
  if (has_open()) seal(Step::none);
  for (std::uint16_t p = 0; p < kPartitions; ++p) forget_actor(Partition{p});
  Meta& meta = edit_meta();
  meta.store = store;
  meta.marked = true;
  meta.filled_from.clear();
  meta.lineage = {{meta.lineage.back().boot, next(sealed_)}};
}

// Sealed at once, so that no delete meets a later put of the same name in one batch. After a
// restart, records in the journal may bring the partition's states back. They are then offered
// to the owners and dropped again, which changes nothing.
void Executor::drop(Partition partition) {
  if (has_open()) seal(Step::none);
  map_.index().for_each(partition, [&](const Entry& entry) {
    deletes_.push_back(stored::shard(map_.place(entry.ref()), entry.ref()));
  });
  map_.drop(partition);
  forget_actor(partition);
  seal(Step::none);
  QUIPU_CHECK(!has_actor(partition), "an actor is forgotten with its states", partition);
}

bool Executor::replay(const Record& record, JournalAliases& aliases, std::size_t bytes) {
  QUIPU_CHECK(!has_open(), "records are replayed before anything changes", sealed_);
  bool sound = true;
  auto alias = record.aliases.begin();
  for_each_fetched(record.delta, [&](const DeltaEntry& entry, const Placement& placement) {
    sound &= merge_entry(entry, placement, 0);
    if (alias == record.aliases.end()) return;
    const Alias given = *alias++;
    if (given == Alias{}) return;
    sound &= entry.cells.size() == 1;
    if (!sound) return;
    aliases.give(given,
                 {map_.find(placement, entry.ref), map_.actors().intern(entry.cells[0].actor)});
  });
  sound = sound && replay_aliased(record, aliases);
  map_.close_open([](const Entry&) {});
  merge_versions(meta_.versions, record.delta.versions);
  for (const TokenRecord& tokens : record.tokens) tokens_.replay(tokens);
  checkpoint_.replayed(bytes);
  sealed_ = record.delta.commit();
  return sound;
}

bool Executor::replay_aliased(const Record& record, const JournalAliases& aliases) {
  constexpr std::size_t kAhead = 8;
  const std::vector<Record::Aliased>& changes = record.aliased;
  const auto target = [&](std::size_t i) {
    return i < changes.size() ? aliases.find(changes[i].alias) : nullptr;
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    fetch_ahead(target(i + 2 * kAhead));
    if (const auto* const soon = target(i + kAhead)) fetch_ahead(soon->entry);
    const JournalAliases::Target* const now = target(i);
    if (now == nullptr || now->entry == nullptr) return false;
    if (!merge_cell(*now, record.delta.commit(), changes[i].sum)) return false;
  }
  return true;
}

// Like merge_entry() for that cell: in place, if it is newer and there is room.
bool Executor::merge_cell(const JournalAliases::Target& target, Commit commit, std::int64_t sum) {
  Entry& entry = *target.entry->current();
  Entry::CellRef cell = entry.find(target.actor);
  if (cell && commit > cell.commit() && cell.holds(commit, sum)) {
    QUIPU_CHECK(entry.dirty(), "a replayed entry is dirty until it is put", commit);
    const bool shown = entry.shows_counter();
    cell.set(commit, sum);
    if (!shown) map_.revived(map_.place(entry.ref()), entry);
    return true;
  }
  const ShardState told{{Cell{map_.actors().name(target.actor), commit, sum, {}, 0}}};
  const std::string key(entry.ref().key);
  const ShardRef ref{key, entry.ref().shard};
  return merge_entry({ref, told.shard_count, told.usable_shards, told.cells}, map_.place(ref), 0);
}

// The states that records brought first are not complete.
bool Executor::load(const ShardRef& ref, const ShardState& state) {
  const Placement placement = map_.place(ref);
  // Each record of this store is older than what comes of it, and all of them were replayed.
  const ActorId actor = own(placement.partition()).id;
  const auto own_cell = find_cell(state, actor);
  if (holds(state, own_cell, actor) && own_cell->commit > sealed_) return false;
  if (map_.index().find(placement, ref) == nullptr) {
    map_.load(ref, state);
    return true;
  }
  const bool sound =
      merge_entry({ref, state.shard_count, state.usable_shards, state.cells}, placement, 0);
  map_.take_open([](const Entry&) {});
  return sound;
}

void Executor::restore(const Loaded& loaded) {
  for (const auto& [shard, state] : loaded.shards) map_.restore(shard, state);
  for (const LeafId leaf : loaded.leaves) map_.set_resident(leaf);
  for (const auto& [shard, state] : loaded.shards) {
    QUIPU_CHECK(map_.resident(map_.place(shard), shard), "what was loaded is in memory", shard.key);
  }
}

void Executor::start(BootId boot) {
  QUIPU_CHECK(boot != BootId{} && !has_open(), "a store starts once, before anything changes", boot,
              sealed_);
  std::vector<LineageStart>& lineage = edit_meta().lineage;
  QUIPU_CHECK(lineage.empty() || lineage.back().first <= sealed_,
              "each start begins behind the one before it", lineage.back().first, sealed_);
  if (lineage.size() == kMaxLineage) lineage.erase(lineage.begin());
  lineage.push_back({boot, next(sealed_)});
}

}  // namespace quipu
