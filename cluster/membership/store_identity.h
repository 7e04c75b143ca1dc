// store_identity.h: who this store is, and whether its peers have confirmed it.
//
//   started ──founded; every other owner confirmed, or waited long enough──▶ settled
//      └─ a peer remembers what this disk has forgotten ──▶ abandoned: another store now
//
// An owner confirms a start when it has welcomed it and what it remembers of this store is
// no more than this store does. A partition whose every other owner confirmed keeps its
// actor; for the others a new one is drawn, since the old one's last adds may be lost.
//
// Invariants: an actor is never used again after its state was lost or rolled back; nothing
// is executed before the store is settled, or after it was abandoned.
#pragma once

#include <vector>

#include "cluster/membership/view.h"
#include "protocol/instant.h"
#include "storage/executor.h"

namespace quipu {

class StoreIdentity {
 public:
  // Both must outlive it. Silent peers are waited for until `settle_by`.
  StoreIdentity(const View& view, Executor& executor, Instant settle_by);

  void on_confirmed(MemberIndex owner);
  // Settles if it is time.
  void settle(Instant now);
  [[nodiscard]] bool settled() const { return settled_; }
  // For a core that changes nothing: it asks no peer whether this store lost anything.
  void settle_for_reads() { settled_ = waits(); }
  // When settle() must be called at the latest.
  [[nodiscard]] Instant deadline() const { return waits() ? settle_by_ : kNever; }

  // A peer remembers what this disk has forgotten: from now on this is the store `next`,
  // marked. The change is sealed.
  void abandon(StoreId next);
  [[nodiscard]] bool abandoned() const { return abandoned_; }

  // Settled, and no other store was pinned in its place: it may execute and answer.
  [[nodiscard]] bool ready() const { return settled_ && !view_.retired(); }

  // All that this member held has been pulled, and its copy was in sync: a replacement
  // remembers whom it was filled from.
  void on_filled_from(MemberIndex source);

 private:
  [[nodiscard]] bool waits() const;
  [[nodiscard]] bool confirmed_by_owners(Partition partition) const;

  const View& view_;
  Executor& executor_;
  const Instant settle_by_;
  std::vector<bool> confirmed_;  // by member
  bool settled_ = false;
  bool abandoned_ = false;
};

}  // namespace quipu
