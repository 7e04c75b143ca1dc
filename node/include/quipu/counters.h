// counters.h: all counters of a cluster. Node and Client share these calls.
//
//   void fold(quipu::Counters& counters) {  // takes a Node or a Client
//     counters.add_many({{"likes:42", 1}, {"views:42", 7}});
//   }
//
// Each call has the three forms of counter.h: it waits, calls back, or returns a future. The
// rules of that file for room, callbacks, futures and deadlocks hold here, too.
//
// Threads: all functions may be called from any thread, by several at once.
//
// Ownership: calls take over their arguments, and callers own the answers. Only
// AddOptions::affinity is borrowed, until the call has begun.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quipu/cluster_status.h"
#include "quipu/counter.h"
#include "quipu/distinct.h"
#include "quipu/export.h"
#include "quipu/frequency.h"
#include "quipu/namespace.h"
#include "quipu/top.h"

namespace quipu {

// The most items of one add_many, and keys of one read_many. A call with more is refused: each
// item gets invalid_argument.
inline constexpr std::size_t kMaxBatch = 1024;
// The most keys on one page of a list.
inline constexpr std::size_t kMaxPageKeys = 1000;
// The most calls of status() under way at one time, through one Node or Client.
inline constexpr std::size_t kMaxStatusCalls = 4;

// One item of add_many.
struct Addition {
  std::string key{};
  std::int64_t amount = 1;
};

// A place in the list of counters. It means the same to every node and client of a cluster, and
// may be stored.
enum class ListCursor : std::uint32_t { begin = 0, end = 1'048'576 };

struct ListOptions {
  std::string prefix{};  // lists only keys that begin with it; empty: all
  ListCursor cursor = ListCursor::begin;
  // About how many keys the page should have: 1 to kMaxPageKeys. It may have a few more.
  std::size_t limit = kMaxPageKeys;
  std::chrono::milliseconds timeout{5000};
};

struct ListPage {
  // ok: the page has all keys from the cursor up to `next`.
  // unavailable: the list is incomplete. No owner of the counters at `next` answered in time.
  // Other errors: nothing was listed.
  Status status{};
  std::vector<std::string> keys{};  // unordered; may be empty before the end
  // The cursor of the next page or, if status is not ok, of another attempt. end: this was the
  // last page.
  ListCursor next = ListCursor::end;
  // If status is not ok: the cursor that skips the counters that could not be listed.
  ListCursor skip = ListCursor::end;
};

// The answer to a change of a namespace's definition.
struct NamespaceAnswer {
  // ok: the change, or one by others that wins over it, is durable at every member that is not in
  // `absent`.
  // invalid_argument: it exists, or does not, or its name or policy is invalid; nothing changed.
  // unavailable, overloaded, storage_full: nothing changed.
  // in_doubt: it may have been changed; the same call may be repeated.
  Status status{};
  // Members that do not hold it yet, by name: they are down, or did not answer within the timeout.
  // They get it from the others. Until then they use the policy that they know.
  std::vector<std::string> absent{};
};

// How far a step of drop_namespace got.
struct NamespaceDrop {
  // ok: the definition is dropped, and all counters that the node listed before `next` were reset.
  // in_doubt: it may be dropped, and some counters of this step are not reset; ask again at `next`.
  // Other errors: nothing was done.
  Status status{};
  std::uint64_t reset = 0;  // counters of this step that were reset
  ListCursor next = ListCursor::begin;
  std::vector<std::string> absent{};  // as in NamespaceAnswer; of the step at ListCursor::begin
};

class CounterBackend;

// Every call is thread-safe.
class QUIPU_EXPORT Counters {
 public:
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;

  static constexpr std::chrono::milliseconds kWait{5000};

  // Returns at once, without asking the cluster: the counter need not exist yet.
  [[nodiscard]] Counter counter(std::string key);

  // The same for a counter of different elements (distinct.h).
  [[nodiscard]] Distinct distinct(std::string key);
  // The same for a counter of frequencies (frequency.h).
  [[nodiscard]] Frequency frequency(std::string key);
  // The same for a counter of the most frequent items (top.h).
  [[nodiscard]] Top top(std::string key);

  // How many different elements these counters have together, as Distinct::count tells for one. An
  // element that several of them have counts once. 1 to kMaxBatch keys.
  Result<DistinctReading> count_distinct(std::vector<std::string> keys, ReadOptions options = {});
  void count_distinct(std::vector<std::string> keys, ReadOptions options,
                      std::function<void(Result<DistinctReading>)> done);
  std::future<Result<DistinctReading>> count_distinct_async(std::vector<std::string> keys,
                                                            ReadOptions options = {});

  // Adds each item to its counter, as Counter::add does. The answer has one status for each item,
  // in the same order. This is no transaction: some items may be counted and others not. But the
  // adds begin together, so the adds that one node executes share a sync of its disk. Several
  // items may name the same counter.
  std::vector<Status> add_many(std::vector<Addition> items, AddOptions options = {});
  void add_many(std::vector<Addition> items, AddOptions options,
                std::function<void(std::vector<Status>)> done);
  std::future<std::vector<Status>> add_many_async(std::vector<Addition> items,
                                                  AddOptions options = {});

  // Reads each counter as Counter::read does. The answer has one reading for each key, in the
  // same order. This is no snapshot: adds may be counted between two of the readings.
  std::vector<Result<Reading>> read_many(std::vector<std::string> keys, ReadOptions options = {});
  void read_many(std::vector<std::string> keys, ReadOptions options,
                 std::function<void(std::vector<Result<Reading>>)> done);
  std::future<std::vector<Result<Reading>>> read_many_async(std::vector<std::string> keys,
                                                            ReadOptions options = {});

  // Lists one page of the counters of the whole cluster. Begin at ListCursor::begin, and go on at
  // ListPage::next until that is ListCursor::end. A counter that exists from the first page to
  // the last is listed once. A new counter may be missing, and one that was just reset may still
  // be listed. Errors: see ListPage::status; invalid_argument (a limit or cursor out of range, or
  // a prefix of more than 512 bytes).
  ListPage list(ListOptions options = {});
  void list(ListOptions options, std::function<void(ListPage)> done);
  std::future<ListPage> list_async(ListOptions options = {});

  // Defines a namespace (namespace.h). Errors: see NamespaceAnswer. If it exists with this very
  // policy, the answer is ok.
  NamespaceAnswer create_namespace(Namespace definition, std::chrono::milliseconds timeout = kWait);
  void create_namespace(Namespace definition, std::chrono::milliseconds timeout,
                        std::function<void(NamespaceAnswer)> done);
  std::future<NamespaceAnswer> create_namespace_async(Namespace definition,
                                                      std::chrono::milliseconds timeout = kWait);

  // Replaces the policy of a namespace that exists. The default namespace, "", always does. The
  // kind and the precision must be those that it has (invalid_argument).
  NamespaceAnswer set_namespace(Namespace definition, std::chrono::milliseconds timeout = kWait);
  void set_namespace(Namespace definition, std::chrono::milliseconds timeout,
                     std::function<void(NamespaceAnswer)> done);
  std::future<NamespaceAnswer> set_namespace_async(Namespace definition,
                                                   std::chrono::milliseconds timeout = kWait);

  // Drops the definition of a namespace, then resets its counters, at the level of the default
  // namespace. Each call is one step of about 64 counters, and `timeout` is that of the step: begin
  // at ListCursor::begin, and go on at NamespaceDrop::next until that is ListCursor::end. Another
  // process may go on, too. As with Counter::reset, adds may stay that come meanwhile, or that the
  // node has not heard of yet. Another drop resets those, also of a namespace that was dropped long
  // ago. Errors: see NamespaceDrop; invalid_argument (there was never such a namespace, it is the
  // default one, or `from` is ListCursor::end).
  NamespaceDrop drop_namespace(std::string name, ListCursor from = ListCursor::begin,
                               std::chrono::milliseconds timeout = kWait);
  void drop_namespace(std::string name, ListCursor from, std::chrono::milliseconds timeout,
                      std::function<void(NamespaceDrop)> done);
  std::future<NamespaceDrop> drop_namespace_async(std::string name,
                                                  ListCursor from = ListCursor::begin,
                                                  std::chrono::milliseconds timeout = kWait);

  // All definitions that the asked node holds, sorted by name. The default namespace comes first.
  Result<std::vector<Namespace>> namespaces(std::chrono::milliseconds timeout = kWait);
  void namespaces(std::chrono::milliseconds timeout,
                  std::function<void(Result<std::vector<Namespace>>)> done);
  std::future<Result<std::vector<Namespace>>> namespaces_async(
      std::chrono::milliseconds timeout = kWait);

  // Asks every member for its status, at its client port, over a connection of its own. A Node
  // answers for itself without a connection. The result also has the members that do not answer
  // within the timeout: see MemberStatus::reached. Errors: unavailable (no node could name the
  // members), overloaded (kMaxStatusCalls are under way).
  Result<ClusterStatus> status(std::chrono::milliseconds timeout = kWait);
  void status(std::chrono::milliseconds timeout, std::function<void(Result<ClusterStatus>)> done);
  std::future<Result<ClusterStatus>> status_async(std::chrono::milliseconds timeout = kWait);

  // The version of this library, such as "0.1.0".
  [[nodiscard]] static std::string_view version();

 protected:
  // A counter's key chooses its backend. REQUIRES: at least one backend.
  QUIPU_HIDDEN explicit Counters(std::vector<std::shared_ptr<CounterBackend>> backends);
  QUIPU_HIDDEN ~Counters();

 private:
  [[nodiscard]] QUIPU_HIDDEN const std::shared_ptr<CounterBackend>& backend(
      std::string_view key) const;

  const std::vector<std::shared_ptr<CounterBackend>> backends_;
};

}  // namespace quipu
