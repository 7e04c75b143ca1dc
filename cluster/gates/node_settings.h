// node_settings.h: the core's numbers, each with its meaning and a default for a LAN. Bounds
// limit memory. Intervals trade freshness for traffic.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cluster/membership/config.h"
#include "protocol/instant.h"
#include "protocol/release.h"
#include "quipu/namespace.h"
#include "storage/checkpoint.h"
#include "storage/token_table.h"

namespace quipu {

struct NodeSettings {
  // How often outboxes are flushed and heartbeats sent. A local read is about this old, and a
  // crash loses about this much of what was acknowledged at `memory`.
  Duration gossip_interval = std::chrono::milliseconds(100);
  // A link that brings nothing for this long is closed. Well above the interval.
  Duration link_timeout = std::chrono::seconds(3);
  // How long a started store waits for the other owners' version vectors. Then it draws new
  // actors for the partitions of silent owners.
  Duration confirm_wait = std::chrono::seconds(1);
  // For requests with a timeout of 0.
  Duration request_timeout = std::chrono::seconds(5);
  // Between comparisons with each peer, ± 20%; and from a first look to the second.
  Duration repair_interval = std::chrono::seconds(10);
  Duration repair_second_look = std::chrono::seconds(1);
  std::size_t repair_bytes_per_second = 12'500'000;          // a tenth of 1 Gbit/s
  std::size_t repair_answer_bytes = std::size_t{256} << 10;  // at most: frames are bounded

  std::size_t outbox_shards = 100'000;               // per peer; beyond, anti-entropy takes over
  std::size_t frames_in_flight = 4;                  // per peer
  std::size_t frame_bytes = std::size_t{256} << 10;  // of states; well below kMaxFrame
  std::size_t pending_operations = 65'536;           // that wait for a peer; beyond: overloaded
  std::size_t pending_read_bytes = 16u << 20;        // of waiting reads; beyond: overloaded
  std::size_t rollup_shards = 65'536;                // cached totals of shards held elsewhere
  std::size_t question_bytes = 8u << 20;             // cached answers about other owners' counters
  // For records that are not durable, including the open one, and for answers that wait for
  // them. Beyond this, clients are not read.
  std::size_t unsynced_bytes = 8u << 20;
  // Beyond this, peer messages that need room are dropped. Well above the bound for clients, so
  // that waiting clients alone never reach it.
  std::size_t backlog_bytes = 32u << 20;
  // About how many bytes of counters stay in memory; 0: no limit. Beyond it, unused counters are
  // in the store alone, and read back when they are needed.
  std::size_t memory_limit = 0;
  // A clock is trusted within this distance of the members' median.
  Duration clock_skew = std::chrono::seconds(1);
  // A started node serves changes only after its first comparison of clocks, or after this time.
  // Otherwise clients that ignore refusals would leave counters without the end that they gave
  // them.
  Duration clock_wait{};
  // The reactors of this node. They have one clock, so it proves nothing to compare them.
  std::vector<MemberIndex> same_clock;
  // What this node says that it speaks; no more than the build does.
  Speaker speaker = this_build();
  // Defined at the start if they never were.
  std::vector<Namespace> namespaces;
  TokenLimits tokens;
  CheckpointLimits checkpoint;

  // The deadline of a request that came at `now` with that timeout.
  [[nodiscard]] Instant deadline(Instant now, std::uint32_t timeout_ms) const {
    return now + (timeout_ms == 0 ? request_timeout : std::chrono::milliseconds(timeout_ms));
  }
};

}  // namespace quipu
