#include "storage/executor.h"

#include <algorithm>
#include <array>
#include <utility>

#include "protocol/check.h"
#include "protocol/state_codec.h"
#include "storage/fetch_ahead.h"
#include "storage/stored_keys.h"

namespace quipu {
namespace {

std::uint32_t fingerprint(const Change& change) {
  const std::uint64_t seed =
      static_cast<std::uint64_t>(change.amount) * 0x9e3779b97f4a7c15U +
      change.ref.shard * std::uint64_t{2} + (change.kind == OpKind::reset ? 1 : 0) +
      (change.kind == OpKind::expire ? std::uint64_t{1} << 32 : 0) +
      static_cast<std::uint64_t>(change.ttl.count()) * 0xbf58476d1ce4e5b9U +
      static_cast<std::uint64_t>(change.at.time_since_epoch().count()) * 0x94d049bb133111ebU;
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

// What is refused now leaves no trace, so that a retry may succeed.
template <class CarryOut>
Applied Executor::apply_once(const Token& token, std::uint32_t print, Partition partition,
                             CarryOut carry_out) {
  const bool tokened = token.serial != Serial{};
  if (tokened) {
    const bool confirmed = confirmed_.contains(partition);
    const TokenTable::Found found = tokens_.check(token, print, confirmed);
    if (found.status != TokenStatus::fresh) return answer_token(found);
  }
  bool for_now = false;
  Applied applied = carry_out(for_now);
  if (for_now) return applied;
  // A final refusal is noted, too. Otherwise a delayed copy of the change might still succeed.
  if (tokened)
    tokens_.note(token, {token.number, print, applied.code, lane(partition)}, next(sealed_));
  applied.commit = covering();
  QUIPU_CHECK(applied.commit >= sealed_, "a change is held by the open record, or before it",
              applied.commit, sealed_);
  return applied;
}

Applied Executor::apply_new(const Change& change, const Placement& placement) {
  QUIPU_CHECK(
      change.kind == OpKind::add || change.kind == OpKind::reset || change.kind == OpKind::expire,
      "other ops change no shard", change.kind, change.ref.key);
  const std::uint32_t print = change.token.serial != Serial{} ? fingerprint(change) : 0;
  return apply_once(change.token, print, placement.partition(), [&](bool& for_now) {
    Applied applied{change.refuse};
    if (change.refuse != Code::ok) {
      for_now = !change.refuse_for_good;
      return applied;
    }
    if (change.kind == OpKind::reset) {
      applied = change.at == Wall{} ? reset(change, placement) : reset_windows(change);
    } else if (change.kind == OpKind::expire) {
      applied = expire(change, placement);
    } else {
      applied = add_everywhere(change, placement);
    }
    for_now = applied.code == Code::unavailable;  // the clock may be trusted later
    QUIPU_CHECK(
        applied.code != Code::ok || change.kind != OpKind::add || applied.commit == next(sealed_),
        "a change and its token are in one record", applied.commit, sealed_);
    return applied;
  });
}

Applied Executor::once(const Token& token, std::uint32_t print, Partition partition, Code refuse,
                       const std::function<void()>& carry_out) {
  return apply_once(token, print, partition, [&](bool& for_now) {
    for_now = refuse != Code::ok;
    if (!for_now) carry_out();
    return Applied{refuse};
  });
}

// A store puts before it deletes. So what the records before this deleted must not be in one write
// with what these changes put again.
void Executor::together(const std::function<void()>& changes) {
  const auto is_gone = [this](Partition partition) { return !has_actor(partition); };
  if (!deletes_.empty() || std::ranges::any_of(new_actors_, is_gone)) seal(Step::none);
  const Commit before = sealed_;
  const std::size_t first = out_.size();
  changes();
  if (sealed_ == before) return;
  if (has_open()) seal(Step::none);
  Sealed& all = out_[first];
  for (auto next = out_.begin() + static_cast<std::ptrdiff_t>(first) + 1; next != out_.end();
       ++next) {
    QUIPU_CHECK(all.batch.deletes.empty(), "joined records delete nothing", all.commit);
    all.commit = next->commit;
    all.records += next->records;
    all.batch.append(std::move(next->batch));
    next->local.for_each([&](const ShardRef& ref) { all.local.push(ref); });
  }
  out_.resize(first + 1);
}

Applied Executor::answer_token(const TokenTable::Found& found) const {
  switch (found.status) {
    case TokenStatus::duplicate:
      return {.code = found.code, .commit = found.commit, .again = true};
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

// ---- windows ----

namespace {

// Clients' clocks are at most so far ahead, as members' are.
constexpr Wall::duration kMostAhead = std::chrono::seconds(1);

}  // namespace

Code Executor::code_of_moment(const Change& change, const NamespacePolicy& policy) const {
  const std::optional<Wall> today = date();
  if (policy.tiers.empty()) return change.at == Wall{} ? Code::ok : Code::invalid_argument;
  if (!today) return Code::unavailable;
  const Wall::duration late = policy.late.value_or(Wall::duration(0));
  const bool may =
      change.at == Wall{} || (change.at >= *today - late && change.at <= *today + kMostAhead);
  return may ? Code::ok : Code::invalid_argument;
}

std::vector<ShardKey> Executor::windows(const ShardRef& ref, Wall at) const {
  std::vector<ShardKey> names;
  const std::vector<Tier>& tiers = namespaces_.policy_of(ref.key).tiers;
  const std::optional<Wall> today = tiers.empty() ? std::nullopt : date();
  if (!today) return names;
  names.reserve(tiers.size());
  for (const Tier& tier : tiers)
    names.push_back(window_at(ref, tier.length, at == Wall{} ? *today : at));
  return names;
}

// All or nothing, in one record: what may refuse the amount, or needs a seal, is asked first.
Applied Executor::add_everywhere(const Change& change, const Placement& placement) {
  if (!namespaces_.by_tiers() && change.at == Wall{}) return add_to_counter(change, placement);
  const NamespacePolicy& policy = namespaces_.policy_of(change.ref.key);
  if (const Code code = code_of_moment(change, policy); code != Code::ok) return {code};
  if (policy.tiers.empty()) return add_to_counter(change, placement);
  const std::vector<ShardKey> names = windows(change.ref, change.at);
  QUIPU_CHECK(names.size() <= kMaxTiers, "a namespace has few tiers", change.ref.key, names.size());
  std::array<Placement, kMaxTiers> places;
  for (std::size_t i = 0; i < names.size(); ++i)
    places[i] = Placement(placement, map_.placement_key(), names[i]);
  map_.prefetch(std::span(places).first(names.size()));
  bool seals = room_for(change.ref, change.amount, placement) == Room::after_a_seal;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Room room = room_for(names[i], change.amount, places[i]);
    if (room == Room::none) return {Code::out_of_range};
    seals = seals || room == Room::after_a_seal;
  }
  if (seals) seal(Step::none);
  const Applied applied = add_to_counter(change, placement);
  if (applied.code != Code::ok) return applied;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::uint64_t before = map_.index().inserted();
    const Applied in_window = add(names[i], change.amount, places[i]);
    QUIPU_CHECK(in_window.code == Code::ok && in_window.commit == applied.commit,
                "an add and its windows are in one record", change.ref.key, in_window.code,
                in_window.commit, applied.commit);
    if (map_.index().inserted() != before) (void)keeps(names[i], places[i]);
  }
  return applied;
}

Applied Executor::add_to_counter(const Change& change, const Placement& placement) {
  if (change.ttl == Wall::duration{} && change.usual_ttl == Wall::duration{})
    return add(change.ref, change.amount, placement);
  return add_first(change.ref, change.amount, placement,
                   change.ttl != Wall::duration{} ? change.ttl : change.usual_ttl);
}

// Whether add() takes the amount. After a seal: if its cell starts again, see start_again().
Executor::Room Executor::room_for(const ShardRef& ref, std::int64_t amount,
                                  const Placement& placement) {
  Entry* const entry = map_.find(placement, ref);
  if (entry == nullptr) return Room::now;
  const ActorId held = own(placement.partition()).id;
  if (held != ActorId{}) {
    const auto [mine, all] = entry->tally(own(placement.partition()).index);
    if (mine && all.exists && fits(mine.sum(), all.sum, amount) &&
        mine.holds(next(sealed_), mine.sum() + amount))
      return Room::now;
  }
  map_.index().unpack(*entry, scratch_);
  const auto mine = find_cell(scratch_, held);
  const bool has_cell = held != ActorId{} && holds(scratch_, mine, held);
  if (!has_cell && scratch_.cells.size() >= kMaxWriters) return Room::none;
  const bool starts_again = has_cell && may_start_again(*mine, sealed_);
  const std::int64_t sum = has_cell && !starts_again ? mine->sum : 0;
  if (!fits(sum, total(scratch_.cells).sum, amount)) return Room::none;
  return starts_again && mine->commit == sealed_ ? Room::after_a_seal : Room::now;
}

// Whether a window is to be kept. Notes until when.
bool Executor::keeps(const ShardRef& ref, const Placement& placement) {
  const Wall until = namespaces_.forgettable_from(window_of(ref));
  map_.note_due(placement.partition(), until);
  const std::optional<Wall> today = date();
  return !today || until > *today;
}

bool Executor::merge_namespace(const NamespaceDefinition& definition) {
  const NamespaceDefinition* const held = namespaces_.find(definition.name);
  const bool had_tiers = held != nullptr && !held->policy.tiers.empty();
  if (!namespaces_.merge(definition)) return false;
  if (had_tiers || !definition.policy.tiers.empty()) map_.note_all_due();
  return true;
}

// ---- changes of one shard ----

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

// An add to a counter with an end, to the own cell and in place. nullopt: it must work on the
// plain form.
std::optional<Applied> Executor::add_to_life(Entry& entry, std::int64_t amount,
                                             const Placement& placement) {
  if (!entry.is_dated() || entry.is_spread() || !has_actor(placement.partition())) return {};
  const Life life = entry.life();
  if (in_force(life)) {
    const std::optional<Wall> today = date();
    if (!today || is_over(life, *today)) return {};
  }
  const Total held = entry.total();
  Entry::CellRef mine = entry.find(own(placement.partition()).index);
  const Commit open = next(sealed_);
  if (!held.exists || !mine || !fits(mine.sum(), held.sum, amount) ||
      !mine.holds(open, mine.sum() + amount))
    return {};
  map_.touch(placement, &entry, Entry::kLocal);
  mine.set(open, mine.sum() + amount);
  return Applied{Code::ok, open, 1, narrow(held.sum + amount)};
}

// The cell is missing, has too little room, starts again, or is of a counter with an end: work on
// the plain form.
Applied Executor::add_first(const ShardRef& ref, std::int64_t amount, const Placement& placement,
                            Wall::duration ttl) {
  if (Entry* const entry = map_.find(placement, ref)) {
    if (const auto added = add_to_life(*entry, amount, placement)) return *added;
  }
  ShardState& state = scratch_;
  const bool known = map_.read(placement, ref, state);
  const ActorId held = own(placement.partition()).id;
  const bool creates = ref.shard == 0 && !has_shard_count(state);  // unless it counts something
  std::optional<Wall> today;
  bool dated =
      !is_plain(state) || (!known && !is_window(ref.shard) && prefixes_.holds_prefix_of(ref.key));
  const auto born = [&] { return std::max(*today, state.life.ended); };
  if (dated || (ttl != Wall::duration{} && creates)) {
    today = date();
    const auto mine = find_cell(state, held);
    const bool needs =
        !dated || in_force(state.life) || held == ActorId{} || !holds(state, mine, held);
    if (!today && needs) return {Code::unavailable};
    if (today) realize(state, *today);
    if (ttl != Wall::duration{} && creates && !total(state.cells).exists) {
      const Wall at = std::min(kLatestDate, born() + ttl);
      if (at <= born()) return {Code::out_of_range};
      dated = true;
      if (!state.cells.empty()) state.life.once = true;
      set_deadline(state.life, *today, at);
    }
  }
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
  if (inserted) at = state.cells.insert(at, Cell{actor, {}, 0, {}, 0, dated ? born() : Wall{}});
  at->commit = next(sealed_);
  at->sum += amount;
  map_.actors().expect(own(placement.partition()).index);
  const bool whole = inserted || starts_again || today.has_value();
  put_dated(placement, ref, state, Entry::kLocal | (whole ? Entry::kWhole : 0));
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
  cell = Cell{cell.actor, {}, 0, sealed_, 0, cell.born};
}

// A reset names cells by number. They must be sealed: no cell may change under that number again.
// What has an end is ended instead: then what this node has not seen ends, too.
Applied Executor::reset(const Change& change, const Placement& placement) {
  Entry* entry = map_.find(placement, change.ref);
  if (entry == nullptr) return {};
  if (entry->is_dated()) {
    const std::optional<Wall> today = date();
    if (!today) return {Code::unavailable};
    map_.read(placement, change.ref, scratch_);
    realize(scratch_, *today);
    if (scratch_.cells.empty() && !in_force(scratch_.life)) return {};
    if (life_began_in_open(change.ref, scratch_, own(placement.partition()).id)) {
      begin_again(scratch_, *today);
    } else {
      end(scratch_, *today);
    }
    put_dated(placement, change.ref, scratch_, Entry::kLocal | Entry::kWhole);
    return {};
  }
  if (entry->has(Entry::kOpen)) seal(Step::none);
  QUIPU_CHECK(!entry->has(Entry::kOpen),
              "a reset names no number under which the sum may still grow", change.ref.key,
              sealed_);
  map_.read(placement, change.ref, scratch_);
  if (clear(scratch_)) map_.put(placement, change.ref, scratch_, Entry::kLocal | Entry::kWhole);
  return {};
}

Applied Executor::reset_windows(const Change& change) {
  if (!date()) return {Code::unavailable};
  for (const ShardKey& window : windows(change.ref, change.at))
    (void)reset({.kind = OpKind::reset, .ref = window}, map_.place(window));
  return {};
}

Applied Executor::set(const ShardRef& ref, const NewValue& wanted, const Placement& placement) {
  ShardState& state = scratch_;
  const bool known = map_.read(placement, ref, state);
  if (ref.shard != 0 || has_shard_count(state)) return {Code::invalid_argument};
  const bool may_end = wanted.at != Wall{} || wanted.ttl != Wall::duration{};
  const bool plain = is_plain(state) && (known || !prefixes_.holds_prefix_of(ref.key));
  if (plain && !may_end) {
    const ActorId held = own(placement.partition()).id;
    const auto at = find_cell(state, held);
    const bool has_cell = held != ActorId{} && holds(state, at, held);
    if (!has_cell && state.cells.size() >= kMaxWriters) return {Code::out_of_range};
    if (total(state.cells).exists) {
      // The seals that a reset and a new start of the own cell need come first, so that one record
      // has both.
      if (map_.find(placement, ref)->has(Entry::kOpen)) seal(Step::none);
      if (has_cell && at->commit == sealed_) seal(Step::none);
      (void)reset({.kind = OpKind::reset, .ref = ref}, placement);
    }
    return add(ref, wanted.value, placement);
  }
  const std::optional<Wall> today = date();
  if (!today) return {Code::unavailable};
  realize(state, *today);
  if (known && is_plain(state)) {
    const Entry* const entry = map_.find(placement, ref);
    state.life.once = !began_in_open(*entry, state, own(placement.partition()).id);
  }
  const bool goes_on = life_began_in_open(ref, state, own(placement.partition()).id);
  const bool ends_something = !state.cells.empty() || in_force(state.life);
  const Wall began = goes_on ? state.cells.front().born : Wall{};
  if (goes_on) begin_again(state, *today);
  if (!goes_on && ends_something) end(state, *today);
  const Wall from = std::max(*today, state.life.ended);
  const Wall at = wanted.at != Wall{} ? wanted.at : std::min(kLatestDate, from + wanted.ttl);
  if (may_end && at <= from) {  // it ends at once
    if (ends_something) put_dated(placement, ref, state, Entry::kLocal | Entry::kWhole);
    return {};
  }
  const ActorId actor = own_actor(placement.partition());
  const Wall born = goes_on ? began : from;
  state.cells = {Cell{actor, next(sealed_), wanted.value, {}, 0, born}};
  begun_.emplace(ref.key);
  if (may_end && ends_something) set_deadline_of_next(state.life, at);
  if (may_end && !ends_something) set_deadline(state.life, *today, at);
  map_.actors().expect(own(placement.partition()).index);
  put_dated(placement, ref, state, Entry::kLocal | Entry::kWhole);
  return {Code::ok, next(sealed_), 1, wanted.value};
}

// Whether no record shows anything of this life, which set() began. Then the life need not end for
// the next to begin: else the births of a counter that is set thousands of times a second would run
// ahead of the clock.
bool Executor::life_began_in_open(const ShardRef& ref, const ShardState& state, ActorId own) const {
  if (state.cells.size() != 1 || !begun_.contains(ref.key)) return false;
  const Cell& cell = state.cells.front();
  return cell.actor == own && cell.commit == next(sealed_);
}

// Whether no record shows the counter yet.
bool Executor::began_in_open(const Entry& entry, const ShardState& state, ActorId own) const {
  if (!entry.has(Entry::kOpen) || !entry.has(Entry::kWhole) || state.cells.size() != 1)
    return false;
  const Cell& cell = state.cells.front();
  return cell == Cell{own, next(sealed_), cell.sum, {}, 0, cell.born};
}

// EXPIRE and PERSIST.
Applied Executor::expire(const Change& change, const Placement& placement) {
  const Entry* entry = map_.find(placement, change.ref);
  ShardState& state = scratch_;
  const Wall at{std::chrono::milliseconds(change.amount)};
  if (entry == nullptr || !map_.read(placement, change.ref, state)) return {};
  if (change.ref.shard != 0 || has_shard_count(state)) return {Code::invalid_argument};
  const std::optional<Wall> today = date();
  if (!today) return {Code::unavailable};
  realize(state, *today);
  if (!total(state.cells).exists) return {};
  if (at == Wall{} && !in_force(state.life)) return {};
  if (is_plain(state))
    state.life.once = !began_in_open(*entry, state, own(placement.partition()).id);
  if (at != Wall{} && at <= std::max(*today, state.life.ended)) {
    end(state, *today);
  } else {
    set_deadline(state.life, *today, at);
  }
  put_dated(placement, change.ref, state, Entry::kLocal | Entry::kWhole);
  return {};
}

void Executor::put_dated(const Placement& placement, const ShardRef& ref, const ShardState& state,
                         std::uint8_t flags) {
  const bool replayed = flags == 0;  // then the prefix is at rest, too
  if (!is_plain(state) && !replayed) {
    prefixes_.insert_prefix_of(ref.key);
    const Entry* const held = map_.find(placement, ref);
    const bool ends = held != nullptr && held->shows_counter() && in_force(held->life());
    if (ends && held->life().at <= state.life.ended) ++ended_;
  }
  map_.put(placement, ref, state, flags);
}

// For what waits until the other owners know of an end.
constexpr Wall::duration kLookAgain = std::chrono::seconds(1);

ShardList Executor::sweep(Partition partition, const Settled& settled) {
  const std::optional<Wall> today = date();
  QUIPU_CHECK(today.has_value(), "only who knows the date forgets", partition);
  ShardList to_offer;
  std::vector<Entry*> over, forgettable;
  Wall due = ShardMap::kNeverDue;
  map_.for_each_ending(partition, [&](Entry& entry) {
    if (entry.is_window()) {
      const Wall from = namespaces_.forgettable_from(window_of(entry.ref()));
      if (from > *today) {
        due = std::min(due, from);
      } else if (entry.has(Entry::kOpen)) {
        due = *today;  // after its seal
      } else {
        forgettable.push_back(&entry);
      }
      return;
    }
    const Life life = entry.life();
    const bool spent = entry.is_spent();
    Wall next = ShardMap::due_of(life, spent);
    if (next <= *today && entry.has(Entry::kOpen)) {
      next = *today;  // after its seal
    } else if (is_over(life, *today)) {
      if (entry.shows_counter()) ++ended_;
      if (!life.once && !entry.is_spread() && forgettable_from(life) <= *today) {
        forgettable.push_back(&entry);
        return;
      }
      over.push_back(&entry);
      next = ShardMap::kNeverDue;  // put_realized() says when
    } else if (spent && next <= *today) {
      const bool offered = entry.marked(Entry::kOffered) && !settled.lost;
      const bool by_time = !life.once && forgettable_from(life) <= *today;
      const bool stable =
          offered && settled.offered && life.ended + kLifeGrace <= settled.heard_until;
      if (by_time || stable) {
        forgettable.push_back(&entry);
        return;
      }
      if (settled.can_offer && !offered) {
        to_offer.push(entry.ref());
        entry.mark(Entry::kOffered);
      }
      next = *today + kLookAgain;
    }
    due = std::min(due, next);
  });
  map_.set_due(partition, due);
  for (Entry* const entry : over) {
    map_.index().unpack(*entry, scratch_);
    realize(scratch_, *today);
    map_.put_realized(entry, scratch_);
  }
  if (forgettable.empty()) return to_offer;
  map_.forget(partition, forgettable, next(sealed_), [this](const ShardRef& ref) {
    deletes_.insert(stored::shard(map_.place(ref), ref));
  });
  return to_offer;
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
    // What this node has forgotten must not make it doubt its actor.
    if (is_window(entry.ref.shard) && !keeps(entry.ref, placement)) return;
    doubt_actor(entry, placement);
    if (!merge_entry(entry, placement, Entry::kWhole)) refused.push_back(placement.partition());
  });
  versions_changed_ |= merge_versions(meta_.versions, delta.versions);
  std::sort(refused.begin(), refused.end());
  refused.erase(std::unique(refused.begin(), refused.end()), refused.end());
  return refused;
}

namespace {

// The latest end, if a deadline that has passed is one.
Wall ended_by(const Life& life, const std::optional<Wall>& date) {
  return date && is_over(life, *date) ? life.at : life.ended;
}

}  // namespace

// A peer has more of our own cell than we have, or another sum under its number. Then it is from
// a life that this memory lost: the actor is not ours any more. (Not if the cell is of a life of
// the counter that has ended. Such cells are dropped here.)
void Executor::doubt_actor(const DeltaEntry& theirs, const Placement& placement) {
  const OwnActor& actor = own(placement.partition());
  const auto told = std::lower_bound(theirs.cells.begin(), theirs.cells.end(), actor.id, before);
  if (actor.id == ActorId{} || told == theirs.cells.end() || told->actor != actor.id) return;
  map_.read(placement, theirs.ref, scratch_);
  const std::optional<Wall> today = theirs.life == Life{} ? std::nullopt : date();
  if (told->born < std::max(ended_by(scratch_.life, today), ended_by(theirs.life, today))) return;
  const auto at = find_cell(scratch_, actor.id);
  const Cell held = holds(scratch_, at, actor.id) ? *at : Cell{actor.id};
  const bool lost =
      told->born > held.born ||
      (told->born == held.born &&
       (told->commit > held.commit || (told->commit == held.commit && told->sum != held.sum)));
  if (lost) forget_actor(placement.partition());
}

bool Executor::merge_entry(const DeltaEntry& theirs, const Placement& placement,
                           std::uint8_t flags) {
  if (is_window(theirs.ref.shard) && !keeps(theirs.ref, placement)) return true;
  map_.read(placement, theirs.ref, scratch_);
  if (theirs.life != Life{} || !is_plain(scratch_)) return merge_dated(theirs, placement, flags);
  const Merged merged = quipu::merge(scratch_, theirs);
  const bool fits = scratch_.cells.size() <= kMaxCells;
  if (merged.conflict || !fits) ++conflicts_;
  if (merged.changed && fits) map_.put(placement, theirs.ref, scratch_, flags);
  return fits;
}

// scratch_ has this node's state. Both are realized first, so that no stale copy is merged that has
// ended by itself.
bool Executor::merge_dated(const DeltaEntry& theirs, const Placement& placement,
                           std::uint8_t flags) {
  const std::optional<Wall> today = date();
  const bool known = scratch_ != ShardState{};
  ShardState told{{theirs.cells.begin(), theirs.cells.end()},
                  theirs.shard_count,
                  theirs.usable_shards,
                  theirs.life};
  const bool realized = realize_both(scratch_, told, today);
  // This node has forgotten it before, or need not know it.
  if (!known && today && is_spent(told) && told.life.ended + kLifeGrace <= *today) return true;
  const Merged merged = quipu::merge(scratch_, told);
  const bool fits = scratch_.cells.size() <= kMaxCells;
  if (merged.conflict || !fits) ++conflicts_;
  if (merged.outdated) {
    outdated_.push(theirs.ref);
    map_.unmark_offered(placement, theirs.ref);  // who sent it may have told others, too
  }
  if (merged.changed) begun_.erase(std::string(theirs.ref.key));  // others have heard of it
  if ((merged.changed || realized) && fits) put_dated(placement, theirs.ref, scratch_, flags);
  return fits;
}

Meta& Executor::edit_meta() {
  meta_changed_ = true;
  return meta_;
}

bool Executor::has_open() const {
  return map_.has_open() || tokens_.has_open() || meta_changed_ || versions_changed_ ||
         !new_actors_.empty() || !deletes_.empty() || namespaces_.has_open() ||
         prefixes_.has_open();
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
    const bool whole = map_.show(entry) || entry.has(Entry::kWhole);
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
  record.dropped = std::exchange(dropped_, {});

  std::string key = stored::record(sealed.commit);
  std::string value = encode_record(key, record);
  checkpoint_.wrote(value.size());
  sealed.batch.puts.push_back({std::move(key), std::move(value)});
  put_actors(sealed.batch);
  namespaces_.put_open(sealed.batch);
  prefixes_.put_open(sealed.batch);
  std::set<std::string> deletes = std::exchange(deletes_, {});

  if (step == Step::one) {
    meta_changed_ |=
        checkpoint_.step(sealed.commit, map_, tokens_, sealed.batch, meta_.journal_first);
  }
  // A shard may have been forgotten and then counted again.
  if (!deletes.empty()) {
    for (const auto& put : sealed.batch.puts) deletes.erase(put.key);
    sealed.batch.deletes.insert(sealed.batch.deletes.end(), deletes.begin(), deletes.end());
  }
  if (std::exchange(meta_changed_, false)) put_meta(sealed.batch);
  QUIPU_CHECK(meta_.journal_first <= sealed.commit,
              "the journal begins no later than with its newest record", meta_.journal_first,
              sealed.commit);
  sealed_ = sealed.commit;
  begun_.clear();
  QUIPU_CHECK(!has_open(), "a seal leaves nothing open", sealed_);
  QUIPU_CHECK(out_.size() == 1 || next(out_[out_.size() - 2].commit) == sealed_,
              "commits are dense", sealed_, out_.size());
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

// Sealed at once, and noted in that record: records before it would bring the states back at the
// next start. Their owners may have forgotten by then that a counter of them ended.
void Executor::drop(Partition partition) {
  if (has_open()) seal(Step::none);
  map_.index().for_each(partition, [&](const Entry& entry) {
    deletes_.insert(stored::shard(map_.place(entry.ref()), entry.ref()));
  });
  map_.drop(partition);
  dropped_.push_back(partition);
  forget_actor(partition);
  seal(Step::none);
  QUIPU_CHECK(!has_actor(partition), "an actor is forgotten with its states", partition);
}

bool Executor::replay(const Record& record, JournalAliases& aliases, std::size_t bytes) {
  QUIPU_CHECK(!has_open(), "records are replayed before anything changes", sealed_);
  bool sound = true;
  for (const Partition partition : record.dropped) {
    aliases.forget_if(
        [&](Entry* entry) { return map_.place(entry->current()->ref()).partition() == partition; });
    map_.drop(partition);
  }
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
  ShardState told;
  map_.index().unpack(entry, told);
  const ActorId actor = map_.actors().name(target.actor);
  std::erase_if(told.cells, [actor](const Cell& one) { return one.actor != actor; });
  if (told.cells.empty()) told.cells.push_back(Cell{actor});
  told.cells.front().commit = commit;
  told.cells.front().sum = sum;
  const std::string key(entry.ref().key);
  const ShardRef ref{key, entry.ref().shard};
  return merge_entry(as_entry(ref, told), map_.place(ref), 0);
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
  const bool sound = merge_entry(as_entry(ref, state), placement, 0);
  map_.take_open([](const Entry&) {});
  map_.mark_at_rest(placement, ref);
  return sound;
}

void Executor::restore(const Loaded& loaded) {
  for (const auto& [shard, state] : loaded.shards) {
    map_.restore(shard, state);
    if (is_window(shard.shard)) (void)keeps(shard, map_.place(shard));
  }
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
  map_.note_all_due();  // only now is it known how long windows are kept
}

}  // namespace quipu
