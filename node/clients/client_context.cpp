#include "node/clients/client_context.h"

#include <utility>

#include "node/base/clock.h"
#include "node/cores/core_router.h"

namespace quipu {
namespace {

constexpr const char* kClosing = "the node is closing";

void reply(CorePort& port, ClientId client, Answer answer) {
  const CorePort::Event event(port);
  event.effects().replies.push_back({client, std::move(answer)});
}

}  // namespace

void ClientContext::ask(Protocol protocol, Instant now, ClientId client, std::span<const Op> asked,
                        std::vector<AtOnce>& known) {
  const std::size_t before = known.size();
  const Coordinator::PlainAdds plain_before = port.core()->plain_adds();
  if (!closing) {
    port.router().on_ops(now, client, asked, &known);
  } else {
    for (const Op& op : asked) {
      Done refused{.id = op.id, .code = Code::unavailable, .detail = kClosing};
      refused.asked = {now, operation_of(op)};
      known.emplace_back(std::move(refused), Commit{});
    }
  }
  Coordinator::PlainAdds plain = port.core()->plain_adds();
  for (std::size_t ack = 0; ack < plain.size(); ++ack) plain[ack] -= plain_before[ack];
  meter.on_known(protocol, now, plain, std::span(known).subspan(before));
}

void ClientContext::ask(Instant now, ClientId client, const Read& read) {
  if (!closing) return port.router().on_read(now, client, read);
  Value refused;
  refused.code = Code::unavailable;
  refused.detail = kClosing;
  reply(port, client,
        Values{read.id, std::vector<Value>(read.keys.size(), refused), {now, read_at(read.level)}});
}

void ClientContext::ask(Instant now, ClientId client, const List& list) {
  const CorePort::Event event(port);
  if (!closing) return event->on_list(now, client, list, event.effects());
  reply(port, client, Keys{list.id, {}, list.cursor, Code::unavailable, kClosing});
}

void ClientContext::ask(Instant now, ClientId client, const CountKeys& size) {
  const CorePort::Event event(port);
  if (!closing) return event->on_count_keys(now, client, size, event.effects());
  reply(port, client, KeyCount{size.id, 0, Code::unavailable, kClosing});
}

void ClientContext::ask(Instant now, ClientId client, const NamespaceRequest& request) {
  const CorePort::Event event(port);
  if (!closing) return event->on_namespaces(now, client, request, event.effects());
  reply(port, client,
        NamespaceReply{.id = request.id, .code = Code::unavailable, .detail = kClosing});
}

void ClientContext::ask(Instant now, ClientId client, const RangeRequest& request) {
  const CorePort::Event event(port);
  if (!closing) return event->on_range(now, client, request, event.effects());
  reply(port, client,
        RangeReply{.id = request.id,
                   .code = Code::unavailable,
                   .detail = kClosing,
                   .asked = {now, read_at(request.level)}});
}

void ClientContext::ask(Instant now, ClientId client, const Query& query) {
  const CorePort::Event event(port);
  if (!closing) return event->on_query(now, client, query, event.effects());
  reply(port, client,
        QueryReply{.id = query.id,
                   .code = Code::unavailable,
                   .detail = kClosing,
                   .asked = {now, read_at(query.level)}});
}

ConfigReply ClientContext::config(std::uint64_t id) const {
  ConfigReply reply = port.core()->config(id);
  reply.ready = reply.ready && port.router().others_serve();
  return reply;
}

Figures ClientContext::of_node(Figures own) const {
  for (const Figures& other : port.router().published()) own.add(other);
  return own;
}

// For the reactor in the request, if it is one of this node; else for this one.
StatusReply ClientContext::status(Instant now, const StatusRequest& request) const {
  for (Figures& other : port.router().published()) {
    if (other.status.node != request.node) continue;
    other.status.id = request.id;
    return std::move(other.status);
  }
  return own_status(now, request.id);
}

StatusReply ClientContext::own_status(Instant now, std::uint64_t id) const {
  StatusReply status = port.core()->status(now, id);
  if (access.users != nullptr) status.users = access.users->digest();
  return status;
}

bool ClientContext::paused() const { return port.core()->paused() || port.router().busy(); }

bool ClientContext::decides(std::string_view first, std::span<const std::string_view> asked) const {
  return !closing && port.router().decides(first, asked);
}

void ClientContext::read_now(Instant now, std::span<const std::string_view> asked,
                             std::span<Value> found) const {
  if (!closing) return port.router().read_now(now, asked, found);
  for (Value& one : found) one.shards = 0;  // so that they are asked for, and refused
}

}  // namespace quipu
