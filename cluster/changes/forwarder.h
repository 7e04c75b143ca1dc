// forwarder.h: ops that another node must execute.
//
//   with the client's token   sent once; the client itself retries
//   without a token           sent with a token of this node's own session there, again and
//                             again until the executor answers
//   a decision                sent once, with such a token: nobody knows the reply of a retry
//
// Rule: once sent, an op is bound to its executor. If its link breaks, its outcome is
// unknown, and only the same token at the same store may ask again. "Not applied" is final
// only if it answers the only sending: an earlier copy may still arrive.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "cluster/changes/owned_op.h"
#include "cluster/gates/outbound.h"
#include "cluster/membership/view.h"
#include "cluster/retry/token_window.h"
#include "protocol/instant.h"

namespace quipu {

class Forwarder {
 public:
  // Takes an op that is bound to no executor: a lost link prevented its sending, or its
  // executor's disk is full and it refused the only copy.
  using Reroute =
      std::function<void(Instant now, const OwnedOp& op, const Origin& origin, Instant deadline)>;
  // All must outlive it.
  Forwarder(View& view, Outbound& out, TaskQueue& tasks, Reroute reroute)
      : view_(view),
        out_(out),
        tasks_(tasks),
        reroute_(std::move(reroute)),
        peers_(view.size()),
        next_id_(view.first_number()) {}

  // Copies what the op borrows.
  void forward(const Op& op, MemberIndex executor, const Origin& origin, Instant deadline);
  void on_forwarded(MemberIndex from, const Forwarded& answer);
  void on_link_up(MemberIndex member);
  void on_link_lost(MemberIndex member);
  void on_tick(Instant now);
  // Call it at the end of the event, directly before messages are encoded: sent ops borrow
  // the ops that wait here. One batch for each executor.
  void flush(Instant now);

  [[nodiscard]] std::size_t size() const { return pending_.size(); }
  // No room for the words of further decisions.
  [[nodiscard]] bool full_of_words() const { return bytes_ >= kMaxWords; }

 private:
  struct Pending {
    OwnedOp op;
    MemberIndex executor = 0;
    Origin origin;
    Instant deadline{};
    bool own_token = false;
    unsigned sends = 0;
    bool again = false;  // its last answer did not settle it
  };
  struct Peer {
    std::vector<TokenWindow> sessions;
    std::uint64_t opening = 0;             // id of the question; 0: none
    bool refused = false;                  // so do not ask it again before the next tick
    std::deque<std::uint64_t> unnumbered;  // ops that wait for a session
    std::vector<std::uint64_t> outgoing;
  };

  void number(MemberIndex member);
  void open_session(MemberIndex member);
  void on_session(MemberIndex from, const Done& done);
  void complete(std::uint64_t id, Done done);
  void settle_token(const Pending& pending);
  void release(std::uint64_t id);
  void forget(std::map<std::uint64_t, Pending>::iterator at);
  [[nodiscard]] static bool sent_once(const Pending& pending) {
    return !pending.own_token || pending.op.fields().kind == OpKind::decide;
  }
  [[nodiscard]] bool goes_elsewhere(const Pending& pending, Code refusal) const;
  enum class Resend { unsettled, all };
  void resend(MemberIndex member, Resend which);

  View& view_;
  Outbound& out_;
  TaskQueue& tasks_;
  const Reroute reroute_;
  std::vector<Peer> peers_;
  static constexpr std::size_t kMaxWords = std::size_t{16} << 20;
  std::map<std::uint64_t, Pending> pending_;
  std::size_t bytes_ = 0;  // of their words
  std::uint64_t next_id_;
};

}  // namespace quipu
