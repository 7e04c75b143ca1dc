// core_router.h: routes between the reactors of a node.
//
//   client of this reactor ─▶ on_ops, on_read ─┬─ its own counters ──────────▶ core
//                                              └─ another's ─▶ mail ─▶ its router, core
//        Effects::replies, or deliver ◀── mail ◀── when it may be sent ◀──────────┘
//
// A counter belongs to the reactor that owns its first shard, if this node has one. So an add
// through any connection is visible through any. (Adds that tokens or affinities put elsewhere
// become visible as fast as those of another node.) While that reactor does not serve, it says
// so, like a node of one reactor. Another reactor's total would lack what only it has.
//
// Invariants: each question to another reactor gets one answer, even if its core goes. A
// client's questions without tokens about one counter keep their order. Open questions of
// clients to another reactor are bounded (busy()), those of the embedding program by
// LocalCalls. Everything that one batch sends to one reactor is one piece of mail. Reactor
// thread, except where noted. In a node of one reactor this costs a comparison.
#pragma once

#include <array>
#include <asio/io_context.hpp>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "cluster/gates/commit_gate.h"
#include "node/cores/core_port.h"
#include "node/cores/figures.h"
#include "node/cores/mail.h"

namespace quipu {

class CoreRouter {
 public:
  // The ids under which it asks a core: for other reactors, and for parts of a read.
  static constexpr ClientId kPendingCalls{~std::uint64_t{0}};
  static constexpr ClientId kPartialReads{~std::uint64_t{1}};
  // The most open keys at one other reactor. Beyond this, clients are not read.
  static constexpr std::size_t kMaxAsked = 65'536;

  // `deliver` takes another reactor's answer to one of our clients.
  using Reply = std::function<void(ClientId, const Answer&)>;
  CoreRouter(asio::io_context& io, CorePort& port, Reply deliver);

  // Before the threads run. `all` are the reactors of the node, and live as long as any of their
  // threads runs. `members` are their members. A single reactor has no others.
  void meet(std::vector<CoreRouter*> all, const std::vector<MemberIndex>& members,
            const ClusterConfig& config, std::size_t self);

  // ---- this reactor's clients; REQUIRES: port.core() ----
  // As NodeCore's, but answers that are not at once may come by `deliver`.
  void on_ops(Instant now, ClientId client, std::span<const Op> ops, std::vector<AtOnce>* at_once);
  void on_read(Instant now, ClientId client, const Read& read);
  void read_now(Instant now, std::span<const std::string_view> keys, std::span<Value> values) const;
  [[nodiscard]] bool decides(std::string_view first, std::span<const std::string_view> keys) const;
  // Another reactor is behind: do not read from clients.
  [[nodiscard]] bool busy() const;
  // The core has been in touch with all other reactors.
  [[nodiscard]] bool acquainted();
  // No call waits for another reactor, and no other reactor for this one.
  [[nodiscard]] bool quiet() const;

  // Reads of other reactors' clients that were answered from memory.
  [[nodiscard]] std::uint64_t memory_reads() const { return memory_reads_; }
  // Publishes this reactor's figures.
  void publish(Figures figures);
  // The last that were published; without a node: none yet, or the core has gone. Any thread.
  [[nodiscard]] Figures own_published() const;
  // The last figures of the others.
  [[nodiscard]] std::vector<Figures> published() const;
  [[nodiscard]] bool alone() const { return others_.empty(); }

  // ---- from the core ----
  // An answer for kPendingCalls, or for kPartialReads.
  void on_pending_answer(const Answer& told);
  void on_part(const Answer& answer);
  void on_released(Commit durable);
  // Whether the core accepts more; informs the others.
  void set_paused(bool paused);
  // Whether the core is ready. While it is not, new clients go to another reactor if possible.
  void set_serving(bool serving) { serving_ = serving; }
  [[nodiscard]] bool serving() const { return serving_; }  // any thread
  // False: some counters can be neither read nor changed through this reactor.
  [[nodiscard]] bool others_serve() const;
  // The core is gone. Ends the pending calls of other reactors, changes with `change` and reads
  // with `read`. The core's own clients are gone too.
  void abandon(const Status& change, const Status& read);

  // At the end of each batch: sends the mail.
  void flush();

 private:
  // Another reactor.
  struct Other {
    CoreRouter* router = nullptr;  // null: this one
    MemberIndex member = 0;
    Mail mail;
    std::size_t asked = 0;  // open keys, and changes
  };
  // A pending call: a question of another reactor, while the core has it.
  struct PendingCall {
    std::size_t from = 0;
    ClientId client{};
    std::uint64_t id = 0;
    std::uint32_t keys = 0;  // for a read; 0: a change
    bool here = false;
    Asked asked{};
  };
  // A read of counters that belong to several reactors.
  struct Join {
    ClientId client{};
    Values values;
    std::size_t open = 0;  // parts without an answer
  };
  struct Part {
    std::shared_ptr<Join> join;
    std::vector<std::size_t> places;  // of its values, in the whole read
  };

  [[nodiscard]] std::size_t home_of(std::string_view key) const;
  [[nodiscard]] std::size_t home_of(const Op& op) const;
  template <class Asked>
  void send(std::size_t to, ClientId client, const Asked& asked);
  void read_in_parts(Instant now, ClientId client, const Read& read);

  void post(std::size_t from, Mail&& mail);  // any thread
  void take(std::size_t from, Mail& mail);
  void take_questions(std::size_t from, Mail& mail);
  void refuse_questions(std::size_t from, Mail& mail);
  void take_replies(std::size_t from, Mail& mail);
  void give_ops(Instant now, std::span<const Op> ops);
  void give_reads(Instant now, std::size_t from, std::span<const Mail::Question> reads);
  [[nodiscard]] std::uint64_t admit(std::size_t from, const Mail::Question& question, Asked asked);
  [[nodiscard]] PendingCall dismiss(std::uint64_t at);
  void answer(std::uint64_t at, Done done);

  asio::io_context& io_;
  CorePort& port_;
  const Reply reply_;
  std::vector<Other> others_;  // by reactor; empty: this is the only one
  std::size_t self_ = 0;
  std::array<std::uint8_t, kPartitions> owner_{};  // reactor by partition
  bool acquainted_ = false;
  std::uint64_t memory_reads_ = 0;
  std::atomic<bool> paused_{false};
  std::atomic<bool> serving_{false};
  mutable std::mutex figures_mutex_;
  Figures figures_;  // under it; node 0: none

  std::vector<Mail> spare_;  // to be reused
  std::vector<PendingCall> pending_;
  std::vector<std::size_t> free_pending_;
  std::size_t here_ = 0;   // pending calls
  CommitGate<Done> held_;  // answers to pending calls
  std::map<std::uint64_t, Part> parts_;
  std::uint64_t next_part_ = 1;
  // Memory for on_read; for on_ops; for give_reads; for give_ops; for take_replies.
  std::vector<std::size_t> homes_;
  std::vector<Op> own_;
  std::vector<std::string_view> keys_;
  std::vector<Value> values_;
  std::vector<AtOnce> at_once_;
  Answer told_ = Values{};
};

}  // namespace quipu
