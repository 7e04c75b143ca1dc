#include "node/peers/peer_watch.h"

#include "protocol/check.h"

namespace quipu {

void PeerWatch::begin(const NodeCore& core, const std::vector<MemberIndex>& siblings) {
  peers_.assign(core.view().size(), {});
  for (const MemberIndex member : siblings) peers_[member].sibling = true;
  peers_[core.view().self()].sibling = true;
  seen_ = core.view().changes();
  judge_at_ = kNever;
  judging_ = false;
  without_majority_ = 0;
}

void PeerWatch::look(const NodeCore& core) {
  QUIPU_CHECK(peers_.size() == core.view().size(), "each member of this core's cluster is watched",
              peers_.size(), core.view().size());
  const bool changed = core.view().changes() != seen_;
  if (!changed && judging_) return;
  seen_ = core.view().changes();
  for (std::size_t member = 0; changed && member < peers_.size(); ++member)
    look_at(core, static_cast<MemberIndex>(member));
  if (!judging_) begin_to_judge(core);
  if (judging_) look_at_majorities(core);
}

void PeerWatch::begin_to_judge(const NodeCore& core) {
  if (!core.ready()) return;
  const Instant now = NodeClock::now();
  if (judge_at_ == kNever) judge_at_ = now + kPatience;
  judging_ = now >= judge_at_;
  if (judging_) tell_missing(core);
}

void PeerWatch::look_at(const NodeCore& core, MemberIndex member) {
  Peer& peer = peers_[member];
  if (peer.sibling) return;
  const std::string& name = core.cluster().members[member].name;
  const bool up = core.view().up(member);
  const bool full = core.view().full(member);
  if (up && !peer.up) log_.info("peer is up", {{"peer", name}});
  if (full && !peer.full) log_.warning("the disk of a peer is full", {{"peer", name}});
  if (up && !full && peer.full) log_.info("the disk of a peer has room again", {{"peer", name}});
  if (!up && peer.up) log_.warning("peer is down", {{"peer", name}, {"why", peer.why}});
  if (up) peer.why.clear();
  peer.up = up;
  peer.full = full;
}

// The peers that have not come since the start. If dialing one failed, that was logged already.
void PeerWatch::tell_missing(const NodeCore& core) {
  for (std::size_t member = 0; member < peers_.size(); ++member) {
    const Peer& peer = peers_[member];
    if (peer.sibling || peer.up || !peer.why.empty()) continue;
    log_.warning("peer is down", {{"peer", core.cluster().members[member].name},
                                  {"why", "it has not connected since this node started"}});
  }
}

// For an edge node, which owns none: all partitions.
void PeerWatch::look_at_majorities(const NodeCore& core) {
  const View& view = core.view();
  const Partitions watched = view.owned().empty() ? Partitions::all() : view.owned();
  std::size_t all = 0;
  std::size_t without = 0;
  for (const Partition partition : watched) {
    ++all;
    if (!view.majority_up(partition)) ++without;
  }
  if (without == without_majority_) return;
  without_majority_ = without;
  if (without == 0) {
    log_.info("a majority of the owners is reachable again, for every partition");
  } else {
    log_.error("no majority of the owners is reachable: strong reads and changes at quorum fail",
               {{"partitions", std::to_string(without)}, {"of", std::to_string(all)}});
  }
}

}  // namespace quipu
