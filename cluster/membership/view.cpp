#include "cluster/membership/view.h"

#include <algorithm>

#include "cluster/membership/pins.h"
#include "protocol/check.h"

namespace quipu {

View::View(const ClusterConfig& config, MemberIndex self, BootId boot)
    : config_(config),
      self_(self),
      owned_(config.owners.owned_by(self)),
      first_number_(raw(boot) >> 1 | 1),  // far from the end, too, and not 0
      up_(config.members.size()),
      full_(config.members.size()),
      closing_(config.members.size()),
      boots_(config.members.size()),
      stores_(config.members.size()),
      filled_from_(config.members.size()),
      bootstrapping_(config.members.size()) {
  QUIPU_CHECK(self < config.members.size(), "this node is a member", self, config.members.size());
  up_[self] = true;
  boots_[self] = boot;
}

std::size_t View::count_up(Partition partition, bool with_room) const {
  return static_cast<std::size_t>(std::ranges::count_if(owners(partition), [&](MemberIndex owner) {
    return up(owner) && !(with_room && full(owner));
  }));
}

bool View::majority_up(Partition partition) const {
  return count_up(partition, false) >= majority();
}

bool View::majority_has_room(Partition partition) const {
  return count_up(partition, true) >= majority();
}

// One of its own zone first: that is another reactor of this node, or is near it. So what a client
// changed through this node shows at once.
std::optional<MemberIndex> View::next_live_owner(Partition partition) const {
  const std::string& zone = config_.members[self_].zone;
  for (const MemberIndex owner : owners(partition)) {
    const bool near = !zone.empty() && config_.members[owner].zone == zone;
    if (near && owner != self_ && up(owner)) return owner;
  }
  for (const MemberIndex owner : owners(partition)) {
    if (owner != self_ && up(owner)) return owner;
  }
  return owned(partition) ? std::optional(self_) : std::nullopt;
}

std::optional<MemberIndex> View::owner_with_room(Partition partition) const {
  if (owned(partition) && in_quorum(partition)) return self_;
  for (const MemberIndex owner : owners(partition)) {
    if (owner != self_ && takes_changes(owner)) return owner;
  }
  return owned(partition) ? std::optional(self_) : std::nullopt;
}

std::optional<MemberIndex> View::home(Partition partition) const {
  for (const MemberIndex owner : owners(partition)) {
    const bool in_sync = owner == self_ ? in_quorum(partition) : !bootstrapping_[owner];
    if (takes_changes(owner) && in_sync) return owner;
  }
  return std::nullopt;
}

Partitions View::answers_for(const Partitions& partitions) const {
  return retired_ ? Partitions{} : partitions.also_in(owned_).also_in(in_quorum_);
}

std::string View::owner_names(Partition partition) const {
  std::string names;
  for (const MemberIndex owner : owners(partition))
    names.append(names.empty() ? "" : ", ").append(config_.members[owner].name);
  return names;
}

bool View::all_current(std::span<const BootId> boots) const {
  return std::all_of(boots.begin(), boots.end(), [this](BootId boot) {
    return boot != BootId{} && std::find(boots_.begin(), boots_.end(), boot) != boots_.end();
  });
}

// Called for each commit that becomes durable. Meta has rarely changed by then.
bool View::adopt(const Meta& meta) {
  if (marked_ != meta.marked || sources_ != meta.filled_from) {
    marked_ = meta.marked;
    sources_ = meta.filled_from;
    std::fill(filled_from_.begin(), filled_from_.end(), false);
    for (const NodeId node : sources_) {
      if (const auto member = config_.find(node)) filled_from_[*member] = true;
    }
    update_in_quorum();
  }
  const bool retired = quipu::retired(meta.pins, meta.store);
  QUIPU_CHECK(!retired_ || retired, "a retired store stays retired", meta.store);
  retired_ = retired;
  if (pins_ == meta.pins) return false;
  pins_ = meta.pins;
  for (const Pin& pin : meta.pins.current) {
    if (const auto member = config_.find(pin.node)) stores_[*member] = pin.store;
  }
  const Fence fence = fence_of(meta.pins);
  return std::exchange(fence_, fence) != fence;
}

Fence View::fence_of(const Pins& pins) const {
  std::string bytes = std::to_string(config_.version);
  for (const Pin& pin : pins.current) bytes.append(" ").append(std::to_string(raw(pin.store)));
  return Fence{hash64(HashKey{raw(config_.id)}, bytes)};
}

std::optional<MemberIndex> View::holder(StoreId store) const {
  const auto at = std::find(stores_.begin(), stores_.end(), store);
  if (at == stores_.end()) return std::nullopt;
  return static_cast<MemberIndex>(at - stores_.begin());
}

void View::set_bootstrapping(MemberIndex member, bool hollow) {
  if (bootstrapping_[member] == hollow) return;
  QUIPU_CHECK(member != self_, "a member tells of its own copy, not of this node's", member);
  bootstrapping_[member] = hollow;
  update_in_quorum();
}

void View::update_in_quorum() {
  in_quorum_ = Partitions::all();
  if (!marked_) return;
  for (const Partition partition : Partitions::all()) {
    if (!filled(partition)) in_quorum_.erase(partition);
  }
}

bool View::filled(Partition partition) const {
  std::size_t sources = 0, others = 0;
  for (const MemberIndex owner : owners(partition)) {
    if (owner == self_) continue;
    if (filled_from_[owner]) ++sources;
    if (filled_from_[owner] || !bootstrapping_[owner]) ++others;
  }
  // This many: each majority that acknowledged something, perhaps including this node's lost
  // copy, contains one of them. If too many disks were lost for that, all that are left:
  // replacements must not wait for each other for ever.
  return sources >= std::min(owners(partition).size() - majority() + 1, others);
}

std::vector<Partition> View::unfilled(std::vector<Partition> partitions,
                                      const std::vector<Partition>& refused) const {
  std::erase_if(partitions, [this](Partition partition) { return in_quorum(partition); });
  partitions.insert(partitions.end(), refused.begin(), refused.end());
  std::sort(partitions.begin(), partitions.end());
  partitions.erase(std::unique(partitions.begin(), partitions.end()), partitions.end());
  return partitions;
}

}  // namespace quipu
