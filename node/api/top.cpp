// The calls of a counter of the most frequent items, shared by Node and Client.
#include "quipu/top.h"

#include <utility>

#include "node/api/call_forms.h"
#include "node/api/call_parts.h"
#include "protocol/top_words.h"

namespace quipu {
namespace {

using TopDone = std::function<void(Result<TopReading>)>;

CounterChange beginning(const std::string& key, std::uint32_t length,
                        const ElementOptions& options) {
  CounterChange begin = apply_change(Kind::top, key, options);
  top::Shape shape = top::kUsualShape;
  shape.k = length;
  begin.words = top::words_to_begin(shape);
  return begin;
}

Result<TopReading> reading_of(const QueryReply& reply, TopReading reading) {
  if (reply.code != Code::ok) return Status(reply.code, reply.detail);
  auto told = top::list(reply.reply);
  if (!told) return Status(Code::unavailable, "the node's answer is no list");
  for (top::Listed& one : *told)
    reading.items.push_back({std::move(one.item), one.upper, one.lower, one.certain});
  describe_answer(reply, reading);
  return reading;
}

void begin_list(CounterBackend& backend, const std::string& key, const ReadOptions& options,
                TopDone done) {
  QueryQuestion question{.kind = Kind::top,
                         .words = std::string(top::kListQuestion),
                         .keys = {key},
                         .level = options.level,
                         .timeout = options.timeout};
  backend.begin(QueryCall{std::move(question), [done = std::move(done)](const QueryReply& reply) {
                            done(reading_of(reply, {}));
                          }});
}

}  // namespace

// ---- begin ----

Status Top::begin(std::uint32_t length, ElementOptions options) {
  return apply_and_wait(backend_, beginning(key_, length, options));
}

void Top::begin(std::uint32_t length, ElementOptions options, std::function<void(Status)> done) {
  begin_apply(*backend_, beginning(key_, length, options), callable(std::move(done)));
}

std::future<Status> Top::begin_async(std::uint32_t length, ElementOptions options) {
  return apply_in_future(*backend_, beginning(key_, length, options));
}

// ---- list ----

Result<TopReading> Top::list(ReadOptions options) {
  const std::shared_ptr<CounterBackend> backend = backend_;
  return wait_for<Result<TopReading>>(
      *backend, options.timeout, 1,
      [&](TopDone done) { begin_list(*backend, key_, options, std::move(done)); }, as_answer);
}

void Top::list(ReadOptions options, TopDone done) {
  begin_list(*backend_, key_, options, callable(std::move(done)));
}

std::future<Result<TopReading>> Top::list_async(ReadOptions options) {
  return future_of<Result<TopReading>>(
      *backend_, [&](TopDone done) { begin_list(*backend_, key_, options, std::move(done)); },
      as_answer);
}

}  // namespace quipu
