// Of NodeCore: whose store this is, who has confirmed it, and what follows when it
// turns out to be another one.
#include <algorithm>

#include "cluster/node_core.h"

namespace quipu {

void NodeCore::adopt_pins(Instant now) {
  const std::vector<StoreId> before = view_.stores();
  if (!view_.adopt(executor_->meta())) return;
  collector_.on_fence_changed();
  replicator_.on_fence_changed();
  for (MemberIndex member = 0; member < before.size(); ++member) {
    if (member != self_ && before[member] != StoreId{} && before[member] != view_.pinned(member))
      on_replaced(now, member);
  }
}

// What the old store told others and not us, they tell us if asked once they take nothing
// from it any more. (One that owns nothing has executed nothing.)
void NodeCore::on_replaced(Instant now, MemberIndex member) {
  on_link_lost(member);
  if (config_.members[member].weight == 0) return;
  freshness_.on_replaced(member);
  for (MemberIndex other = 0; other < config_.members.size(); ++other) {
    if (other == self_ || !view_.up(other)) continue;
    forget_pulled(other);
    pull(now, other);
  }
}

// Not before it agrees; then its next beat asks for it again.
void NodeCore::pull(Instant now, MemberIndex member) {
  if (greeting_.agrees(member)) anti_entropy_.urge(now, member, freshness_.lost_epoch(member));
}

void NodeCore::forget_pulled(MemberIndex member) {
  std::erase_if(repairing_, [member](const auto& repaired) { return repaired.peer == member; });
  anti_entropy_.on_link_lost(member);
}

void NodeCore::confirm(MemberIndex member) {
  if (confirmed_[member]) return;
  confirmed_[member] = true;
  for (std::uint16_t p = 0; p < kPartitions; ++p) {
    const auto owners = view_.owners(Partition{p});
    executor_->set_confirmed(Partition{p},
                             std::all_of(owners.begin(), owners.end(),
                                         [this](MemberIndex owner) { return confirmed_[owner]; }));
  }
}

// A partition keeps its actor only if every other owner has testified that this
// store lost nothing, and hears no older life of it; for the silent ones it draws a new one.
void NodeCore::settle(Instant now) {
  if (settled_ || abandoned_ || !executor_->meta().pins.founded) return;
  if (service_ == Service::reads) {  // nobody is asked whether this store lost nothing
    settled_ = true;
    return;
  }
  const bool all = std::all_of(confirmed_.begin(), confirmed_.end(), [](bool one) { return one; });
  if (!all && now < settle_by_) return;
  settled_ = true;
  for (std::uint16_t p = 0; p < kPartitions; ++p) {
    const auto owners = view_.owners(Partition{p});
    const bool confirmed = std::all_of(owners.begin(), owners.end(),
                                       [this](MemberIndex owner) { return confirmed_[owner]; });
    executor_->set_confirmed(Partition{p}, confirmed);
    if (!confirmed) executor_->forget_actor(Partition{p});
  }
}

// A peer remembers what this disk has forgotten: from now on it is another store.
void NodeCore::abandon_identity() {
  if (abandoned_) return;
  abandoned_ = true;
  settled_ = false;
  executor_->become(random_.id<StoreId>());
  executor_->seal();
}

// What is executed from now on would count nowhere: nobody may be told otherwise.
void NodeCore::retire(Effects& effects) {
  for (MemberIndex member = 0; member < config_.members.size(); ++member) {
    if (member != self_ && view_.up(member)) on_link_lost(member);
  }
  greeting_.part(state(), effects);
}

void NodeCore::on_repaired(const AntiEntropy::Repaired& repaired) {
  freshness_.set_pulled(repaired.peer, repaired.epoch);
  view_.set_hollow(repaired.peer, !repaired.whole);
  if (!repaired.whole) return;
  const NodeId source = config_.members[repaired.peer].id;
  const Meta& meta = executor_->meta();
  const auto at = std::find(meta.filled_from.begin(), meta.filled_from.end(), source);
  if (!meta.marked || at != meta.filled_from.end()) return;
  executor_->edit_meta().filled_from.push_back(source);
}

}  // namespace quipu
