// namespace_sync.h: definitions of namespaces: how clients change them, and how all members
// come to hold the same.
//
//   NamespaceRequest ─▶ join, seal, sync ─▶ heartbeats show another sum ─▶ Namespaces to peers
//                                        ─▶ their heartbeats show our sum ─▶ NamespaceReply
//
// Each heartbeat has the sum of the hashes of the definitions that its sender holds durably. A
// member whose own sum differs sends all its definitions, once they are durable and at most once
// per gossip interval. The receiver joins them. This ends when both hold the join
// (storage/namespaces.h).
//
// Rule: a reply to a change leaves when the change is durable here, and every member that is up
// holds it durably, or at the deadline. It names the members that do not hold it yet; they get it
// when they are back.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "cluster/gates/node_settings.h"
#include "cluster/gates/outbound.h"
#include "cluster/membership/view.h"
#include "protocol/wall.h"

namespace quipu {

class NamespaceSync {
 public:
  // All must outlive it.
  NamespaceSync(const View& view, Executor& executor, Outbound& out, const NodeSettings& settings);

  // `wall` is this node's wall time. REQUIRES: the core serves.
  void on_request(Instant now, Wall wall, ClientId client, const NamespaceRequest& request);
  // Defines those of the settings that were never defined, as if long ago, so that each later
  // change, and each drop, wins. REQUIRES: agrees_with_peers(), or it might change one of theirs.
  void define_missing(const std::vector<Namespace>& wanted);

  void on_heartbeat(Instant now, MemberIndex from, const Hash128& sum);
  void on_definitions(const Namespaces& told);
  void on_link_lost(MemberIndex member);
  void on_durable(Commit durable);
  void on_tick(Instant now);

  // Every member that is up holds what is durable here.
  [[nodiscard]] bool agrees_with_peers() const;
  // A change is not durable yet.
  [[nodiscard]] bool is_pending() const { return !pending_.empty(); }
  // The sum of the durable definitions, which heartbeats carry.
  [[nodiscard]] const Hash128& sum() const { return sum_; }
  [[nodiscard]] std::size_t size() const { return waits_.size(); }  // waiting requests

 private:
  struct Wait {
    ClientId client{};
    std::uint64_t id = 0;
    Commit commit{};
    Instant deadline{};
  };

  // What is wrong with it, or with the definition that it leads to; or nothing.
  [[nodiscard]] Status check(const NamespaceRequest& request,
                             const NamespaceDefinition& changed) const;
  [[nodiscard]] NamespaceDefinition changed(Wall wall, const NamespaceRequest& request) const;
  void join(const NamespaceDefinition& definition);
  [[nodiscard]] std::vector<Namespace> defined() const;
  [[nodiscard]] bool holds(MemberIndex member) const;
  [[nodiscard]] std::vector<std::string> absent() const;
  void finish_waits();

  const View& view_;
  Executor& executor_;
  Outbound& out_;
  const NodeSettings& settings_;
  struct Sum {
    Commit commit;
    Hash128 sum;
  };
  std::deque<Sum> pending_;  // sums that are not durable yet: the last one of each record
  Hash128 sum_;
  Commit durable_{};
  std::vector<std::optional<Hash128>> told_;  // by member: by its last heartbeat over this link
  std::vector<Instant> send_from_;            // by member: not before this time
  std::vector<Wait> waits_;
};

}  // namespace quipu
