// peer_watch.h: logs state changes of the other members, one line for each event and member.
//
//   peer is up, peer is down                          (and why)
//   the disk of a peer is full, has room again
//   some partitions lack a majority of their owners, all have one again
//
// It compares the core's view with the last one. If nothing has changed, that is one
// comparison. Nodes that start together need a moment to find each other, so the log reports
// missing members only kPatience after this node is ready. The reactors of this node are
// members, too, but the log does not mention them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cluster/node_core.h"
#include "node/base/clock.h"
#include "node/base/log.h"

namespace quipu {

class PeerWatch {
 public:
  explicit PeerWatch(Log log) : log_(std::move(log)) {}

  // For a new core, which sees no peer yet. `siblings`: this node's reactors.
  void begin(const NodeCore& core, const std::vector<MemberIndex>& siblings);
  // Why the last link to a member ended, or could not be opened.
  void set_reason(MemberIndex member, const std::string& why) { peers_[member].why = why; }
  // The last logged state.
  [[nodiscard]] bool up(MemberIndex member) const { return peers_[member].up; }
  // REQUIRES: begin() was called for this core.
  void look(const NodeCore& core);

 private:
  struct Peer {
    bool up = false;
    bool full = false;
    bool sibling = false;
    std::string why{};
  };

  static constexpr Duration kPatience = std::chrono::seconds(3);

  void look_at(const NodeCore& core, MemberIndex member);
  void begin_to_judge(const NodeCore& core);
  void tell_missing(const NodeCore& core);
  void look_at_majorities(const NodeCore& core);

  const Log log_;
  std::vector<Peer> peers_;
  std::uint64_t seen_ = 0;  // View::changes()
  Instant judge_at_ = kNever;
  bool judging_ = false;  // missing members are worth a line
  std::size_t without_majority_ = 0;
};

}  // namespace quipu
