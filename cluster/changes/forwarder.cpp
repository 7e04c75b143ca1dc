#include "cluster/changes/forwarder.h"

#include <algorithm>

#include "cluster/retry/retry_action.h"
#include "protocol/check.h"
#include "protocol/frame.h"

namespace quipu {
namespace {

constexpr std::size_t kOpsPerForward = 512;
constexpr std::size_t kBytesPerForward = kMaxFrame / 2;
constexpr std::size_t kOpBytes = 128;  // beside its key and words
static_assert(kBytesPerForward + kMaxKey + kMaxDecisionWords + kOpBytes < kMaxFrame);

auto is_of(const Token& token) {
  return [&token](const TokenWindow& window) {
    return window.store() == token.store && window.serial() == token.serial;
  };
}

TokenWindow* find_session(std::vector<TokenWindow>& sessions, const Token& token) {
  const auto at = std::find_if(sessions.begin(), sessions.end(), is_of(token));
  return at == sessions.end() ? nullptr : &*at;
}

std::uint32_t remaining_ms(Instant now, Instant deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - now).count();
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(left, 1, 3'600'000));
}

}  // namespace

void Forwarder::forward(const Op& op, MemberIndex executor, const Origin& origin,
                        Instant deadline) {
  const std::uint64_t id = next_id_++;
  QUIPU_CHECK(executor != view_.self() && executor < peers_.size(),
              "another member executes what is forwarded", executor);
  Pending& pending = pending_[id];
  pending.op = OwnedOp(op);
  pending.op.fields().id = id;
  pending.executor = executor;
  pending.origin = origin;
  pending.deadline = deadline;
  pending.own_token = op.token.store == StoreId{};
  bytes_ += op.words.size();
  if (pending.own_token) {
    peers_[executor].unnumbered.push_back(id);
  } else if (view_.up(executor)) {
    peers_[executor].outgoing.push_back(id);
  } else {
    complete(id, {0, Code::in_doubt, "the executor of this token is down"});
  }
}

// Numbers waiting ops in the session, as long as there are numbers.
void Forwarder::number(MemberIndex member) {
  Peer& peer = peers_[member];
  while (!peer.unnumbered.empty()) {
    const auto open =
        std::find_if(peer.sessions.begin(), peer.sessions.end(), [&](const TokenWindow& window) {
          return window.store() == view_.pinned(member) && !window.full();
        });
    if (open == peer.sessions.end()) {
      open_session(member);
      return;
    }
    const std::uint64_t id = peer.unnumbered.front();
    peer.unnumbered.pop_front();
    const auto at = pending_.find(id);
    if (at == pending_.end()) continue;
    QUIPU_CHECK(at->second.own_token && at->second.sends == 0,
                "an op gets its number before it is sent", id, at->second.sends);
    at->second.op.fields().token = open->take();
    peer.outgoing.push_back(id);
  }
}

void Forwarder::open_session(MemberIndex member) {
  Peer& peer = peers_[member];
  if (peer.opening != 0 || peer.refused || !view_.up(member)) return;
  std::erase_if(peer.sessions, [&](const TokenWindow& window) {
    return window.store() != view_.pinned(member) && window.idle();
  });
  peer.opening = next_id_++;
  Op op;
  op.id = peer.opening;
  op.kind = OpKind::open_session;
  op.token.store = view_.pinned(member);
  out_.send(member, Forward{{op}});
}

void Forwarder::on_session(MemberIndex from, const Done& done) {
  QUIPU_CHECK(peers_[from].opening == done.id, "a session answers the question that is open", from,
              done.id);
  Peer& peer = peers_[from];
  peer.opening = 0;
  peer.refused = done.code != Code::ok;
  if (!peer.refused) peer.sessions.emplace_back(done.store, done.serial);
  if (done.code == Code::storage_full) view_.set_full(from, true);
  if (view_.takes_changes(from)) return;
  for (const std::uint64_t id : std::exchange(peer.unnumbered, {})) {
    if (pending_.contains(id)) release(id);
  }
}

// At quorum, the full disk may be that of another owner. A member that closes has said so before it
// refuses anything.
bool Forwarder::goes_elsewhere(const Pending& pending, Code refusal) const {
  const bool full = refusal == Code::storage_full && pending.op.fields().ack != Ack::quorum;
  const bool closing = refusal == Code::unavailable && view_.closing(pending.executor);
  return (full || closing) && pending.own_token && pending.sends == 1;
}

void Forwarder::on_forwarded(MemberIndex from, const Forwarded& answer) {
  for (const Done& done : answer.done) {
    if (peers_[from].opening != 0 && done.id == peers_[from].opening) {
      on_session(from, done);
      continue;
    }
    const auto at = pending_.find(done.id);
    if (at == pending_.end() || at->second.executor != from || at->second.sends == 0) continue;
    const Pending& pending = at->second;
    if (goes_elsewhere(pending, done.code)) {
      if (done.code == Code::storage_full) view_.set_full(from, true);
      release(done.id);
    } else if (pending.own_token && done.code == Code::token_expired) {
      // The executor drops unused sessions, with everything that it knew of their numbers. So an
      // earlier copy of this may have been executed. The client does not know the token.
      std::erase_if(peers_[from].sessions, is_of(pending.op.fields().token));
      complete(done.id, {0, Code::in_doubt, "its executor has dropped this node's session"});
    } else if (pending.own_token && done.code == Code::ok && sent_once(pending) &&
               done.detail.empty()) {
      complete(done.id, {0, Code::in_doubt, "its executor's reply was lost"});
    } else if (!sent_once(pending) &&
               retry_action(done.code, pending.sends) == RetryAction::retry) {
      at->second.again = true;
    } else {
      complete(done.id, done);
    }
  }
}

void Forwarder::complete(std::uint64_t id, Done done) {
  const auto at = pending_.find(id);
  QUIPU_CHECK(at != pending_.end(), "an op is answered once", id);
  settle_token(at->second);
  out_.answer(at->second.origin, std::move(done));
  forget(at);
}

void Forwarder::settle_token(const Pending& pending) {
  if (!pending.own_token) return;
  const Token& token = pending.op.fields().token;
  QUIPU_CHECK(pending.executor < peers_.size(), "an op's executor is a member", pending.executor);
  if (TokenWindow* window = find_session(peers_[pending.executor].sessions, token))
    window->settle(token.number);
}

// It was certainly not applied, and may go to another executor.
void Forwarder::release(std::uint64_t id) {
  Pending& pending = pending_.at(id);
  QUIPU_CHECK(pending.own_token && pending.sends <= 1,
              "only what was never sent, or refused at once, goes elsewhere", id, pending.sends);
  settle_token(pending);
  OwnedOp op(pending.op.borrow());
  op.fields().token = Token{};
  tasks_.add([this, op = std::move(op), origin = pending.origin,
              deadline = pending.deadline](Instant now) { reroute_(now, op, origin, deadline); });
  forget(pending_.find(id));
}

void Forwarder::forget(std::map<std::uint64_t, Pending>::iterator at) {
  bytes_ -= at->second.op.words().size();
  pending_.erase(at);
}

void Forwarder::flush(Instant now) {
  if (pending_.empty()) return;
  for (MemberIndex member = 0; member < peers_.size(); ++member) {
    Peer& peer = peers_[member];
    if (!peer.unnumbered.empty()) number(member);
    if (peer.outgoing.empty() || !view_.up(member)) continue;
    Forward batch;
    std::size_t bytes = 0;
    for (const std::uint64_t id : std::exchange(peer.outgoing, {})) {
      const auto at = pending_.find(id);
      if (at == pending_.end()) continue;
      Pending& pending = at->second;
      QUIPU_CHECK(pending.executor == member, "an op that was sent stays with its executor", id,
                  pending.executor, member);
      QUIPU_CHECK(pending.own_token || pending.sends == 0,
                  "an op with its client's own token is sent once", id, pending.sends);
      ++pending.sends;
      Op& op = pending.op.fields();
      op.timeout_ms = remaining_ms(now, pending.deadline);
      if (const TokenWindow* window = find_session(peer.sessions, op.token))
        op.token.floor = window->floor();
      batch.ops.push_back(pending.op.borrow());
      bytes += batch.ops.back().key.size() + batch.ops.back().words.size() + kOpBytes;
      if (bytes < kBytesPerForward && batch.ops.size() < kOpsPerForward) continue;
      out_.send(member, std::exchange(batch, {}));
      bytes = 0;
    }
    if (!batch.ops.empty()) out_.send(member, std::move(batch));
  }
}

// Ops that were numbered but never sent are in `outgoing` already.
void Forwarder::resend(MemberIndex member, Resend which) {
  for (auto& [id, pending] : pending_) {
    if (pending.executor != member || pending.sends == 0 ||
        (which == Resend::unsettled && !pending.again))
      continue;
    QUIPU_CHECK(!sent_once(pending),
                "only an add, reset or expire of this node's own token is "
                "sent again",
                id, pending.sends);
    pending.again = false;
    peers_[member].outgoing.push_back(id);
  }
}

void Forwarder::on_link_up(MemberIndex member) {
  peers_[member].opening = 0;
  resend(member, Resend::all);
}

void Forwarder::on_link_lost(MemberIndex member) {
  peers_[member].opening = 0;
  std::vector<std::uint64_t> doubtful, unsent;
  for (const auto& [id, pending] : pending_) {
    if (pending.executor != member) continue;
    const bool unsent_yet = pending.own_token && pending.sends == 0;
    if (unsent_yet) unsent.push_back(id);
    if (!unsent_yet && sent_once(pending)) doubtful.push_back(id);
  }
  for (const std::uint64_t id : unsent) release(id);
  for (const std::uint64_t id : doubtful)
    complete(id, {0, Code::in_doubt, "the link to the executor was lost"});
}

// Ops that were never sent may be refused. Ops that were sent stay in doubt.
void Forwarder::on_tick(Instant now) {
  std::vector<std::uint64_t> late;
  for (const auto& [id, pending] : pending_) {
    if (now >= pending.deadline) late.push_back(id);
  }
  for (const std::uint64_t id : late) {
    const bool sent = pending_.at(id).sends > 0;
    complete(id,
             {0, sent ? Code::in_doubt : Code::unavailable, "its executor did not answer in time"});
  }
  for (MemberIndex member = 0; member < peers_.size(); ++member) {
    peers_[member].refused = false;
    if (!view_.up(member)) continue;
    resend(member, Resend::unsettled);
  }
}

}  // namespace quipu
