// counter_of_items.h: the adds of counters that count items, each several times: Frequency, Top.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <span>
#include <string_view>

#include "quipu/counter_of_kind.h"
#include "quipu/export.h"
#include "quipu/status.h"

namespace quipu {

// How often an item came. Borrows.
struct ItemCount {
  std::string_view item;
  std::uint64_t count = 1;
};
// The most items of one call about counts. A call with more is refused: invalid_argument.
inline constexpr std::size_t kMaxItems = 1024;

// Every call is thread-safe. See counter.h for callbacks and futures. Items are copied before a
// call returns.
class QUIPU_EXPORT CounterOfItems : public CounterOfKind {
 public:
  // ok: the item is counted, at the requested level. Otherwise see outcome(). Errors: as with
  // Counter::add; out_of_range: all counts together would be above 2^63 − 1.
  Status add(std::string_view item, std::uint64_t count = 1, ElementOptions options = {});
  void add(std::string_view item, std::uint64_t count, ElementOptions options,
           std::function<void(Status)> done);
  std::future<Status> add_async(std::string_view item, std::uint64_t count = 1,
                                ElementOptions options = {});

  // Counts all or none of the items, in one change. At most kMaxItems.
  Status add_many(std::span<const ItemCount> items, ElementOptions options = {});
  void add_many(std::span<const ItemCount> items, ElementOptions options,
                std::function<void(Status)> done);
  std::future<Status> add_many_async(std::span<const ItemCount> items, ElementOptions options = {});

 protected:
  using CounterOfKind::CounterOfKind;
};

}  // namespace quipu
