// The calls of a counter, shared by Node and Client.
#include "quipu/counter.h"

#include <utility>

#include "node/api/call_forms.h"
#include "node/base/clock.h"
#include "node/cores/counter_backend.h"
#include "protocol/affinity.h"

namespace quipu {
namespace {

CounterChange addition(const std::string& key, std::int64_t amount, AddOptions options) {
  return {.kind = OpKind::add,
          .key = key,
          .amount = amount,
          .ack = options.ack,
          .timeout = options.timeout,
          .affinity = affinity_of(options.affinity)};
}

CounterChange change(OpKind kind, const std::string& key, std::int64_t amount,
                     ChangeOptions options) {
  return {
      .kind = kind, .key = key, .amount = amount, .ack = options.ack, .timeout = options.timeout};
}

CounterQuestion question(const std::string& key, ReadOptions options) {
  return {.key = key, .level = options.level, .timeout = options.timeout};
}

constexpr auto as_answer = [](Status why) { return why; };

// The caller holds the backend: the Counter may go while its call waits.
Status change_and_wait(const std::shared_ptr<CounterBackend> backend, CounterChange change) {
  return wait_for<Status>(
      *backend, change.timeout, 1,
      [&](ChangeCall::Done done) { backend->submit(std::move(change), std::move(done)); },
      as_answer);
}

std::future<Status> change_async(CounterBackend& backend, CounterChange change) {
  return future_of<Status>(
      backend, [&](ChangeCall::Done done) { backend.submit(std::move(change), std::move(done)); },
      as_answer);
}

// ---- add_and_read ----

using AddedDone = std::function<void(Result<Added>)>;

// The executor could not know the total: it has one of several shards, or this is a retry.
void read_total(CounterBackend& backend, const std::string& key, Instant deadline, AddedDone done) {
  const auto left = std::chrono::floor<std::chrono::milliseconds>(deadline - NodeClock::now());
  ReadOptions fresh{.level = ReadLevel::fresh, .timeout = clamp_timeout(left)};
  backend.read(question(key, fresh), [done = std::move(done)](const Result<Reading>& reading) {
    done(Added{reading.ok() ? Result<std::int64_t>(reading->value)
                            : Result<std::int64_t>(reading.status())});
  });
}

void add_and_tell(const std::shared_ptr<CounterBackend>& backend, CounterChange change,
                  AddedDone done) {
  const Instant deadline = NodeClock::now() + clamp_timeout(change.timeout);
  const auto total = std::make_shared<ChangeCall::Total>();
  ChangeCall::Done added = [backend, total, key = change.key, deadline,
                            done = std::move(done)](Status status) {
    if (!status.ok()) return done(std::move(status));
    if (*total) return done(Added{**total});
    read_total(*backend, key, deadline, done);
  };
  backend->begin(ChangeCall(std::move(change), std::move(added), total.get()));
}

}  // namespace

Status Counter::add(std::int64_t amount, AddOptions options) {
  return change_and_wait(backend_, addition(key_, amount, options));
}

void Counter::add(std::int64_t amount, AddOptions options, std::function<void(Status)> done) {
  backend_->submit(addition(key_, amount, options), callable(std::move(done)));
}

std::future<Status> Counter::add_async(std::int64_t amount, AddOptions options) {
  return change_async(*backend_, addition(key_, amount, options));
}

Result<Added> Counter::add_and_read(std::int64_t amount, AddOptions options) {
  const std::shared_ptr<CounterBackend> backend = backend_;
  CounterChange add = addition(key_, amount, options);
  return wait_for<Result<Added>>(
      *backend, add.timeout, 1,
      [&](AddedDone done) { add_and_tell(backend, std::move(add), std::move(done)); }, as_answer);
}

void Counter::add_and_read(std::int64_t amount, AddOptions options, AddedDone done) {
  add_and_tell(backend_, addition(key_, amount, options), callable(std::move(done)));
}

std::future<Result<Added>> Counter::add_and_read_async(std::int64_t amount, AddOptions options) {
  return future_of<Result<Added>>(
      *backend_, [&](AddedDone done) { add_and_read(amount, options, std::move(done)); },
      as_answer);
}

Result<Reading> Counter::read(ReadOptions options) {
  const std::shared_ptr<CounterBackend> backend = backend_;
  CounterQuestion ask = question(key_, options);
  return wait_for<Result<Reading>>(
      *backend, ask.timeout, 1,
      [&](ReadCall::Done done) { backend->read(std::move(ask), std::move(done)); }, as_answer);
}

void Counter::read(ReadOptions options, std::function<void(Result<Reading>)> done) {
  backend_->read(question(key_, options), callable(std::move(done)));
}

std::future<Result<Reading>> Counter::read_async(ReadOptions options) {
  return future_of<Result<Reading>>(
      *backend_, [&](ReadCall::Done done) { read(options, std::move(done)); }, as_answer);
}

Status Counter::reset(ChangeOptions options) {
  return change_and_wait(backend_, change(OpKind::reset, key_, 0, options));
}

void Counter::reset(ChangeOptions options, std::function<void(Status)> done) {
  backend_->submit(change(OpKind::reset, key_, 0, options), callable(std::move(done)));
}

std::future<Status> Counter::reset_async(ChangeOptions options) {
  return change_async(*backend_, change(OpKind::reset, key_, 0, options));
}

Status Counter::raise_shards(std::uint16_t count, ChangeOptions options) {
  return change_and_wait(backend_, change(OpKind::raise, key_, count, options));
}

}  // namespace quipu
