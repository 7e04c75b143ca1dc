// A seat is a position, by node id, among the members that may own something. So no result
// depends on the order of members. All numbers are integers, so none depends on the processor.
#include "cluster/membership/planner.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include "protocol/check.h"
#include "protocol/keyed_hash.h"

namespace quipu {
namespace {

using Seat = std::size_t;
using Row = std::vector<Seat>;
constexpr Seat kNobody = std::numeric_limits<Seat>::max();

// Targets and surpluses are in 1/4096 of a replica.
constexpr std::int64_t kReplica = 4096;
constexpr std::int64_t kAllPartitions = kReplica * std::int64_t{kPartitions};
static_assert(kAllPartitions * 255 <= std::numeric_limits<std::uint32_t>::max(),
              "any amount times any weight fits 64 bits");

bool holds(const Row& row, Seat seat) { return std::ranges::find(row, seat) != row.end(); }

struct Owner {
  NodeId id{};
  MemberIndex member = 0;
  std::uint32_t weight = 0;
  std::size_t zone = 0;
  std::int64_t target = 0;  // its target
  std::int64_t load = 0;    // its current number of replicas

  [[nodiscard]] std::int64_t surplus() const { return load * kReplica - target; }
};

std::vector<Owner> seat_owners(const std::vector<Member>& members) {
  std::map<std::string_view, std::size_t> zones;
  std::vector<Owner> owners;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (members[i].weight == 0) continue;
    owners.push_back({.id = members[i].id,
                      .member = static_cast<MemberIndex>(i),
                      .weight = members[i].weight,
                      .zone = zones.try_emplace(members[i].zone, zones.size()).first->second});
  }
  std::ranges::sort(owners, {}, &Owner::id);
  return owners;
}

using Zone = std::vector<Owner*>;

// ceil(replication / zones), or the lowest higher limit that the members allow.
std::size_t zone_limit(const std::vector<Zone>& zones, std::size_t replication) {
  for (std::size_t limit = 1;; ++limit) {
    std::size_t places = 0;
    for (const Zone& zone : zones) places += std::min(limit, zone.size());
    if (places >= replication) return limit;
  }
}

// Divides `amount` by weight. A seat that would get more than one replica of every partition
// gets exactly that, and the others divide the rest.
void share(Zone open, std::int64_t amount) {
  auto rest = static_cast<std::uint64_t>(amount);
  for (bool capped = true; capped;) {
    std::uint64_t weights = 0;
    for (const Owner* owner : open) weights += owner->weight;
    const std::uint64_t sharing = rest;
    const auto full = [&](Owner* owner) {
      const auto part = static_cast<std::int64_t>(sharing * owner->weight / weights);
      owner->target = std::clamp<std::int64_t>(part, 1, kAllPartitions);  // 0 cannot be a divisor
      if (part >= kAllPartitions) rest -= static_cast<std::uint64_t>(kAllPartitions);
      return part >= kAllPartitions;
    };
    capped = std::erase_if(open, full) > 0;
  }
}

// The same one level up: a zone that would get more than its limit of every partition gets
// exactly that. Each step raises what the others get, so full zones stay full.
void set_targets(std::vector<Zone> open, std::size_t limit, std::size_t replication) {
  const std::int64_t zone_cap = kAllPartitions * static_cast<std::int64_t>(limit);
  std::int64_t rest = kAllPartitions * static_cast<std::int64_t>(replication);
  for (bool capped = true; capped;) {
    Zone sharing;
    for (const Zone& zone : open) sharing.insert(sharing.end(), zone.begin(), zone.end());
    share(std::move(sharing), rest);
    const auto full = [&](const Zone& zone) {
      std::int64_t wanted = 0;
      for (const Owner* owner : zone) wanted += owner->target;
      if (wanted <= zone_cap) return false;
      share(zone, zone_cap);
      rest -= zone_cap;
      return true;
    };
    capped = std::erase_if(open, full) > 0;
  }
}

// How a search for a chain of moves reached a seat.
struct Step {
  Seat giver = kNobody;  // not reached
  std::size_t partition = 0;
};

class Planner {
 public:
  Planner(std::vector<Owner> owners, std::size_t replication)
      : owners_(std::move(owners)), replication_(replication), rows_(kPartitions) {
    QUIPU_CHECK(replication_ >= 1 && replication_ <= owners_.size(),
                "each replica of a partition has an owner of its own", replication_,
                owners_.size());
    std::vector<Zone> zones(owners_.size());  // some may stay empty
    for (Owner& owner : owners_) zones[owner.zone].push_back(&owner);
    limit_ = zone_limit(zones, replication_);
    set_targets(std::move(zones), limit_, replication_);
  }

  // Somebody always fits: any row within the zone limit can be completed.
  void fill() {
    for (std::size_t p = 0; p < kPartitions; ++p) {
      while (rows_[p].size() < replication_) {
        Seat best = kNobody;
        for (Seat seat = 0; seat < owners_.size(); ++seat) {
          const bool can = fits(seat, rows_[p], kNobody);
          if (can && (best == kNobody || emptier(seat, best, p))) best = seat;
        }
        QUIPU_CHECK(best != kNobody, "a row within the zone limit can be completed", p);
        rows_[p].push_back(best);
        ++owners_[best].load;
      }
    }
  }

  // The targets can be met (they are a flow, rounded to whole replicas). So while some seat is a
  // replica off, a chain leads from a seat above its target to one below.
  void balance() {
    std::vector<Seat> seats(owners_.size());
    std::iota(seats.begin(), seats.end(), Seat{0});
    const auto surplus = [&](Seat seat) { return owners_[seat].surplus(); };
    std::vector<Step> steps;
    const auto gives = [&](Seat giver) { return move_along_chain(giver, steps); };
    do {
      steps.assign(owners_.size(), {});
      std::ranges::stable_sort(seats, std::greater{}, surplus);
    } while (relieves(seats.front(), seats.back()) &&
             (move_one(seats.front(), seats.back()) || std::ranges::any_of(seats, gives)));
  }

  // Highest preference first, so that the first owners are spread like the owners.
  [[nodiscard]] OwnerTable table() const {
    std::vector<MemberIndex> members;
    for (std::size_t p = 0; p < kPartitions; ++p) {
      Row row = rows_[p];
      std::ranges::sort(row, std::greater{}, [&](Seat s) { return std::pair(score(s, p), s); });
      for (const Seat seat : row) members.push_back(owners_[seat].member);
    }
    QUIPU_CHECK(members.size() == kPartitions * replication_, "each partition has all its owners",
                members.size(), replication_);
    return {static_cast<std::uint8_t>(replication_), std::move(members)};
  }

 private:
  // Rendezvous hashing: each seat's liking for each partition.
  [[nodiscard]] std::uint64_t score(Seat seat, std::size_t p) const {
    const std::string bytes{static_cast<char>(p & 0xff), static_cast<char>(p >> 8)};
    return hash64(HashKey{raw(owners_[seat].id)}, bytes);
  }

  [[nodiscard]] std::size_t in_zone(const Row& row, std::size_t zone) const {
    const auto there = std::ranges::count(row, zone, [&](Seat seat) { return owners_[seat].zone; });
    return static_cast<std::size_t>(there);
  }

  // Whether `taker` may join the row, in the place of `giver` or kNobody.
  [[nodiscard]] bool fits(Seat taker, const Row& row, Seat giver) const {
    if (holds(row, taker)) return false;
    const std::size_t zone = owners_[taker].zone;
    return (giver != kNobody && owners_[giver].zone == zone) || in_zone(row, zone) < limit_;
  }

  // By load / target with half a replica added (Webster's rule). The plain quotient would fill
  // light members first, and balance() would undo it.
  [[nodiscard]] bool emptier(Seat a, Seat b, std::size_t partition) const {
    const std::int64_t left = (2 * owners_[a].load + 1) * owners_[b].target;
    const std::int64_t right = (2 * owners_[b].load + 1) * owners_[a].target;
    return left != right ? left < right : score(a, partition) > score(b, partition);
  }

  // Each such move lowers the sum of squared surpluses, so balance() ends.
  [[nodiscard]] bool relieves(Seat giver, Seat taker) const {
    const std::int64_t above = owners_[giver].surplus();
    const std::int64_t below = -owners_[taker].surplus();
    return above > 0 && below > 0 && (above >= kReplica || below >= kReplica);
  }

  void move(std::size_t partition, Seat giver, Seat taker) {
    QUIPU_CHECK(holds(rows_[partition], giver) && fits(taker, rows_[partition], giver),
                "a move keeps to the zone limit", partition, giver, taker);
    std::replace(rows_[partition].begin(), rows_[partition].end(), giver, taker);
    --owners_[giver].load;
    ++owners_[taker].load;
  }

  // Starts at a different place for each move, to spread the moved partitions.
  bool move_one(Seat giver, Seat taker) {
    const std::uint64_t start = score(taker, static_cast<std::size_t>(owners_[taker].load));
    for (std::size_t i = 0; i < kPartitions; ++i) {
      const std::size_t p = (start + i) % kPartitions;
      if (!holds(rows_[p], giver) || !fits(taker, rows_[p], giver)) continue;
      move(p, giver, taker);
      return true;
    }
    return false;
  }

  // If zones are in the way: giver → a → b → taker, each passing on another partition. The
  // search is breadth-first: if moves of a shortest chain clashed in a partition, a shorter one
  // would exist. `steps` is shared, since a dead end for a fuller giver is one for the next, too.
  bool move_along_chain(Seat giver, std::vector<Step>& steps) {
    if (steps[giver].giver != kNobody) return false;
    std::vector<Seat> reached{giver};
    steps[giver].giver = giver;
    for (std::size_t next = 0; next < reached.size(); ++next) {
      const Seat from = reached[next];
      for (std::size_t p = 0; p < kPartitions; ++p) {
        if (!holds(rows_[p], from)) continue;
        for (Seat taker = 0; taker < owners_.size(); ++taker) {
          if (steps[taker].giver != kNobody || !fits(taker, rows_[p], from)) continue;
          steps[taker] = {.giver = from, .partition = p};
          reached.push_back(taker);
          if (!relieves(giver, taker)) continue;
          for (Seat at = taker; at != giver; at = steps[at].giver) {
            move(steps[at].partition, steps[at].giver, at);
          }
          return true;
        }
      }
    }
    return false;
  }

  std::vector<Owner> owners_;
  std::size_t replication_;
  std::size_t limit_ = 0;  // of one partition's replicas in one zone
  std::vector<Row> rows_;  // per partition
};

}  // namespace

OwnerTable plan(const std::vector<Member>& members, std::uint8_t replication) {
  std::vector<Owner> owners = seat_owners(members);
  if (owners.empty() || replication == 0) return {};
  const std::size_t possible = std::min<std::size_t>(replication, owners.size());
  Planner planner(std::move(owners), possible);
  planner.fill();
  planner.balance();
  return planner.table();
}

}  // namespace quipu
