#include "node/api/range_calls.h"

#include <algorithm>
#include <utility>

#include "node/api/call_forms.h"
#include "node/api/call_parts.h"

namespace quipu {
namespace {

constexpr auto kLongestSpan = std::chrono::duration_cast<std::chrono::seconds>(kMaxTtl);

// No span or step is longer than all time.
std::chrono::seconds bounded(std::chrono::seconds span) {
  return std::clamp<std::chrono::seconds>(span, std::chrono::seconds(0), kLongestSpan);
}

RangeQuestion range_question(Kind kind, const std::string& key, std::chrono::seconds step,
                             ReadOptions options) {
  return {.key = key,
          .step = bounded(step),
          .level = options.level,
          .timeout = options.timeout,
          .kind = kind};
}

}  // namespace

RangeQuestion between(Kind kind, const std::string& key, std::chrono::system_clock::time_point from,
                      std::chrono::system_clock::time_point to, std::chrono::seconds step,
                      ReadOptions options) {
  RangeQuestion ask = range_question(kind, key, step, options);
  ask.from = wall_of(from);
  ask.to = wall_of(to);
  return ask;
}

// A span below 1 s is refused as an empty range, which it is.
RangeQuestion until_now(Kind kind, const std::string& key, std::chrono::seconds span,
                        std::chrono::seconds step, ReadOptions options) {
  RangeQuestion ask = range_question(kind, key, step, options);
  ask.last = bounded(span);
  return ask;
}

void begin_range(CounterBackend& backend, RangeQuestion ask, RangeDone done) {
  backend.begin(RangeCall{std::move(ask), callable(std::move(done))});
}

Result<Range> range_and_wait(const std::shared_ptr<CounterBackend> backend, RangeQuestion ask) {
  return wait_for<Result<Range>>(
      *backend, ask.timeout, 1,
      [&](RangeDone done) { begin_range(*backend, std::move(ask), std::move(done)); }, as_answer);
}

std::future<Result<Range>> range_in_future(CounterBackend& backend, RangeQuestion ask) {
  return future_of<Result<Range>>(
      backend, [&](RangeDone done) { begin_range(backend, std::move(ask), std::move(done)); },
      as_answer);
}

}  // namespace quipu
