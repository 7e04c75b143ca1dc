// node_core.h: a whole node without sockets, clock, threads or disk: events in,
// effects out. quipud runs one on an event loop; the simulator runs many in one
// thread of virtual time.
//
//   on_ops, on_read, on_list, on_count_keys, on_link_*, on_durable, on_tick ──▶ Effects
//
// It only routes between its parts. Each has a file of its own:
//
//   handshake      which links carry data     coordinator   how an op is carried out
//   replicator     states to peers            forwarder     ops for other executors
//   freshness      how old our view is        quorum_waits  acks that are owed
//   anti_entropy   what replication missed    collector     states of a majority
//   replica        answers to members         reads         how a read is answered
//   listing        which counters exist       key_counts    how many exist
//   namespace_sync what namespaces are defined
//   prefix_sync    where counters may end   sweep         ends and forgets them
//   outbound       what waits for a commit    residency     … or for the store
//   store_identity whose store this is        seal_policy   when a record is sealed
//   backpressure   when clients and peers wait
//
// After each call: do the effects in order, then arm one timer at deadline().
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "cluster/changes/coordinator.h"
#include "cluster/core_figures.h"
#include "cluster/gates/backpressure.h"
#include "cluster/gates/effects.h"
#include "cluster/gates/handshake.h"
#include "cluster/gates/residency.h"
#include "cluster/gates/seal_policy.h"
#include "cluster/gates/task_queue.h"
#include "cluster/membership/store_identity.h"
#include "cluster/membership/wall_clock.h"
#include "cluster/reads/key_counts.h"
#include "cluster/reads/listing.h"
#include "cluster/reads/queries.h"
#include "cluster/replication/anti_entropy.h"
#include "cluster/replication/namespace_sync.h"
#include "cluster/replication/prefix_sync.h"
#include "cluster/replication/replica.h"
#include "cluster/replication/sweep.h"
#include "protocol/message_codec.h"

namespace quipu {

// For recover(). Partitions of other owners are never evicted: they stay until the owners
// have them.
[[nodiscard]] ExecutorOptions executor_options(const ClusterConfig& config, MemberIndex self,
                                               const NodeSettings& settings);

// What a core does. Service::reads is for a disk without room for this start: the core answers
// local reads from its state, opens no link, and changes nothing, not even in memory.
enum class Service : std::uint8_t { all, reads };

class NodeCore {
 public:
  // `executor` comes from recover(), and its identity is durable; for Service::reads, it
  // comes from recover_for_reads().
  NodeCore(Instant now, Wall wall, ClusterConfig config, MemberIndex self, NodeSettings settings,
           std::unique_ptr<Executor> executor, Random random, Service service = Service::all);
  NodeCore(const NodeCore&) = delete;
  NodeCore& operator=(const NodeCore&) = delete;

  // ---- clients ----
  // Each op is answered by one Done with its id, now or later. Borrows only during the call. If
  // `at_once` is given, answers that are known at once are appended to it, mostly in the order
  // of `ops`, and the shell keeps them until Effects::released. Otherwise they are held here.
  // With `at_once` there are no effects before finish_batch, which many calls may share.
  void on_ops(Instant now, ClientId client, std::span<const Op> ops, Effects& effects,
              std::vector<AtOnce>* at_once = nullptr);
  void on_read(Instant now, ClientId client, const Read& read, Effects& effects);
  // So far. Their answers at once say nothing of what was asked (Done::asked).
  [[nodiscard]] const Coordinator::PlainAdds& plain_adds() const {
    return coordinator_.counts().plain_adds;
  }
  void finish_batch(Instant now, Effects& effects);
  [[nodiscard]] bool in_batch() const { return in_batch_; }
  // At `local`, without effects. Value::shards is 0 for keys that are not in this node's memory:
  // ask on_read for them.
  void read_now(Instant now, std::span<const std::string_view> keys, std::span<Value> values) const;
  // Whether a read that names no level is a local one, whatever its keys.
  [[nodiscard]] bool local_by_default() const { return !executor_->namespaces().by_operation(); }
  // Answered by one Keys or one KeyCount with its id.
  void on_list(Instant now, ClientId client, const List& list, Effects& effects);
  void on_count_keys(Instant now, ClientId client, const CountKeys& size, Effects& effects);
  // Answered by one QueryReply with its id.
  void on_query(Instant now, ClientId client, const Query& query, Effects& effects);
  // Answered by one RangeReply with its id.
  void on_range(Instant now, ClientId client, const RangeRequest& request, Effects& effects);
  // As Coordinator's.
  void decide_by(const Decider& decider) { coordinator_.decide_by(decider); }
  // Whether a decision about all of these counters would be made here and at once.
  [[nodiscard]] bool decides(std::string_view first, std::span<const std::string_view> keys) const {
    return ready() && coordinator_.decides(first, keys);
  }
  // Answered by one NamespaceReply with its id.
  void on_namespaces(Instant now, ClientId client, const NamespaceRequest& request,
                     Effects& effects);
  // Answered at once.
  [[nodiscard]] ConfigReply config(std::uint64_t id) const;
  [[nodiscard]] StatusReply status(Instant now, std::uint64_t id) const;
  [[nodiscard]] CoreFigures figures(Instant now) const;
  // While true, do not read from client sockets: memory is filling up.
  [[nodiscard]] bool paused() const { return backpressure_.clients_wait(); }

  // ---- peers ----
  // The lower node id dials the higher. `dialed`: the member that the shell called.
  [[nodiscard]] bool dials(MemberIndex member) const;
  void on_link_open(Instant now, LinkId link, std::optional<MemberIndex> dialed, Effects& effects);
  void on_link_frame(Instant now, LinkId link, const Frame& frame, Effects& effects);
  void on_link_closed(Instant now, LinkId link, Effects& effects);
  // The node at the other end of an open link, if it is known.
  [[nodiscard]] std::optional<MemberIndex> peer_of(LinkId link) const {
    return handshake_.peer(link);
  }
  // The salt for the frame decoder of a peer connection.
  [[nodiscard]] std::uint64_t frame_salt() const { return raw(config_.id); }

  // ---- the store ----
  // All writes up to this commit are durable.
  void on_durable(Instant now, Commit commit, Effects& effects);
  // The result of Effects::load.
  void on_loaded(Instant now, const Loaded& loaded, Effects& effects);
  // The store is full (it will try again), or has room again.
  void on_storage_full(bool full);
  [[nodiscard]] bool storage_full() const { return view_.full(self_); }

  // ---- time ----
  // `wall` is what the machine's clock shows. Until the next tick, its time goes on by `now`.
  void on_tick(Instant now, Wall wall, Effects& effects);
  [[nodiscard]] Instant deadline() const;

  // Nothing open waits for the gossip from now on, so that the node is soon quiet. It is, once the
  // other members know that it takes no more of their changes.
  void begin_closing(Instant now, Effects& effects);

  // Founded, settled, and its clock compared (or NodeSettings::clock_wait is over): it serves.
  [[nodiscard]] bool ready() const {
    return serves_reads() && service_ == Service::all && !waits_for_clock_;
  }
  [[nodiscard]] bool serves_reads() const { return identity_.ready(); }
  // "ready", or what it waits for, for people.
  [[nodiscard]] std::string state() const;
  // Serving, but with a new disk that does not have everything from the other owners yet.
  [[nodiscard]] bool being_filled() const { return ready() && !view_.whole(); }
  // Nothing is open, on its way to the store, or owed to a client. Outboxes with a link are
  // empty. For a graceful stop.
  [[nodiscard]] bool quiet() const;
  // The members that are not known to have all changes of this node.
  [[nodiscard]] std::vector<MemberIndex> behind() const { return replicator_.behind(); }

  [[nodiscard]] const Executor& executor() const { return *executor_; }
  [[nodiscard]] const ClusterConfig& cluster() const { return config_; }
  [[nodiscard]] const View& view() const { return view_; }
  [[nodiscard]] const WallClock& clock() const { return clock_; }

 private:
  using Turn = Residency::Turn;
  void on_ops_of(Instant now, Origin::Kind kind, std::uint64_t who, std::span<const Op> ops);

  // ---- peer messages: one handle() for each (gates/peer_traits.h) ----
  void dispatch(Instant now, MemberIndex from, PeerMessage& message, Turn turn = Turn::first);
  void look_at_other_kinds(Needs& needs) const;
  void handle(Instant now, MemberIndex from, const Hello& hello);
  void handle(Instant now, MemberIndex from, const Refusal& refusal);
  void handle(Instant now, MemberIndex from, const DeltaFrame& frame);
  void handle(Instant now, MemberIndex from, const DeltaAck& ack);
  void handle(Instant now, MemberIndex from, const Heartbeat& beat);
  void handle(Instant now, MemberIndex from, const Forward& forward);
  void handle(Instant now, MemberIndex from, const Forwarded& answer);
  void handle(Instant now, MemberIndex from, const Collect& ask);
  void handle(Instant now, MemberIndex from, const Collected& answer);
  void handle(Instant now, MemberIndex from, const WriteBack& write);
  void handle(Instant now, MemberIndex from, const WrittenBack& answer);
  void handle(Instant now, MemberIndex from, const Pull& pull);
  void handle(Instant now, MemberIndex from, const Pulled& answer);
  void handle(Instant now, MemberIndex from, const ListPart& ask);
  void handle(Instant now, MemberIndex from, const ListedPart& answer);
  void handle(Instant now, MemberIndex from, const CountKeysPart& ask);
  void handle(Instant now, MemberIndex from, const KeyCountPart& answer);
  void handle(Instant now, MemberIndex from, const Namespaces& told);
  void handle(Instant now, MemberIndex from, const Prefixes& told);

  // ---- links and pins ----
  void on_hello(Instant now, LinkId link, const Hello& hello, Effects& effects);
  void on_handshake(Instant now, const Handshake::Progress& progress);
  void on_link_up(Instant now, MemberIndex member);
  void on_link_lost(MemberIndex member);
  void adopt_pins(Instant now);
  void on_replaced(Instant now, MemberIndex member);
  void part_from_all(Effects& effects);
  void pull(Instant now, MemberIndex member);
  void take_repaired();

  void gossip(Instant now);
  void announce_closing(Instant now);
  [[nodiscard]] bool all_know_that_it_closes() const;
  void send_heartbeat(Instant now, MemberIndex to);
  void retry_what_is_due(Instant now);
  void settle_clock(Instant now);
  void finish_event(Instant now, Effects& effects);
  void seal_what_is_due(Effects& effects);
  void take_records(Effects& effects);
  void weigh_backlog(Effects& effects);
  void hear_again(MemberIndex member, Effects& effects);

  ClusterConfig config_;
  MemberIndex self_;
  NodeSettings settings_;
  const Service service_;
  std::unique_ptr<Executor> executor_;
  Random random_;

  View view_;
  WallClock clock_;
  StoreIdentity identity_;
  SealPolicy seals_;
  Backpressure backpressure_;
  TaskQueue tasks_;
  Outbound out_;
  QuorumWaits waits_;
  Residency residency_;
  Replicator replicator_;
  Freshness freshness_;
  Replica replica_;
  AntiEntropy anti_entropy_;
  Collector collector_;
  Forwarder forwarder_;
  Reads reads_;
  Queries queries_;
  Listing listing_;
  KeyCounts key_counts_;
  NamespaceSync namespaces_;
  PrefixSync prefixes_;
  Sweep sweep_;
  Coordinator coordinator_;
  Handshake handshake_;

  bool waits_for_clock_ = true;
  Instant clock_wait_ends_ = kNever;    // once it serves reads
  std::optional<Commit> closes_after_;  // it closes: once this is durable, it says so
  // Then, by member: the first heartbeat that says so.
  std::optional<std::vector<std::uint64_t>> closes_from_;
  std::vector<MemberIndex> told_to_close_;  // these wait for a heartbeat of ours
  bool in_batch_ = false;                   // ops came, and their event is not finished
  std::uint64_t checkpoints_ = 0;           // those that on_tick() has seen finished
  std::optional<Instant> checkpointed_;
  Instant next_gossip_;
  Instant next_clock_;
};

}  // namespace quipu
