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
};

// Options of a reset or a raise. Both concern all shards of a counter.
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
  Status reset(ChangeOptions options = {});
  void reset(ChangeOptions options, std::function<void(Status)> done);
  std::future<Status> reset_async(ChangeOptions options = {});

  // Spreads the counter over `count` shards, for more adds than one owner set can
  // take; a strong read then asks them all. Never shrinks. 1 to 1024.
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
