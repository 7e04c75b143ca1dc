// distinct.h: one named counter of different elements, such as the visitors of a page.
//
//   quipu::Distinct visitors = node.distinct("visitors:42");
//   visitors.add("user-17");
//   visitors.add("user-17");  // an element that comes again changes nothing
//   if (auto c = visitors.count(); c.ok()) { … c->estimate … }  // 1
//
// It is a HyperLogLog: it takes at most 12 KiB, however many elements it has. So its count is an
// estimate. Its standard error is 0.81%, unless its namespace has another precision: in two of
// three cases the estimate is off by less than that, and in 99.7% by less than three times that. No
// element can be taken away, and none can be listed.
//
// A key has a counter of one kind. If it has a sum (counter.h), calls answer wrong_type; and so do
// the calls of a Counter whose key has a Distinct. Counters::list lists both.
//
// An element is any bytes, also none. It never leaves this process: the cluster gets a hash of 8
// bytes. Keys are 1 to 512 bytes.
//
// The forms of each call, timeouts, threads, callbacks and lifetime are as in counter.h. Elements
// and keys are copied before a call returns.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "quipu/counter.h"
#include "quipu/counter_of_kind.h"
#include "quipu/export.h"
#include "quipu/status.h"

namespace quipu {

// The most elements of one add_many. A call with more is refused: invalid_argument.
inline constexpr std::size_t kMaxElements = 16'384;

struct DistinctReading {
  std::uint64_t estimate = 0;  // how many different elements
  double standard_error = 0;   // as a share of the estimate; of several: that of the least precise
  bool exists = false;         // a counter that was never added to has none; of several: some exist
  bool complete = false;       // as of Reading
  std::optional<std::chrono::milliseconds> age{};         // as of Reading; none: unknown
  std::optional<std::chrono::milliseconds> expires_in{};  // when it ends; none: never, or several
};

// Every call is thread-safe. See counter.h for callbacks and futures.
class QUIPU_EXPORT Distinct : public CounterOfKind {
 public:
  // ok: the element is counted, at the requested level. Otherwise see outcome(). If that is
  // unknown, the add may be repeated: it cannot count twice.
  Status add(std::string_view element, ElementOptions options = {});
  void add(std::string_view element, ElementOptions options, std::function<void(Status)> done);
  std::future<Status> add_async(std::string_view element, ElementOptions options = {});

  // Adds all or none of the elements, in one change. There may be none: then the counter exists,
  // with 0 elements.
  Status add_many(std::span<const std::string_view> elements, ElementOptions options = {});
  void add_many(std::span<const std::string_view> elements, ElementOptions options,
                std::function<void(Status)> done);
  std::future<Status> add_many_async(std::span<const std::string_view> elements,
                                     ElementOptions options = {});

  // Errors: as with Counter::read; wrong_type. Counters::count_distinct counts several together.
  Result<DistinctReading> count(ReadOptions options = {});
  void count(ReadOptions options, std::function<void(Result<DistinctReading>)> done);
  std::future<Result<DistinctReading>> count_async(ReadOptions options = {});

  // How many different elements were added in each step of a range of time: estimates, as with
  // count(). A step of a day is the union of the day's windows, so an element that came in several
  // minutes counts once. Else as Counter::range and Counter::last, also the errors.
  Result<Range> range(std::chrono::system_clock::time_point from,
                      std::chrono::system_clock::time_point to, std::chrono::seconds step = {},
                      ReadOptions options = {});
  void range(std::chrono::system_clock::time_point from, std::chrono::system_clock::time_point to,
             std::chrono::seconds step, ReadOptions options,
             std::function<void(Result<Range>)> done);
  std::future<Result<Range>> range_async(std::chrono::system_clock::time_point from,
                                         std::chrono::system_clock::time_point to,
                                         std::chrono::seconds step = {}, ReadOptions options = {});
  Result<Range> last(std::chrono::seconds span, std::chrono::seconds step = {},
                     ReadOptions options = {});
  void last(std::chrono::seconds span, std::chrono::seconds step, ReadOptions options,
            std::function<void(Result<Range>)> done);
  std::future<Result<Range>> last_async(std::chrono::seconds span, std::chrono::seconds step = {},
                                        ReadOptions options = {});

  // Adds all elements of these counters, 1 to 1024 of them, as a strong read and a local one show
  // them: it is done once, so what they missed would be missing for good. They stay as they are.
  // What is added to them meanwhile may be left out. Errors: as with add() and count(). If the
  // sources cannot be read, nothing was changed. The timeout is for all steps together.
  Status merge_from(std::span<const std::string> keys, ChangeOptions options = {});
  void merge_from(std::span<const std::string> keys, ChangeOptions options,
                  std::function<void(Status)> done);
  std::future<Status> merge_from_async(std::span<const std::string> keys,
                                       ChangeOptions options = {});

 private:
  friend class CounterBackend;
  QUIPU_HIDDEN Distinct(std::shared_ptr<CounterBackend> backend, std::string key)
      : CounterOfKind(std::move(backend), std::move(key), Kind::distinct) {}
};

}  // namespace quipu
