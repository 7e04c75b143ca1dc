// settings.h: the client core's numbers, each with its reason.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "protocol/instant.h"

namespace quipu {

struct ClientSettings {
  std::vector<std::string> seeds;  // host:port; the first is preferred. REQUIRES: not empty

  // Changes and questions together; beyond, a call is overloaded.
  std::size_t max_in_flight = 65'536;
  // From dialing a node to its ConfigReply; then the next one is tried.
  Duration dial_timeout = std::chrono::seconds(1);
  // After each fruitless round over all addresses, doubled up to the second one.
  Duration backoff_first = std::chrono::milliseconds(50);
  Duration backoff_last = std::chrono::seconds(1);
  // How often a better node (the preferred one, a ready one) is tried meanwhile.
  Duration probe_interval = std::chrono::milliseconds(500);
  // How often a node that is not ready is asked whether it now is.
  Duration config_interval = std::chrono::seconds(1);
  // A node that owes an answer and is silent is pinged, then given up.
  Duration ping_after = std::chrono::seconds(1);
  Duration silence_timeout = std::chrono::seconds(3);

  // Before a change or a session is tried again.
  Duration retry_interval = std::chrono::milliseconds(100);
  // The longest that one try asks the server to wait; a retry finds out the rest.
  Duration try_timeout = std::chrono::seconds(2);
  // An executor that owes answers and gave none for so long gets no new changes …
  Duration executor_patience = std::chrono::milliseconds(500);
  // … for so long.
  Duration suspicion = std::chrono::seconds(1);
  // A change that no executor has room for waits until its deadline for room, as one that
  // no executor can be found for does. false: storage_full at once.
  bool wait_for_room = false;
  // The effects say what a caller must make durable to go on after a crash (journal.h).
  bool journaled = false;
  // Counters whose shards are known; forgotten all together beyond.
  std::size_t max_spread_keys = 65'536;
  // How old that may be for an add with an affinity, which stays away from the others of
  // its affinity if they know more; older, it is asked for.
  Duration shards_age = std::chrono::seconds(1);
};

// What a server is asked to take at most: a little less than is left, so that its
// answer is here in time. In milliseconds, as the messages have it.
[[nodiscard]] inline std::uint32_t server_timeout(Duration left, Duration most) {
  const auto ms = std::chrono::floor<std::chrono::milliseconds>(std::min(left - left / 8, most));
  return static_cast<std::uint32_t>(std::max<std::int64_t>(ms.count(), 1));
}

}  // namespace quipu
