// counter.h: one named counter of a cluster.
//
// A quipu::Node (a member of the cluster inside this process) and a quipu::Client (a
// connection to the cluster) both create Counters. Code that counts need not know which.
//
//   quipu::Counter likes = node.counter("likes:42");
//   if (quipu::Status s = likes.add(1); !s.ok()) { … s.outcome() … }
//
// Keys are 1 to 512 bytes. What is before the first ':' is the key's namespace (namespace.h).
// Sums are signed 64-bit.
//
// Each call has up to three forms, here and in counters.h:
//
//   add(1)            waits, and returns the answer
//   add(1, {}, done)  returns at once; `done` is called with the answer, exactly once
//   add_async(1)      returns at once, with a std::future of the answer
//
// All three answer within the timeout, or soon after it. If the library has no room for another
// call (65,536 calls wait, or the disk is behind), the first form waits for room, and the other
// two answer `overloaded`.
//
// Threads: all functions of a Counter may be called from any thread, on one Counter by several
// threads at once. (Assigning to a Counter or destroying it meanwhile is a data race, as with
// any object.) `done` is called on the library's own thread, or on the caller's thread if the
// call is refused at once. It must not throw, and should be quick: all other answers wait for it.
//
// Callbacks run on the library's own thread. In a callback, the forms that wait and those that
// return a future answer `would_deadlock` and do nothing, since the waiting thread would have to
// answer itself. Use the form with `done` there. For the same reason, do not wait in a callback
// for a future that another thread asked for.
//
// Lifetime: a Counter keeps alive what it needs, and may outlive its Node or Client. Its calls
// then answer `unavailable`.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quipu/export.h"
#include "quipu/levels.h"
#include "quipu/status.h"

namespace quipu {

struct AddOptions {
  Ack ack = Ack::by_default;
  // After this time the answer is in_doubt, or an error that says why nothing was applied.
  std::chrono::milliseconds timeout{5000};
  // Used by adds to a counter that is spread over shards. Any bytes, such as a user's id. All
  // adds with one affinity go to one shard, through any node or client, as long as the counter
  // is not spread further. So overlapping strong reads are less likely to see them differently.
  // If another node owns that shard, this costs a hop. Empty: a near shard. Borrowed until the
  // call returns or, with a callback or a future, has begun.
  std::string_view affinity{};
  // If this add creates the counter, the counter ends after this time: 1 ms to kMaxTtl
  // (namespace.h). 0: as the counter's namespace says. See Counter::expire_at.
  std::chrono::milliseconds ttl{0};
  // When it happened: it counts in the windows of that time. Only in a namespace with `tiers`, and
  // no longer ago than its `late` says; else the answer is invalid_argument. Not set: when the add
  // is executed.
  std::optional<std::chrono::system_clock::time_point> at{};
};

// Options of a change of the whole counter.
struct ChangeOptions {
  Ack ack = Ack::by_default;
  std::chrono::milliseconds timeout{5000};  // as of an add
};

struct ReadOptions {
  ReadLevel level = ReadLevel::by_default;
  std::chrono::milliseconds timeout{5000};
};

struct Reading {
  std::int64_t value = 0;
  bool exists = false;  // a counter that was never added to reads as 0
  // Whether the value has everything that was acknowledged longer than `age` ago. Always true
  // for a strong reading, whose age is 0.
  bool complete = false;
  std::optional<std::chrono::milliseconds> age{};  // none: unknown
  std::uint16_t shards = 1;
  std::optional<std::chrono::milliseconds> expires_in{};  // when the counter ends; none: never
};

// What was added in each step of a range of time: counts[i] from begin + i * step on.
struct Range {
  std::chrono::system_clock::time_point begin{};  // a multiple of `step` since 1970
  std::chrono::seconds step{};
  std::vector<std::int64_t> counts{};
  // False: some of it may be missing. A node that may have counted was not heard, or some of these
  // windows are no longer kept.
  bool complete = false;
  // Steps that end before this do not change any more, whatever happens. None: unknown.
  std::optional<std::chrono::system_clock::time_point> settled_until{};
};

struct Rate {
  double per_second = 0;
  // The time that it is of: all of it is over.
  std::chrono::system_clock::time_point begin{};
  std::chrono::seconds span{};
  bool complete = false;                                                 // as of a Range
  std::optional<std::chrono::system_clock::time_point> settled_until{};  // as of a Range
};

// The answer of add_and_read. The add was counted.
struct Added {
  // The counter's total right after this add. Not ok: the total could not be read in time, and
  // the status says why. (The outcome of that status is that of the read alone.)
  Result<std::int64_t> total{std::int64_t{0}};
};

class CounterBackend;

// Every call is thread-safe. See the top of this file for callbacks and futures.
class QUIPU_EXPORT Counter {
 public:
  // ok: counted, exactly once, at the requested level. Otherwise see outcome().
  Status add(std::int64_t amount = 1, AddOptions options = {});
  void add(std::int64_t amount, AddOptions options, std::function<void(Status)> done);
  std::future<Status> add_async(std::int64_t amount = 1, AddOptions options = {});

  // Adds as add() does, and answers with the new total, as the executor of this add sees it.
  // Errors: as with add(). Other nodes add at the same time, so two adds may be answered with
  // the same total: do not use it as a unique number. If the counter is spread over shards, or
  // the add was sent again after its first answer was lost, the total is the result of a `fresh`
  // read right after the add. The timeout is for both together.
  Result<Added> add_and_read(std::int64_t amount = 1, AddOptions options = {});
  void add_and_read(std::int64_t amount, AddOptions options,
                    std::function<void(Result<Added>)> done);
  std::future<Result<Added>> add_and_read_async(std::int64_t amount = 1, AddOptions options = {});

  // Errors: no_quorum (strong only), unavailable, out_of_range (the total left int64).
  Result<Reading> read(ReadOptions options = {});
  void read(ReadOptions options, std::function<void(Result<Reading>)> done);
  std::future<Result<Reading>> read_async(ReadOptions options = {});

  // Clears what was added so far; adds that it could not see survive. At quorum:
  // every add that was acknowledged at quorum before.
  // A counter with an end is ended instead, as by expire_at: adds to it that this node has not
  // seen yet end, too.
  Status reset(ChangeOptions options = {});
  void reset(ChangeOptions options, std::function<void(Status)> done);
  std::future<Status> reset_async(ChangeOptions options = {});

  // Sets when the counter ends. Then it reads as 0 and does not exist any more, and the next add
  // creates it anew. A time in the past ends it at once. If it does not exist, nothing changes.
  // An add does not move the end; another expire_at does.
  //
  // Nodes hear of each other's changes a moment later, which has two consequences:
  //   1. An expire_at that an owner hears of only after the old end is too late. The counter ends
  //      at the old end, at the other owners, too.
  //   2. A node that has not heard of an expire_at adds to the counter that it ends. So these adds
  //      end with it.
  //
  // Errors: as with add(). invalid_argument: the counter is spread over shards, so it cannot end;
  // or the time is after the year 6429. unavailable: also if the clock of the node that executes
  // this is not trusted, because it differs too much from those of the other members. The detail
  // says by how much. (A Client asks the other owners first.) The same goes for add() and reset(),
  // if the counter has an end or the add would give it one.
  Status expire_at(std::chrono::system_clock::time_point when, ChangeOptions options = {});
  void expire_at(std::chrono::system_clock::time_point when, ChangeOptions options,
                 std::function<void(Status)> done);
  std::future<Status> expire_at_async(std::chrono::system_clock::time_point when,
                                      ChangeOptions options = {});

  // Removes the end that was set: the counter never ends. Errors: as with expire_at().
  Status persist(ChangeOptions options = {});
  void persist(ChangeOptions options, std::function<void(Status)> done);
  std::future<Status> persist_async(ChangeOptions options = {});

  // What was added between two times, in steps. The namespace of the counter has `tiers`
  // (namespace.h), and a step is a multiple of the shortest; 0: the shortest that is kept for all
  // of the range. The range is extended to whole steps since 1970: at most 10,000. Resets and ends
  // of the counter change nothing that was counted in time.
  //
  // Errors: as with read(). invalid_argument: the counter's namespace has no tiers, or the step or
  // the size of the range is wrong. unavailable: also if the clock of the node that is asked is not
  // trusted.
  Result<Range> range(std::chrono::system_clock::time_point from,
                      std::chrono::system_clock::time_point to, std::chrono::seconds step = {},
                      ReadOptions options = {});
  void range(std::chrono::system_clock::time_point from, std::chrono::system_clock::time_point to,
             std::chrono::seconds step, ReadOptions options,
             std::function<void(Result<Range>)> done);
  std::future<Result<Range>> range_async(std::chrono::system_clock::time_point from,
                                         std::chrono::system_clock::time_point to,
                                         std::chrono::seconds step = {}, ReadOptions options = {});
  // The same for the time until now, by the clock of the node that is asked. The last step is not
  // over yet.
  Result<Range> last(std::chrono::seconds span, std::chrono::seconds step = {},
                     ReadOptions options = {});
  void last(std::chrono::seconds span, std::chrono::seconds step, ReadOptions options,
            std::function<void(Result<Range>)> done);
  std::future<Result<Range>> last_async(std::chrono::seconds span, std::chrono::seconds step = {},
                                        ReadOptions options = {});
  // How much was added per second, on average over the last windows that are over. `span` is
  // extended to whole windows, of the shortest that are kept for it. Errors: as with range().
  Result<Rate> rate(std::chrono::seconds span, ReadOptions options = {});
  void rate(std::chrono::seconds span, ReadOptions options, std::function<void(Result<Rate>)> done);
  std::future<Result<Rate>> rate_async(std::chrono::seconds span, ReadOptions options = {});

  // Spreads the counter over `count` shards, for more adds than one owner set can
  // take; a strong read then asks them all. Never shrinks. 1 to 1024. A counter with an end cannot
  // be spread: the answer is invalid_argument.
  Status raise_shards(std::uint16_t count, ChangeOptions options = {});

  [[nodiscard]] const std::string& key() const { return key_; }

 private:
  friend class CounterBackend;
  QUIPU_HIDDEN Counter(std::shared_ptr<CounterBackend> backend, std::string key)
      : backend_(std::move(backend)), key_(std::move(key)) {}

  std::shared_ptr<CounterBackend> backend_;
  std::string key_;
};

}  // namespace quipu
