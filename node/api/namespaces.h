// namespaces.h: the calls about namespaces that need more than one request, for Counters and for
// the command line.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "node/cores/counter_backend.h"

namespace quipu {

// The most counters of a step, about: each may have 1,024 shards, and a node takes 65,536 resets of
// shards at a time.
inline constexpr std::uint32_t kDropPage = 64;

// As Counters::drop_namespace. `done` is called once.
void begin_drop(const std::shared_ptr<CounterBackend>& backend, std::string name, ListCursor from,
                std::chrono::milliseconds timeout, std::function<void(NamespaceDrop)> done);

}  // namespace quipu
