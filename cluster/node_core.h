// node_core.h: a whole node without sockets, clock, threads or disk: events in,
// effects out. quipud runs one on an event loop; the simulator runs many in one
// thread of virtual time.
//
//   on_ops, on_read, on_list, on_size, on_link_*, on_durable, on_tick ──▶ Effects
//
// It only routes between its parts, each of which has a file of its own:
//
//   greeting       who may talk               coordinator   how an op is carried out
//   replicator     states on their way        forwarder     ops for other executors
//   freshness      how old our view is        quorum_waits  acks that are owed
//   anti_entropy   what replication missed    collector     states of a majority
//   replica        what others ask of us      reads         how a read is answered
//   listing        which counters exist       sizing        how many do
//   outbound       what must wait for a commit   residency    … or for the store
//
// After each call: do the effects in order, then arm one timer at deadline().
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "cluster/changes/coordinator.h"
#include "cluster/gates/effects.h"
#include "cluster/gates/handshake.h"
#include "cluster/gates/residency.h"
#include "cluster/reads/listing.h"
#include "cluster/reads/sizing.h"
#include "cluster/replication/anti_entropy.h"
#include "cluster/replication/replica.h"
#include "protocol/message_codec.h"

namespace quipu {

// For recover(). What others own is never evicted: it is kept until they have it.
[[nodiscard]] ExecutorOptions executor_options(const ClusterConfig& config, MemberIndex self,
                                               const NodeSettings& settings);

// What a core does. One that only reads has a disk without room for this start: it answers
// local reads from what it holds, opens no link, and changes nothing, not even in memory.
enum class Service : std::uint8_t { all, reads };

class NodeCore {
 public:
  // `executor` comes from recover(), and its identity is durable; for Service::reads, it
  // comes from recover_for_reads().
  NodeCore(Instant now, ClusterConfig config, MemberIndex self, NodeSettings settings,
           std::unique_ptr<Executor> executor, Random random, Service service = Service::all);
  NodeCore(const NodeCore&) = delete;
  NodeCore& operator=(const NodeCore&) = delete;

  // ---- clients ----
  // Each op is answered by one Done with its id, now or later. Borrows only
  // during the call. What is known at once is appended to `at_once`, if there is one,
  // mostly in the order of `ops`, and the shell keeps it until Effects::released says so;
  // else it is kept here. With `at_once` there are no effects before finish_batch, which
  // may be shared by many.
  void on_ops(Instant now, ClientId client, std::span<const Op> ops, Effects& effects,
              std::vector<AtOnce>* at_once = nullptr);
  void on_read(Instant now, ClientId client, const Read& read, Effects& effects);
  void finish_batch(Instant now, Effects& effects);
  [[nodiscard]] bool in_batch() const { return in_batch_; }
  // At `local`, without effects: Value::shards is 0 for the keys that on_read must be
  // asked for, since the answer is not in this node's memory.
  void read_now(Instant now, std::span<const std::string_view> keys, std::span<Value> values) const;
  // Answered by one Keys or one Sized with its id.
  void on_list(Instant now, ClientId client, const List& list, Effects& effects);
  void on_size(Instant now, ClientId client, const Size& size, Effects& effects);
  // Answered at once.
  [[nodiscard]] ConfigReply config(std::uint64_t id) const;
  [[nodiscard]] StatusReply status(Instant now, std::uint64_t id) const;
  // While true, read no more from client sockets: memory is filling up.
  [[nodiscard]] bool paused() const { return paused_; }

  // ---- peers ----
  // The lower node id dials the higher. `dialed`: whom the shell called.
  [[nodiscard]] bool dials(MemberIndex member) const;
  void on_link_open(Instant now, LinkId link, std::optional<MemberIndex> dialed, Effects& effects);
  void on_link_frame(Instant now, LinkId link, FrameType type, Payload payload, Effects& effects);
  void on_link_closed(Instant now, LinkId link, Effects& effects);
  // Who is at the other end of an open link, if that is known.
  [[nodiscard]] std::optional<MemberIndex> peer_of(LinkId link) const {
    return greeting_.peer(link);
  }
  // What the frame decoder of a peer connection must be given.
  [[nodiscard]] std::uint64_t frame_salt() const { return raw(config_.id); }

  // ---- the store ----
  // All writes up to this commit are durable.
  void on_durable(Instant now, Commit commit, Effects& effects);
  // What Effects::load asked for.
  void on_loaded(Instant now, const Loaded& loaded, Effects& effects);
  // The store has no room (it will try again), or has again.
  void on_storage_full(bool full);
  [[nodiscard]] bool storage_full() const { return view_.full(self_); }

  // ---- time ----
  void on_tick(Instant now, Effects& effects);
  [[nodiscard]] Instant deadline() const;

  // From now on nothing that is open waits for the gossip, so that the node is soon quiet.
  void begin_closing(Instant now, Effects& effects);

  // Founded, settled, and so serving; and if not, what it waits for.
  [[nodiscard]] bool ready() const { return serves_reads() && service_ == Service::all; }
  [[nodiscard]] bool serves_reads() const { return settled_ && !view_.retired(); }
  [[nodiscard]] std::string state() const;
  // Serving, but with a new disk that has not got everything from the other owners yet.
  [[nodiscard]] bool being_filled() const { return ready() && !view_.whole(); }
  // Nothing is open, in flight to the store, or owed to a client; outboxes that
  // have a link are empty. For a graceful stop.
  [[nodiscard]] bool quiet() const;

  [[nodiscard]] const Executor& executor() const { return *executor_; }
  [[nodiscard]] const ClusterConfig& cluster() const { return config_; }
  [[nodiscard]] const View& view() const { return view_; }

 private:
  void on_ops_of(Instant now, Origin::Kind kind, std::uint64_t who, std::span<const Op> ops);
  using Turn = Residency::Turn;
  void dispatch(Instant now, MemberIndex from, PeerMessage& message, Turn turn = Turn::first);
  void on_hello(Instant now, LinkId link, const Hello& hello, Effects& effects);
  void on_met(Instant now, const Greeting::Met& met);
  void on_link_up(Instant now, MemberIndex member);
  void on_link_lost(MemberIndex member);
  void on_ack(Instant now, MemberIndex from, const DeltaAck& ack);
  void on_beat(Instant now, MemberIndex from, const Beat& beat);
  void on_repaired(const AntiEntropy::Repaired& repaired);
  void adopt_pins(Instant now);
  void on_replaced(Instant now, MemberIndex member);
  void pull(Instant now, MemberIndex member);
  void forget_pulled(MemberIndex member);
  void settle(Instant now);
  void confirm(MemberIndex member);
  void gossip(Instant now);
  void retry_what_is_due(Instant now);
  void finish_event(Instant now, Effects& effects);
  void route_internal(Instant now);
  void route_finished(Instant now, Collector::Finished& finished, Turn turn);
  // Nothing is on its way to the store.
  [[nodiscard]] bool idle() const { return unsynced_.empty(); }
  [[nodiscard]] bool open_may_wait() const;
  void seal_what_is_due(Effects& effects);
  void weigh_backlog(Effects& effects);
  void take_records(Effects& effects);
  void hear_again(Effects& effects);
  void abandon_identity();
  void retire(Effects& effects);

  ClusterConfig config_;
  MemberIndex self_;
  NodeSettings settings_;
  const Service service_;
  std::unique_ptr<Executor> executor_;
  Random random_;

  View view_;
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
  Listing listing_;
  Sizing sizing_;
  Coordinator coordinator_;
  Greeting greeting_;

  Instant settle_by_;  // after it, silent peers are waited for no more
  bool settled_ = false;
  std::vector<bool> confirmed_;  // by member: it testified for this store
  std::vector<bool> unheard_;    // by member: while swamped, something of its was dropped
  std::vector<AntiEntropy::Repaired> repairing_;  // their last merge is not durable yet
  Commit durable_{};
  bool seal_due_ = true;  // as soon as the store is idle, whoever waits or not
  bool closing_ = false;
  std::deque<std::pair<Commit, std::size_t>> unsynced_;  // bytes of records in flight
  std::size_t unsynced_bytes_ = 0;
  bool paused_ = false;   // clients are not read
  bool swamped_ = false;  // nor is what peers send, if it takes room
  bool abandoned_ = false;
  bool in_batch_ = false;  // ops were taken, and their event is not finished
  Instant next_gossip_;
};

}  // namespace quipu
