// counter.h: one named counter, whoever carries it out.
//
// The same face for quipu::Node (a member of the cluster inside this process) and
// quipu::Client (a connection to one): code that counts need not know which.
//
//   quipu::Counter likes = node.counter("likes:42");
//   if (quipu::Status s = likes.add(1); !s.ok()) { … s.outcome() … }
//
// Keys are 1 to 512 bytes, by custom `namespace:rest`. Sums are signed 64-bit.
//
// Threads: any thread may use any Counter. The blocking calls wait up to the
// timeout; in a callback, which runs on the library's own thread, they return
// would_deadlock. Callbacks must not throw, and are called exactly once.
//
// Lifetime: a Counter keeps what it needs alive, and may outlive its Node or
// Client; calls then answer `unavailable`.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "quipu/export.h"
#include "quipu/levels.h"
#include "quipu/status.h"

namespace quipu {

struct AddOptions {
  Ack ack = Ack::disk;
  // After it the answer is in_doubt, or a reason why nothing was applied.
  std::chrono::milliseconds timeout{5000};
  // Of an add to a counter that is spread over shards: whose it is, such as a user's id,
  // any bytes. All adds of one affinity meet in one shard, through whichever node or client
  // they come, as long as the counter is not spread further: so strong reads that overlap
  // them are less likely to see them differently. The price is a hop where another node
  // owns that shard. Empty: a shard that is near. Borrowed until the call returns or, with
  // a callback, has begun.
  std::string_view affinity{};
};

struct ReadOptions {
  ReadLevel level = ReadLevel::local;
  std::chrono::milliseconds timeout{5000};
};

struct Reading {
  std::int64_t value = 0;
  bool exists = false;  // a counter that was never added to reads as 0
  // Nothing acknowledged longer than `age` ago is missing. Always true of a
  // strong reading, whose age is 0.
  bool complete = false;
  std::optional<std::chrono::milliseconds> age{};  // none: cannot tell
  std::uint16_t shards = 1;
};

class CounterBackend;

class QUIPU_EXPORT Counter {
 public:
  // ok: counted, exactly once, at the level asked for. Else see outcome().
  Status add(std::int64_t amount = 1, AddOptions options = {});
  void add(std::int64_t amount, AddOptions options, std::function<void(Status)> done);

  // Errors: no_quorum (strong), unavailable, out_of_range (the total left int64).
  Result<Reading> read(ReadOptions options = {});
  void read(ReadOptions options, std::function<void(Result<Reading>)> done);

  // Clears what was added so far; adds that it could not see survive. At quorum:
  // every add that was acknowledged at quorum before.
  Status reset(AddOptions options = {});
  void reset(AddOptions options, std::function<void(Status)> done);

  // Spreads the counter over `count` shards, for more adds than one owner set can
  // take; a strong read then asks them all. Never shrinks. 1 to 1024.
  Status raise_shards(std::uint16_t count, AddOptions options = {});

  [[nodiscard]] const std::string& key() const { return key_; }

 private:
  friend class CounterBackend;
  QUIPU_HIDDEN Counter(std::shared_ptr<CounterBackend> backend, std::string key)
      : backend_(std::move(backend)), key_(std::move(key)) {}

  std::shared_ptr<CounterBackend> backend_;
  std::string key_;
};

}  // namespace quipu
