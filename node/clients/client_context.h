// client_context.h: what all connections on the client port share, whatever they
// speak: the way to the core, and memory for whoever has its turn.
//
//   ask ──▶ core ──▶ at_once, or an effect ──▶ ClientProtocol::reply
//    └─once closing─▶ a refusal, on the same way
//
// Invariant: each question gets one answer. Reactor thread; outlives the connections.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "node/cores/core_port.h"
#include "node/cores/figures.h"

namespace quipu {

struct ClientContext {
  CorePort& port;
  // For whoever takes a turn, what goes to the core together and what comes back at once.
  std::vector<Op> ops{};
  std::vector<AtOnce> at_once{};
  std::vector<std::string_view> keys{};  // to be read
  std::vector<Value> values{};
  Read local_read{};
  PortFigures figures{};
  // Answer everything with `unavailable`: whoever is told that nothing happened can
  // go elsewhere at once, while bytes left unread would leave it in doubt.
  bool closing = false;

  // The answers that are known at once are appended; the others come as effects.
  void ask(Instant now, ClientId client, std::span<const Op> ops, std::vector<AtOnce>& known);
  void ask(Instant now, ClientId client, const Read& read);
  void ask(Instant now, ClientId client, const List& list);
  void ask(Instant now, ClientId client, const Size& size);
  // As NodeCore::read_now.
  void read_now(Instant now, std::span<const std::string_view> keys, std::span<Value> values) const;
  // What this node tells of itself, by what its reactor does. It is ready to clients that
  // could go elsewhere while all of its reactors are.
  [[nodiscard]] ConfigReply config(std::uint64_t id) const;
  [[nodiscard]] Figures of_node(Figures own) const;
  [[nodiscard]] StatusReply status(Instant now, const StatusRequest& request) const;
  // While true, read no more from clients.
  [[nodiscard]] bool paused() const;
};

}  // namespace quipu
