// node.h: one simulated node: the same NodeCore that quipud runs, with a clock, a
// disk and a network that fail, and a process that can die or stop at any moment.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "cluster/changes/decision.h"
#include "cluster/node_core.h"
#include "storage/recovery.h"
#include "tests/simulator/clock.h"
#include "tests/simulator/disk.h"
#include "tests/simulator/network.h"
#include "tests/simulator/oracle.h"

namespace quipu::sim {

class SimNode;

// Shared by all nodes of a world. All of it must outlive them.
struct Shared {
  Timeline& time;
  Trace& trace;
  Network& network;
  Oracle& oracle;
  const ClusterConfig& config;
  NodeSettings settings;
  bool upgrades = false;                         // nodes start into the next release
  std::function<void()> on_crash;                // some process has died
  std::function<void()> on_votes;                // some node's copies got in sync or out of sync
  std::function<void(const SimNode&)> on_turn;   // its core has done something
  std::function<void(const SimNode&)> on_quiet;  // it has closed, and is about to end
};

class SimNode {
 public:
  SimNode(const Shared& shared, MemberIndex self, Random random);

  // Makes connections to all members.
  void meet(std::vector<SimNode*> nodes) { nodes_ = std::move(nodes); }

  // ---- the process ----
  // False: the store did not open, and refusal() says why.
  bool start();
  [[nodiscard]] const Status& refusal() const { return refusal_; }
  // Loses what was not synced. Chance decides about the write under way.
  void crash();
  // As at SIGTERM: refuses requests, and ends when the core is quiet, or then as in a crash.
  // `ended` is called in either case, unless it crashes before.
  void close(Duration patience, std::function<void()> ended);
  // Nothing happens here until then, and then everything (SIGSTOP). Of several calls the latest
  // end is used.
  void pause(Duration length);
  void wake();
  [[nodiscard]] bool running() const { return core_ != nullptr; }
  [[nodiscard]] bool asleep() const { return asleep_; }
  [[nodiscard]] bool closing() const { return closing_ != nullptr; }
  // How often it was started, or crashed.
  [[nodiscard]] std::uint64_t incarnation() const { return incarnation_; }
  [[nodiscard]] HostId host() const { return self_; }
  [[nodiscard]] MemberIndex member() const { return self_; }
  [[nodiscard]] const std::string& name() const { return shared_.config.members[self_].name; }
  [[nodiscard]] Clock& clock() { return clock_; }
  [[nodiscard]] const Clock& clock() const { return clock_; }
  void jump_clock(Duration by);
  // Its machine's wall clock is this far ahead of the true time. The core is not told.
  void set_wall(Wall::duration ahead) { wall_ahead_ = ahead; }
  [[nodiscard]] Wall wall() const;
  [[nodiscard]] Wall true_wall() const { return wall() - wall_ahead_; }
  // The last time at which its core trusted its clock, as seen after an event.
  [[nodiscard]] Instant last_trusted() const { return last_trusted_; }

  // ---- the disk ----
  [[nodiscard]] Disk& disk() { return disk_; }
  [[nodiscard]] const Disk& disk() const { return disk_; }
  // The store that it starts next is a replacement.
  void rebuild() { rebuild_ = true; }

  // ---- the network ----
  // A client's connection arrives. Nothing if the process is down.
  std::optional<Ears> accept_client(std::function<ConnId()> connection);
  // Any connection to the peer port.
  std::optional<Ears> accept_peer(std::function<ConnId()> connection);

  [[nodiscard]] const NodeCore* core() const { return core_.get(); }
  // Whether its present store's copy of the partition has counted for a quorum at some time.
  [[nodiscard]] bool has_voted(Partition partition) const { return !silent_.contains(partition); }
  // Acts as a client that is connected here: reads a counter locally, several strongly, lists,
  // counts, changes. The answer is there a little later.
  void ask(const std::string& key);
  void ask(Op op);
  void ask_strongly(const std::vector<std::string>& keys, Duration timeout);
  void ask(List list);
  void ask(CountKeys size);
  // A change of namespaces, from another client. `begun` gets the definitions as soon as the change
  // is in them. Neither is called if the process dies before.
  struct NamespacesAsked {
    std::function<void(const NamespaceTable&)> begun;
    std::function<void(const NamespaceReply&)> ended;
  };
  void ask(NamespaceRequest request, NamespacesAsked asked);
  // The same for ops and reads of yet another client.
  using Ended = std::function<void(const Answer&)>;
  void ask(Op op, Ended ended);
  void ask(Read read, Ended ended);
  void ask(RangeRequest range, Ended ended);
  void ask(Query query, Ended ended);
  [[nodiscard]] std::size_t asked_namespaces() const { return asked_namespaces_.size(); }
  [[nodiscard]] std::size_t asked_others() const { return asked_others_.size(); }
  [[nodiscard]] const std::optional<Answer>& told() const { return told_; }
  [[nodiscard]] std::optional<Value> answer() const;  // of a read

 private:
  struct Connection {
    FrameDecoder decoder;
    std::function<ConnId()> connection;
  };

  [[nodiscard]] NodeSettings settings();
  void dial();
  void dial(MemberIndex member);
  Ears link_ears(LinkId link);
  void on_link_bytes(LinkId link, const std::string& bytes);
  void on_link_closed(LinkId link);
  void on_client_bytes(ClientId client, const std::string& bytes);
  void on_client_frame(ClientId client, const FrameDecoder::Frame& frame, Effects& effects);
  Op take_op(ClientId client, const FrameDecoder::Frame& frame);
  void give_ops(ClientId client, std::vector<Op>& ops, Effects& effects);
  void say_what_may_be();
  void reply(ClientId client, const Answer& answer);
  void check_total(const std::vector<Op>& ops, const Done& done);
  [[nodiscard]] bool needs_nobody(const Op& op) const;
  void check_served(ClientId client, const Done& done);
  void read_clients_again();
  void answer_client(ClientId client, std::string bytes);
  void perform(Effects& effects);
  void end_if_quiet();
  void die();
  // Somebody may ask it something.
  [[nodiscard]] bool listens() const { return running() && !asleep_ && !closing(); }
  template <class Begin>
  void ask_core(Begin begin);
  void begin_load(LoadRequest request);
  void begin_sync();
  void end_sync();
  void arm();
  void tick();
  void check_clock();
  void watch_votes();
  // Runs `what` once the process is awake, unless it has died meanwhile.
  template <class What>
  void when_awake(What&& what);
  template <class What>
  void later(Instant when, What what);
  void broken(std::string what);

  Shared shared_;
  MemberIndex self_;
  Random random_;
  Clock clock_;
  Wall::duration wall_ahead_{};
  Instant last_trusted_{};
  Wall trusted_wall_{};  // the latest that this core has shown while it trusted its clock
  Disk disk_;
  std::unique_ptr<const Decider> decider_;
  std::vector<SimNode*> nodes_;

  bool rebuild_ = false;
  Status refusal_;
  std::unique_ptr<NodeCore> core_;
  std::uint64_t incarnation_ = 0;
  bool asleep_ = false;
  Instant wakes_{};
  std::function<void()> closing_;                        // null: it does not close
  std::deque<std::function<void()>> inbox_;              // while asleep
  std::deque<std::pair<ClientId, std::string>> unread_;  // while clients are not read
  std::deque<std::pair<ClientId, AtOnce>> held_;         // answers that wait for their commits
  Commit released_{};
  std::map<LinkId, Connection> links_;
  std::map<ClientId, Connection> clients_;
  std::map<MemberIndex, LinkId> dialed_;
  std::uint64_t next_id_ = 1;
  Instant armed_ = kNever;
  std::set<std::pair<ClientId, std::uint64_t>> must_serve_;  // adds that need no other node
  std::uint64_t asked_ = 0;                                  // the number of the last question
  std::optional<Answer> told_;
  std::map<std::uint64_t, NamespacesAsked> asked_namespaces_;  // by the request's id
  std::map<std::uint64_t, Ended> asked_others_;                // by the request's id
  std::tuple<Fence, std::size_t, bool> votes_;                 // by the last state of its copies
  bool is_next_release_ = false;
  StoreId store_{};
  Partitions silent_ = Partitions::all();  // where this store's copies have not voted yet
};

}  // namespace quipu::sim
