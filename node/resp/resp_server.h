// resp_server.h: what all RESP connections of a node share: settings, figures, and
// who is connected. Reactor thread; outlives the connections.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "node/client_protocol.h"
#include "node/clock.h"
#include "node/figures.h"
#include "protocol/random.h"
#include "quipu/node_options.h"

namespace quipu {

class RespConnection;

struct RespSettings {
  // Of all commands that change something and name no level.
  Ack ack = Ack::disk;
  bool flushall = false;
  std::size_t connections = 0;   // at most
  std::size_t memory_limit = 0;  // 0: none
  // What CONFIG GET tells, by Redis's names or ours.
  std::vector<std::pair<std::string, std::string>> shown{};
};

// `connections` may be, at most; `memory_limit` as in NodeSettings.
[[nodiscard]] RespSettings resp_settings(const ClientPortOptions& port, std::size_t connections,
                                         std::size_t memory_limit);

struct RespServer {
  ClientContext& context;
  const RespSettings settings;
  Random random;  // RANDOMKEY's
  Instant started = NodeClock::now();
  std::map<ClientId, RespConnection*> connections{};
  RespFigures figures{};  // but for `connected`

  void on_second() {
    figures.per_second = figures.commands_processed - std::min(counted, figures.commands_processed);
    counted = figures.commands_processed;
  }
  [[nodiscard]] Figures own_figures() const;
  std::uint64_t counted = 0;  // commands, when that began
};

}  // namespace quipu
