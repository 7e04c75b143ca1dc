// config.h: the members of the cluster and what each owns: one immutable value, the same on
// every member. (The config chain will agree on later versions. Today there is only version
// 1, founded from the settings.)
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "protocol/ids.h"
#include "protocol/partitions.h"
#include "quipu/status.h"

namespace quipu {

// Position in ClusterConfig::members. Dense, so per-member state is an array.
using MemberIndex = std::uint16_t;

struct Member {
  NodeId id{};  // follows from the name
  std::string name;
  std::string peer_address;    // host:port
  std::string client_address;  // host:port that clients should dial
  std::string zone;            // replicas spread over zones; empty: all in one
  std::uint32_t weight = 1;    // share of the data; 0: an edge node, which owns nothing
};

// "n1, n2 and n3" for a sentence, sorted. With many names: the first ones, and how many more.
[[nodiscard]] std::string name_list(std::vector<std::string> names);

// The most owners of a partition: code with an array by owner has this much room.
inline constexpr std::uint8_t kMaxReplication = 7;

// owners[partition][i]: the members that should hold a partition.
class OwnerTable {
 public:
  OwnerTable() = default;
  // `rows` has kPartitions × replication entries.
  OwnerTable(std::uint8_t replication, std::vector<MemberIndex> rows);

  [[nodiscard]] std::span<const MemberIndex> of(Partition partition) const {
    return std::span(rows_).subspan(std::size_t{raw(partition)} * replication_, replication_);
  }
  [[nodiscard]] bool owns(MemberIndex member, Partition partition) const {
    return owned_by(member).contains(partition);
  }
  [[nodiscard]] const Partitions& owned_by(MemberIndex member) const {
    return member < owned_.size() ? owned_[member] : kOwnsNothing;
  }
  [[nodiscard]] std::uint8_t replication() const { return replication_; }
  [[nodiscard]] std::size_t majority() const { return replication_ / 2u + 1; }
  [[nodiscard]] const std::vector<MemberIndex>& rows() const { return rows_; }

 private:
  static constexpr Partitions kOwnsNothing{};

  std::uint8_t replication_ = 0;
  std::vector<MemberIndex> rows_;
  std::vector<Partitions> owned_;  // the same, by member; up to the last that owns any
};

struct ClusterConfig {
  ClusterId id{};
  std::string name;
  std::uint64_t version = 1;
  std::vector<Member> members;  // sorted by node id
  OwnerTable owners;

  [[nodiscard]] std::optional<MemberIndex> find(NodeId node) const;
};

[[nodiscard]] NodeId node_id(std::string_view name);

// As etcd's initial-cluster: every listed node computes the same config by itself. Ids and
// owners do not depend on the order of `members`, nor on client addresses. The cluster's id
// depends on everything else. invalid_argument: no members or more than 65,535; a name or
// peer address that is empty or used twice; no member with a weight; replication 0 or above
// 7. With fewer weighted members than `replication`, each of them owns everything.
[[nodiscard]] Result<ClusterConfig> found_config(std::string name, std::vector<Member> members,
                                                 std::uint8_t replication);

}  // namespace quipu
