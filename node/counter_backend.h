// counter_backend.h: what carries out the calls of a quipu::Counter: a Node's
// reactor, or a Client's thread.
//
//   Counter::add(…)        counter.cpp: waits          ┐
//   Counter::add(…, done)  ──────────────────────────▶ submit / read ──▶ done, once
//
// Counters keep their backend alive by shared_ptr, beyond the Node or Client that
// made it; a closed backend answers `unavailable`.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "protocol/client_messages.h"
#include "quipu/counter.h"

namespace quipu {

// What a Counter wants changed. Owns its key.
struct CounterChange {
  OpKind kind = OpKind::add;  // add, reset or raise
  std::string key;
  std::int64_t amount = 0;  // of an add; of a raise: how many shards
  Ack ack = Ack::disk;
  std::chrono::milliseconds timeout{5000};
  Affinity affinity{};  // of an add
};

struct CounterQuestion {
  std::string key;
  ReadLevel level = ReadLevel::local;
  std::chrono::milliseconds timeout{5000};
};

// What a Counter shows of an answer.
[[nodiscard]] Result<Reading> to_reading(const Value& value);

class CounterBackend : public std::enable_shared_from_this<CounterBackend> {
 public:
  using ChangeDone = std::function<void(Status)>;
  using ReadDone = std::function<void(Result<Reading>)>;

  CounterBackend() = default;
  virtual ~CounterBackend() = default;
  CounterBackend(const CounterBackend&) = delete;
  CounterBackend& operator=(const CounterBackend&) = delete;

  // Any thread. `done` is called exactly once, by the timeout or soon after it: on
  // the backend's own thread, or, if the call is refused at once (closed, too many
  // calls: `overloaded`), before submit returns. The backend holds no lock then.
  virtual void submit(CounterChange change, ChangeDone done) = 0;
  virtual void read(CounterQuestion question, ReadDone done) = 0;

  // Whether the caller is in one of the backend's callbacks, and so must not wait.
  [[nodiscard]] virtual bool on_own_thread() const = 0;

  // Any thread but the own one: waits until submit has room, was closed, or the
  // time is over, and returns what is left of it. Called by the blocking forms only.
  [[nodiscard]] virtual std::chrono::milliseconds wait_for_room(std::chrono::milliseconds timeout) {
    return timeout;
  }

  // A Counter's constructor is private, and this its friend.
  [[nodiscard]] static Counter make_counter(std::shared_ptr<CounterBackend> backend,
                                            std::string key) {
    return {std::move(backend), std::move(key)};
  }
};

}  // namespace quipu
