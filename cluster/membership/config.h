// config.h: who is in the cluster and who owns what: one immutable value that
// every member holds alike. (Later versions will be agreed by the config chain;
// today there is one, founded from the settings, version 1.)
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
  std::string client_address;  // host:port, as clients should dial it
  std::string zone;            // replicas spread over zones; empty: all in one
  std::uint32_t weight = 1;    // share of the data; 0: an edge node, which owns nothing
};

// "n1, n2 and n3" for a sentence, sorted; of many names the first ones, and how many more.
[[nodiscard]] std::string name_list(std::vector<std::string> names);

// Owners of a partition: who keeps something for each has so much room.
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
  std::vector<Partitions> owned_;  // the same, by member; as far as they own any
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

// As etcd's initial-cluster: every listed node computes the same config by
// itself. Ids and owners do not depend on the order of `members`, nor on
// client addresses; the cluster's id depends on all the rest. invalid_argument: no
// members or more than 65,535, a name or peer address twice or empty, nobody with
// weight, replication 0 or above 7. Fewer weighted members than
// `replication`: every one of them owns everything.
[[nodiscard]] Result<ClusterConfig> found_config(std::string name, std::vector<Member> members,
                                                 std::uint8_t replication);

}  // namespace quipu
