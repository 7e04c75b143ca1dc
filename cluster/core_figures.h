// core_figures.h: numbers of a core for metrics, beside those of its status.
//
// Counters start at 0 with each core. Plain data: a copy, which nothing changes later.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cluster/reads/collector.h"
#include "cluster/reads/read_sources.h"
#include "cluster/replication/freshness.h"
#include "protocol/instant.h"

namespace quipu {

struct PeerFigures {
  std::string name{};
  bool up = false;
  std::optional<Duration> age{};         // as Freshness::age_of
  std::optional<Duration> round_trip{};  // of the last heartbeat that told it
  std::uint64_t outbox = 0;              // shards
  std::uint64_t outboxes_lost = 0;
  std::uint64_t frames_sent = 0, frames_merged = 0;  // of states
  std::optional<Duration> since_repair{};            // since the last comparison that was finished
};

struct CoreFigures {
  std::vector<PeerFigures> peers{};
  Age rollup{};  // of local reads
  ReadSources reads{};
  Collector::Durations shard_answers{};
  bool store_full = false;
  std::uint64_t states_in_memory = 0;
  std::uint64_t evictions = 0;                  // states
  std::uint64_t journal_bytes = 0;              // since the last checkpoint began
  std::optional<Duration> since_checkpoint{};   // since the last one was finished
  std::uint64_t records = 0, record_bytes = 0;  // given to the store
};

}  // namespace quipu
