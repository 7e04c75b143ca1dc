// The calls of a counter, shared by Node and Client.
#include "quipu/counter.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "node/api/call_forms.h"
#include "node/api/call_parts.h"
#include "node/api/range_calls.h"
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
          .affinity = affinity_of(options.affinity),
          .ttl = options.ttl,
          .at_ms = moment_of(options.at)};
}

CounterChange end_at(const std::string& key, std::chrono::system_clock::time_point when,
                     ChangeOptions options) {
  return change_of(Kind::sum, OpKind::expire, key, end_of(when), options);
}

CounterChange no_end(const std::string& key, ChangeOptions options) {
  return change_of(Kind::sum, OpKind::expire, key, 0, options);
}

Result<Rate> rate_of(const Result<Range>& range) {
  if (!range.ok()) return range.status();
  Rate rate{.begin = range->begin, .complete = range->complete};
  rate.span = range->step * static_cast<std::int64_t>(range->counts.size());
  rate.settled_until = range->settled_until;
  for (const std::int64_t count : range->counts) rate.per_second += static_cast<double>(count);
  if (rate.span.count() > 0) rate.per_second /= static_cast<double>(rate.span.count());
  return rate;
}

CounterQuestion question(const std::string& key, ReadOptions options) {
  return {.key = key, .level = options.level, .timeout = options.timeout};
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

// ---- rate ----

using RateDone = std::function<void(Result<Rate>)>;

void begin_rate(CounterBackend& backend, RangeQuestion ask, RateDone done) {
  ask.only_past = true;
  begin_range(
      backend, std::move(ask),
      [done = callable(std::move(done))](const Result<Range>& range) { done(rate_of(range)); });
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
  return change_and_wait(backend_, change_of(Kind::sum, OpKind::reset, key_, 0, options));
}

void Counter::reset(ChangeOptions options, std::function<void(Status)> done) {
  backend_->submit(change_of(Kind::sum, OpKind::reset, key_, 0, options),
                   callable(std::move(done)));
}

std::future<Status> Counter::reset_async(ChangeOptions options) {
  return change_async(*backend_, change_of(Kind::sum, OpKind::reset, key_, 0, options));
}

using TimePoint = std::chrono::system_clock::time_point;

Status Counter::expire_at(TimePoint when, ChangeOptions options) {
  return change_and_wait(backend_, end_at(key_, when, options));
}

void Counter::expire_at(TimePoint when, ChangeOptions options, std::function<void(Status)> done) {
  backend_->submit(end_at(key_, when, options), callable(std::move(done)));
}

std::future<Status> Counter::expire_at_async(TimePoint when, ChangeOptions options) {
  return change_async(*backend_, end_at(key_, when, options));
}

Status Counter::persist(ChangeOptions options) {
  return change_and_wait(backend_, no_end(key_, options));
}

void Counter::persist(ChangeOptions options, std::function<void(Status)> done) {
  backend_->submit(no_end(key_, options), callable(std::move(done)));
}

std::future<Status> Counter::persist_async(ChangeOptions options) {
  return change_async(*backend_, no_end(key_, options));
}

// ---- time ----

Result<Range> Counter::range(TimePoint from, TimePoint to, std::chrono::seconds step,
                             ReadOptions options) {
  return range_and_wait(backend_, between(Kind::sum, key_, from, to, step, options));
}

void Counter::range(TimePoint from, TimePoint to, std::chrono::seconds step, ReadOptions options,
                    RangeDone done) {
  begin_range(*backend_, between(Kind::sum, key_, from, to, step, options), std::move(done));
}

std::future<Result<Range>> Counter::range_async(TimePoint from, TimePoint to,
                                                std::chrono::seconds step, ReadOptions options) {
  return range_in_future(*backend_, between(Kind::sum, key_, from, to, step, options));
}

Result<Range> Counter::last(std::chrono::seconds span, std::chrono::seconds step,
                            ReadOptions options) {
  return range_and_wait(backend_, until_now(Kind::sum, key_, span, step, options));
}

void Counter::last(std::chrono::seconds span, std::chrono::seconds step, ReadOptions options,
                   RangeDone done) {
  begin_range(*backend_, until_now(Kind::sum, key_, span, step, options), std::move(done));
}

std::future<Result<Range>> Counter::last_async(std::chrono::seconds span, std::chrono::seconds step,
                                               ReadOptions options) {
  return range_in_future(*backend_, until_now(Kind::sum, key_, span, step, options));
}

Result<Rate> Counter::rate(std::chrono::seconds span, ReadOptions options) {
  const std::shared_ptr<CounterBackend> backend = backend_;
  RangeQuestion ask = until_now(Kind::sum, key_, span, {}, options);
  return wait_for<Result<Rate>>(
      *backend, ask.timeout, 1,
      [&](RateDone done) { begin_rate(*backend, std::move(ask), std::move(done)); }, as_answer);
}

void Counter::rate(std::chrono::seconds span, ReadOptions options, RateDone done) {
  begin_rate(*backend_, until_now(Kind::sum, key_, span, {}, options), std::move(done));
}

std::future<Result<Rate>> Counter::rate_async(std::chrono::seconds span, ReadOptions options) {
  return future_of<Result<Rate>>(
      *backend_, [&](RateDone done) { rate(span, options, std::move(done)); }, as_answer);
}

Status Counter::raise_shards(std::uint16_t count, ChangeOptions options) {
  return change_and_wait(backend_, change_of(Kind::sum, OpKind::raise, key_, count, options));
}

}  // namespace quipu
