// node_settings.h: the core's numbers, each with its meaning and a default that
// suits a LAN. Bounds are for memory; intervals trade freshness for traffic.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "protocol/instant.h"
#include "storage/checkpoint.h"
#include "storage/token_table.h"

namespace quipu {

struct NodeSettings {
  // How often outboxes are flushed and beats sent. A local read is about this old, and a
  // crash takes about so much of what was acknowledged at `memory`.
  Duration gossip_interval = std::chrono::milliseconds(100);
  // A link that brings nothing for this long is closed. Well above the interval.
  Duration link_timeout = std::chrono::seconds(3);
  // How long a started store waits for the other owners' testimony before it
  // draws new actors for the partitions of those that are silent.
  Duration confirm_wait = std::chrono::seconds(1);
  // For requests that name none, which they do by 0.
  Duration request_timeout = std::chrono::seconds(5);
  // Between looks at each peer, ± 20%; and from a first look to the second.
  Duration repair_interval = std::chrono::seconds(10);
  Duration repair_second_look = std::chrono::seconds(1);
  std::size_t repair_bytes_per_second = 12'500'000;  // a tenth of 1 Gbit/s
  std::size_t repair_answer_bytes = 256 * 1024;      // at most so many: frames are bounded

  std::size_t outbox_shards = 100'000;         // per peer; beyond, anti-entropy takes over
  std::size_t frames_in_flight = 4;            // per peer
  std::size_t frame_bytes = 256 * 1024;        // of states; well below kMaxFrame
  std::size_t pending_operations = 65'536;     // what waits for a peer; beyond: overloaded
  std::size_t pending_read_bytes = 16u << 20;  // that reads wait for; beyond: overloaded
  std::size_t rollup_shards = 65'536;          // cached totals of shards held elsewhere
  // Of records not durable, the open one too, and of answers that wait for them:
  // beyond, clients are not read.
  std::size_t unsynced_bytes = 8u << 20;
  // Beyond this, what peers bring is dropped where it takes room. Well above, so that
  // clients alone, who wait from there on, never cause it.
  std::size_t backlog_bytes = 32u << 20;
  // Of counters in memory, about; 0: none. Beyond, those that are not used are in the
  // store alone, and brought back when they are.
  std::size_t memory_limit = 0;
  TokenLimits tokens;
  CheckpointLimits checkpoint;

  // Of a request that came at `now` and names that timeout.
  [[nodiscard]] Instant deadline(Instant now, std::uint32_t timeout_ms) const {
    return now + (timeout_ms == 0 ? request_timeout : std::chrono::milliseconds(timeout_ms));
  }
};

}  // namespace quipu
