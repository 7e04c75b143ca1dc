// backpressure.h: when clients and peers wait because memory fills up.
//
//   backlog > unsynced_bytes ──▶ clients are not read      (until it is half of that)
//   backlog > backlog_bytes ───▶ peers' messages that take room are dropped
//
// Clients wait first. With them silent, only a disk that hangs lets the backlog grow to
// where peers wait, too: their acks empty our outboxes, and a link that is closed for want
// of room costs a repair. A message that was dropped is asked for again by closing the
// link to its sender once there is room: the new link brings all of it again.
#pragma once

#include <cstddef>
#include <vector>

#include "cluster/gates/node_settings.h"
#include "cluster/membership/config.h"

namespace quipu {

class Backpressure {
 public:
  // `settings` must outlive it.
  Backpressure(const NodeSettings& settings, std::size_t members)
      : settings_(settings), dropped_(members) {}

  // About the bytes that wait for the disk, or to be told. Returns the members of whom
  // something was dropped that can be taken now.
  [[nodiscard]] std::vector<MemberIndex> weigh(std::size_t backlog);

  [[nodiscard]] bool clients_wait() const { return clients_wait_; }
  [[nodiscard]] bool peers_wait() const { return peers_wait_; }
  // A message of that member took too much room.
  void on_dropped(MemberIndex from) { dropped_[from] = true; }

 private:
  const NodeSettings& settings_;
  bool clients_wait_ = false;
  bool peers_wait_ = false;
  std::vector<bool> dropped_;  // by member
};

}  // namespace quipu
