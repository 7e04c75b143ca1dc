// call_forms.h: makes the two other forms of a call from the one with a callback: the one that
// waits, and the one that returns a future.
//
// `begin(done)` starts the call. `refuse(status)` makes the answer of a call that did not begin,
// because its caller is on the thread that would have to answer it.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <utility>

#include "node/cores/counter_backend.h"

namespace quipu {

// Callers that do not need the answer may pass nothing.
template <class Answer>
[[nodiscard]] std::function<void(Answer)> callable(std::function<void(Answer)> done) {
  if (done) return done;
  return [](const Answer&) {};
}

template <class Answer, class Begin>
[[nodiscard]] std::future<Answer> begin_with_promise(Begin begin) {
  const auto promise = std::make_shared<std::promise<Answer>>();
  std::future<Answer> answer = promise->get_future();
  begin([promise](Answer value) { promise->set_value(std::move(value)); });
  return answer;
}

[[nodiscard]] inline Status would_deadlock() {
  return {Code::would_deadlock, "called in a callback, on the library's own thread"};
}

template <class Answer, class Begin, class Refuse>
[[nodiscard]] std::future<Answer> future_of(const CounterBackend& backend, Begin begin,
                                            Refuse refuse) {
  if (!backend.on_own_thread()) return begin_with_promise<Answer>(std::move(begin));
  std::promise<Answer> refused;
  refused.set_value(refuse(would_deadlock()));
  return refused.get_future();
}

// `timeout`: that of the call. It is reduced by the time spent waiting for room for `calls`
// calls. A backend answers each call by its timeout, so the wait is bounded.
template <class Answer, class Begin, class Refuse>
[[nodiscard]] Answer wait_for(CounterBackend& backend, std::chrono::milliseconds& timeout,
                              std::size_t calls, Begin begin, Refuse refuse) {
  if (backend.on_own_thread()) return refuse(would_deadlock());
  timeout = backend.wait_for_room(timeout, calls);
  return begin_with_promise<Answer>(std::move(begin)).get();
}

}  // namespace quipu
