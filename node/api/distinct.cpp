// The calls of a counter of different elements, shared by Node and Client.
#include "quipu/distinct.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "node/api/call_forms.h"
#include "node/api/call_parts.h"
#include "node/api/distinct_calls.h"
#include "node/api/range_calls.h"
#include "node/base/clock.h"
#include "protocol/distinct_words.h"

namespace quipu {
namespace {

static_assert(kMaxElements == distinct::kMaxElements, "an add_many is one op");
static_assert(kMaxBatch == kMaxReadKeys, "a count of many is one query");

using StatusDone = ChangeCall::Done;
using TimePoint = std::chrono::system_clock::time_point;

CounterChange addition(const std::string& key, std::span<const std::string_view> elements,
                       const ElementOptions& options) {
  CounterChange add = apply_change(Kind::distinct, key, options);
  add.items.reserve(elements.size());
  for (const std::string_view element : elements) add.items.push_back({std::string(element)});
  return add;
}

Result<DistinctReading> reading_of(const QueryReply& reply) {
  if (reply.code != Code::ok) return Status(reply.code, reply.detail);
  const auto told = distinct::estimate(reply.reply);
  if (!told) return Status(Code::unavailable, "the node's answer is no estimate");
  DistinctReading reading{.estimate = told->count, .standard_error = told->standard_error()};
  describe_answer(reply, reading);
  return reading;
}

// The union of the sources is read twice: strong, for what a majority has, and local, for what the
// asked node has acknowledged. Then both are joined into the counter.
class Merge : public std::enable_shared_from_this<Merge> {
 public:
  Merge(std::shared_ptr<CounterBackend> backend, std::string key, ChangeOptions options,
        StatusDone done)
      : backend_(std::move(backend)),
        key_(std::move(key)),
        options_(std::move(options)),
        deadline_(NodeClock::now() + clamp_timeout(options_.timeout)),
        done_(std::move(done)) {}

  void read(std::vector<std::string> sources, ReadLevel level) {
    QueryQuestion question{.kind = Kind::distinct,
                           .words = std::string(distinct::kUnionQuestion),
                           .keys = sources,
                           .level = level,
                           .timeout = left()};
    backend_->begin(
        QueryCall{std::move(question), [self = shared_from_this(), sources](QueryReply reply) {
                    if (reply.code != Code::ok)
                      return self->done_(Status(reply.code, std::move(reply.detail)));
                    self->unions_.push_back(std::move(reply.reply));
                    if (self->unions_.size() == 1) return self->read(sources, ReadLevel::local);
                    if (self->unions_[0] == self->unions_[1]) self->unions_.pop_back();
                    self->join_next();
                  }});
  }

 private:
  void join_next() {
    CounterChange merge = change_of(Kind::distinct, OpKind::apply, key_, 0, options_);
    // No source exists: the counter begins with 0 elements.
    if (!unions_.back().empty()) merge.words = distinct::words_to_merge(unions_.back());
    merge.timeout = left();
    unions_.pop_back();
    backend_->submit(std::move(merge), [self = shared_from_this()](Status joined) {
      joined.ok() && !self->unions_.empty() ? self->join_next() : self->done_(std::move(joined));
    });
  }
  [[nodiscard]] std::chrono::milliseconds left() const {
    return clamp_timeout(
        std::chrono::floor<std::chrono::milliseconds>(deadline_ - NodeClock::now()));
  }

  const std::shared_ptr<CounterBackend> backend_;
  const std::string key_;
  const ChangeOptions options_;
  const Instant deadline_;
  const StatusDone done_;
  std::vector<std::string> unions_;  // that were read, and not joined yet
};

void begin_merge(const std::shared_ptr<CounterBackend>& backend, const std::string& key,
                 std::span<const std::string> keys, ChangeOptions options, StatusDone done) {
  std::vector<std::string> sources(keys.begin(), keys.end());
  if (std::string why = objection(sources); !why.empty())
    return done(Status(Code::invalid_argument, std::move(why)));
  std::make_shared<Merge>(backend, key, std::move(options), std::move(done))
      ->read(std::move(sources), ReadLevel::strong);
}

}  // namespace

// ---- count ----

std::string objection(std::span<const std::string> keys) {
  if (keys.empty() || keys.size() > kMaxReadKeys)
    return "one call is about 1 to " + std::to_string(kMaxReadKeys) + " keys";
  const bool sound = std::ranges::all_of(
      keys, [](const std::string& key) { return !key.empty() && key.size() <= kMaxKey; });
  return sound ? "" : "a key has 1 to 512 bytes";
}

void begin_count(CounterBackend& backend, std::vector<std::string> keys, ReadOptions options,
                 DistinctDone done) {
  if (std::string why = objection(keys); !why.empty())
    return done(Status(Code::invalid_argument, std::move(why)));
  QueryQuestion question{.kind = Kind::distinct,
                         .words = std::string(distinct::kEstimateQuestion),
                         .keys = std::move(keys),
                         .level = options.level,
                         .timeout = options.timeout};
  backend.begin(QueryCall{std::move(question), [done = std::move(done)](const QueryReply& reply) {
                            done(reading_of(reply));
                          }});
}

Result<DistinctReading> count_and_wait(const std::shared_ptr<CounterBackend> backend,
                                       std::vector<std::string> keys, ReadOptions options) {
  return wait_for<Result<DistinctReading>>(
      *backend, options.timeout, 1,
      [&](DistinctDone done) { begin_count(*backend, std::move(keys), options, std::move(done)); },
      as_answer);
}

std::future<Result<DistinctReading>> count_in_future(CounterBackend& backend,
                                                     std::vector<std::string> keys,
                                                     ReadOptions options) {
  return future_of<Result<DistinctReading>>(
      backend,
      [&](DistinctDone done) { begin_count(backend, std::move(keys), options, std::move(done)); },
      as_answer);
}

Result<DistinctReading> Distinct::count(ReadOptions options) {
  return count_and_wait(backend_, {key_}, options);
}

void Distinct::count(ReadOptions options, DistinctDone done) {
  begin_count(*backend_, {key_}, options, callable(std::move(done)));
}

std::future<Result<DistinctReading>> Distinct::count_async(ReadOptions options) {
  return count_in_future(*backend_, {key_}, options);
}

// ---- add ----

Status Distinct::add(std::string_view element, ElementOptions options) {
  return add_many({&element, 1}, options);
}

void Distinct::add(std::string_view element, ElementOptions options, StatusDone done) {
  add_many({&element, 1}, options, std::move(done));
}

std::future<Status> Distinct::add_async(std::string_view element, ElementOptions options) {
  return add_many_async({&element, 1}, options);
}

Status Distinct::add_many(std::span<const std::string_view> elements, ElementOptions options) {
  return apply_and_wait(backend_, addition(key_, elements, options));
}

void Distinct::add_many(std::span<const std::string_view> elements, ElementOptions options,
                        StatusDone done) {
  begin_apply(*backend_, addition(key_, elements, options), callable(std::move(done)));
}

std::future<Status> Distinct::add_many_async(std::span<const std::string_view> elements,
                                             ElementOptions options) {
  return apply_in_future(*backend_, addition(key_, elements, options));
}

// ---- time ----

Result<Range> Distinct::range(TimePoint from, TimePoint to, std::chrono::seconds step,
                              ReadOptions options) {
  return range_and_wait(backend_, between(Kind::distinct, key_, from, to, step, options));
}

void Distinct::range(TimePoint from, TimePoint to, std::chrono::seconds step, ReadOptions options,
                     RangeDone done) {
  begin_range(*backend_, between(Kind::distinct, key_, from, to, step, options), std::move(done));
}

std::future<Result<Range>> Distinct::range_async(TimePoint from, TimePoint to,
                                                 std::chrono::seconds step, ReadOptions options) {
  return range_in_future(*backend_, between(Kind::distinct, key_, from, to, step, options));
}

Result<Range> Distinct::last(std::chrono::seconds span, std::chrono::seconds step,
                             ReadOptions options) {
  return range_and_wait(backend_, until_now(Kind::distinct, key_, span, step, options));
}

void Distinct::last(std::chrono::seconds span, std::chrono::seconds step, ReadOptions options,
                    RangeDone done) {
  begin_range(*backend_, until_now(Kind::distinct, key_, span, step, options), std::move(done));
}

std::future<Result<Range>> Distinct::last_async(std::chrono::seconds span,
                                                std::chrono::seconds step, ReadOptions options) {
  return range_in_future(*backend_, until_now(Kind::distinct, key_, span, step, options));
}

// ---- merge_from ----

Status Distinct::merge_from(std::span<const std::string> keys, ChangeOptions options) {
  const std::shared_ptr<CounterBackend> backend = backend_;
  return wait_for<Status>(
      *backend, options.timeout, 1,
      [&, key = key_](StatusDone done) {
        begin_merge(backend, key, keys, options, std::move(done));
      },
      as_answer);
}

void Distinct::merge_from(std::span<const std::string> keys, ChangeOptions options,
                          StatusDone done) {
  begin_merge(backend_, key_, keys, options, callable(std::move(done)));
}

std::future<Status> Distinct::merge_from_async(std::span<const std::string> keys,
                                               ChangeOptions options) {
  return future_of<Status>(
      *backend_,
      [&](StatusDone done) { begin_merge(backend_, key_, keys, options, std::move(done)); },
      as_answer);
}

}  // namespace quipu
