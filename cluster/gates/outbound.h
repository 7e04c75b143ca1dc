// outbound.h: holds everything that leaves a core until it may be sent.
//
// Rule: no state and no outcome leaves before the commit that holds it is durable. A replica's
// answer to a fenced request is judged when it *leaves*, after the sync: if this node has
// another fence by then, it says stale_config.
//
// Messages to this node itself take the same way and come back as tasks. So a sender to all
// owners need not know whether this node is one of them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "cluster/gates/commit_gate.h"
#include "cluster/gates/effects.h"
#include "cluster/gates/task_queue.h"
#include "cluster/membership/view.h"
#include "protocol/check.h"
#include "protocol/peer_messages.h"

namespace quipu {

// The origin of an op, which waits for its outcome.
struct Origin {
  enum class Kind : std::uint8_t { client, member, operation } kind = Kind::client;
  std::uint64_t who = 0;  // ClientId, MemberIndex or an operation of the coordinator
  std::uint64_t id = 0;   // that the asker chose
  Asked asked{};          // not of a plain add, which is counted elsewhere
};

class Outbound {
 public:
  // The destinations of what stays within this node.
  struct Inward {
    std::function<void(Instant now, PeerMessage& message)> message;
    // The outcome of an op whose origin is an operation of this node.
    std::function<void(Instant now, std::uint64_t operation, Done&& done)> outcome;
  };
  // Both references must outlive it.
  Outbound(const View& view, TaskQueue& tasks, Inward inward);

  void send(MemberIndex to, PeerMessage message, Commit after = {});
  struct Request {
    MemberIndex from;
    Fence fence;
  };
  void reply(const Request& request, PeerMessage answer, Commit after);
  void answer(const Origin& origin, Done&& done, Commit after = {});
  // The same for an add that was executed.
  void answer(const Origin& origin, ShardIndex usable, std::optional<std::int64_t> total,
              Commit after);
  void answer(ClientId client, Answer answer);
  // A session that was opened. Always held here, so that it can be refused.
  void answer_session(const Origin& origin, Done&& done, Commit after);
  // Sends `why` in place of the waiting sessions. No client has used them, so they may be lost.
  void refuse_sessions(const Done& why);

  // While one is set, answers for this client go there, with the commit that they wait for,
  // instead of being held here. null: they are held here, as for all clients.
  void answer_at_once(ClientId client, std::vector<AtOnce>* to) {
    QUIPU_CHECK(to == nullptr || at_once_ == nullptr,
                "one client at a time gets its answers at once", client);
    at_once_client_ = client;
    at_once_ = to;
  }

  // Everything up to `durable` may be sent now.
  void release(Commit durable);

  // Encodes what may be sent. Messages for members without a link are dropped: every request is
  // sent again when the link is back.
  // `versions`: of the frames on these links.
  void flush(std::span<const std::optional<LinkId>> links, std::span<const FrameVersion> versions,
             Effects& effects);

  [[nodiscard]] bool holding() const { return !held_.empty(); }
  // The last commit that anything waits for, or has waited for.
  [[nodiscard]] Commit awaited() const { return awaited_; }
  // About how much memory held messages take.
  [[nodiscard]] std::size_t held_bytes() const { return held_bytes_; }

 private:
  struct ToMember {
    MemberIndex to;
    Fence asked;                           // 0: any
    std::shared_ptr<PeerMessage> message;  // far larger than answers, of which there are many
  };
  struct ToOrigin {
    Origin origin;
    Done done;
  };
  struct ToClient {
    ClientId client;
    Answer answer;
  };
  using Item = std::variant<ToMember, ToOrigin, ToClient>;

  [[nodiscard]] bool told_at_once(const Origin& origin) const {
    return at_once_ != nullptr && origin.kind == Origin::Kind::client &&
           origin.who == raw(at_once_client_);
  }
  [[nodiscard]] Commit until(Commit after) const { return after <= durable_ ? Commit{} : after; }
  static std::size_t bytes(const Item& item);
  void put(Item item, Commit after);
  void let_go(Item&& item);

  const View& view_;
  TaskQueue& tasks_;
  const Inward inward_;
  Commit durable_{};
  Commit awaited_{};
  ClientId at_once_client_{};
  std::vector<AtOnce>* at_once_ = nullptr;
  CommitGate<Item> held_;
  std::size_t held_bytes_ = 0;
  std::vector<ToMember> sends_;
  std::vector<Effects::Reply> replies_;
  std::vector<std::vector<Done>> forwarded_;  // by member: answers to Forward
};

}  // namespace quipu
