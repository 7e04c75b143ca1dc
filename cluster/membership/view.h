// view.h: the cluster as this node sees it at the moment: the config, which
// members it has a link to, which stores are pinned, whose copies count.
//
// Liveness only steers routing; it never changes who owns what.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cluster/membership/config.h"
#include "protocol/peer_messages.h"

namespace quipu {

class View {
 public:
  // `config` must outlive the view. `boot` is this start's.
  View(const ClusterConfig& config, MemberIndex self, BootId boot);

  [[nodiscard]] const ClusterConfig& config() const { return config_; }
  [[nodiscard]] MemberIndex self() const { return self_; }
  [[nodiscard]] std::size_t size() const { return config_.members.size(); }
  // Where this start's numbers of questions begin: far from those of any other, so
  // that an answer that a peer kept back since an earlier one matches nothing.
  [[nodiscard]] std::uint64_t first_number() const { return first_number_; }

  // ---- ownership ----
  [[nodiscard]] std::span<const MemberIndex> owners(Partition partition) const {
    return config_.owners.of(partition);
  }
  [[nodiscard]] bool owns(MemberIndex member, Partition partition) const {
    return config_.owners.owns(member, partition);
  }
  [[nodiscard]] bool owned(Partition partition) const { return owned_.contains(partition); }
  [[nodiscard]] const Partitions& owned() const { return owned_; }
  [[nodiscard]] std::size_t majority() const { return config_.owners.majority(); }
  [[nodiscard]] bool edge() const { return config_.members[self_].weight == 0; }

  // ---- liveness ----
  // This node itself is always up.
  [[nodiscard]] bool up(MemberIndex member) const { return up_[member]; }
  void set_up(MemberIndex member, bool up) {
    if (up_[member] != up) ++changes_;
    up_[member] = up;
    set_full(member, false);
  }
  [[nodiscard]] bool majority_up(Partition partition) const;
  // The member's disk has no room, as it said last: it executes and acknowledges nothing.
  [[nodiscard]] bool full(MemberIndex member) const { return full_[member]; }
  void set_full(MemberIndex member, bool full) {
    if (full_[member] != full) ++changes_;
    full_[member] = full;
  }
  // How often either has changed, of any member.
  [[nodiscard]] std::uint64_t changes() const { return changes_; }
  // A majority of the owners is up and has room.
  [[nodiscard]] bool majority_has_room(Partition partition) const;
  // An owner that is up; this node first, but last while it is being filled.
  // Nothing if there is none.
  [[nodiscard]] std::optional<MemberIndex> live_owner(Partition partition) const {
    if (owned(partition) && counts(partition)) return self_;
    return next_live_owner(partition);
  }
  // The same, without other members that have no room.
  [[nodiscard]] std::optional<MemberIndex> owner_with_room(Partition partition) const;
  // For people.
  [[nodiscard]] std::string owner_names(Partition partition) const;
  // The start of that member that this node accepted last.
  void set_boot(MemberIndex member, BootId boot) { boots_[member] = boot; }
  // Whether each is the start of some member that this node knows as its last. Not true of a
  // member that this node has not met since its own start.
  [[nodiscard]] bool all_current(std::span<const BootId> boots) const;

  // ---- stores ----
  // Takes over what meta says now; cheap if that is what it said before. True if the
  // fence changed.
  bool adopt(const Meta& meta);
  [[nodiscard]] Fence fence() const { return fence_; }
  // That of a member who goes by these pins.
  [[nodiscard]] Fence fence_of(const Pins& pins) const;
  // Another store was pinned in place of this node's.
  [[nodiscard]] bool retired() const { return retired_; }
  [[nodiscard]] const std::vector<StoreId>& stores() const { return stores_; }
  [[nodiscard]] StoreId pinned(MemberIndex member) const { return stores_[member]; }
  [[nodiscard]] std::optional<MemberIndex> holder(StoreId store) const;
  // Whether this node's own copy counts for quorums: a replacement does not until
  // it has merged the partition from enough other owners to meet every majority.
  [[nodiscard]] bool counts(Partition partition) const { return counting_.contains(partition); }
  // Whether what this node holds of the partition is an answer by itself.
  [[nodiscard]] bool tells_of(Partition partition) const {
    return owned(partition) && !retired_ && counts(partition);
  }
  // … of which of these.
  [[nodiscard]] Partitions tells_of(const Partitions& partitions) const;
  // In every partition that this node owns.
  [[nodiscard]] bool whole() const { return owned_.without(counting_).empty(); }
  // That member has no whole copy either: it fills nobody, and is waited for by nobody.
  void set_hollow(MemberIndex member, bool hollow);
  // The partitions of `shards` for which it does not, sorted, each once.
  [[nodiscard]] std::vector<Partition> unfilled(std::vector<Partition> partitions,
                                                const std::vector<Partition>& refused = {}) const;

 private:
  [[nodiscard]] std::optional<MemberIndex> next_live_owner(Partition partition) const;
  [[nodiscard]] std::size_t count_up(Partition partition, bool with_room) const;
  // What counts() tells, once what it follows from has changed.
  void recount();
  [[nodiscard]] bool filled(Partition partition) const;

  const ClusterConfig& config_;
  MemberIndex self_;
  const Partitions owned_;  // asked for with every op
  std::uint64_t first_number_;
  std::vector<bool> up_;
  std::vector<bool> full_;
  std::uint64_t changes_ = 0;
  std::vector<BootId> boots_;  // by member; 0: not met yet
  std::optional<Pins> pins_;   // nothing: meta said nothing yet
  std::vector<StoreId> stores_;
  Fence fence_{};
  bool retired_ = false;
  bool marked_ = false;
  std::vector<NodeId> sources_;    // as meta says
  std::vector<bool> filled_from_;  // the same, by member
  std::vector<bool> hollow_;
  Partitions counting_ = Partitions::all();  // follows from marked_ and these
};

}  // namespace quipu
