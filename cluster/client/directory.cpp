#include "cluster/client/directory.h"

#include <algorithm>

#include "protocol/affinity.h"
#include "protocol/check.h"

namespace quipu {
namespace {

// How many random shards to try for one that the connected node owns.
constexpr int kDraws = 8;

std::optional<MemberIndex> find_node(const std::vector<MemberInfo>& members, NodeId node) {
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (members[i].node == node) return static_cast<MemberIndex>(i);
  }
  return std::nullopt;
}

}  // namespace

ClientDirectory::ClientDirectory(const ClientSettings& settings, Random random)
    : settings_(settings), random_(random) {}

bool ClientDirectory::sound(const ConfigReply& reply) {
  if (!find_node(reply.members, reply.node)) return false;
  if (reply.replication == 0 || reply.replication > kMaxReplication ||
      reply.owners.size() != kPartitions * reply.replication)
    return false;
  return std::all_of(reply.owners.begin(), reply.owners.end(),
                     [&](MemberIndex owner) { return owner < reply.members.size(); });
}

void ClientDirectory::learn(const ConfigReply& reply) {
  members_ = reply.members;
  owners_ = OwnerTable(reply.replication, reply.owners);
  placement_key_ = reply.placement_key;
  const auto connected = find_node(members_, reply.node);
  QUIPU_CHECK(connected && reply.replication > 0, "a config that is taken over makes sense",
              reply.node, reply.replication);
  connected_ = *connected;
  std::erase_if(suspects_, [&](const auto& suspect) { return !is_member(suspect.first); });
}

void ClientDirectory::learn_usable(Instant now, std::string_view key, ShardIndex usable) {
  if (usable == 0 || usable > kMaxShards) return;
  if (spreads_.size() >= settings_.max_spread_keys) spreads_.clear();
  Spread& spread = spreads_[std::string(key)];
  spread = {std::max(spread.usable, usable), now};
}

ClientDirectory::Knowledge ClientDirectory::knows_usable(Instant now,
                                                         const std::string& key) const {
  const auto at = spreads_.find(key);
  if (at == spreads_.end()) return Knowledge::none;
  return now - at->second.as_of < settings_.shards_age ? Knowledge::recent : Knowledge::old;
}

void ClientDirectory::suspect(StoreId store, Instant now, Status why) {
  suspects_[store] = {now + settings_.suspicion, std::move(why)};
}

Instant ClientDirectory::suspected_until(StoreId store) const {
  const auto at = suspects_.find(store);
  return at == suspects_.end() ? Instant::min() : at->second.until;
}

Partition ClientDirectory::place(std::string_view key, ShardIndex shard) const {
  return Placement(placement_key_, {key, shard}).partition();
}

ShardIndex ClientDirectory::pick_shard(const ClientChange& change) {
  if (change.only) return *change.only;
  if (spreads_.empty()) return 0;
  const auto at = spreads_.find(change.key);
  if (at == spreads_.end() || at->second.usable == 1) return 0;
  const ShardIndex usable = at->second.usable;
  if (change.affinity != Affinity{})
    return shard_for(change.affinity, Placement(placement_key_, {change.key, 0}), usable);
  const MemberIndex near = nearest(change.key);
  ShardIndex shard = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    shard = static_cast<ShardIndex>(random_.below(usable));
    if (owners_.owns(near, place(change.key, shard))) break;
  }
  return shard;
}

// Among the members at the connected one's address (one node's reactors), the one that owns the
// first shard, and so answers reads. The connected one if none does.
MemberIndex ClientDirectory::nearest(std::string_view key) const {
  const Partition first = place(key, 0);
  const std::string& here = members_[connected_].client_address;
  if (here.empty() || owners_.owns(connected_, first)) return connected_;
  for (const MemberIndex owner : owners_.of(first)) {
    if (members_[owner].client_address == here) return owner;
  }
  return connected_;
}

bool ClientDirectory::can_execute(MemberIndex member, Instant now) const {
  QUIPU_CHECK(member < members_.size(), "an executor is a member", member, members_.size());
  const MemberInfo& info = members_[member];
  return info.weight != 0 && info.store != StoreId{} && !suspected(info.store, now);
}

// If one candidate says that its disk is full, that is the answer for all.
Status ClientDirectory::why_nobody(Partition partition) const {
  Status why(Code::unavailable, "no executor is known to be reachable");
  const auto look = [&](MemberIndex member) {
    const auto at = suspects_.find(members_[member].store);
    if (at != suspects_.end() && !at->second.why.ok()) why = at->second.why;
  };
  look(connected_);
  std::ranges::for_each(owners_.of(partition), look);
  return why;
}

Result<ClientDirectory::Choice> ClientDirectory::choose(Instant now, const ClientChange& change) {
  if (!known()) return {Code::unavailable, "the cluster's members are not known yet"};
  if (!founded()) return {Code::unavailable, founding()};
  const ShardIndex index = pick_shard(change);
  const Partition partition = place(change.key, index);
  for (const MemberIndex near : {nearest(change.key), connected_}) {
    if (owners_.owns(near, partition) && can_execute(near, now))
      return Choice{index, members_[near].store};
  }
  for (const MemberIndex owner : owners_.of(partition)) {
    if (can_execute(owner, now)) return Choice{index, members_[owner].store};
  }
  if (can_execute(connected_, now)) return Choice{index, members_[connected_].store};
  return why_nobody(partition);
}

std::string ClientDirectory::founding() const {
  QUIPU_CHECK(known(), "what a founding waits for is known from a connected node");
  std::vector<std::string> missing;
  for (const MemberInfo& member : members_) {
    if (member.store == StoreId{}) missing.push_back(member.name);
  }
  return "the cluster is not founded yet: " + connected_name() + " waits for " +
         (missing.empty() ? "the others to meet each other" : name_list(missing));
}

bool ClientDirectory::is_member(StoreId store) const {
  return std::any_of(members_.begin(), members_.end(),
                     [&](const MemberInfo& member) { return member.store == store; });
}

bool ClientDirectory::is_connected(StoreId store) const {
  return known() && connected_store() == store;
}

const std::string& ClientDirectory::name_of(StoreId store) const {
  static const std::string kFormer = "a former member";
  for (const MemberInfo& member : members_) {
    if (member.store == store) return member.name;
  }
  return kFormer;
}

const std::string& ClientDirectory::connected_name() const {
  static const std::string kNobody;
  return known() ? members_[connected_].name : kNobody;
}

}  // namespace quipu
