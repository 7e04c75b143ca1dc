#include "node/cores/figures.h"

#include <algorithm>

namespace quipu {

void PortFigures::add(const PortFigures& other) {
  connected += other.connected;
  received += other.received;
  rejected += other.rejected;
  wrong_secrets += other.wrong_secrets;
  handshakes += other.handshakes;
  handshakes_failed += other.handshakes_failed;
  plaintext_refused += other.plaintext_refused;
  reads += other.reads;
  bytes_in += other.bytes_in;
  writes += other.writes;
  bytes_out += other.bytes_out;
  in_per_second += other.in_per_second;
  out_per_second += other.out_per_second;
}

void RespFigures::add(const RespFigures& other) {
  commands_processed += other.commands_processed;
  per_second += other.per_second;
  hits += other.hits;
  misses += other.misses;
  errors += other.errors;
  scripts += other.scripts;
  databases.insert(other.databases.begin(), other.databases.end());
  commands.resize(std::max(commands.size(), other.commands.size()));
  for (std::size_t i = 0; i < other.commands.size(); ++i) {
    commands[i].calls += other.commands[i].calls;
    commands[i].nanoseconds += other.commands[i].nanoseconds;
    commands[i].rejected += other.commands[i].rejected;
    commands[i].failed += other.commands[i].failed;
  }
  for (const auto& [code, count] : other.errors_by_code) errors_by_code[code] += count;
}

void Figures::add(const Figures& other) {
  for (Stat& stat : status.stats) {
    for (const Stat& one : other.status.stats) {
      if (one.name == stat.name) stat.value += one.value;
    }
  }
  resp.add(other.resp);
  port.add(other.port);
  requests.add(other.requests);
  syncs.add(other.syncs);
}

}  // namespace quipu
