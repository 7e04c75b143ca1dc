#include "cluster/reads/listing.h"

#include <algorithm>
#include <iterator>

#include "protocol/check.h"

namespace quipu {
namespace {

// The most entries visited for one question: bounds the work if little matches.
constexpr std::uint32_t kPlacesPerCall = 64 * std::uint32_t{kLeaves};

Partition partition_at(std::uint32_t cursor) {
  return Partition{static_cast<std::uint16_t>(cursor / kLeaves)};
}

LeafId leaf_at(std::uint32_t cursor) {
  return {partition_at(cursor), static_cast<std::uint8_t>(cursor % kLeaves)};
}

std::uint32_t end_of_partition(std::uint32_t cursor) {
  return (cursor / std::uint32_t{kLeaves} + 1) * std::uint32_t{kLeaves};
}

std::uint32_t end_of_call(std::uint32_t cursor) {
  return std::min(cursor - cursor % std::uint32_t{kLeaves} + kPlacesPerCall, kListEnd);
}

std::uint32_t place_of(const Placement& placement) {
  return raw(placement.partition()) * std::uint32_t{kLeaves} + placement.leaf();
}

// The limit of an owner's answer: all clients with small limits may wait at once.
std::size_t cost(std::size_t prefix, std::uint32_t limit) { return prefix + limit * kMaxKey; }

using EntryIterator = std::vector<const Entry*>::const_iterator;

// Lists the leaf at `at`, and moves `at` behind it. A leaf has more keys than an answer may hold
// only if someone aimed them there, as any client can. The last of these keys are left out,
// rather than let the answer outgrow its frame.
std::vector<ShardKey> names_in_leaf(EntryIterator& at, EntryIterator end, std::string_view prefix,
                                    const std::optional<Wall>& date) {
  std::vector<ShardKey> names;
  for (const std::uint8_t leaf = (*at)->leaf(); at != end && (*at)->leaf() == leaf; ++at) {
    const ShardRef ref = (*at)->ref();
    const bool told = (*at)->shows_counter(date) && ref.key.starts_with(prefix);
    if (told && names.size() < kMaxListKeys) names.push_back({std::string(ref.key), ref.shard});
  }
  return names;
}

}  // namespace

void Listing::on_list(Instant now, ClientId client, const List& list) {
  Walk walk;
  walk.client = client;
  walk.id = list.id;
  walk.limit = std::clamp<std::uint32_t>(list.limit, 1, kMaxListKeys);
  walk.deadline = settings_.deadline(now, list.timeout_ms);
  // No key can begin with a longer prefix.
  walk.begin = list.prefix.size() > kMaxKey ? kListEnd : std::min(list.cursor, kListEnd);
  if (walk.begin < kListEnd) walk.prefix = list.prefix;
  walk.cursor = walk.begin;
  walk.end = end_of_call(walk.begin);
  advance(std::move(walk));
}

// Visits what this node can list, up to an answer, or to an owner that it must ask. A list that
// waits for others has found nothing yet, so it takes little memory.
void Listing::advance(Walk walk) {
  QUIPU_CHECK(walk.begin <= walk.cursor && walk.cursor <= kListEnd, "a walk goes forward",
              walk.begin, walk.cursor);
  Found found = held(walk.prefix, walk.cursor, walk.end, walk.limit);
  QUIPU_CHECK(walk.cursor <= found.next && found.next <= kListEnd,
              "a list goes on behind its cursor", walk.cursor, found.next);
  walk.cursor = found.next;
  if (!found.keys.empty() || walk.cursor >= walk.end)
    return answer(walk, std::move(found.keys), std::move(found.kinds));
  wait(std::move(walk));
}

// Whole leaves only, so that a cursor is a place: the first leaf at any size, the next ones
// while they fit.
Listing::Found Listing::held(std::string_view prefix, std::uint32_t cursor, std::uint32_t end,
                             std::uint32_t limit) const {
  Found found{{}, cursor, {}};
  const std::optional<Wall> date = executor_.date();
  std::vector<const Entry*> entries;
  while (found.next < end && can_tell(found.next)) {
    const Partition partition = partition_at(found.next);
    entries.clear();
    if (executor_.map().ledger().counters(partition) != 0) {
      executor_.map().index().collect_from(
          partition, static_cast<std::uint8_t>(found.next % kLeaves), entries);
    }
    const std::uint32_t told = end_of_memory(found.next);
    QUIPU_CHECK(told > found.next, "what memory can tell of is walked through", found.next, told);
    for (EntryIterator at = entries.begin(); at != entries.end();) {
      const std::uint32_t leaf = raw(partition) * std::uint32_t{kLeaves} + (*at)->leaf();
      if (leaf >= told) break;
      std::vector<ShardKey> names = names_in_leaf(at, entries.end(), prefix, date);
      if (!found.keys.empty() && found.keys.size() + names.size() > limit) {
        found.next = leaf;
        return found;
      }
      for (ShardKey& name : names) {
        found.kinds.push_back(kind_of(name.shard));
        found.keys.push_back(std::move(name.key));
      }
    }
    found.next = told;
  }
  return found;
}

bool Listing::can_tell(std::uint32_t cursor) const {
  const Partition partition = partition_at(cursor);
  return view_.answers_for(partition) && executor_.map().eviction().resident(leaf_at(cursor));
}

// Before the next leaf of the partition that is in the store alone, or at the end.
std::uint32_t Listing::end_of_memory(std::uint32_t cursor) const {
  const std::uint32_t end = end_of_partition(cursor);
  if (executor_.map().eviction().all_resident())
    return end;  // else a list would ask for a million leaves
  while (cursor < end && executor_.map().eviction().resident(leaf_at(cursor))) ++cursor;
  return cursor;
}

// ---- other owners ----

void Listing::wait(Walk walk) {
  const std::size_t bytes = cost(walk.prefix.size(), walk.limit);
  if (walks_.size() >= settings_.pending_operations ||
      bytes_ + bytes > settings_.pending_read_bytes) {
    return refuse(walk, Code::overloaded, "too many lists wait for peers");
  }
  bytes_ += bytes;
  walk.asked = walk.vain = {};
  walk.ticked = false;
  ask(walks_.emplace(next_number_++, std::move(walk)).first);
}

Listing::Walk Listing::take(Walks::iterator at) {
  Walk walk = std::move(at->second);
  walks_.erase(at);
  const std::size_t bytes = cost(walk.prefix.size(), walk.limit);
  QUIPU_CHECK(bytes <= bytes_, "an ended operation's bytes were counted", bytes, bytes_);
  bytes_ -= bytes;
  QUIPU_CHECK(!walks_.empty() || bytes_ == 0, "where no list waits, no bytes are taken", bytes_);
  return walk;
}

OwnerSet Listing::only(const Walk& walk, MemberIndex member) const {
  return {view_.owners(partition_at(walk.cursor)), member};
}

// Asks one more owner. If there is none, and no question is open, the walk waits for the next
// interval, unless it already has something to answer.
void Listing::ask(Walks::iterator at) {
  QUIPU_CHECK(at->second.cursor < kListEnd, "there is no owner to ask behind the last partition",
              at->second.cursor);
  Walk& walk = at->second;
  for (const MemberIndex owner : view_.owners(partition_at(walk.cursor))) {
    const OwnerSet one = only(walk, owner);
    // Itself only for what it must fetch from its store; it may have come since.
    const bool mine = owner == view_.self();
    if (mine && can_tell(walk.cursor)) return advance(take(at));
    if (mine && !view_.answers_for(partition_at(walk.cursor))) continue;
    if (!view_.up(owner) || walk.asked.meets(one) || walk.vain.meets(one)) continue;
    walk.asked |= one;
    out_.send(owner, ListPart{at->first, walk.prefix, walk.cursor, walk.limit});
    return;
  }
  if (walk.asked.empty() && walk.cursor > walk.begin) answer(take(at), {}, {});
}

void Listing::on_list_part(MemberIndex from, const ListPart& ask) {
  Found found = held(ask.prefix, ask.cursor, end_of_call(ask.cursor),
                     std::clamp<std::uint32_t>(ask.limit, 1, kMaxListKeys));
  out_.send(from, ListedPart{ask.id, std::move(found.keys), found.next, std::move(found.kinds)});
}

// A peer may send anything. Only keys that lie behind the cursor, in partitions that it owns,
// each in its place and once, are passed on.
bool Listing::sound(const Walk& walk, MemberIndex from, const ListedPart& answer) const {
  if (answer.next <= walk.cursor || answer.next > kListEnd) return false;
  for (std::uint32_t at = walk.cursor; at < answer.next; at = end_of_partition(at)) {
    if (!view_.owns(from, partition_at(at))) return false;
  }
  std::uint32_t place = walk.cursor;
  ShardRef last{"", 0};
  for (std::size_t i = 0; i < answer.keys.size(); ++i) {
    const Kind kind = answer.kinds.empty() ? Kind::sum : answer.kinds[i];
    const ShardRef first{answer.keys[i], shard_of(kind)};
    const std::uint32_t here = place_of(executor_.map().place(first));
    const bool behind = here > place || (here == place && first > last);
    if (!behind || here >= answer.next || !first.key.starts_with(walk.prefix)) return false;
    place = here;
    last = first;
  }
  return true;
}

void Listing::on_listed_part(MemberIndex from, const ListedPart& told) {
  const auto at = walks_.find(told.id);
  if (at == walks_.end()) return;
  const OwnerSet one = only(at->second, from);
  if (!at->second.asked.meets(one)) return;
  if (!sound(at->second, from, told)) {
    at->second.asked -= one;
    at->second.vain |= one;
    if (at->second.asked.empty()) ask(at);
    return;
  }
  Walk walk = take(at);
  walk.cursor = told.next;
  if (!told.keys.empty() || walk.cursor >= walk.end) return answer(walk, told.keys, told.kinds);
  advance(std::move(walk));
}

void Listing::on_link_lost(MemberIndex member) {
  for (auto at = walks_.begin(); at != walks_.end();) {
    const auto lost = at++;  // which may be answered
    const OwnerSet one = only(lost->second, member);
    if (!lost->second.asked.meets(one)) continue;
    lost->second.asked -= one;
    if (lost->second.asked.empty()) ask(lost);
  }
}

void Listing::on_tick(Instant now) {
  for (auto at = walks_.begin(); at != walks_.end();) {
    const auto due = at++;
    Walk& walk = due->second;
    walk.vain = {};
    if (now >= walk.deadline) {
      const Walk late = take(due);
      refuse(late, Code::unavailable,
             "no owner of partition " + std::to_string(raw(partition_at(late.cursor))) +
                 " answered in time: " + view_.owner_names(partition_at(late.cursor)));
    } else if (std::exchange(walk.ticked, true) || walk.asked.empty()) {
      ask(due);
    }
  }
}

// ---- answers ----

void Listing::answer(const Walk& walk, std::vector<std::string> keys, std::vector<Kind> kinds) {
  QUIPU_CHECK(walk.begin <= walk.cursor && walk.cursor <= kListEnd,
              "a list ends no earlier than it begins", walk.begin, walk.cursor);
  out_.answer(
      walk.client,
      Keys{.id = walk.id, .keys = std::move(keys), .next = walk.cursor, .kinds = std::move(kinds)});
}

// Not if the walk is already further: then its own position is the answer.
void Listing::refuse(const Walk& walk, Code code, std::string why) {
  if (walk.cursor > walk.begin) return answer(walk, {}, {});
  out_.answer(walk.client, Keys{walk.id, {}, walk.cursor, code, std::move(why)});
}

}  // namespace quipu
