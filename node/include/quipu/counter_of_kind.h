// counter_of_kind.h: what counters of all kinds beside the sum have: Distinct, Frequency and so on.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>

#include "quipu/counter.h"
#include "quipu/export.h"
#include "quipu/kind.h"
#include "quipu/levels.h"
#include "quipu/status.h"

namespace quipu {

// What a change that adds elements or items may ask for.
struct ElementOptions {
  Ack ack = Ack::by_default;
  std::chrono::milliseconds timeout{5000};  // as of AddOptions
  std::chrono::milliseconds ttl{0};         // as of AddOptions
  // As of AddOptions: the element counts in the windows of that time.
  std::optional<std::chrono::system_clock::time_point> at{};
};

class CounterBackend;

// Every call is thread-safe. See counter.h for callbacks and futures.
class QUIPU_EXPORT CounterOfKind {
 public:
  // Ends the counter: all that this node has seen of it, and adds that it has not seen yet.
  Status reset(ChangeOptions options = {});
  void reset(ChangeOptions options, std::function<void(Status)> done);
  std::future<Status> reset_async(ChangeOptions options = {});

  // As Counter::expire_at and Counter::persist.
  Status expire_at(std::chrono::system_clock::time_point when, ChangeOptions options = {});
  void expire_at(std::chrono::system_clock::time_point when, ChangeOptions options,
                 std::function<void(Status)> done);
  std::future<Status> expire_at_async(std::chrono::system_clock::time_point when,
                                      ChangeOptions options = {});
  Status persist(ChangeOptions options = {});
  void persist(ChangeOptions options, std::function<void(Status)> done);
  std::future<Status> persist_async(ChangeOptions options = {});

  [[nodiscard]] const std::string& key() const { return key_; }

 protected:
  QUIPU_HIDDEN CounterOfKind(std::shared_ptr<CounterBackend> backend, std::string key, Kind kind)
      : backend_(std::move(backend)), key_(std::move(key)), kind_(kind) {}

  std::shared_ptr<CounterBackend> backend_;
  std::string key_;
  Kind kind_;
};

}  // namespace quipu
