// range_calls.h: questions about what was counted in time, which Counter and Distinct share.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>

#include "node/cores/counter_backend.h"
#include "quipu/counter.h"

namespace quipu {

using RangeDone = std::function<void(Result<Range>)>;

[[nodiscard]] RangeQuestion between(Kind kind, const std::string& key,
                                    std::chrono::system_clock::time_point from,
                                    std::chrono::system_clock::time_point to,
                                    std::chrono::seconds step, ReadOptions options);
[[nodiscard]] RangeQuestion until_now(Kind kind, const std::string& key, std::chrono::seconds span,
                                      std::chrono::seconds step, ReadOptions options);

// The three forms of the call.
void begin_range(CounterBackend& backend, RangeQuestion ask, RangeDone done);
[[nodiscard]] Result<Range> range_and_wait(std::shared_ptr<CounterBackend> backend,
                                           RangeQuestion ask);
[[nodiscard]] std::future<Result<Range>> range_in_future(CounterBackend& backend,
                                                         RangeQuestion ask);

}  // namespace quipu
