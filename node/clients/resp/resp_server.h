// resp_server.h: what all RESP connections of a node share: settings, figures, and the list of
// connections. Reactor thread. Outlives the connections.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "node/base/clock.h"
#include "node/clients/client_filter.h"
#include "node/clients/client_protocol.h"
#include "node/clients/resp/resp_scripts.h"
#include "node/cores/figures.h"
#include "protocol/random.h"
#include "quipu/node_options.h"

namespace quipu {

class RespConnection;

struct RespSettings {
  // For all changing commands that name no level, where the namespace of the key says nothing.
  Ack ack = Ack::disk;
  bool flushall = false;
  std::uint32_t databases = 16;  // of SELECT
  std::size_t connections = 0;   // the limit
  std::size_t memory_limit = 0;  // 0: no limit
  // The settings that CONFIG GET shows, by Redis's names or ours.
  std::vector<std::pair<std::string, std::string>> shown{};
};

// `connections` is the limit; `memory_limit` is as in NodeSettings.
[[nodiscard]] RespSettings resp_settings(const ClientPortOptions& port, std::size_t connections,
                                         std::size_t memory_limit);

// How many commands there are, including subcommands. resp_command.h numbers them.
[[nodiscard]] std::size_t command_numbers();

struct RespServer {
  // The figures of one command, and what the current turn adds to them.
  struct CommandCount : CommandFigures {
    std::uint64_t in_turn = 0;
  };

  ClientContext& context;
  RespSettings settings;
  Random random;  // RANDOMKEY's
  Instant started = NodeClock::now();
  std::map<ClientId, RespConnection*> connections{};
  RespScripts scripts{};
  // Has these connections ended, through all reactors of the node. Returns how many reactors will
  // answer the question with a KeyCount: how many there were.
  using Kill =
      std::function<std::size_t(ClientId asker, std::uint64_t question, const ClientFilter& which)>;
  Kill kill{};
  std::set<std::uint32_t> databases{};  // that some client has selected, without 0
  RespFigures figures{};                // without these and `commands`
  std::vector<CommandCount> commands = std::vector<CommandCount>(command_numbers());

  // ---- namespaces, as this node knows them ----
  [[nodiscard]] const NamespaceTable& namespaces() const {
    return context.port.core()->executor().namespaces();
  }
  // For a change that names no level.
  [[nodiscard]] Ack ack_for(std::string_view key) const {
    if (!by_namespace) return settings.ack;
    return namespaces().policy_of(key).ack.value_or(settings.ack);
  }

  // ---- a turn: the requests that one connection has sent ----
  void begin_turn(Instant now) {
    turn_began = now;
    by_namespace = namespaces().by_operation();
  }
  void count_calls(CommandCount& command, std::uint64_t calls) {
    if (command.in_turn == 0) called.push_back(&command);
    command.in_turn += calls;
  }
  // The time of the turn is divided evenly among its commands, with one look at the clock for all
  // of them.
  void end_turn();
  void count_error(std::string_view text);  // as it is sent

  void on_second();
  void reset_figures();
  [[nodiscard]] Figures own_figures() const;

  Instant turn_began{};
  bool by_namespace = false;            // some namespace has a level of its own, as of this turn
  std::vector<CommandCount*> called{};  // in this turn
  struct {
    std::uint64_t commands = 0, bytes_in = 0, bytes_out = 0;
  } a_second_ago{};
};

}  // namespace quipu
