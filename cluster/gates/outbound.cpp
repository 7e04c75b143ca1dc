#include "cluster/gates/outbound.h"

#include <algorithm>

#include "cluster/gates/peer_traits.h"
#include "protocol/check.h"
#include "protocol/message_codec.h"

namespace quipu {

Outbound::Outbound(const View& view, TaskQueue& tasks, Inward inward)
    : view_(view), tasks_(tasks), inward_(std::move(inward)), forwarded_(view.size()) {}

void Outbound::send(MemberIndex to, PeerMessage message, Commit after) {
  QUIPU_CHECK(to < view_.size(), "a message is for a member", to, view_.size());
  put(ToMember{to, Fence{}, std::make_shared<PeerMessage>(std::move(message))}, after);
}

void Outbound::reply(const Request& request, PeerMessage answer, Commit after) {
  QUIPU_CHECK(request.from < view_.size(), "an answer is for a member", request.from, view_.size());
  put(ToMember{request.from, request.fence, std::make_shared<PeerMessage>(std::move(answer))},
      after);
}

void Outbound::answer(const Origin& origin, Done&& done, Commit after) {
  done.id = origin.id;
  done.asked = origin.asked;
  awaited_ = std::max(awaited_, after);
  if (told_at_once(origin)) {
    at_once_->emplace_back(std::move(done), until(after));
    return;
  }
  put(ToOrigin{origin, std::move(done)}, after);
}

void Outbound::answer(const Origin& origin, ShardIndex usable, std::optional<std::int64_t> total,
                      Commit after) {
  if (!told_at_once(origin)) return answer(origin, Done{.usable = usable, .total = total}, after);
  awaited_ = std::max(awaited_, after);
  at_once_->emplace_back(origin.id, usable, total, until(after));
}

void Outbound::answer(ClientId client, Answer answer) {
  let_go(ToClient{client, std::move(answer)});
}

void Outbound::answer_session(const Origin& origin, Done&& done, Commit after) {
  QUIPU_CHECK(done.serial != Serial{}, "a session that was opened has a serial", origin.id);
  done.id = origin.id;
  done.asked = origin.asked;
  put(ToOrigin{origin, std::move(done)}, after);
}

void Outbound::refuse_sessions(const Done& why) {
  const auto opened = [](const Item& item) {
    const auto* const outcome = std::get_if<ToOrigin>(&item);
    return outcome != nullptr && outcome->done.serial != Serial{};
  };
  held_.take_out(opened, [&](Item&& item) {
    QUIPU_CHECK(bytes(item) <= held_bytes_, "what is taken out was counted", bytes(item),
                held_bytes_);
    held_bytes_ -= bytes(item);
    auto& session = std::get<ToOrigin>(item);
    session.done = why;
    session.done.id = session.origin.id;
    session.done.asked = session.origin.asked;
    let_go(std::move(item));
  });
  QUIPU_CHECK(!held_.empty() || held_bytes_ == 0, "no bytes are held where nothing is",
              held_bytes_);
}

// Answers with states. (Outboxes bound frames of states.)
std::size_t Outbound::bytes(const Item& item) {
  const auto* send = std::get_if<ToMember>(&item);
  const std::size_t held = sizeof(Item) + sizeof(Commit);
  if (const auto* answer = std::get_if<ToOrigin>(&item)) return held + answer->done.detail.size();
  if (send == nullptr) return held;
  const std::size_t fixed = held + sizeof(PeerMessage);
  if (const auto* collected = std::get_if<Collected>(send->message.get()))
    return fixed + collected->states.bytes();
  if (const auto* pulled = std::get_if<Pulled>(send->message.get()))
    return fixed + pulled->states.bytes();
  return fixed;
}

void Outbound::put(Item item, Commit after) {
  if (after <= durable_) {
    let_go(std::move(item));
    return;
  }
  awaited_ = std::max(awaited_, after);
  held_bytes_ += bytes(item);
  held_.hold(std::move(item), after);
}

void Outbound::release(Commit durable) {
  durable_ = std::max(durable_, durable);
  held_.release(durable_, [this](Item&& item) {
    const std::size_t size = bytes(item);
    QUIPU_CHECK(size <= held_bytes_, "what goes was counted", size, held_bytes_);
    held_bytes_ -= size;
    let_go(std::move(item));
  });
  QUIPU_CHECK(!held_.empty() || held_bytes_ == 0, "an empty gate holds no bytes", held_bytes_);
}

void Outbound::let_go(Item&& item) {
  if (auto* send = std::get_if<ToMember>(&item)) {
    if (send->asked != Fence{} && send->asked != view_.fence()) call_stale(*send->message);
    if (send->to == view_.self()) {
      tasks_.add([this, message = std::move(send->message)](Instant now) {
        inward_.message(now, *message);
      });
    } else {
      sends_.push_back(std::move(*send));
    }
  } else if (auto* outcome = std::get_if<ToOrigin>(&item)) {
    const Origin& origin = outcome->origin;
    switch (origin.kind) {
      case Origin::Kind::client:
        replies_.push_back({ClientId{origin.who}, std::move(outcome->done)});
        break;
      case Origin::Kind::member:
        QUIPU_CHECK(origin.who < forwarded_.size() && origin.who != view_.self(),
                    "a forwarded op comes from another member", origin.who);
        forwarded_[origin.who].push_back(std::move(outcome->done));
        break;
      case Origin::Kind::operation:
        tasks_.add([this, operation = origin.who, done = std::move(outcome->done)](Instant now) {
          inward_.outcome(now, operation, Done(done));
        });
        break;
    }
  } else {
    auto& reply = std::get<ToClient>(item);
    replies_.push_back({reply.client, std::move(reply.answer)});
  }
}

void Outbound::flush(std::span<const std::optional<LinkId>> links,
                     std::span<const FrameVersion> versions, Effects& effects) {
  QUIPU_CHECK(at_once_ == nullptr, "the call that asks for answers at once collects them itself",
              at_once_client_);
  constexpr std::size_t kBytesPerForwarded = kMaxFrame / 4, kDoneBytes = 128;
  static_assert(kBytesPerForwarded + kMaxDecisionReply + kDoneBytes < kMaxFrame);
  for (MemberIndex member = 0; member < forwarded_.size(); ++member) {
    Forwarded batch;
    std::size_t bytes = 0;
    const auto send = [&] {
      sends_.push_back({member, Fence{}, std::make_shared<PeerMessage>(std::exchange(batch, {}))});
      bytes = 0;
    };
    for (Done& done : std::exchange(forwarded_[member], {})) {
      bytes += done.detail.size() + kDoneBytes;
      batch.done.push_back(std::move(done));
      if (bytes >= kBytesPerForwarded) send();
    }
    if (!batch.done.empty()) send();
  }
  for (const ToMember& send : sends_) {
    QUIPU_CHECK(send.to < links.size() && send.to != view_.self(),
                "each member but this one may have a link", send.to, links.size());
    if (!links[send.to]) continue;
    std::string frame;
    encode_peer(frame, *send.message, view_.config().id, versions[send.to]);
    effects.sends.push_back({*links[send.to], std::move(frame)});
  }
  sends_.clear();
  effects.replies.insert(effects.replies.end(), std::make_move_iterator(replies_.begin()),
                         std::make_move_iterator(replies_.end()));
  replies_.clear();
}

}  // namespace quipu
