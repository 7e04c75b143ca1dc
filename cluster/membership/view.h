// view.h: this node's current view of the cluster: the config, which members it has a link
// to, which stores are pinned, which copies are in sync.
//
// Liveness only steers routing. It never changes ownership.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cluster/membership/config.h"
#include "protocol/check.h"
#include "protocol/peer_messages.h"

namespace quipu {

class View {
 public:
  // `config` must outlive the view. `boot` is this start's.
  View(const ClusterConfig& config, MemberIndex self, BootId boot);

  [[nodiscard]] const ClusterConfig& config() const { return config_; }
  [[nodiscard]] MemberIndex self() const { return self_; }
  [[nodiscard]] std::size_t size() const { return config_.members.size(); }
  // The first question number of this start. It is far from those of other starts, so that a
  // delayed answer to an earlier start matches nothing.
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
    QUIPU_CHECK(up || member != self_, "this node itself is always up", member);
    if (up_[member] != up) ++changes_;
    up_[member] = up;
    set_full(member, false);
    set_closing(member, false);
  }
  [[nodiscard]] bool majority_up(Partition partition) const;
  // The member's last heartbeat said that its disk is full: it executes and acknowledges nothing.
  [[nodiscard]] bool full(MemberIndex member) const { return full_[member]; }
  // It takes no more changes of other members, and acknowledges until its link is lost.
  [[nodiscard]] bool closing(MemberIndex member) const { return closing_[member]; }
  void set_closing(MemberIndex member, bool closing) {
    if (closing_[member] != closing) ++changes_;
    closing_[member] = closing;
  }
  // It may be sent a change.
  [[nodiscard]] bool takes_changes(MemberIndex member) const {
    return up(member) && !full(member) && !closing(member);
  }
  void set_full(MemberIndex member, bool full) {
    if (full_[member] != full) ++changes_;
    full_[member] = full;
  }
  // How often either has changed, for any member.
  [[nodiscard]] std::uint64_t changes() const { return changes_; }
  // A majority of the owners is up and has room.
  [[nodiscard]] bool majority_has_room(Partition partition) const;
  // An owner that is up. This node comes first, but last while it is being filled. Nothing if
  // there is none.
  [[nodiscard]] std::optional<MemberIndex> live_owner(Partition partition) const {
    if (owned(partition) && in_quorum(partition)) return self_;
    return next_live_owner(partition);
  }
  // The same, without other members whose disk is full.
  [[nodiscard]] std::optional<MemberIndex> owner_with_room(Partition partition) const;
  // The first owner that is up, in sync and has room, in the order of the owner table: all nodes
  // name the same, unless they disagree about that. Nothing if there is none.
  [[nodiscard]] std::optional<MemberIndex> home(Partition partition) const;
  // The owner that answers if one suffices. `by_home`: its home, if it has one.
  [[nodiscard]] std::optional<MemberIndex> answers_first(Partition partition, bool by_home) const {
    const std::optional<MemberIndex> at_home = by_home ? home(partition) : std::nullopt;
    return at_home ? at_home : live_owner(partition);
  }
  // For people.
  [[nodiscard]] std::string owner_names(Partition partition) const;
  // The start of that member that this node accepted last.
  void set_boot(MemberIndex member, BootId boot) { boots_[member] = boot; }
  // Whether each is the last known start of some member. False for a member that this node has
  // not met since its own start.
  [[nodiscard]] bool all_current(std::span<const BootId> boots) const;

  // ---- stores ----
  // Applies the current meta; cheap if nothing changed. True if the fence changed.
  bool adopt(const Meta& meta);
  [[nodiscard]] Fence fence() const { return fence_; }
  // The fence of a member with these pins.
  [[nodiscard]] Fence fence_of(const Pins& pins) const;
  // Another store was pinned in place of this node's.
  [[nodiscard]] bool retired() const { return retired_; }
  [[nodiscard]] const std::vector<StoreId>& stores() const { return stores_; }
  [[nodiscard]] StoreId pinned(MemberIndex member) const { return stores_[member]; }
  [[nodiscard]] std::optional<MemberIndex> holder(StoreId store) const;
  // Whether this node's own copy is in sync, so that quorums may include it. A replacement is
  // not until it has merged the partition from enough other owners to meet every majority.
  [[nodiscard]] bool in_quorum(Partition partition) const { return in_quorum_.contains(partition); }
  // Whether this node's copy of the partition is an answer by itself.
  [[nodiscard]] bool answers_for(Partition partition) const {
    return owned(partition) && !retired_ && in_quorum(partition);
  }
  // … of which of these partitions.
  [[nodiscard]] Partitions answers_for(const Partitions& partitions) const;
  // In sync in every partition that this node owns.
  [[nodiscard]] bool whole() const { return owned_.without(in_quorum_).empty(); }
  // That member is still bootstrapping. Do not use it as a source and do not wait for it.
  void set_bootstrapping(MemberIndex member, bool hollow);
  [[nodiscard]] bool bootstrapping(MemberIndex member) const { return bootstrapping_[member]; }
  // The partitions of `shards` where it is not in sync, sorted, each once.
  [[nodiscard]] std::vector<Partition> unfilled(std::vector<Partition> partitions,
                                                const std::vector<Partition>& refused = {}) const;

 private:
  [[nodiscard]] std::optional<MemberIndex> next_live_owner(Partition partition) const;
  [[nodiscard]] std::size_t count_up(Partition partition, bool with_room) const;
  // Updates the result of in_quorum() when its inputs have changed.
  void update_in_quorum();
  [[nodiscard]] bool filled(Partition partition) const;

  const ClusterConfig& config_;
  MemberIndex self_;
  const Partitions owned_;  // used by every op
  std::uint64_t first_number_;
  std::vector<bool> up_;
  std::vector<bool> full_;
  std::vector<bool> closing_;
  std::uint64_t changes_ = 0;
  std::vector<BootId> boots_;  // by member; 0: not met yet
  std::optional<Pins> pins_;   // nothing: meta was not applied yet
  std::vector<StoreId> stores_;
  Fence fence_{};
  bool retired_ = false;
  bool marked_ = false;
  std::vector<NodeId> sources_;    // from meta
  std::vector<bool> filled_from_;  // the same, by member
  std::vector<bool> bootstrapping_;
  Partitions in_quorum_ = Partitions::all();  // computed from marked_ and these
};

}  // namespace quipu
