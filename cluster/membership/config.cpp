#include "cluster/membership/config.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "cluster/membership/planner.h"
#include "protocol/check.h"
#include "protocol/keyed_hash.h"

namespace quipu {
namespace {

constexpr std::size_t kMaxMembers = std::numeric_limits<MemberIndex>::max();

// How many names a message has.
constexpr std::size_t kMostNamesListed = 8;

// A cluster's key is unknown before its id exists, so ids use hashes without a key.
constexpr HashKey kPublic{0};

std::string quoted(std::string_view text) { return '"' + std::string(text) + '"'; }

Status refuse(std::string detail) { return {Code::invalid_argument, std::move(detail)}; }

// The length in front keeps ("ab", "c") apart from ("a", "bc").
void append(std::string& bytes, std::string_view text) {
  for (unsigned shift = 0; shift < 64; shift += 8) {
    bytes.push_back(static_cast<char>((std::uint64_t{text.size()} >> shift) & 0xff));
  }
  bytes.append(text);
}

// Hashes everything that determines the owner table, and the addresses of members: nodes that
// differ in any of it must not count each other's answers. `members` are sorted, so that the
// order of the settings does not matter.
ClusterId cluster_id(std::string_view name, const std::vector<Member>& members,
                     std::uint8_t replication) {
  std::string bytes;
  append(bytes, name);
  append(bytes, std::to_string(replication));
  for (const Member& member : members) {
    append(bytes, member.name);
    append(bytes, member.peer_address);
    append(bytes, member.zone);
    append(bytes, std::to_string(member.weight));
  }
  return ClusterId{hash64(kPublic, bytes)};
}

Status check_each(const std::vector<Member>& members) {
  for (const Member& member : members) {
    if (member.name.empty()) {
      return refuse("the member at " + quoted(member.peer_address) + " has no name");
    }
    if (member.peer_address.empty()) {
      return refuse("member " + quoted(member.name) + " has no peer address");
    }
  }
  return {};
}

Status check_distinct(const std::vector<Member>& sorted) {
  std::vector<std::string_view> addresses;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    // Two names with one hash count as equal: they could not be distinguished.
    if (i > 0 && sorted[i - 1].id == sorted[i].id) {
      return refuse("two members are named " + quoted(sorted[i].name));
    }
    addresses.push_back(sorted[i].peer_address);
  }
  std::sort(addresses.begin(), addresses.end());
  const auto twice = std::adjacent_find(addresses.begin(), addresses.end());
  if (twice != addresses.end()) return refuse("two members have peer address " + quoted(*twice));
  return {};
}

Status check(const std::vector<Member>& sorted, std::uint8_t replication) {
  if (sorted.empty()) return refuse("a cluster needs at least one member");
  if (sorted.size() > kMaxMembers) {
    return refuse("a cluster has at most " + std::to_string(kMaxMembers) + " members, not " +
                  std::to_string(sorted.size()));
  }
  if (replication < 1 || replication > kMaxReplication) {
    return refuse("replication must be 1 to " + std::to_string(kMaxReplication) + ", not " +
                  std::to_string(replication));
  }
  if (Status each = check_each(sorted); !each.ok()) return each;
  if (Status distinct = check_distinct(sorted); !distinct.ok()) return distinct;
  if (std::all_of(sorted.begin(), sorted.end(), [](const Member& m) { return m.weight == 0; })) {
    return refuse("every member has weight 0, so that nobody would own the data");
  }
  return {};
}

}  // namespace

OwnerTable::OwnerTable(std::uint8_t replication, std::vector<MemberIndex> rows)
    : replication_(replication), rows_(std::move(rows)) {
  QUIPU_CHECK(rows_.size() == kPartitions * replication_, "each partition has all its owners",
              rows_.size(), replication_);
  for (std::uint16_t p = 0; p < kPartitions; ++p) {
    for (const MemberIndex owner : of(Partition{p})) {
      if (owner >= owned_.size()) owned_.resize(std::size_t{owner} + 1);
      owned_[owner].insert(Partition{p});
    }
  }
}

std::string name_list(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  if (names.size() > kMostNamesListed) {
    const std::size_t rest = names.size() - kMostNamesListed;
    names.resize(kMostNamesListed);
    names.push_back(std::to_string(rest) + " more");
  }
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
    text += names[i];
  }
  return text;
}

std::optional<MemberIndex> ClusterConfig::find(NodeId node) const {
  const auto at =
      std::lower_bound(members.begin(), members.end(), node,
                       [](const Member& member, NodeId other) { return member.id < other; });
  if (at == members.end() || at->id != node) return std::nullopt;
  return static_cast<MemberIndex>(at - members.begin());
}

NodeId node_id(std::string_view name) {
  const std::uint64_t hash = hash64(kPublic, name);
  return NodeId{hash == 0 ? 1 : hash};  // 0 means none
}

Result<ClusterConfig> found_config(std::string name, std::vector<Member> members,
                                   std::uint8_t replication) {
  for (Member& member : members) member.id = node_id(member.name);
  std::sort(members.begin(), members.end(),
            [](const Member& a, const Member& b) { return a.id < b.id; });
  if (Status checked = check(members, replication); !checked.ok()) return checked;

  ClusterConfig config;
  config.id = cluster_id(name, members, replication);
  config.name = std::move(name);
  config.owners = plan(members, replication);
  QUIPU_CHECK(config.owners.replication() >= 1 && config.owners.replication() <= replication,
              "each partition has an owner", config.owners.replication(), replication);
  config.members = std::move(members);
  return config;
}

}  // namespace quipu
