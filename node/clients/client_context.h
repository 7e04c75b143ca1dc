// client_context.h: what all connections on the client port share, in either protocol: the way
// to the core, and memory for the connection whose turn it is.
//
//   ask ──▶ core ──▶ at_once, or an effect ──▶ ClientProtocol::reply
//    └─once closing─▶ a refusal, on the same way
//
// Invariant: each question gets one answer. Reactor thread; outlives the connections.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "node/clients/client_access.h"
#include "node/cores/core_port.h"
#include "node/cores/figures.h"
#include "node/cores/request_meter.h"

namespace quipu {

struct ClientContext {
  CorePort& port;
  // For the current turn: what goes to the core together, and the answers that come at once.
  std::vector<Op> ops{};
  std::vector<AtOnce> at_once{};
  std::vector<std::string_view> keys{};  // to read
  std::vector<Value> values{};
  Read local_read{};
  PortFigures figures{};
  RequestMeter meter{};
  AccessShared access{};
  // Answers everything with `unavailable`. A client that knows that nothing happened can go to
  // another node at once. If its bytes stayed unread, it would be in doubt.
  bool closing = false;

  // Appends the answers that are known at once. The others come as effects.
  void ask(Protocol protocol, Instant now, ClientId client, std::span<const Op> asked,
           std::vector<AtOnce>& known);
  void ask(Instant now, ClientId client, const Read& read);
  void ask(Instant now, ClientId client, const List& list);
  void ask(Instant now, ClientId client, const CountKeys& size);
  void ask(Instant now, ClientId client, const NamespaceRequest& request);
  void ask(Instant now, ClientId client, const RangeRequest& request);
  void ask(Instant now, ClientId client, const Query& query);
  // As NodeCore::read_now. Finds nothing once closing.
  void read_now(Instant now, std::span<const std::string_view> asked, std::span<Value> found) const;
  // As NodeCore::decides. False once closing.
  [[nodiscard]] bool decides(std::string_view first, std::span<const std::string_view> asked) const;
  // The figures of this node, as its reactor sees them. For clients that could go to another
  // node, it is ready only while all of its reactors are.
  [[nodiscard]] ConfigReply config(std::uint64_t id) const;
  [[nodiscard]] Figures of_node(Figures own) const;
  [[nodiscard]] StatusReply status(Instant now, const StatusRequest& request) const;
  // The status of this reactor, with the digest of its users.
  [[nodiscard]] StatusReply own_status(Instant now, std::uint64_t id) const;
  // While true, do not read from clients.
  [[nodiscard]] bool paused() const;
};

}  // namespace quipu
