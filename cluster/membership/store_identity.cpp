#include "cluster/membership/store_identity.h"

#include <algorithm>

#include "protocol/check.h"

namespace quipu {

StoreIdentity::StoreIdentity(const View& view, Executor& executor, Instant settle_by)
    : view_(view), executor_(executor), settle_by_(settle_by), confirmed_(view.size()) {
  confirmed_[view.self()] = true;
}

bool StoreIdentity::waits() const {
  return !settled_ && !abandoned_ && executor_.meta().pins.founded;
}

bool StoreIdentity::confirmed_by_owners(Partition partition) const {
  const auto owners = view_.owners(partition);
  return std::all_of(owners.begin(), owners.end(),
                     [this](MemberIndex owner) { return confirmed_[owner]; });
}

// Also after the store has settled: then tokens of the partition can be answered again, and it goes
// on under its old actor.
void StoreIdentity::on_confirmed(MemberIndex owner) {
  if (confirmed_[owner]) return;
  QUIPU_CHECK(owner != view_.self(), "another member confirms this store", owner);
  confirmed_[owner] = true;
  for (const Partition partition : Partitions::all()) {
    const bool confirmed = confirmed_by_owners(partition);
    executor_.set_confirmed(partition, confirmed);
    if (confirmed) executor_.take_actor_back(partition);
  }
}

void StoreIdentity::settle(Instant now) {
  if (!waits()) return;
  const bool all = std::all_of(confirmed_.begin(), confirmed_.end(), [](bool one) { return one; });
  if (!all && now < settle_by_) return;
  settled_ = true;
  QUIPU_CHECK(!abandoned_, "a store that was abandoned executes nothing");
  for (const Partition partition : Partitions::all()) {
    const bool confirmed = confirmed_by_owners(partition);
    executor_.set_confirmed(partition, confirmed);
    if (!confirmed) executor_.set_actor_aside(partition);
    QUIPU_CHECK(confirmed || !executor_.has_actor(partition),
                "an actor that may have lost adds is not used", partition);
  }
}

void StoreIdentity::abandon(StoreId next) {
  if (abandoned_) return;
  abandoned_ = true;
  settled_ = false;
  executor_.become(next);
  executor_.seal();
  QUIPU_CHECK(executor_.meta().store == next && executor_.meta().marked && !executor_.has_open(),
              "a store that lost something becomes another store, and must be filled", next);
}

void StoreIdentity::on_filled_from(MemberIndex source) {
  QUIPU_CHECK(source != view_.self(), "a store is filled from other members", source);
  const Meta& meta = executor_.meta();
  const NodeId node = view_.config().members[source].id;
  const auto at = std::find(meta.filled_from.begin(), meta.filled_from.end(), node);
  if (meta.marked && at == meta.filled_from.end())
    executor_.edit_meta().filled_from.push_back(node);
}

}  // namespace quipu
