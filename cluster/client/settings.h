// settings.h: the client core's numbers, each with its reason.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "protocol/instant.h"
#include "quipu/credentials.h"

namespace quipu {

inline constexpr std::size_t kMostInFlight = 65'536;

struct ClientSettings {
  std::vector<std::string> seeds;  // host:port; the first is preferred. REQUIRES: not empty

  Credentials credentials{};

  // The most changes and questions together. Beyond this, a call is overloaded.
  std::size_t max_in_flight = kMostInFlight;
  // From dialing a node to its ConfigReply. After this, the next node is tried.
  Duration dial_timeout = std::chrono::seconds(1);
  // The pause after each failed round over all addresses, doubled up to the second one.
  Duration backoff_first = std::chrono::milliseconds(50);
  Duration backoff_last = std::chrono::seconds(1);
  // How often a better node (the preferred one, a ready one) is tried in the meantime.
  Duration probe_interval = std::chrono::milliseconds(500);
  // How often a node that is not ready is asked for its state.
  Duration config_interval = std::chrono::seconds(1);
  // A node that owes an answer and is silent this long is pinged, then given up.
  Duration ping_after = std::chrono::seconds(1);
  Duration silence_timeout = std::chrono::seconds(3);

  // The pause before a change or a session is tried again.
  Duration retry_interval = std::chrono::milliseconds(100);
  // The longest wait that one try asks of the server. Retries cover the rest.
  Duration try_timeout = std::chrono::seconds(2);
  // An executor that owes answers and gave none for this long gets no new changes …
  Duration executor_patience = std::chrono::milliseconds(500);
  // … for this long.
  Duration suspicion = std::chrono::seconds(1);
  // true: a change for which no executor has room waits until its deadline, like a change for
  // which no executor is known. false: it gets storage_full at once.
  bool wait_for_room = false;
  // The effects include what a caller must make durable to go on after a crash (journal.h).
  bool journaled = false;
  // The most counters whose number of shards is remembered. Beyond, all are forgotten.
  std::size_t max_spread_keys = 65'536;
  // How old this number may be for an add with an affinity. If others know of more shards, the
  // add goes to another shard than theirs. If it is older, the client asks again.
  Duration shards_age = std::chrono::seconds(1);
};

// The timeout for the server: a little less than what is left, so that its answer arrives in
// time. In milliseconds, as in messages.
[[nodiscard]] inline std::uint32_t server_timeout(Duration left, Duration most) {
  const auto ms = std::chrono::floor<std::chrono::milliseconds>(std::min(left - left / 8, most));
  return static_cast<std::uint32_t>(std::max<std::int64_t>(ms.count(), 1));
}

}  // namespace quipu
