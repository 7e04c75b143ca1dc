// The calls of a counter of frequencies, shared by Node and Client.
#include "quipu/frequency.h"

#include <cmath>
#include <utility>

#include "node/api/call_forms.h"
#include "node/api/call_parts.h"
#include "protocol/frequency_words.h"

namespace quipu {
namespace {

using FrequencyDone = std::function<void(Result<FrequencyReading>)>;

CounterChange beginning(const std::string& key, FrequencySize size, const ElementOptions& options) {
  CounterChange begin = apply_change(Kind::frequency, key, options);
  begin.words = frequency::words_to_begin({size.width, size.depth});
  return begin;
}

Result<FrequencyReading> reading_of(std::size_t items, const QueryReply& reply) {
  if (reply.code != Code::ok) return Status(reply.code, reply.detail);
  auto told = frequency::estimates(reply.reply);
  if (!told || told->counts.size() != items)
    return Status(Code::unavailable, "the node's answer is no list of counts");
  FrequencyReading reading{.counts = std::move(told->counts), .bound = told->bound};
  reading.confidence = told->depth == 0 ? 1 : 1 - std::exp(-static_cast<double>(told->depth));
  describe_answer(reply, reading);
  return reading;
}

QueryQuestion about_items(const std::string& key, std::span<const std::string_view> items,
                          const ReadOptions& options) {
  QueryQuestion question{
      .kind = Kind::frequency, .keys = {key}, .level = options.level, .timeout = options.timeout};
  question.items.assign(items.begin(), items.end());
  return question;
}

void begin_query(CounterBackend& backend, QueryQuestion question, FrequencyDone done) {
  const std::size_t items = question.items.size();
  if (items == 0 || items > kMaxItems)
    return done(Status(Code::invalid_argument, "one call is about 1 to 1024 items"));
  backend.begin(
      QueryCall{std::move(question), [items, done = std::move(done)](const QueryReply& reply) {
                  done(reading_of(items, reply));
                }});
}

}  // namespace

// ---- begin ----

Status Frequency::begin(FrequencySize size, ElementOptions options) {
  return apply_and_wait(backend_, beginning(key_, size, options));
}

void Frequency::begin(FrequencySize size, ElementOptions options,
                      std::function<void(Status)> done) {
  begin_apply(*backend_, beginning(key_, size, options), callable(std::move(done)));
}

std::future<Status> Frequency::begin_async(FrequencySize size, ElementOptions options) {
  return apply_in_future(*backend_, beginning(key_, size, options));
}

// ---- query ----

Result<FrequencyReading> Frequency::query(std::span<const std::string_view> items,
                                          ReadOptions options) {
  const std::shared_ptr<CounterBackend> backend = backend_;
  return wait_for<Result<FrequencyReading>>(
      *backend, options.timeout, 1,
      [&](FrequencyDone done) {
        begin_query(*backend, about_items(key_, items, options), std::move(done));
      },
      as_answer);
}

void Frequency::query(std::span<const std::string_view> items, ReadOptions options,
                      FrequencyDone done) {
  begin_query(*backend_, about_items(key_, items, options), callable(std::move(done)));
}

std::future<Result<FrequencyReading>> Frequency::query_async(
    std::span<const std::string_view> items, ReadOptions options) {
  return future_of<Result<FrequencyReading>>(
      *backend_,
      [&](FrequencyDone done) {
        begin_query(*backend_, about_items(key_, items, options), std::move(done));
      },
      as_answer);
}

}  // namespace quipu
