// The blocking forms, once for Node and Client: the callback form, and a wait.
#include "quipu/counter.h"

#include <future>
#include <utility>

#include "node/counter_backend.h"
#include "protocol/affinity.h"

namespace quipu {
namespace {

Status would_deadlock() { return {Code::would_deadlock, "a blocking call in a callback"}; }

// Calls start(done) and waits for done. A backend answers each call by its
// timeout, so the wait is bounded.
template <class Answer, class Start>
Answer wait_for(CounterBackend& backend, std::chrono::milliseconds& timeout, Start start) {
  if (backend.on_own_thread()) return would_deadlock();
  timeout = backend.wait_for_room(timeout);
  const auto promise = std::make_shared<std::promise<Answer>>();
  std::future<Answer> answer = promise->get_future();
  start([promise](Answer value) { promise->set_value(std::move(value)); });
  return answer.get();
}

// Whoever does not care for the outcome may pass nothing.
template <class Answer>
std::function<void(Answer)> callable(std::function<void(Answer)> done) {
  if (done) return done;
  return [](const Answer&) {};
}

CounterChange change(OpKind kind, const std::string& key, std::int64_t amount, AddOptions options) {
  return {.kind = kind,
          .key = key,
          .amount = amount,
          .ack = options.ack,
          .timeout = options.timeout,
          .affinity = kind == OpKind::add ? affinity_of(options.affinity) : Affinity{}};
}

// The backend is held by the caller: the Counter may go while its call waits.
Status change_and_wait(std::shared_ptr<CounterBackend> backend, CounterChange change) {
  return wait_for<Status>(*backend, change.timeout, [&](CounterBackend::ChangeDone done) {
    backend->submit(std::move(change), std::move(done));
  });
}

}  // namespace

Result<Reading> to_reading(const Value& value) {
  if (value.code != Code::ok) return Status(value.code, value.detail);
  Reading reading{value.value, value.exists, value.complete, std::nullopt, value.shards};
  if (value.age_ms != kUnknownAge) reading.age = std::chrono::milliseconds(value.age_ms);
  return reading;
}

Status Counter::add(std::int64_t amount, AddOptions options) {
  return change_and_wait(backend_, change(OpKind::add, key_, amount, options));
}

void Counter::add(std::int64_t amount, AddOptions options, std::function<void(Status)> done) {
  backend_->submit(change(OpKind::add, key_, amount, options), callable(std::move(done)));
}

Result<Reading> Counter::read(ReadOptions options) {
  const std::shared_ptr<CounterBackend> backend = backend_;
  CounterQuestion question{.key = key_, .level = options.level, .timeout = options.timeout};
  return wait_for<Result<Reading>>(*backend, question.timeout, [&](CounterBackend::ReadDone done) {
    backend->read(std::move(question), std::move(done));
  });
}

void Counter::read(ReadOptions options, std::function<void(Result<Reading>)> done) {
  backend_->read({.key = key_, .level = options.level, .timeout = options.timeout},
                 callable(std::move(done)));
}

Status Counter::reset(AddOptions options) {
  return change_and_wait(backend_, change(OpKind::reset, key_, 0, options));
}

void Counter::reset(AddOptions options, std::function<void(Status)> done) {
  backend_->submit(change(OpKind::reset, key_, 0, options), callable(std::move(done)));
}

Status Counter::raise_shards(std::uint16_t count, AddOptions options) {
  return change_and_wait(backend_, change(OpKind::raise, key_, count, options));
}

}  // namespace quipu
