// distinct_calls.h: the count of several counters of different elements, which Distinct and
// Counters share.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "node/cores/counter_backend.h"
#include "quipu/distinct.h"

namespace quipu {

using DistinctDone = std::function<void(Result<DistinctReading>)>;

// Why these keys cannot be counted together. Empty: they can.
[[nodiscard]] std::string objection(std::span<const std::string> keys);

void begin_count(CounterBackend& backend, std::vector<std::string> keys, ReadOptions options,
                 DistinctDone done);

// The three forms of the call, in counters.h and distinct.h.
[[nodiscard]] Result<DistinctReading> count_and_wait(std::shared_ptr<CounterBackend> backend,
                                                     std::vector<std::string> keys,
                                                     ReadOptions options);
[[nodiscard]] std::future<Result<DistinctReading>> count_in_future(CounterBackend& backend,
                                                                   std::vector<std::string> keys,
                                                                   ReadOptions options);

}  // namespace quipu
