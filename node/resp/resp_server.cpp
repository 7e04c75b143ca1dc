#include "node/resp/resp_server.h"

#include "protocol/resp.h"

namespace quipu {

// Only what is true of this server, in Redis's words.
RespSettings resp_settings(const ClientPortOptions& port, std::size_t connections,
                           std::size_t memory_limit) {
  const auto text = [](auto number) { return std::to_string(number); };
  const bool synced = port.resp_ack != Ack::memory;
  return {.ack = port.resp_ack,
          .flushall = port.flushall,
          .connections = connections,
          .memory_limit = memory_limit,
          .shown = {{"appendfsync", synced ? "always" : "no"},
                    {"appendonly", "yes"},
                    {"client-output-buffer-limit", "normal " + text(port.hard_output) + ' ' +
                                                       text(port.soft_output) + ' ' +
                                                       text(port.soft_output_time.count())},
                    {"databases", "1"},
                    {"maxclients", text(connections)},
                    {"maxmemory", text(memory_limit)},
                    {"maxmemory-policy", "noeviction"},
                    {"proto-max-bulk-len", text(kMaxRespRequest)},
                    {"save", ""},
                    {"timeout", text(port.idle.count())}}};
}

Figures RespServer::own_figures() const {
  Figures own{context.port.core->status(NodeClock::now(), 0), figures};
  own.resp.connected = connections.size();
  return own;
}

}  // namespace quipu
