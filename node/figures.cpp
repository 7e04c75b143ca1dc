#include "node/figures.h"

namespace quipu {

void Figures::add(const Figures& other) {
  for (Stat& stat : status.stats) {
    for (const Stat& one : other.status.stats) {
      if (one.name == stat.name) stat.value += one.value;
    }
  }
  resp.connected += other.resp.connected;
  resp.connections_received += other.resp.connections_received;
  resp.commands_processed += other.resp.commands_processed;
  resp.per_second += other.resp.per_second;
  resp.hits += other.resp.hits;
  resp.misses += other.resp.misses;
  resp.errors += other.resp.errors;
}

}  // namespace quipu
