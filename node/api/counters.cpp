// The calls about many counters, shared by Node and Client.
#include "quipu/counters.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "node/api/call_forms.h"
#include "node/api/distinct_calls.h"
#include "node/api/namespaces.h"
#include "node/base/clock.h"
#include "node/base/version.h"
#include "node/cores/counter_backend.h"
#include "protocol/affinity.h"
#include "protocol/check.h"

namespace quipu {
namespace {

static_assert(kMaxBatch == kMaxReadKeys, "a read_many is one Read");
static_assert(kMaxPageKeys == kMaxListKeys);
static_assert(std::uint32_t{kListEnd} == static_cast<std::uint32_t>(ListCursor::end));

using Backend = std::shared_ptr<CounterBackend>;

Status too_many_items() {
  return {Code::invalid_argument, "one call takes " + std::to_string(kMaxBatch) + " items at most"};
}

// ---- add_many ----

using StatusesDone = std::function<void(std::vector<Status>)>;

// The answers of one add_many. They may come on two threads.
class AddMany {
 public:
  AddMany(std::size_t items, StatusesDone done)
      : answers_(items), open_(items), done_(std::move(done)) {}

  void answer(std::size_t item, Status status) {
    answers_[item] = std::move(status);
    if (open_.fetch_sub(1) == 1) done_(std::move(answers_));
  }

 private:
  std::vector<Status> answers_;
  std::atomic<std::size_t> open_;
  const StatusesDone done_;
};

void begin_adds(CounterBackend& backend, std::vector<Addition> items, const AddOptions& options,
                StatusesDone done) {
  if (items.empty()) return done({});
  if (items.size() > kMaxBatch) return done(std::vector<Status>(items.size(), too_many_items()));
  const auto all = std::make_shared<AddMany>(items.size(), std::move(done));
  const Affinity affinity = affinity_of(options.affinity);
  std::vector<CounterCall> calls;
  calls.reserve(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    CounterChange add{.kind = OpKind::add,
                      .key = std::move(items[i].key),
                      .amount = items[i].amount,
                      .ack = options.ack,
                      .timeout = options.timeout,
                      .affinity = affinity,
                      .ttl = options.ttl,
                      .at_ms = moment_of(options.at)};
    calls.emplace_back(
        ChangeCall(std::move(add), [all, i](Status status) { all->answer(i, std::move(status)); }));
  }
  backend.begin(std::span(calls));
}

// ---- read_many ----

using Readings = std::vector<Result<Reading>>;
using ReadingsDone = ReadManyCall::Done;

bool is_key(const std::string& key) { return !key.empty() && key.size() <= kMaxKey; }

// Invalid keys are answered here, so that the valid ones are read.
void begin_reads(CounterBackend& backend, std::vector<std::string> keys, const ReadOptions& options,
                 ReadingsDone done) {
  if (keys.size() > kMaxBatch) return done(Readings(keys.size(), too_many_items()));
  Readings answers(keys.size(), Status(Code::invalid_argument, "a key has 1 to 512 bytes"));
  std::vector<std::size_t> places;
  ReadManyCall call{.keys = {}, .level = options.level, .timeout = options.timeout};
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!is_key(keys[i])) continue;
    places.push_back(i);
    call.keys.push_back(std::move(keys[i]));
  }
  if (places.empty()) return done(std::move(answers));
  call.done = [answers = std::move(answers), places = std::move(places),
               done = std::move(done)](Readings read) mutable {
    for (std::size_t i = 0; i < places.size(); ++i) answers[places[i]] = std::move(read[i]);
    done(std::move(answers));
  };
  backend.begin(std::move(call));
}

// ---- list ----

using PageDone = ListCall::Done;

ListPage refused_page(const ListOptions& options, Status why) {
  return {.status = std::move(why), .keys = {}, .next = options.cursor, .skip = options.cursor};
}

void begin_list(CounterBackend& backend, ListOptions options, PageDone done) {
  const char* objection = nullptr;
  if (options.limit < 1 || options.limit > kMaxPageKeys) objection = "a page has 1 to 1000 keys";
  if (options.cursor > ListCursor::end) objection = "no list has this cursor";
  if (options.prefix.size() > kMaxKey) objection = "a prefix has at most 512 bytes";
  if (objection != nullptr)
    return done(refused_page(options, Status(Code::invalid_argument, objection)));
  ListQuestion question{.prefix = std::move(options.prefix),
                        .cursor = static_cast<std::uint32_t>(options.cursor),
                        .limit = static_cast<std::uint32_t>(options.limit),
                        .timeout = options.timeout};
  backend.begin(ListCall{std::move(question), std::move(done)});
}

// ---- namespaces ----

using NamespaceDone = std::function<void(NamespaceAnswer)>;
using NamespacesDone = std::function<void(Result<std::vector<Namespace>>)>;
using DropDone = std::function<void(NamespaceDrop)>;

void begin_change(CounterBackend& backend, NamespaceAction action, Namespace definition,
                  std::chrono::milliseconds timeout, NamespaceDone done) {
  using Request = NamespaceRequest;
  NamespaceQuestion question{.action = action,
                             .name = std::move(definition.name),
                             .policy = definition.policy,
                             .fields = Request::kAck | Request::kRead | Request::kShards |
                                       Request::kTtl | Request::kDecide | Request::kTiers |
                                       Request::kLate | Request::kStrict | Request::kKind |
                                       Request::kPrecision,
                             .timeout = timeout};
  backend.begin(NamespaceCall{std::move(question), [done = std::move(done)](NamespaceReply reply) {
                                done({.status = Status(reply.code, std::move(reply.detail)),
                                      .absent = std::move(reply.absent)});
                              }});
}

void begin_namespaces(CounterBackend& backend, std::chrono::milliseconds timeout,
                      NamespacesDone done) {
  backend.begin(NamespaceCall{{.timeout = timeout}, [done = std::move(done)](NamespaceReply reply) {
                                if (reply.code != Code::ok)
                                  return done(Status(reply.code, std::move(reply.detail)));
                                done(std::move(reply.namespaces));
                              }});
}

constexpr auto as_namespace_answer = [](Status why) {
  return NamespaceAnswer{.status = std::move(why)};
};

NamespaceAnswer change_and_wait(const Backend& to, NamespaceAction action, Namespace definition,
                                std::chrono::milliseconds timeout) {
  return wait_for<NamespaceAnswer>(
      *to, timeout, 1,
      [&](NamespaceDone done) {
        begin_change(*to, action, std::move(definition), timeout, std::move(done));
      },
      as_namespace_answer);
}

std::future<NamespaceAnswer> change_async(CounterBackend& to, NamespaceAction action,
                                          Namespace definition, std::chrono::milliseconds timeout) {
  return future_of<NamespaceAnswer>(
      to,
      [&](NamespaceDone done) {
        begin_change(to, action, std::move(definition), timeout, std::move(done));
      },
      as_namespace_answer);
}

constexpr auto as_namespaces = [](Status why) {
  return Result<std::vector<Namespace>>(std::move(why));
};

NamespaceDrop refused_drop(ListCursor from, Status why) {
  return {.status = std::move(why), .reset = 0, .next = from};
}

// ---- status ----

using ClusterStatusDone = StatusCall::Done;

void begin_status(CounterBackend& backend, std::chrono::milliseconds timeout,
                  ClusterStatusDone done) {
  backend.begin(StatusCall{NodeClock::now() + clamp_timeout(timeout), std::move(done)});
}

constexpr auto as_result = [](Status why) { return Result<ClusterStatus>(std::move(why)); };

}  // namespace

Counters::Counters(std::vector<std::shared_ptr<CounterBackend>> backends)
    : backends_(std::move(backends)) {
  QUIPU_CHECK(!backends_.empty(), "a node has a reactor");
}

Counters::~Counters() = default;

// Any reactor would do, since a node's reactors ask each other. This only spreads the work.
const std::shared_ptr<CounterBackend>& Counters::backend(std::string_view key) const {
  return backends_[std::hash<std::string_view>()(key) % backends_.size()];
}

Counter Counters::counter(std::string key) {
  const std::shared_ptr<CounterBackend>& of_key = backend(key);
  return CounterBackend::make<Counter>(of_key, std::move(key));
}

Distinct Counters::distinct(std::string key) {
  const std::shared_ptr<CounterBackend>& of_key = backend(key);
  return CounterBackend::make<Distinct>(of_key, std::move(key));
}

Frequency Counters::frequency(std::string key) {
  const std::shared_ptr<CounterBackend>& of_key = backend(key);
  return CounterBackend::make<Frequency>(of_key, std::move(key));
}

Top Counters::top(std::string key) {
  const std::shared_ptr<CounterBackend>& of_key = backend(key);
  return CounterBackend::make<Top>(of_key, std::move(key));
}

Result<DistinctReading> Counters::count_distinct(std::vector<std::string> keys,
                                                 ReadOptions options) {
  return count_and_wait(backends_.front(), std::move(keys), options);
}

void Counters::count_distinct(std::vector<std::string> keys, ReadOptions options,
                              DistinctDone done) {
  begin_count(*backends_.front(), std::move(keys), options, callable(std::move(done)));
}

std::future<Result<DistinctReading>> Counters::count_distinct_async(std::vector<std::string> keys,
                                                                    ReadOptions options) {
  return count_in_future(*backends_.front(), std::move(keys), options);
}

std::string_view Counters::version() { return kVersion; }

std::vector<Status> Counters::add_many(std::vector<Addition> items, AddOptions options) {
  const std::size_t count = items.size();
  const Backend to = backend(count == 0 ? "" : items.front().key);
  return wait_for<std::vector<Status>>(
      *to, options.timeout, std::min(count, kMaxBatch),
      [&](StatusesDone done) { begin_adds(*to, std::move(items), options, std::move(done)); },
      [count](const Status& why) { return std::vector<Status>(count, why); });
}

void Counters::add_many(std::vector<Addition> items, AddOptions options, StatusesDone done) {
  CounterBackend& to = *backend(items.empty() ? "" : items.front().key);
  begin_adds(to, std::move(items), options, callable(std::move(done)));
}

std::future<std::vector<Status>> Counters::add_many_async(std::vector<Addition> items,
                                                          AddOptions options) {
  const std::size_t count = items.size();
  CounterBackend& to = *backend(count == 0 ? "" : items.front().key);
  return future_of<std::vector<Status>>(
      to, [&](StatusesDone done) { begin_adds(to, std::move(items), options, std::move(done)); },
      [count](const Status& why) { return std::vector<Status>(count, why); });
}

std::vector<Result<Reading>> Counters::read_many(std::vector<std::string> keys,
                                                 ReadOptions options) {
  const std::size_t count = keys.size();
  const Backend from = backend(count == 0 ? "" : keys.front());
  return wait_for<Readings>(
      *from, options.timeout, 1,
      [&](ReadingsDone done) { begin_reads(*from, std::move(keys), options, std::move(done)); },
      [count](const Status& why) { return Readings(count, why); });
}

void Counters::read_many(std::vector<std::string> keys, ReadOptions options, ReadingsDone done) {
  CounterBackend& from = *backend(keys.empty() ? "" : keys.front());
  begin_reads(from, std::move(keys), options, callable(std::move(done)));
}

std::future<std::vector<Result<Reading>>> Counters::read_many_async(std::vector<std::string> keys,
                                                                    ReadOptions options) {
  const std::size_t count = keys.size();
  CounterBackend& from = *backend(count == 0 ? "" : keys.front());
  return future_of<Readings>(
      from,
      [&](ReadingsDone done) { begin_reads(from, std::move(keys), options, std::move(done)); },
      [count](const Status& why) { return Readings(count, why); });
}

ListPage Counters::list(ListOptions options) {
  const Backend from = backends_.front();
  return wait_for<ListPage>(
      *from, options.timeout, 1,
      [&](PageDone done) { begin_list(*from, options, std::move(done)); },
      [&](Status why) { return refused_page(options, std::move(why)); });
}

void Counters::list(ListOptions options, PageDone done) {
  begin_list(*backends_.front(), std::move(options), callable(std::move(done)));
}

std::future<ListPage> Counters::list_async(ListOptions options) {
  return future_of<ListPage>(
      *backends_.front(),
      [&](PageDone done) { begin_list(*backends_.front(), options, std::move(done)); },
      [&](Status why) { return refused_page(options, std::move(why)); });
}

using std::chrono::milliseconds;

NamespaceAnswer Counters::create_namespace(Namespace definition, milliseconds timeout) {
  return change_and_wait(backends_.front(), NamespaceAction::create, std::move(definition),
                         timeout);
}

void Counters::create_namespace(Namespace definition, milliseconds timeout, NamespaceDone done) {
  begin_change(*backends_.front(), NamespaceAction::create, std::move(definition), timeout,
               callable(std::move(done)));
}

std::future<NamespaceAnswer> Counters::create_namespace_async(Namespace definition,
                                                              milliseconds timeout) {
  return change_async(*backends_.front(), NamespaceAction::create, std::move(definition), timeout);
}

NamespaceAnswer Counters::set_namespace(Namespace definition, milliseconds timeout) {
  return change_and_wait(backends_.front(), NamespaceAction::set, std::move(definition), timeout);
}

void Counters::set_namespace(Namespace definition, milliseconds timeout, NamespaceDone done) {
  begin_change(*backends_.front(), NamespaceAction::set, std::move(definition), timeout,
               callable(std::move(done)));
}

std::future<NamespaceAnswer> Counters::set_namespace_async(Namespace definition,
                                                           milliseconds timeout) {
  return change_async(*backends_.front(), NamespaceAction::set, std::move(definition), timeout);
}

NamespaceDrop Counters::drop_namespace(std::string name, ListCursor from, milliseconds timeout) {
  const Backend to = backends_.front();
  return wait_for<NamespaceDrop>(
      *to, timeout, kDropPage,
      [&](DropDone done) { begin_drop(to, std::move(name), from, timeout, std::move(done)); },
      [&](Status why) { return refused_drop(from, std::move(why)); });
}

void Counters::drop_namespace(std::string name, ListCursor from, milliseconds timeout,
                              DropDone done) {
  begin_drop(backends_.front(), std::move(name), from, timeout, callable(std::move(done)));
}

std::future<NamespaceDrop> Counters::drop_namespace_async(std::string name, ListCursor from,
                                                          milliseconds timeout) {
  return future_of<NamespaceDrop>(
      *backends_.front(),
      [&](DropDone done) {
        begin_drop(backends_.front(), std::move(name), from, timeout, std::move(done));
      },
      [&](Status why) { return refused_drop(from, std::move(why)); });
}

Result<std::vector<Namespace>> Counters::namespaces(milliseconds timeout) {
  const Backend from = backends_.front();
  return wait_for<Result<std::vector<Namespace>>>(
      *from, timeout, 1,
      [&](NamespacesDone done) { begin_namespaces(*from, timeout, std::move(done)); },
      as_namespaces);
}

void Counters::namespaces(milliseconds timeout, NamespacesDone done) {
  begin_namespaces(*backends_.front(), timeout, callable(std::move(done)));
}

std::future<Result<std::vector<Namespace>>> Counters::namespaces_async(milliseconds timeout) {
  return future_of<Result<std::vector<Namespace>>>(
      *backends_.front(),
      [&](NamespacesDone done) { begin_namespaces(*backends_.front(), timeout, std::move(done)); },
      as_namespaces);
}

Result<ClusterStatus> Counters::status(std::chrono::milliseconds timeout) {
  const Backend from = backends_.front();
  return wait_for<Result<ClusterStatus>>(
      *from, timeout, 1,
      [&](ClusterStatusDone done) { begin_status(*from, timeout, std::move(done)); }, as_result);
}

void Counters::status(std::chrono::milliseconds timeout, ClusterStatusDone done) {
  begin_status(*backends_.front(), timeout, callable(std::move(done)));
}

std::future<Result<ClusterStatus>> Counters::status_async(std::chrono::milliseconds timeout) {
  return future_of<Result<ClusterStatus>>(
      *backends_.front(),
      [&](ClusterStatusDone done) { begin_status(*backends_.front(), timeout, std::move(done)); },
      as_result);
}

}  // namespace quipu
