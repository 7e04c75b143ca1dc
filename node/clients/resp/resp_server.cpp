#include "node/clients/resp/resp_server.h"

#include <algorithm>

#include "protocol/resp.h"

namespace quipu {

// Only settings that are true of this server, with Redis's names.
RespSettings resp_settings(const ClientPortOptions& port, std::size_t connections,
                           std::size_t memory_limit) {
  const auto text = [](auto number) { return std::to_string(number); };
  const bool synced = port.resp_ack != Ack::memory;
  return {.ack = port.resp_ack,
          .flushall = port.flushall,
          .databases = port.databases,
          .connections = connections,
          .memory_limit = memory_limit,
          .shown = {{"appendfsync", synced ? "always" : "no"},
                    {"appendonly", "yes"},
                    {"client-output-buffer-limit", "normal " + text(port.hard_output) + ' ' +
                                                       text(port.soft_output) + ' ' +
                                                       text(port.soft_output_time.count())},
                    {"databases", text(port.databases)},
                    {"maxclients", text(connections)},
                    {"maxmemory", text(memory_limit)},
                    {"maxmemory-policy", "noeviction"},
                    {"proto-max-bulk-len", text(kMaxRespRequest)},
                    {"save", ""},
                    {"timeout", text(port.idle.count())}}};
}

void RespServer::end_turn() {
  if (called.empty()) return;
  const Instant now = NodeClock::now();
  const auto time = std::chrono::duration_cast<std::chrono::nanoseconds>(now - turn_began);
  std::uint64_t all = 0;
  for (const CommandCount* one : called) all += one->in_turn;
  for (CommandCount* one : called) {
    one->nanoseconds += static_cast<std::uint64_t>(time.count()) * one->in_turn / all;
    one->calls += std::exchange(one->in_turn, 0);
  }
  called.clear();
  turn_began = now;
}

// Every error that we send begins with a code of ours.
void RespServer::count_error(std::string_view text) {
  ++figures.errors;
  const std::string_view code = text.substr(0, text.find(' '));
  const auto at = figures.errors_by_code.find(code);
  ++(at == figures.errors_by_code.end() ? figures.errors_by_code[std::string(code)] : at->second);
}

void RespServer::on_second() {
  // Figures that were reset meanwhile count from 0.
  const auto since = [](std::uint64_t now, std::uint64_t& before) {
    return now - std::min(std::exchange(before, now), now);
  };
  figures.per_second = since(figures.commands_processed, a_second_ago.commands);
  PortFigures& port = context.figures;
  port.in_per_second = since(port.bytes_in, a_second_ago.bytes_in);
  port.out_per_second = since(port.bytes_out, a_second_ago.bytes_out);
}

void RespServer::reset_figures() {
  figures = {.per_second = figures.per_second};
  for (CommandCount& one : commands) one = {{}, one.in_turn};
  const PortFigures& port = context.figures;
  context.figures = {.connected = port.connected,
                     .in_per_second = port.in_per_second,
                     .out_per_second = port.out_per_second,
                     .wrong_secrets = port.wrong_secrets,
                     .handshakes = port.handshakes,
                     .handshakes_failed = port.handshakes_failed,
                     .plaintext_refused = port.plaintext_refused};
}

Figures RespServer::own_figures() const {
  Figures own{context.own_status(NodeClock::now(), 0), figures, context.figures};
  own.resp.commands.assign(commands.begin(), commands.end());
  own.resp.scripts = scripts.size();
  own.resp.databases = databases;
  return own;
}

}  // namespace quipu
