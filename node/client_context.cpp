#include "node/client_context.h"

#include <utility>

namespace quipu {
namespace {

constexpr const char* kClosing = "the node is closing";

void reply(CorePort& port, ClientId client, Answer answer) {
  port.effects.replies.push_back({client, std::move(answer)});
}

}  // namespace

void ClientContext::ask(Instant now, ClientId client, std::span<const Op> asked,
                        std::vector<AtOnce>& known) {
  if (!closing) return port.core->on_ops(now, client, asked, port.effects, &known);
  for (const Op& op : asked) known.emplace_back(Done{op.id, Code::unavailable, kClosing}, Commit{});
}

void ClientContext::ask(Instant now, ClientId client, const Read& read) {
  if (!closing) return port.core->on_read(now, client, read, port.effects);
  Value refused;
  refused.code = Code::unavailable;
  refused.detail = kClosing;
  reply(port, client, Values{read.id, std::vector<Value>(read.keys.size(), refused)});
}

void ClientContext::ask(Instant now, ClientId client, const List& list) {
  if (!closing) return port.core->on_list(now, client, list, port.effects);
  reply(port, client, Keys{list.id, {}, list.cursor, Code::unavailable, kClosing});
}

void ClientContext::ask(Instant now, ClientId client, const Size& size) {
  if (!closing) return port.core->on_size(now, client, size, port.effects);
  reply(port, client, Sized{size.id, 0, Code::unavailable, kClosing});
}

}  // namespace quipu
