// counter_backend.h: executes the calls of quipu::Counter and quipu::Counters: a Node's reactor
// (local_calls.h), or a Client's thread (client.h).
//
//   Counter::add(…)        waits for the form below     ┐
//   Counter::add(…, done)  ──▶ a CounterCall ──▶ begin ─┴─▶ answer() or refuse(), once
//
// Counters keep their backend alive by shared_ptr, longer than the Node or Client that made it.
// A closed backend answers `unavailable`.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cluster/client/journal.h"
#include "protocol/client_messages.h"
#include "protocol/instant.h"
#include "protocol/item_words.h"
#include "quipu/counters.h"

namespace quipu {

// A change of a Counter. Owns its key.
struct CounterChange {
  OpKind kind = OpKind::add;  // add, apply, reset, raise or expire
  std::string key{};
  std::int64_t amount = 0;  // for an add; a raise: how many shards; an expire: as in Op
  Ack ack = Ack::disk;
  std::chrono::milliseconds timeout{5000};
  Affinity affinity{};              // for an add
  std::chrono::milliseconds ttl{};  // for an add or an apply: as AddOptions::ttl
  std::int64_t at_ms = 0;           // for an add, an apply or a reset: as in Op
  // The kind of the counter. A reset of a sum resets a counter of any kind.
  Kind counter = Kind::sum;
  // For an apply: its words, or else the items that they are made from, on the backend's thread.
  // Only there is the cluster's placement key known.
  std::string words{};
  std::vector<Item> items{};
  // For an add or an apply through a client with a journal (cluster/client/journal.h).
  std::uint64_t ticket = 0;
  const ClientBinding* bound = nullptr;  // null: new; borrowed until the call is done
};

// AddOptions::at, as Op::at_ms. A time before 1970 was too long ago, as is 1 ms after it.
[[nodiscard]] std::int64_t moment_of(
    const std::optional<std::chrono::system_clock::time_point>& at);

struct CounterQuestion {
  std::string key{};
  ReadLevel level = ReadLevel::local;
  std::chrono::milliseconds timeout{5000};
};

// About the bodies of counters of one kind.
struct QueryQuestion {
  Kind kind{};
  std::string words{};               // the question, or else it is about …
  std::vector<std::string> items{};  // … these, and its words are made as those of a change
  std::vector<std::string> keys{};
  ReadLevel level = ReadLevel::by_default;
  std::chrono::milliseconds timeout{5000};

  // Borrows.
  [[nodiscard]] Query request(std::uint64_t id, std::uint32_t timeout_ms) const {
    return {id, kind, level, timeout_ms, words, {keys.begin(), keys.end()}};
  }
};

struct RangeQuestion {
  std::string key{};
  // As in RangeRequest. A time that is before 1970 was brought to it.
  Wall from{}, to{};
  std::chrono::seconds last{};
  bool only_past = false;
  std::chrono::seconds step{};
  ReadLevel level = ReadLevel::by_default;
  std::chrono::milliseconds timeout{5000};
  Kind kind = Kind::sum;

  // Borrows.
  [[nodiscard]] RangeRequest request(std::uint64_t id, std::uint32_t timeout_ms) const {
    return {id, key, level, from, to, last, only_past, step, timeout_ms, kind};
  }
};

struct ListQuestion {
  std::string prefix{};      // kMaxKey bytes at most
  std::uint32_t cursor = 0;  // as in List
  std::uint32_t limit = kMaxListKeys;
  std::chrono::milliseconds timeout{5000};
};

// ---- calls: a request, and the receiver of its answer ----
// The constructors take references, so that a call is built in place.

struct ChangeCall {
  using Done = std::function<void(Status)>;
  using Total = std::optional<std::int64_t>;
  ChangeCall(CounterChange&& wanted, Done&& takes, Total* told = nullptr)
      : change(std::move(wanted)), done(std::move(takes)), total(told) {}
  CounterChange change;
  Done done;
  // For an add with its new total: the total is stored here before `done` is called, as in
  // quipu::Done. `done` keeps it alive.
  Total* total;
};

struct ReadCall {
  using Done = std::function<void(Result<Reading>)>;
  ReadCall(CounterQuestion&& wanted, Done&& takes)
      : question(std::move(wanted)), done(std::move(takes)) {}
  CounterQuestion question;
  Done done;
};

struct ReadManyCall {
  using Done = std::function<void(std::vector<Result<Reading>>)>;
  std::vector<std::string> keys{};  // at least one, kMaxReadKeys at most
  ReadLevel level = ReadLevel::local;
  std::chrono::milliseconds timeout{5000};
  Done done{};
};

struct QueryCall {
  using Done = std::function<void(QueryReply)>;
  QueryQuestion question;
  Done done;
};

struct RangeCall {
  using Done = std::function<void(Result<Range>)>;
  RangeQuestion question;
  Done done;
};

struct ListCall {
  using Done = std::function<void(ListPage)>;
  ListQuestion question;
  Done done;
};

struct NamespaceQuestion {
  NamespaceAction action = NamespaceAction::list;
  std::string name{};
  NamespacePolicy policy{};
  std::uint16_t fields = 0;  // as in NamespaceRequest
  std::chrono::milliseconds timeout{5000};

  [[nodiscard]] bool only_reads() const { return action == NamespaceAction::list; }
  // Borrows.
  [[nodiscard]] NamespaceRequest request(std::uint64_t id, std::uint32_t timeout_ms) const {
    return {id, action, name, policy, fields, timeout_ms};
  }
};

struct NamespaceCall {
  using Done = std::function<void(NamespaceReply)>;
  NamespaceQuestion question;
  Done done;
};

struct StatusCall {
  using Done = std::function<void(Result<ClusterStatus>)>;
  Instant deadline{};
  Done done;
};

using CounterCall = std::variant<ChangeCall, ReadCall, ReadManyCall, QueryCall, RangeCall, ListCall,
                                 NamespaceCall, StatusCall>;

// The keys of a ReadCall or a ReadManyCall. No keys: it is another call.
struct WantedRead {
  std::span<const std::string> keys{};
  ReadLevel level = ReadLevel::local;
  std::chrono::milliseconds timeout{};
};
[[nodiscard]] WantedRead read_in(const CounterCall& call);

// These give a call's caller its answer. An answer of the wrong kind becomes an error with an
// unknown outcome, never a success. A status is the answer to a change. A status that is not
// ok may end any other call, too.
void answer(const CounterCall& call, Status status, std::optional<std::int64_t> total = {});
void answer(const CounterCall& call, const Values& values);
void answer(const CounterCall& call, QueryReply reply);
void answer(const CounterCall& call, RangeReply reply);
void answer(const CounterCall& call, Keys keys);
void answer(const CounterCall& call, NamespaceReply reply);
void answer(const CounterCall& call, ClusterStatus status);
// A change of a counter or of a namespace ends with `change`, any other call with `question`.
void refuse(const CounterCall& call, const Status& change, const Status& question);

// Clears a backend's queue and keeps its memory for the next calls, unless it was large.
inline constexpr std::size_t kKeptCalls = 4'096;

class CounterBackend : public std::enable_shared_from_this<CounterBackend> {
 public:
  CounterBackend() = default;
  virtual ~CounterBackend() = default;
  CounterBackend(const CounterBackend&) = delete;
  CounterBackend& operator=(const CounterBackend&) = delete;

  // Any thread. Takes the calls, which begin together, in order. Each is answered exactly once,
  // by its timeout or soon after it: on the backend's own thread, or, if it is refused at once
  // (closed, too many calls: `overloaded`), before begin returns. The backend holds no lock
  // then.
  virtual void begin(std::span<CounterCall> calls) = 0;
  void begin(CounterCall call) { begin(std::span(&call, 1)); }
  void submit(CounterChange change, ChangeCall::Done done) {
    begin(CounterCall(std::in_place_type<ChangeCall>, std::move(change), std::move(done)));
  }
  void read(CounterQuestion question, ReadCall::Done done) {
    begin(CounterCall(std::in_place_type<ReadCall>, std::move(question), std::move(done)));
  }

  // Whether the caller is in one of the backend's callbacks, and so must not wait.
  [[nodiscard]] virtual bool on_own_thread() const = 0;

  // Any thread but the backend's: waits until there is room for this many calls, the backend was
  // closed, or the time is over, and returns the rest of the time. Only for the forms that wait.
  [[nodiscard]] virtual std::chrono::milliseconds wait_for_room(std::chrono::milliseconds timeout,
                                                                std::size_t calls) = 0;

  // A friend of Counter, Distinct and so on, whose constructors are private.
  template <class Handle>
  [[nodiscard]] static Handle make(std::shared_ptr<CounterBackend> backend, std::string key) {
    return {std::move(backend), std::move(key)};
  }
};

}  // namespace quipu
