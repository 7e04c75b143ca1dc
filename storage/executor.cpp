#include "storage/executor.h"

#include <algorithm>
#include <array>
#include <utility>

#include "protocol/check.h"
#include "protocol/state_codec.h"
#include "storage/fetch_ahead.h"
#include "storage/kinds/parts.h"
#include "storage/stored_keys.h"

namespace quipu {
namespace {

std::uint32_t fingerprint(const Change& change) {
  const std::uint64_t seed =
      static_cast<std::uint64_t>(change.amount) * 0x9e3779b97f4a7c15U +
      change.ref.shard * std::uint64_t{2} + (change.kind == OpKind::reset ? 1 : 0) +
      (change.kind == OpKind::expire ? std::uint64_t{1} << 32 : 0) +
      static_cast<std::uint64_t>(change.ttl.count()) * 0xbf58476d1ce4e5b9U +
      static_cast<std::uint64_t>(change.at.time_since_epoch().count()) * 0x94d049bb133111ebU +
      (change.words.empty() ? 0 : hash64(HashKey{}, change.words));
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
      tokens_(options.tokens, random_.next()),
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
  QUIPU_CHECK(change.kind == OpKind::add || change.kind == OpKind::reset ||
                  change.kind == OpKind::expire || change.kind == OpKind::apply,
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
    } else if (change.kind == OpKind::apply) {
      applied = apply_everywhere(change, placement);
      if (applied.code == Code::ok && change.reply != nullptr) tell_of_slices(change);
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
    for (const auto& [shard, units] : next->units) all.units[shard].add(units);
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

// ---- counters with bodies ----

std::optional<Executor::Counter> Executor::other_kind(const ShardRef& ref,
                                                      const Placement& placement) const {
  for (ShardKey& other : map_.under_other_kinds(ref, placement)) {
    const Placement place = map_.place(other);
    if (!map_.resident(place, other)) continue;
    const Entry* const entry = map_.find(place, other);
    if (entry == nullptr || !entry->shows_counter(date())) continue;
    const Life life = entry->life();
    return Counter{std::move(other), in_force(life) ? life.at : Wall{}};
  }
  return std::nullopt;
}

std::optional<Kind> Executor::fixed_to_other(const ShardRef& ref) const {
  const std::optional<FixedKind> fixed = namespaces_.fixed_kind(ref.key);
  return fixed && fixed->kind != kind_of(ref.shard) ? std::optional(fixed->kind) : std::nullopt;
}

// All or nothing, in one record: where the counter takes the words, its windows do, too.
Applied Executor::apply_everywhere(const Change& change, const Placement& placement) {
  std::vector<Beside> beside;
  add_slices(change, change.ref, placement, beside);
  if (namespaces_.by_tiers() || change.at != Wall{}) {
    const NamespacePolicy& policy = namespaces_.policy_of(change.ref.key);
    if (const Code code = code_of_moment(change, policy); code != Code::ok) return {code};
    for (const ShardKey& window : windows(change.ref, change.at)) {
      beside.push_back({window, std::string(change.words)});
      add_slices(change, window, placement, beside);
    }
  }
  if (beside.empty()) return apply_to_bodies(change, change.ref, placement);
  const auto change_of = [&change](const Beside& one) {
    Change part = change;
    part.words = one.words;
    part.reply = nullptr;
    part.ttl = part.usual_ttl = {};
    return part;
  };
  // A window may have counted more than its counter, which was reset.
  for (const Beside& one : beside) {
    const Placement place(placement, map_.placement_key(), one.name);
    const Code code = code_of_apply(change_of(one), one.name, place);
    if (code != Code::ok) return {code};
  }
  const Applied applied = apply_to_bodies(change, change.ref, placement);
  if (applied.code != Code::ok) return applied;
  for (const Beside& one : beside) {
    const Placement place(placement, map_.placement_key(), one.name);
    const std::uint64_t before = map_.index().inserted();
    const Applied taken = apply_to_bodies(change_of(one), one.name, place);
    QUIPU_CHECK(taken.code == Code::ok, "what a counter takes, its windows and slices take",
                change.ref.key, taken.code);
    if (is_window(one.name.shard) && map_.index().inserted() != before)
      (void)keeps(one.name, place);
  }
  return applied;
}

// ---- slices (storage/kinds/kind.h) ----

void Executor::add_slices(const Change& change, const ShardRef& first, const Placement& placement,
                          std::vector<Beside>& beside) {
  const SliceRules* const rules = rules_of(kind_of(first.shard)).slices;
  if (rules == nullptr) return;
  const KindOp op = kind_op(change, first, placement);
  for (SliceWords& one : rules->split(body_of(first), op))
    beside.push_back({slice_at(first, one.slice), std::move(one.words)});
}

std::vector<ShardKey> Executor::slices(const ShardRef& first, std::string_view words) {
  const SliceRules* const rules =
      is_sum(first.shard) ? nullptr : rules_of(kind_of(first.shard)).slices;
  if (rules == nullptr) return {};
  std::vector<std::string_view> bodies;
  const auto look_at = [&](const ShardRef& one) {
    if (!map_.resident(map_.place(one), one)) return;
    for (const std::string_view body : bodies_of(one)) bodies.push_back(body);
  };
  look_at(first);
  if (is_window(first.shard)) {  // it begins with the size of its counter
    const Window window = window_of(first);
    look_at({window.key, window.shard});
  }
  std::vector<ShardKey> slices;
  const std::uint32_t count = rules->count(bodies);
  if (words.empty()) {
    for (ShardIndex i = 1; i <= count; ++i) slices.push_back(slice_at(first, i));
  } else if (count > 0) {
    for (const ShardIndex i : rules->asked(bodies, words)) slices.push_back(slice_at(first, i));
  }
  return slices;
}

// All slices of a counter, also of lives that are over by now. `first`: its first shard, or null.
std::vector<ShardKey> Executor::slices_of(const Entry* first) {
  std::vector<ShardKey> slices;
  if (first == nullptr || !first->has_bodies() || index_of(first->ref().shard) > 0) return slices;
  const SliceRules* const rules = rules_of(kind_of(first->ref().shard)).slices;
  const std::uint32_t count = rules == nullptr ? 0 : rules->count(first->bodies());
  for (ShardIndex i = 1; i <= count; ++i) slices.push_back(slice_at(first->ref(), i));
  return slices;
}

// Also where the change itself went to no slice: its counter may have matrices of several sizes.
void Executor::tell_of_slices(const Change& change) {
  const std::vector<ShardKey> all = slices(change.ref, change.words);
  if (all.empty()) return;
  const std::vector<Entry::PartRef> firsts = living_parts(change.ref);
  std::vector<std::string_view> bodies = bodies_of(change.ref);
  for (const ShardKey& slice : all) {
    Entry* const entry = map_.find(map_.place(slice), slice);
    if (entry == nullptr || !entry->has_bodies()) continue;
    for (const Entry::PartRef& part : entry->parts()) {
      if (std::ranges::find(firsts, part.born, &Entry::PartRef::born) != firsts.end())
        bodies.emplace_back(part.body.data(), part.body.size());
    }
  }
  *change.reply = rules_of(kind_of(change.ref.shard)).slices->tell(bodies, change.words);
}

// Whose size a body takes over that begins here.
std::string_view Executor::model_of(const Change& change, const ShardRef& ref) {
  std::string_view model;
  if (index_of(ref.shard) > 0) model = body_of({ref.key, first_of(ref.shard)});
  return model.empty() && is_window(ref.shard) ? body_of(change.ref) : model;
}

// What apply_to_bodies() will say. On a copy: nothing is changed.
Code Executor::code_of_apply(const Change& change, const ShardRef& ref,
                             const Placement& placement) {
  ShardState& state = scratch_;
  map_.read(placement, ref, state);
  Part* part = nullptr;
  if (index_of(ref.shard) > 0) {
    part = part_of_slice(ref, state);
    if (part == nullptr) return Code::ok;
  } else {
    if (const std::optional<Wall> today = date()) realize(state, *today);
    if (state.parts.empty()) state.parts.emplace_back();
    part = &state.parts.back();
  }
  std::string& body = part->body;
  Edit edit(body.data(), body.size());
  std::string reply;
  const Code code =
      rules_of(kind_of(ref.shard)).apply(edit, kind_op(change, ref, placement), reply);
  if (edit.replaced()) body = std::move(*edit.replaced());
  return code == Code::ok && !has_room(state.parts) ? Code::out_of_range : code;
}

Applied Executor::apply_to_bodies(const Change& change, const ShardRef& ref,
                                  const Placement& placement) {
  if (index_of(ref.shard) > 0) return apply_to_slice(change, ref, placement);
  Entry* const entry = map_.find(placement, ref);
  if (entry == nullptr || !entry->has_bodies() || entry->part_count() == 0)
    return begin_body(change, ref, placement);
  const Life life = entry->life();
  if (in_force(life)) {
    const std::optional<Wall> today = date();
    if (!today) return {Code::unavailable};
    if (is_over(life, *today)) return begin_body(change, ref, placement);
  }
  return change_body(change, ref, placement, *entry);
}

KindOp Executor::kind_op(const Change& change, const ShardRef& ref, const Placement& placement) {
  const bool shared = rules_of(kind_of(ref.shard)).share != nullptr;
  return {.words = change.words,
          .actor = shared ? own_actor(placement.partition()) : ActorId{},
          .like = model_of(change, ref),
          .slice = index_of(ref.shard)};
}

// What realize() will leave, by now. Valid until the map changes.
std::vector<Entry::PartRef> Executor::living_parts(const ShardRef& ref) {
  Entry* const entry = map_.find(map_.place(ref), ref);
  if (entry == nullptr || !entry->has_bodies()) return {};
  std::vector<Entry::PartRef> parts = entry->parts();
  const Life life = entry->life();
  if (const auto today = date(); today && is_over(life, *today))
    std::erase_if(parts, [&](const Entry::PartRef& part) { return part.born < life.at; });
  return parts;
}

std::vector<std::string_view> Executor::bodies_of(const ShardRef& ref) {
  std::vector<std::string_view> bodies;
  for (const Entry::PartRef& part : living_parts(ref))
    bodies.emplace_back(part.body.data(), part.body.size());
  return bodies;
}

// When the part was born that changes of this counter go to.
Wall Executor::birth_of(const ShardRef& first) {
  const std::vector<Entry::PartRef> parts = living_parts(first);
  return parts.empty() ? Wall{} : parts.back().born;
}

// The one that changes of this counter go to. Empty: there is none. Valid until the map changes.
std::string_view Executor::body_of(const ShardRef& ref) {
  const std::vector<std::string_view> bodies = bodies_of(ref);
  return bodies.empty() ? std::string_view() : bodies.back();
}

// The precision of a body that begins, as the counter's namespace fixes it. 0: the usual one.
unsigned Executor::precision_of_new(const ShardRef& ref) const {
  const std::string_view key = is_window(ref.shard) ? window_of(ref).key : ref.key;
  const std::optional<FixedKind> fixed = namespaces_.fixed_kind(key);
  return fixed && fixed->kind == kind_of(ref.shard) ? fixed->precision : 0;
}

namespace {

// What a slice has of its counter's life: the end, so that what ended can be forgotten, and no
// deadline. Not all slices would hear of a later one, and one that ended alone would count no more.
Life life_of_slice(const Life& counter) {
  return {.ended = counter.ended, .once = counter != Life{}};
}

// What an edit in place must do first.
struct Touch {
  ShardMap& map;
  const Placement& placement;
  Entry& entry;
  std::uint8_t flags;

  static void before_change(void* context) {
    const Touch& touch = *static_cast<const Touch*>(context);
    touch.map.touch(touch.placement, &touch.entry, touch.flags);
  }
};

// Writers that begin a body at about the same time begin the same one. The step is less than a new
// life may begin after the end of the one before is forgotten (kLifeGrace less the clocks' skew).
constexpr Wall::duration kBirthStep = std::chrono::seconds(2);

Wall birth(Wall date, Wall ended) {
  return std::max(Wall{date.time_since_epoch() / kBirthStep * kBirthStep}, ended);
}

}  // namespace

// A counter that counts something: in place, if the length stays. What changes nothing is in no
// record, but its answer waits for all that it may rest on.
Applied Executor::change_body(const Change& change, const ShardRef& ref, const Placement& placement,
                              Entry& entry) {
  const Entry::PartRef held = entry.last_part();
  Touch touch{map_, placement, entry, Entry::kLocal};
  Edit edit(held.body.data(), held.body.size(), Touch::before_change, &touch);
  edit.tell_derived(held.derived);
  edit.tell_rests_on(change.rests_on);
  KindOp op = kind_op(change, ref, placement);
  std::vector<std::string_view> others;
  if (entry.part_count() > 1) {
    map_.read(placement, ref, scratch_);
    for (std::size_t i = 0; i + 1 < scratch_.parts.size(); ++i)
      others.push_back(scratch_.parts[i].body);
    op.others = others;
  }
  std::string reply;
  const Code code = rules_of(kind_of(ref.shard)).apply(edit, op, reply);
  if (code != Code::ok) return {code};
  const std::size_t bytes = edit.body().size();
  if (edit.replaced()) {
    map_.read(placement, ref, scratch_);
    scratch_.parts.back().body = std::move(*edit.replaced());
    if (!has_room(scratch_.parts)) return {Code::out_of_range};
    map_.put(placement, ref, scratch_, Entry::kLocal);
  }
  if (edit.changed()) note_units(ref, edit.units(), bytes);
  if (change.reply != nullptr) *change.reply = std::move(reply);
  return {Code::ok, covering()};
}

// The part of a slice that changes of its counter go to; its body is empty if it begins. It has the
// birth of the first shard's part: that says to which life it belongs. Null: that life has ended
// elsewhere.
Part* Executor::part_of_slice(const ShardRef& ref, ShardState& state) {
  const ShardRef first{ref.key, first_of(ref.shard)};
  const Wall born = birth_of(first);
  if (const Entry* const counter = map_.find(map_.place(first), first))
    join(state.life, life_of_slice(counter->life()));
  drop_dead(state);
  if (born < state.life.ended) return nullptr;
  auto at = std::ranges::lower_bound(state.parts, born, {}, &Part::born);
  if (at == state.parts.end() || at->born != born) at = state.parts.insert(at, {born, {}});
  return &*at;
}

Applied Executor::apply_to_slice(const Change& change, const ShardRef& ref,
                                 const Placement& placement) {
  Entry* const entry = map_.find(placement, ref);
  const bool has_one = entry != nullptr && entry->has_bodies() && entry->part_count() == 1;
  if (has_one && entry->last_part().born == birth_of({ref.key, first_of(ref.shard)}))
    return change_body(change, ref, placement, *entry);
  ShardState& state = scratch_;
  map_.read(placement, ref, state);
  Part* const part = part_of_slice(ref, state);
  if (part == nullptr) return {Code::ok, covering()};
  const bool begins = part->body.empty();
  Edit edit(part->body.data(), part->body.size());
  edit.tell_rests_on(change.rests_on);
  std::string reply;
  const Code code =
      rules_of(kind_of(ref.shard)).apply(edit, kind_op(change, ref, placement), reply);
  if (code != Code::ok) return {code};
  if (edit.replaced()) part->body = std::move(*edit.replaced());
  if (!has_room(state.parts)) return {Code::out_of_range};
  if (!edit.changed()) return {Code::ok, covering()};
  put_dated(placement, ref, state, Entry::kLocal | (begins ? Entry::kWhole : 0));
  if (!begins) note_units(ref, edit.units(), part->body.size());
  return {Code::ok, covering()};
}

// A counter that is new, or begins a new life.
Applied Executor::begin_body(const Change& change, const ShardRef& ref,
                             const Placement& placement) {
  ShardState& state = scratch_;
  const bool known = map_.read(placement, ref, state);
  const bool first = is_first(ref.shard);
  const Wall::duration ttl = change.ttl != Wall::duration{} ? change.ttl : change.usual_ttl;
  const bool gets_end = first && ttl != Wall::duration{};
  const bool dated =
      gets_end || !is_plain(state) || (!known && first && prefixes_.holds_prefix_of(ref.key));
  const std::optional<Wall> today = dated ? date() : std::nullopt;
  if (dated && !today) return {Code::unavailable};
  const std::vector<ShardKey> slices = slices_of(map_.find(placement, ref));
  if (today) realize(state, *today);
  if (!state.parts.empty()) {  // born after the deadline, by a faster clock: this life goes on
    put_dated(placement, ref, state, Entry::kLocal | Entry::kWhole);
    end_slices(ref, slices);
    return change_body(change, ref, placement, *map_.find(placement, ref));
  }
  if (first && (other_kind(ref, placement) || fixed_to_other(ref))) return {Code::wrong_type};
  if (gets_end) {
    const Wall from = std::max(*today, state.life.ended), at = std::min(kLatestDate, from + ttl);
    if (at <= from) return {Code::out_of_range};
    set_deadline(state.life, *today, at);
  }
  KindOp op = kind_op(change, ref, placement);
  op.precision = precision_of_new(ref);
  Edit edit;
  edit.tell_rests_on(change.rests_on);
  std::string reply;
  const Code code = rules_of(kind_of(ref.shard)).apply(edit, op, reply);
  if (code != Code::ok) return {code};
  QUIPU_CHECK(edit.replaced() && !edit.replaced()->empty(), "an op begins a body", ref.key);
  state.parts = {{today ? birth(*today, state.life.ended) : Wall{}, std::move(*edit.replaced())}};
  if (!has_room(state.parts)) return {Code::out_of_range};
  put_dated(placement, ref, state, Entry::kLocal | Entry::kWhole);
  end_slices(ref, slices);
  if (change.reply != nullptr) *change.reply = std::move(reply);
  return {Code::ok, next(sealed_)};
}

// SET makes a sum of any counter.
Code Executor::end_other_kinds(const ShardRef& ref, const Placement& placement) {
  while (const auto other = other_kind(ref, placement)) {
    const ShardRef first = other->first;
    const Applied ended = reset({.kind = OpKind::reset, .ref = first}, map_.place(first));
    if (ended.code != Code::ok) return ended.code;
  }
  return Code::ok;
}

void Executor::note_units(const ShardRef& ref, const Units& units, std::size_t bytes) {
  Units& open = open_units_[{std::string(ref.key), ref.shard}];
  open.are_of(bytes);
  open.add(units);
}

// For a record: only the units that changed.
void Executor::keep_units(const ShardRef& ref, ShardState& state) const {
  const auto changed = open_units_.find({std::string(ref.key), ref.shard});
  if (changed == open_units_.end() || changed->second.all()) return;
  state.parts = extract_parts(kind_of(ref.shard), state.parts, changed->second.some());
}

// ---- changes of one shard ----

Applied Executor::add(const ShardRef& ref, std::int64_t amount, const Placement& placement) {
  Entry* entry = map_.find(placement, ref);
  if (entry == nullptr || !has_actor(placement.partition()))
    return add_first(ref, amount, placement);
  auto [mine, held] = entry->tally(own(placement.partition()).index);
  if (!mine || !held.exists) return add_first(ref, amount, placement);
  const Commit open = next(sealed_);
  const std::int64_t before = mine.sum();
  if (!fits(before, held.sum, amount)) return add_first(ref, amount, placement);
  const std::int64_t sum = before + amount;
  if (!mine.holds(open, sum)) return add_first(ref, amount, placement);
  map_.touch(placement, entry, Entry::kLocal);
  mine.set(open, sum);
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
  if (creates && !total(state.cells).exists && (other_kind(ref, placement) || fixed_to_other(ref)))
    return {Code::wrong_type};
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
  const std::vector<ShardKey> slices = slices_of(map_.find(placement, change.ref));
  const Applied applied = reset_shard(change, placement);
  if (applied.code == Code::ok) end_slices(change.ref, slices);
  return applied;
}

// What ends in a counter's first shard ends in those of its slices that are in memory, too: they
// have no births of their own.
void Executor::end_slices(const std::vector<ShardKey>& slices, Wall ended) {
  for (const ShardKey& slice : slices) {
    const Placement place = map_.place(slice);
    if (!map_.resident(place, slice) || !map_.read(place, slice, scratch_)) continue;
    if (!join(scratch_.life, life_of_slice({.ended = ended}))) continue;
    const bool ends = drop_dead(scratch_);
    put_dated(place, slice, scratch_, Entry::kLocal | (ends ? Entry::kWhole : 0));
    if (!ends) note_units(slice, Units(), bytes_of(scratch_.parts));  // only its life
  }
}

void Executor::end_slices(const ShardRef& first, const std::vector<ShardKey>& slices) {
  const Entry* const counter = map_.find(map_.place(first), first);
  if (counter != nullptr) end_slices(slices, counter->life().ended);
}

Applied Executor::reset_shard(const Change& change, const Placement& placement) {
  Entry* entry = map_.find(placement, change.ref);
  if (entry == nullptr) return {};
  if (entry->is_dated()) {
    const std::optional<Wall> today = date();
    if (!today) return {Code::unavailable};
    map_.read(placement, change.ref, scratch_);
    realize(scratch_, *today);
    if (scratch_.cells.empty() && scratch_.parts.empty() && !in_force(scratch_.life)) return {};
    if (is_plain(scratch_)) scratch_.life.once = true;  // bodies have no other reset than an end
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
  const Entry* const held_sum = map_.find(placement, ref);
  const bool creates = held_sum == nullptr || !held_sum->shows_counter(date());
  if (creates && fixed_to_other(ref)) return {Code::wrong_type};
  const bool may_end = wanted.at != Wall{} || wanted.ttl != Wall::duration{};
  const ActorId held = own(placement.partition()).id;
  const bool writes = held != ActorId{} && holds(state, find_cell(state, held), held);
  if (is_plain(state) && !may_end && !writes && state.cells.size() >= kMaxWriters)
    return {Code::out_of_range};
  if (other_kind(ref, placement)) {
    if (const Code code = end_other_kinds(ref, placement); code != Code::ok) return {code};
    map_.read(placement, ref, state);  // a reset has used scratch_
  }
  const bool plain = is_plain(state) && (known || !prefixes_.holds_prefix_of(ref.key));
  if (plain && !may_end) {
    const auto at = find_cell(state, held);
    const bool has_cell = held != ActorId{} && holds(state, at, held);
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
  if (!is_first(change.ref.shard) || has_shard_count(state)) return {Code::invalid_argument};
  const std::optional<Wall> today = date();
  if (!today) return {Code::unavailable};
  realize(state, *today);
  if (!shows_counter(change.ref, state)) return {};
  if (at == Wall{} && !in_force(state.life)) return {};
  if (is_plain(state))
    state.life.once = !began_in_open(*entry, state, own(placement.partition()).id);
  const std::vector<ShardKey> slices = slices_of(entry);
  if (at != Wall{} && at <= std::max(*today, state.life.ended)) {
    end(state, *today);
  } else {
    set_deadline(state.life, *today, at);
  }
  put_dated(placement, change.ref, state, Entry::kLocal | Entry::kWhole);
  end_slices(change.ref, slices);
  return {};
}

void Executor::put_dated(const Placement& placement, const ShardRef& ref, const ShardState& state,
                         std::uint8_t flags) {
  const bool replayed = flags == 0;  // then the prefix is at rest, too
  if (!is_plain(state) && !replayed) {
    if (!is_window(ref.shard)) prefixes_.insert_prefix_of(ref.key);
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
  std::vector<std::pair<Wall, std::vector<ShardKey>>> ended_slices;
  Wall due = ShardMap::kNeverDue;
  std::size_t room = settled.room;
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
      if (auto slices = slices_of(&entry); !slices.empty())
        ended_slices.emplace_back(life.at, std::move(slices));
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
      if (!offered && room > 0) {
        to_offer.push(entry.ref());
        entry.mark(Entry::kOffered);
        --room;
      } else if (settled.lost) {
        entry.unmark(Entry::kOffered);
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
  if (!forgettable.empty()) {
    map_.forget(partition, forgettable, next(sealed_), [this](const ShardRef& ref) {
      deletes_.insert(stored::shard(map_.place(ref), ref));
    });
  }
  for (const auto& [ended, slices] : ended_slices) end_slices(slices, ended);
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

// A peer has more of our own actor than we have. Then that is from a life that this memory lost:
// the actor is not ours any more. (Not if it is of a life of the counter that has ended. That is
// dropped here.)
void Executor::doubt_actor(const DeltaEntry& theirs, const Placement& placement) {
  const Partition partition = placement.partition();
  const auto tells_more = [&](ActorId actor) {
    return actor != ActorId{} &&
           (is_sum(theirs.ref.shard) ? tells_more_cells(theirs, placement, actor)
                                     : tells_more_of_share(theirs, placement, actor));
  };
  const auto aside = aside_.find(partition);
  if (tells_more(own(partition).id) || (aside != aside_.end() && tells_more(aside->second)))
    forget_actor(partition);
}

// A later cell, or another sum under its number.
bool Executor::tells_more_cells(const DeltaEntry& theirs, const Placement& placement,
                                ActorId actor) {
  const auto told = std::lower_bound(theirs.cells.begin(), theirs.cells.end(), actor, before);
  if (told == theirs.cells.end() || told->actor != actor) return false;
  map_.read(placement, theirs.ref, scratch_);
  const std::optional<Wall> today = theirs.life == Life{} ? std::nullopt : date();
  if (told->born < std::max(ended_by(scratch_.life, today), ended_by(theirs.life, today)))
    return false;
  const auto at = find_cell(scratch_, actor);
  const Cell held = holds(scratch_, at, actor) ? *at : Cell{actor};
  return told->born > held.born ||
         (told->born == held.born &&
          (told->commit > held.commit || (told->commit == held.commit && told->sum != held.sum)));
}

// A share of a body that ours does not include.
bool Executor::tells_more_of_share(const DeltaEntry& theirs, const Placement& placement,
                                   ActorId actor) {
  const KindRules& rules = rules_of(kind_of(theirs.ref.shard));
  if (rules.share == nullptr) return false;
  map_.read(placement, theirs.ref, scratch_);
  const std::optional<Wall> today = theirs.life == Life{} ? std::nullopt : date();
  const Wall alive_from = std::max(ended_by(scratch_.life, today), ended_by(theirs.life, today));
  for (const Part& told : theirs.parts) {
    const std::string share = told.born < alive_from ? "" : rules.share(told.body, actor);
    if (share.empty()) continue;
    const auto held = std::ranges::find(scratch_.parts, told.born, &Part::born);
    std::string body = held != scratch_.parts.end() ? std::move(held->body) : std::string();
    Edit edit(body.data(), body.size());
    rules.join(edit, share);
    if (edit.changed()) return true;
  }
  return false;
}

bool Executor::merge_entry(const DeltaEntry& theirs, const Placement& placement,
                           std::uint8_t flags) {
  if (is_window(theirs.ref.shard) && !keeps(theirs.ref, placement)) return true;
  if (!is_sum(theirs.ref.shard)) return merge_bodies(theirs, placement, flags);
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
  const Merged merged = quipu::merge(scratch_, as_entry(theirs.ref, told));
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

// As merge_dated(), for bodies: then the record needs only what changed.
bool Executor::merge_bodies(const DeltaEntry& theirs, const Placement& placement,
                            std::uint8_t flags) {
  const std::optional<Wall> today = date();
  if (Entry* const entry = map_.find(placement, theirs.ref);
      entry != nullptr && entry->has_bodies() && join_only_part(theirs, placement, *entry))
    return true;
  const bool known = map_.read(placement, theirs.ref, scratch_);
  ShardState told{{}, 1, 1, theirs.life, {theirs.parts.begin(), theirs.parts.end()}};
  const bool realized = realize_both(scratch_, told, today);
  if (!known && today && is_spent(told) && told.life.ended + kLifeGrace <= *today) return true;
  Units units;
  if (realized) units.add_all();
  const Merged merged = quipu::merge(scratch_, as_entry(theirs.ref, told), &units);
  const bool fits = has_room(scratch_.parts);
  if (!fits) ++conflicts_;
  if (merged.outdated) {
    outdated_.push(theirs.ref);
    map_.unmark_offered(placement, theirs.ref);
  }
  if ((!merged.changed && !realized) || !fits) return fits;
  const auto partly = static_cast<std::uint8_t>(flags & ~Entry::kWhole);
  put_dated(placement, theirs.ref, scratch_, units.all() ? flags : partly);
  note_units(theirs.ref, units, bytes_of(scratch_.parts));
  return true;
}

// Most deltas are of this form: some units of the only part, and no news of its life; as a rule
// they are joined in place. False: it is not of this form, or the body would be too long. Even then
// some of it may be joined, and is noted.
bool Executor::join_only_part(const DeltaEntry& theirs, const Placement& placement, Entry& entry) {
  if (theirs.parts.size() != 1 || entry.part_count() != 1 || entry.life() != theirs.life)
    return false;
  const Entry::PartRef held = entry.last_part();
  if (held.born != theirs.parts[0].born) return false;
  if (in_force(theirs.life)) {
    const std::optional<Wall> today = date();
    if (!today || is_over(theirs.life, *today)) return false;
  }
  Touch touch{map_, placement, entry, 0};
  Edit edit(held.body.data(), held.body.size(), Touch::before_change, &touch);
  edit.tell_derived(held.derived);
  rules_of(kind_of(theirs.ref.shard)).join(edit, theirs.parts[0].body);
  if (edit.changed()) note_units(theirs.ref, edit.units(), edit.body().size());
  if (!edit.replaced()) return true;
  map_.read(placement, theirs.ref, scratch_);
  scratch_.parts.back().body = std::move(*edit.replaced());
  if (!has_room(scratch_.parts)) return false;
  map_.put(placement, theirs.ref, scratch_, 0);
  return true;
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
    if (!aside_.contains(partition)) new_actors_.push_back(partition);
  }
  return own(partition).id;
}

void Executor::load_actor(Partition partition, ActorId actor) {
  QUIPU_CHECK(actor != ActorId{}, "an actor is not 0", partition);
  actors_[raw(partition)] = {actor, map_.actors().intern(actor)};
}

// At rest, too. Otherwise a restart would bring it back.
void Executor::forget_actor(Partition partition) {
  const bool set_aside = aside_.erase(partition) > 0;
  if (!has_actor(partition) && !set_aside) return;
  actors_[raw(partition)] = {};
  new_actors_.push_back(partition);
}

void Executor::set_actor_aside(Partition partition) {
  if (!has_actor(partition)) return;
  aside_.emplace(partition, std::exchange(actors_[raw(partition)], {}).id);
}

// An alias names a cell of one actor. So what the actor in its place changes has none, up to here.
bool Executor::is_aside(const ShardRef& shard) const {
  return aside_.contains(map_.place(shard).partition());
}

void Executor::take_actor_back(Partition partition) {
  const auto old = aside_.find(partition);
  if (old == aside_.end()) return;
  if (has_open()) seal(Step::none);
  load_actor(partition, old->second);
  aside_.erase(old);
}

void Executor::push_open(Record& record, ShardList& local) {
  const Commit commit = record.delta.commit();
  ShardState state;
  map_.take_open([&](Entry& entry) {
    QUIPU_CHECK(entry.dirty(), "a record holds what has changed since the last checkpoint", commit);
    if (has_peers_ && entry.has(Entry::kLocal)) local.push(entry.ref());
    const bool whole = map_.show(entry) || entry.has(Entry::kWhole);
    const bool by_name = !aside_.empty() && is_aside(entry.ref());
    const Entry::CellRef changed = whole || by_name ? Entry::CellRef{} : entry.find_only(commit);
    if (changed && entry.journaled() == checkpoint_.alias()) {
      record.aliased.push_back({entry.alias(), changed.sum()});
      return;
    }
    map_.index().unpack(entry, state);
    if (entry.has_bodies()) {
      if (whole) note_units(entry.ref(), Units::every(), 0);
      keep_units(entry.ref(), state);
    } else if (!whole) {
      keep_changed(state, commit);
    }
    const Alias alias = state.cells.size() == 1 && !by_name ? entry.alias() : Alias{};
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
  for (auto& [shard, units] : std::exchange(open_units_, {})) {
    if (has_peers_) sealed.units.emplace(shard, std::move(units));
  }
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
  open_units_.clear();
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
  open_units_.clear();
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
