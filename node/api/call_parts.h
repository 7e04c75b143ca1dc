// call_parts.h: what the calls of Counter and those of counters of other kinds have in common.
#pragma once

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "node/api/call_forms.h"
#include "node/cores/counter_backend.h"
#include "quipu/counter_of_kind.h"

namespace quipu {

[[nodiscard]] inline CounterChange change_of(Kind counter, OpKind kind, const std::string& key,
                                             std::int64_t amount, ChangeOptions options) {
  return {.kind = kind,
          .key = key,
          .amount = amount,
          .ack = options.ack,
          .timeout = options.timeout,
          .counter = counter};
}

inline constexpr auto as_answer = [](Status why) { return why; };

// The caller holds the backend: the Counter may go while its call waits.
[[nodiscard]] inline Status change_and_wait(const std::shared_ptr<CounterBackend> backend,
                                            CounterChange change) {
  return wait_for<Status>(
      *backend, change.timeout, 1,
      [&](ChangeCall::Done done) { backend->submit(std::move(change), std::move(done)); },
      as_answer);
}

[[nodiscard]] inline std::future<Status> change_async(CounterBackend& backend,
                                                      CounterChange change) {
  return future_of<Status>(
      backend, [&](ChangeCall::Done done) { backend.submit(std::move(change), std::move(done)); },
      as_answer);
}

// ---- changes that add items ----

// Without items.
[[nodiscard]] inline CounterChange apply_change(Kind kind, const std::string& key,
                                                const ElementOptions& options) {
  return {.kind = OpKind::apply,
          .key = key,
          .ack = options.ack,
          .timeout = options.timeout,
          .ttl = options.ttl,
          .at_ms = moment_of(options.at),
          .counter = kind};
}

[[nodiscard]] inline Status check_items(const CounterChange& change) {
  std::string why = objection(change.counter, change.items);
  return why.empty() ? Status() : Status(Code::invalid_argument, std::move(why));
}

inline void begin_apply(CounterBackend& backend, CounterChange change, ChangeCall::Done done) {
  Status wrong = check_items(change);
  wrong.ok() ? backend.submit(std::move(change), std::move(done)) : done(std::move(wrong));
}

[[nodiscard]] inline Status apply_and_wait(const std::shared_ptr<CounterBackend>& backend,
                                           CounterChange change) {
  Status wrong = check_items(change);
  return wrong.ok() ? change_and_wait(backend, std::move(change)) : wrong;
}

[[nodiscard]] inline std::future<Status> apply_in_future(CounterBackend& backend,
                                                         CounterChange change) {
  return future_of<Status>(
      backend,
      [&](ChangeCall::Done done) { begin_apply(backend, std::move(change), std::move(done)); },
      as_answer);
}

// ---- readings ----

// What readings of all kinds have.
template <class Reading>
void describe_answer(const QueryReply& reply, Reading& reading) {
  reading.exists = reply.exists;
  reading.complete = reply.complete;
  if (reply.age_ms != kUnknownAge) reading.age = std::chrono::milliseconds(reply.age_ms);
  if (reply.expires_in_ms > 0) {
    reading.expires_in = std::chrono::milliseconds(static_cast<std::int64_t>(reply.expires_in_ms));
  }
}

// ---- times ----

// The amount of an expire. An end before 1970, too, is in the past. 0 would mean that there is
// none.
[[nodiscard]] inline std::int64_t end_of(std::chrono::system_clock::time_point when) {
  const auto ms = std::chrono::floor<std::chrono::milliseconds>(when.time_since_epoch()).count();
  return std::max<std::int64_t>(1, ms);
}

// A moment of a range. Beyond what a node takes, it is refused there.
[[nodiscard]] inline Wall wall_of(std::chrono::system_clock::time_point time) {
  const auto ms = std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch());
  return std::clamp(Wall{ms}, Wall{}, kLatestDate);
}

}  // namespace quipu
