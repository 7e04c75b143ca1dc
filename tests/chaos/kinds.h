// kinds.h: adds to counters of all kinds, and reads of them, in one form for all.
//
// Threads: any.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "quipu/client.h"
#include "tests/chaos/history.h"
#include "tests/chaos/keys.h"

namespace quipu::chaos {

// What a counter answered; as of Read.
struct Told {
  std::int64_t value = 0;
  std::vector<ItemBounds> items{};
  bool complete = false;
  std::optional<std::chrono::milliseconds> age{};
};

void add_to(Client& client, const Keys::Next& next, const AddOptions& options,
            std::function<void(Status)> done);

// The same add as a Redis client sends it. Only an add to a sum can name its level; others have
// the default `disk`.
[[nodiscard]] std::string redis_line(const Keys::Next& next, Ack ack);

void read_from(Client& client, const std::string& key, const ReadOptions& options,
               std::function<void(const Result<Told>&)> done);

// The prefix of kElements elements of which the cluster counts each. How elements are hashed is
// the cluster's own affair, so in one cluster of twenty, two of the first set share a register.
// Throws if the cluster counts none of many sets exactly.
[[nodiscard]] std::string find_elements(Client& client);

}  // namespace quipu::chaos
