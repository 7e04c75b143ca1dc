// store_identity.h: this store's identity, and whether its peers have confirmed it.
//
//   started ──founded; every other owner confirmed, or waited long enough──▶ settled
//      └─ a peer knows more than this disk: it lost something ──▶ abandoned: another store now
//
// An owner confirms a start when it has welcomed it and its version vector has nothing of this
// store that the store itself lacks. If every other owner of a partition confirmed, the
// partition keeps its actor. Else it draws another one, since the last adds may be lost, and
// goes back to its own once the last owner confirms.
//
// Invariants: an actor is never used again after its state was lost or rolled back. Nothing
// is executed before the store is settled, or after it was abandoned.
#pragma once

#include <vector>

#include "cluster/membership/view.h"
#include "protocol/instant.h"
#include "storage/executor.h"

namespace quipu {

class StoreIdentity {
 public:
  // Both must outlive it. It waits for silent peers until `settle_by`.
  StoreIdentity(const View& view, Executor& executor, Instant settle_by);

  void on_confirmed(MemberIndex owner);
  // Settles if it is time.
  void settle(Instant now);
  [[nodiscard]] bool settled() const { return settled_; }
  // For a core that changes nothing: it does not ask peers whether this store lost anything.
  void settle_for_reads() { settled_ = waits(); }
  // When settle() must be called at the latest.
  [[nodiscard]] Instant deadline() const { return waits() ? settle_by_ : kNever; }

  // A peer knows more than this disk. From now on this is the store `next`, marked. The change
  // is sealed.
  void abandon(StoreId next);
  [[nodiscard]] bool abandoned() const { return abandoned_; }

  // Settled, and not replaced by another pinned store: it may execute and answer.
  [[nodiscard]] bool ready() const { return settled_ && !view_.retired(); }

  // Everything that this member held has been pulled, and its copy was in sync. A replacement
  // remembers its sources.
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
