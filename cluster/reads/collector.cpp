#include "cluster/reads/collector.h"

#include <algorithm>

#include "cluster/replication/state_size.h"
#include "protocol/check.h"

namespace quipu {
namespace {

// The most shards in one question, and the most bytes of states: a quarter of a frame plus the
// largest shard leaves room for the rest.
constexpr std::size_t kShardsPerAsk = 32;
constexpr std::size_t kBytesPerAsk = kMaxFrame / 4;
static_assert(kBytesPerAsk + kMaxStateBytes < kMaxStatesBytes);

}  // namespace

Collector::Collector(const View& view, const Executor& executor, Outbound& out,
                     Residency& residency, TaskQueue& tasks)
    : view_(view),
      executor_(executor),
      out_(out),
      residency_(residency),
      tasks_(tasks),
      next_id_(view.first_number()) {}

RoundId Collector::collect(Instant now, Mode mode, std::vector<ShardKey> shards, Instant deadline,
                           Then then) {
  Round round;
  round.asked = round.collected = now;
  round.deadline = deadline;
  round.work.resize(shards.size());
  round.shards = std::move(shards);
  begin(round, mode == Mode::one ? Phase::one : Phase::collecting);
  return start(std::move(round), std::move(then));
}

RoundId Collector::write(std::vector<ShardKey> shards, std::vector<ShardState> states,
                         Instant deadline, Then then) {
  QUIPU_CHECK(states.size() == shards.size(), "each shard is written with a state of its own",
              states.size(), shards.size());
  Round round;
  round.deadline = deadline;
  round.work.resize(shards.size());
  round.shards = std::move(shards);
  for (std::size_t i = 0; i < states.size(); ++i) round.work[i].state = std::move(states[i]);
  begin(round, Phase::writing);
  return start(std::move(round), std::move(then));
}

void Collector::join(RoundId round, Then then) {
  const auto at = rounds_.find(round);
  QUIPU_CHECK(at != rounds_.end() || ended_.contains(round),
              "a round is joined before those who asked were told", round);
  auto& askers = at != rounds_.end() ? at->second.askers : ended_.at(round)->askers;
  askers.push_back(std::move(then));
}

RoundId Collector::start(Round round, Then then) {
  const RoundId id{next_id_++};
  QUIPU_CHECK(!round.shards.empty() && round.shards.size() == round.work.size(),
              "a round asks for something", round.shards.size(), round.work.size());
  round.askers.push_back(std::move(then));
  for (std::size_t i = 0; i < round.shards.size(); ++i) {
    round.work[i].partition = executor_.map().place(round.shards[i]).partition();
    round.work[i].by_home = changes_at_home(round.shards[i].shard);
  }
  pursue(id, rounds_.emplace(id, std::move(round)).first->second);
  advance(id);
  return id;
}

// Begins `phase` with no answers counted. Shards that need no write are resolved already.
void Collector::begin(Round& round, Phase phase) {
  round.phase = phase;
  round.unresolved = 0;
  for (std::size_t i = 0; i < round.work.size(); ++i) {
    Shard& shard = round.work[i];
    shard.holders = shard.asked = shard.refused = {};
    shard.by_hash = phase == Phase::collecting && !is_sum(round.shards[i].shard);
    shard.hashes.clear();
    shard.agreed.reset();
    shard.resolved = phase == Phase::writing && shard.answered && shard.identical;
    if (!shard.resolved) ++round.unresolved;
  }
}

// The collected states may be from a start that has ended, so all of them are dropped.
void Collector::begin_anew(Instant now, Round& round) {
  round.collected = now;
  QUIPU_CHECK(round.phase != Phase::one, "one owner's answer is not collected anew", round.phase);
  for (Shard& shard : round.work) {
    shard.state = {};
    shard.answered = false;
    shard.identical = true;
  }
  round.versions.clear();
  round.boots.clear();
  begin(round, Phase::collecting);
}

// For some shard, too many refused for a majority. An owner that refuses may accept at the next
// interval. So if the others suffice, the round waits for them.
bool Collector::writes_in_vain(const Round& round) const {
  if (round.phase != Phase::writing || round.boots.empty()) return false;
  return std::any_of(round.work.begin(), round.work.end(), [this](const Shard& shard) {
    if (shard.resolved || shard.refused.empty()) return false;
    std::size_t left = 0;
    for (const MemberIndex owner : view_.owners(shard.partition)) {
      const OwnerSet one = only(shard, owner);
      const bool may_take = view_.up(owner) && !shard.refused.meets(one);
      if (may_take || shard.holders.meets(one)) ++left;
    }
    return left < view_.majority();
  });
}

// The owners may have forgotten by then that a counter has ended since it was collected.
bool Collector::has_what_is_old(Instant now, const Round& round) const {
  const bool collects =
      round.phase == Phase::collecting || (round.phase == Phase::writing && !round.boots.empty());
  return collects && now - round.collected > kLifeGrace / 2;
}

bool Collector::wants(const Round& round, const Shard& shard, MemberIndex member) const {
  const OwnerSet one = only(shard, member);
  if (shard.resolved || one.empty() || shard.asked.meets(one) || shard.holders.meets(one))
    return false;
  if (shard.by_hash) return !told_hashes(shard).meets(one);
  if (shard.agreed) return to_be_asked(shard) == member;
  if (round.phase != Phase::one) return true;
  if (!shard.asked.empty()) return round.slow;
  return view_.answers_first(shard.partition, shard.by_home) == member;
}

void Collector::pursue(RoundId id, Round& round) {
  for (MemberIndex member = 0; member < view_.size(); ++member) {
    if (!view_.up(member)) continue;
    std::vector<std::size_t> wanted, by_hash;
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < round.work.size(); ++i) {
      if (!wants(round, round.work[i], member)) continue;
      if (round.work[i].by_hash) {
        by_hash.push_back(i);
        if (by_hash.size() == kShardsPerAsk) ask(id, round, member, std::exchange(by_hash, {}));
        continue;
      }
      wanted.push_back(i);
      bytes += state_bytes(round.shards[i], round.work[i].state);
      if (wanted.size() < kShardsPerAsk && bytes < kBytesPerAsk) continue;
      ask(id, round, member, std::exchange(wanted, {}));
      bytes = 0;
    }
    if (!wanted.empty()) ask(id, round, member, std::move(wanted));
    if (!by_hash.empty()) ask(id, round, member, std::move(by_hash));
  }
}

void Collector::ask(RoundId id, Round& round, MemberIndex member, std::vector<std::size_t> shards) {
  QUIPU_CHECK(!shards.empty() && view_.up(member), "a member that is up is asked about some shard",
              member, shards.size());
  const std::uint64_t number = next_id_++;
  // A round in mode one may accept any owner.
  Collect collect{number,
                  round.phase == Phase::one ? Fence{} : view_.fence(),
                  {},
                  round.work[shards.front()].by_hash};
  WriteBack write{number, view_.fence(), Delta{}, {}};
  for (const std::size_t i : shards) {
    round.work[i].asked |= only(round.work[i], member);
    if (round.phase == Phase::writing) {
      write.states.push(round.shards[i], round.work[i].state);
    } else {
      collect.shards.push_back(round.shards[i]);
    }
  }
  // States of other writers are passed on, and so is the version vector for them.
  write.states.versions = round.versions;
  write.boots = round.boots;
  asks_[number] = Ask{id, round.phase, member, std::move(shards), collect.hashes};
  if (round.phase == Phase::writing) {
    out_.send(member, std::move(write));
  } else {
    out_.send(member, std::move(collect));
  }
}

std::optional<Collector::Ask> Collector::take_ask(std::uint64_t id, MemberIndex from) {
  const auto at = asks_.find(id);
  if (at == asks_.end() || at->second.member != from) return std::nullopt;
  Ask ask = std::move(at->second);
  asks_.erase(at);
  const auto round = rounds_.find(ask.round);
  if (round == rounds_.end() || round->second.phase != ask.phase) return std::nullopt;
  return ask;
}

// Owners that gave no useful answer may be asked again, but not at once: a nearby replica
// could be asked in vain for ever.
void Collector::forget_answered_asks() {
  for (auto& [id, round] : rounds_) {
    for (Shard& shard : round.work) shard.asked = {};
  }
  // A replica whose disk hangs never answers, though its link is up.
  std::erase_if(asks_, [this](const auto& entry) {
    const auto round = rounds_.find(entry.second.round);
    return round == rounds_.end() || round->second.phase != entry.second.phase;
  });
  for (const auto& [number, ask] : asks_) {
    const auto round = rounds_.find(ask.round);
    for (const std::size_t i : ask.shards)
      round->second.work[i].asked |= only(round->second.work[i], ask.member);
  }
}

void Collector::count(Shard& shard, Round& round, OwnerSet holders) {
  QUIPU_CHECK(!holders.empty(), "only owners count towards a majority", shard.partition);
  shard.holders |= holders;
  const bool enough = round.phase == Phase::one || shard.holders.size() >= view_.majority();
  if (shard.resolved || !enough) return;
  QUIPU_CHECK(round.unresolved > 0, "each shard is resolved once", round.unresolved);
  shard.resolved = true;
  --round.unresolved;
}

// False: together they exceed the limit of a node. An end that is realized here must be written
// back, too: a slower clock would show later what this read calls ended.
bool Collector::take_answer(Shard& shard, const DeltaEntry& entry) const {
  ShardState theirs{{entry.cells.begin(), entry.cells.end()},
                    entry.shard_count,
                    entry.usable_shards,
                    entry.life,
                    {entry.parts.begin(), entry.parts.end()}};
  ShardState joined = shard.state;
  if (theirs.life != Life{} || joined.life != Life{}) {
    const Wall ended = theirs.life.ended;
    const bool realized = realize_both(joined, theirs, executor_.date());
    if (realized || theirs.life.ended != ended) shard.identical = false;
  }
  merge(joined, as_entry(entry.ref, theirs));
  if (joined.cells.size() > kMaxCells || !has_room(joined.parts)) return false;
  if (shard.answered && theirs != shard.state) shard.identical = false;
  shard.state = std::move(joined);
  shard.answered = true;
  return true;
}

// ---- hashes of bodies ----

OwnerSet Collector::told_hashes(const Shard& shard) const {
  OwnerSet told{};
  for (const auto& [hash, owners] : shard.hashes) told |= owners;
  return told;
}

void Collector::take_hash(Shard& shard, const Hash128& hash, MemberIndex from) {
  const OwnerSet one = only(shard, from);
  if (one.empty() || told_hashes(shard).meets(one)) return;
  const auto same = std::ranges::find(shard.hashes, hash, &std::pair<Hash128, OwnerSet>::first);
  if (same == shard.hashes.end()) {
    shard.hashes.emplace_back(hash, one);
  } else {
    same->second |= one;
  }
}

// Once a majority has answered, by a hash or with a small state.
void Collector::weigh_hashes(Shard& shard) const {
  if (!shard.by_hash || shard.resolved) return;
  OwnerSet told = shard.holders;
  told |= told_hashes(shard);
  if (told.size() < view_.majority()) return;
  shard.by_hash = false;
  for (const auto& [hash, owners] : shard.hashes) {
    if (shard.holders.empty() && owners.size() >= view_.majority()) shard.agreed = {hash, owners};
  }
  shard.hashes.clear();
  shard.asked = {};
}

// This node, if it is one of those that agree: then no state travels.
MemberIndex Collector::to_be_asked(const Shard& shard) const {
  MemberIndex first = view_.self();
  if (shard.agreed->second.meets(only(shard, first))) return first;
  for (const MemberIndex owner : view_.owners(shard.partition)) {
    if (view_.up(owner) && shard.agreed->second.meets(only(shard, owner))) return owner;
  }
  return first;  // none is up: the next interval asks all
}

void Collector::take_state(Round& round, std::size_t i, const DeltaEntry& entry, MemberIndex from) {
  Shard& shard = round.work[i];
  if (!take_answer(shard, entry)) return;
  OwnerSet holders = only(shard, from);
  if (shard.agreed) {
    // Else it has changed since: that is news, and the others are asked, too.
    const ShardState state{{}, 1, 1, entry.life, {entry.parts.begin(), entry.parts.end()}};
    const bool same =
        hash_state(executor_.map().placement_key(), entry.ref, state) == shard.agreed->first;
    if (same) holders |= shard.agreed->second;
    shard.agreed.reset();
  }
  if (!holders.empty()) count(shard, round, holders);
}

void Collector::on_collected(Instant now, MemberIndex from, const Collected& answer) {
  const auto ask = take_ask(answer.id, from);
  if (!ask) return;
  Round& round = rounds_.at(ask->round);
  if (answer.code != Code::ok || answer.states.size() > ask->shards.size()) return;
  const std::size_t unresolved = round.unresolved;
  std::size_t next = 0;
  auto hash = answer.hashes.begin();
  auto other = answer.others.begin();
  answer.states.for_each([&](const DeltaEntry& entry) {
    const std::size_t place = next++, i = ask->shards[place];
    Shard& shard = round.work[i];
    const bool hashed = hash != answer.hashes.end() && hash->shard == place;
    const Hash128 told = hashed ? (hash++)->hash : Hash128{};
    if (other != answer.others.end() && other->shard == place) shard.other = *other++;
    const bool filled =
        !std::binary_search(answer.unfilled.begin(), answer.unfilled.end(), shard.partition);
    if (shard.resolved || entry.ref != ShardRef(round.shards[i]) ||
        (round.phase != Phase::one && !filled))
      return;
    if (!hashed) return take_state(round, i, entry, from);
    if (shard.by_hash) take_hash(shard, told, from);
  });
  for (const std::size_t i : ask->shards) weigh_hashes(round.work[i]);
  if (ask->by_hash) pursue(ask->round, round);
  if (std::find(round.boots.begin(), round.boots.end(), answer.boot) == round.boots.end())
    round.boots.push_back(answer.boot);
  merge_versions(round.versions, answer.states.versions);
  round.age_ms = std::max(round.age_ms, answer.age_ms);
  round.complete = round.complete && answer.complete;
  DurationHistogram& durations = round.phase == Phase::one ? durations_.one : durations_.majority;
  if (round.unresolved < unresolved)
    durations.observe(now - round.asked, unresolved - round.unresolved);
  advance(ask->round);
}

void Collector::on_written(MemberIndex from, const WrittenBack& answer) {
  const auto ask = take_ask(answer.id, from);
  if (!ask) return;
  Round& round = rounds_.at(ask->round);
  for (const std::size_t i : ask->shards) {
    Shard& shard = round.work[i];
    if (answer.code != Code::ok) {
      shard.refused |= only(shard, from);
    } else if (!std::binary_search(answer.unfilled.begin(), answer.unfilled.end(),
                                   shard.partition) &&
               !only(shard, from).empty()) {
      count(shard, round, only(shard, from));
    }
  }
  advance(ask->round);
}

// Asks no owner twice: after a useless answer it would ask again at once, for ever.
void Collector::advance(RoundId id) {
  Round& round = rounds_.at(id);
  if (round.unresolved == 0 && round.phase == Phase::collecting) {
    begin(round, Phase::writing);
    pursue(id, round);
  }
  if (round.unresolved == 0) {
    finish(id, Code::ok);
    return;
  }
  if (round.phase != Phase::one) return;
  const bool hopeless = std::none_of(round.work.begin(), round.work.end(), [](const Shard& shard) {
    return !shard.resolved && !shard.asked.empty();
  });
  if (hopeless) finish(id, Code::ok);
}

void Collector::finish(RoundId id, Code code) {
  Round& round = rounds_.at(id);
  QUIPU_CHECK(code != Code::ok || round.phase == Phase::one || round.unresolved == 0,
              "a round succeeds once a majority has answered for each shard", id, round.phase,
              round.unresolved);
  const auto result = std::make_shared<Result>();
  result->askers = std::move(round.askers);
  Finished& done = result->finished;
  done.round = id;
  done.code = code;
  for (Shard& shard : round.work) {
    done.missing.push_back(!shard.resolved);
    done.others.push_back(shard.other);
    done.states.push_back(std::move(shard.state));
  }
  done.shards = std::move(round.shards);
  done.versions = std::move(round.versions);
  done.asked = round.asked;
  done.age_ms = round.age_ms;
  done.complete = round.complete;
  QUIPU_CHECK(done.states.size() == done.shards.size(),
              "a round tells of each shard that was asked", id, done.states.size(),
              done.shards.size());
  QUIPU_CHECK(!result->askers.empty(), "somebody has asked for each round", id);
  rounds_.erase(id);
  ended_[id] = result;
  tasks_.add([this, result](Instant now) { tell(now, result, Residency::Turn::first); });
}

void Collector::tell(Instant now, const std::shared_ptr<Result>& result, Residency::Turn turn) {
  const Finished& finished = result->finished;
  if (!executor_.map().eviction().all_resident()) {
    Needs needs{finished.shards, {}, 0};
    for (std::size_t i = 0; i < finished.shards.size(); ++i)
      needs.bytes += state_bytes(finished.shards[i], finished.states[i]);
    if (!residency_.resident(needs)) {
      residency_.hold(std::move(needs), turn, std::nullopt,
                      [this, result](Instant then) { tell(then, result, Residency::Turn::again); });
      return;
    }
  }
  const std::size_t told = ended_.erase(finished.round);
  QUIPU_CHECK(told == 1, "a round reports its end once", finished.round);
  for (const Then& asker : result->askers) asker(now, finished);
}

void Collector::on_link_lost(MemberIndex member) {
  std::vector<RoundId> touched;
  std::vector<std::uint64_t> lost;
  for (const auto& [number, ask] : asks_) {
    if (ask.member == member) lost.push_back(number);
  }
  for (const std::uint64_t number : lost) {
    if (const auto ask = take_ask(number, member)) touched.push_back(ask->round);
  }
  forget_answered_asks();
  for (const RoundId id : touched) {
    const auto round = rounds_.find(id);
    if (round == rounds_.end()) continue;
    pursue(id, round->second);
    advance(id);
  }
}

void Collector::on_fence_changed() {
  asks_.clear();
  std::vector<RoundId> all;
  for (auto& [id, round] : rounds_) {
    all.push_back(id);
    // A join is valid from any source. Only the counting of answers starts again.
    if (round.phase == Phase::writing) {
      for (Shard& shard : round.work) shard.identical = false;
    }
    begin(round, round.phase);
    pursue(id, round);
  }
  for (const RoundId id : all) advance(id);
}

void Collector::on_tick(Instant now) {
  forget_answered_asks();
  std::vector<RoundId> late;
  for (auto& [id, round] : rounds_) {
    if (now >= round.deadline) {
      late.push_back(id);
    } else {
      round.slow = std::exchange(round.ticked, true);
      if (writes_in_vain(round) || has_what_is_old(now, round)) begin_anew(now, round);
      for (Shard& shard : round.work) {
        shard.refused = {};
        shard.agreed.reset();  // that owner was silent: all are asked
      }
      pursue(id, round);
    }
  }
  for (const RoundId id : late)
    finish(id, rounds_.at(id).phase == Phase::one ? Code::ok : Code::no_quorum);
}

}  // namespace quipu
