// frequency.h: one named counter that estimates how often each item came, such as each query of a
// search page.
//
//   quipu::Frequency queries = node.frequency("queries");
//   queries.add("weather");
//   queries.add("weather", 2);
//   const std::string_view item = "weather";
//   if (auto c = queries.query({&item, 1}); c.ok()) { … c->counts[0] … }  // 3
//
// It is a Count-Min sketch: a matrix of counts, which takes the same bytes however many items there
// are. So a count is an estimate. It is never too low. With the probability `confidence`, it is too
// high by no more than `bound`. Nothing can be subtracted, and no items can be listed.
//
// An item is any bytes, also none. It never leaves this process: the cluster gets a hash of 8
// bytes. Keys are 1 to 512 bytes. A key has a counter of one kind (wrong_type).
//
// The forms of each call, timeouts, threads, callbacks and lifetime are as in counter.h. Items are
// copied before a call returns.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quipu/counter.h"
#include "quipu/counter_of_items.h"
#include "quipu/export.h"
#include "quipu/status.h"

namespace quipu {

// A depth of 1 to 10, and a width of up to 1,048,576 / depth, about. `bound` is 2.72 / width of all
// that was added, and `confidence` 1 − e^−depth. A matrix of more than 16,384 cells is cut into
// slices. Then `bound` is about a slice: 2.72 / its width of what was added to it.
struct FrequencySize {
  std::uint32_t width = 2000;
  std::uint32_t depth = 7;
};

struct FrequencyReading {
  std::vector<std::uint64_t> counts;  // of each item, in the order of the question
  std::uint64_t bound = 0;            // each count is too high by no more than this …
  double confidence = 0;              // … with this probability
  bool exists = false;
  bool complete = false;                                  // as of Reading
  std::optional<std::chrono::milliseconds> age{};         // as of Reading; none: unknown
  std::optional<std::chrono::milliseconds> expires_in{};  // when it ends; none: never
};

// Every call is thread-safe. See counter.h for callbacks and futures. add() and add_many() are
// those of CounterOfItems.
class QUIPU_EXPORT Frequency : public CounterOfItems {
 public:
  // Begins the counter with this size. ok: it began, or existed; then nothing was changed. Without
  // a begin(), the first add begins it with the usual size. Errors: as with add(); out_of_range: no
  // matrix has this size.
  Status begin(FrequencySize size, ElementOptions options = {});
  void begin(FrequencySize size, ElementOptions options, std::function<void(Status)> done);
  std::future<Status> begin_async(FrequencySize size, ElementOptions options = {});

  // How often each of 1 to kMaxItems items came. Errors: as with Counter::read; wrong_type.
  Result<FrequencyReading> query(std::span<const std::string_view> items, ReadOptions options = {});
  void query(std::span<const std::string_view> items, ReadOptions options,
             std::function<void(Result<FrequencyReading>)> done);
  std::future<Result<FrequencyReading>> query_async(std::span<const std::string_view> items,
                                                    ReadOptions options = {});

 private:
  friend class CounterBackend;
  QUIPU_HIDDEN Frequency(std::shared_ptr<CounterBackend> backend, std::string key)
      : CounterOfItems(std::move(backend), std::move(key), Kind::frequency) {}
};

}  // namespace quipu
