#include "node/cores/counter_backend.h"

#include <algorithm>
#include <utility>

namespace quipu {
namespace {

Result<Reading> to_reading(const Value& value) {
  if (value.code != Code::ok) return Status(value.code, value.detail);
  Reading reading{value.value,  value.exists, value.complete,
                  std::nullopt, value.shards, std::nullopt};
  if (value.age_ms != kUnknownAge) reading.age = std::chrono::milliseconds(value.age_ms);
  if (value.expires_in_ms > 0)
    reading.expires_in = std::chrono::milliseconds(static_cast<std::int64_t>(value.expires_in_ms));
  return reading;
}

// Behind the partition in which the list stopped.
ListCursor behind(std::uint32_t cursor) {
  constexpr std::uint32_t kLeavesEach{kLeaves};
  return ListCursor{std::min((cursor / kLeavesEach + 1) * kLeavesEach, kListEnd)};
}

ListPage stopped_at(std::uint32_t cursor, Status why) {
  return {.status = std::move(why), .keys = {}, .next = ListCursor{cursor}, .skip = behind(cursor)};
}

void refuse_call(const ChangeCall& call, const Status& why) { call.done(why); }
void refuse_call(const ReadCall& call, const Status& why) { call.done(why); }
void refuse_call(const ReadManyCall& call, const Status& why) {
  call.done(std::vector<Result<Reading>>(call.keys.size(), why));
}
void refuse_call(const QueryCall& call, const Status& why) {
  call.done({.code = why.code(), .detail = std::string(why.detail())});
}
void refuse_call(const RangeCall& call, const Status& why) { call.done(why); }
void refuse_call(const ListCall& call, const Status& why) {
  call.done(stopped_at(call.question.cursor, why));
}
void refuse_call(const NamespaceCall& call, const Status& why) {
  call.done({.code = why.code(), .detail = std::string(why.detail())});
}
void refuse_call(const StatusCall& call, const Status& why) { call.done(why); }

void refuse_wrong(const CounterCall& call) {
  constexpr const char* kWhy = "an answer to another request came";
  refuse(call, {Code::in_doubt, kWhy}, {Code::unavailable, kWhy});
}

}  // namespace

std::int64_t moment_of(const std::optional<std::chrono::system_clock::time_point>& at) {
  if (!at) return 0;
  const auto since_1970 = at->time_since_epoch();
  return std::max<std::int64_t>(1,
                                std::chrono::floor<std::chrono::milliseconds>(since_1970).count());
}

WantedRead read_in(const CounterCall& call) {
  if (const auto* read = std::get_if<ReadCall>(&call)) {
    const CounterQuestion& asked = read->question;
    return {std::span(&asked.key, 1), asked.level, asked.timeout};
  }
  if (const auto* many = std::get_if<ReadManyCall>(&call))
    return {many->keys, many->level, many->timeout};
  return {};
}

void answer(const CounterCall& call, Status status, std::optional<std::int64_t> total) {
  if (const auto* change = std::get_if<ChangeCall>(&call)) {
    if (change->total != nullptr) *change->total = total;
    change->done(std::move(status));
  } else if (!status.ok()) {
    refuse(call, status, status);
  } else {
    refuse_wrong(call);
  }
}

void answer(const CounterCall& call, const Values& values) {
  const std::size_t keys = read_in(call).keys.size();
  if (keys == 0 || keys != values.values.size()) return refuse_wrong(call);
  if (const auto* read = std::get_if<ReadCall>(&call))
    return read->done(to_reading(values.values.front()));
  std::vector<Result<Reading>> readings;
  readings.reserve(values.values.size());
  for (const Value& value : values.values) readings.push_back(to_reading(value));
  std::get<ReadManyCall>(call).done(std::move(readings));
}

void answer(const CounterCall& call, QueryReply reply) {
  const auto* const asked = std::get_if<QueryCall>(&call);
  asked != nullptr ? asked->done(std::move(reply)) : refuse_wrong(call);
}

void answer(const CounterCall& call, RangeReply reply) {
  const auto* const asked = std::get_if<RangeCall>(&call);
  if (asked == nullptr) return refuse_wrong(call);
  if (reply.code != Code::ok) return asked->done(Status(reply.code, std::move(reply.detail)));
  const auto time = [](Wall wall) {
    return std::chrono::system_clock::time_point(wall.time_since_epoch());
  };
  Range range{.begin = time(reply.begin), .step = reply.step, .counts = std::move(reply.counts)};
  range.complete = reply.complete;
  if (reply.settled_until != Wall{}) range.settled_until = time(reply.settled_until);
  asked->done(std::move(range));
}

void answer(const CounterCall& call, Keys keys) {
  const auto* const list = std::get_if<ListCall>(&call);
  if (list == nullptr) return refuse_wrong(call);
  if (keys.code != Code::ok)
    return list->done(stopped_at(keys.next, Status(keys.code, std::move(keys.detail))));
  // Otherwise a caller that goes on at `next` would never reach the end.
  if (keys.next <= list->question.cursor && list->question.cursor != kListEnd)
    return refuse_call(*list, {Code::unavailable, "the node's list does not go on"});
  const ListCursor next{keys.next};
  list->done({.status = {}, .keys = std::move(keys.keys), .next = next, .skip = next});
}

void answer(const CounterCall& call, NamespaceReply reply) {
  const auto* const asked = std::get_if<NamespaceCall>(&call);
  asked != nullptr ? asked->done(std::move(reply)) : refuse_wrong(call);
}

void answer(const CounterCall& call, ClusterStatus status) {
  const auto* const asked = std::get_if<StatusCall>(&call);
  asked != nullptr ? asked->done(std::move(status)) : refuse_wrong(call);
}

void refuse(const CounterCall& call, const Status& change, const Status& question) {
  const auto* const names = std::get_if<NamespaceCall>(&call);
  const bool changes = std::holds_alternative<ChangeCall>(call) ||
                       (names != nullptr && !names->question.only_reads());
  const Status& why = changes ? change : question;
  std::visit([&](const auto& one) { refuse_call(one, why); }, call);
}

}  // namespace quipu
