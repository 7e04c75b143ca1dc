// top.h: one named counter that lists the most frequent items, such as the hundred most read pages.
//
//   quipu::Top pages = node.top("pages");
//   pages.add("/home");
//   pages.add("/news", 2);
//   if (auto list = pages.list(); list.ok())
//     for (const quipu::TopItem& one : list->items) { … one.item, one.upper … }  // /news, /home
//
// It keeps counts of some hundred items, whatever number of items there are (SpaceSaving). So what
// is said about an item is an interval: it came at least `lower` and at most `upper` times. An item
// that is `certain` surely belongs on the list. Nothing can be subtracted.
//
// An item is at most 128 bytes, and may be empty. It is stored as it is. Keys are 1 to 512 bytes.
// A key has a counter of one kind (wrong_type).
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

struct TopItem {
  std::string item;
  std::uint64_t upper = 0;  // it came at most so often …
  std::uint64_t lower = 0;  // … and at least so often
  bool certain = false;     // no item beside the list came more often
};

struct TopReading {
  std::vector<TopItem> items;  // by `upper`, the greatest first
  bool exists = false;
  bool complete = false;                                  // as of Reading
  std::optional<std::chrono::milliseconds> age{};         // as of Reading; none: unknown
  std::optional<std::chrono::milliseconds> expires_in{};  // when it ends; none: never
};

// Every call is thread-safe. See counter.h for callbacks and futures. add() and add_many() are
// those of CounterOfItems; an item that is too long is an invalid_argument.
class QUIPU_EXPORT Top : public CounterOfItems {
 public:
  // Begins the counter with a list of `length` items, 1 to 100. ok: it began, or existed; then
  // nothing was changed. Without a begin(), the first add begins it with a list of 10. Errors: as
  // with add(); out_of_range: no list is so long.
  Status begin(std::uint32_t length, ElementOptions options = {});
  void begin(std::uint32_t length, ElementOptions options, std::function<void(Status)> done);
  std::future<Status> begin_async(std::uint32_t length, ElementOptions options = {});

  // Errors: as with Counter::read; wrong_type.
  Result<TopReading> list(ReadOptions options = {});
  void list(ReadOptions options, std::function<void(Result<TopReading>)> done);
  std::future<Result<TopReading>> list_async(ReadOptions options = {});

 private:
  friend class CounterBackend;
  QUIPU_HIDDEN Top(std::shared_ptr<CounterBackend> backend, std::string key)
      : CounterOfItems(std::move(backend), std::move(key), Kind::top) {}
};

}  // namespace quipu
