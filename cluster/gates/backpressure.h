// backpressure.h: makes clients and peers wait while memory fills up.
//
//   backlog > unsynced_bytes ──▶ clients are not read      (until it is half of that)
//   backlog > backlog_bytes ───▶ peers' messages that take room are dropped
//
// Clients wait first. Then only a disk that hangs lets the backlog grow until peers wait, too.
// Dropping their messages has a price: their acks empty our outboxes, and a link that is
// closed for lack of room costs a repair. Once there is room, the link to the sender of a
// dropped message is closed. The new link brings everything again.
#pragma once

#include <cstddef>
#include <vector>

#include "cluster/gates/node_settings.h"
#include "cluster/membership/config.h"
#include "protocol/check.h"

namespace quipu {

class Backpressure {
 public:
  // `settings` must outlive it.
  Backpressure(const NodeSettings& settings, std::size_t members)
      : settings_(settings), dropped_(members) {}

  // About how many bytes wait for the disk or for sending. Returns the members with dropped
  // messages that now have room.
  [[nodiscard]] std::vector<MemberIndex> weigh(std::size_t backlog);

  [[nodiscard]] bool clients_wait() const { return clients_wait_; }
  [[nodiscard]] bool peers_wait() const { return peers_wait_; }
  // A message of that member needed too much room, and was dropped.
  void on_dropped(MemberIndex from) {
    QUIPU_CHECK(peers_wait_ && from < dropped_.size(), "a message is dropped only while peers wait",
                from);
    dropped_[from] = true;
  }

 private:
  const NodeSettings& settings_;
  bool clients_wait_ = false;
  bool peers_wait_ = false;
  std::vector<bool> dropped_;  // by member
};

}  // namespace quipu
