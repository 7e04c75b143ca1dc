#include "quipu/counter_of_items.h"

#include "node/api/call_forms.h"
#include "node/api/call_parts.h"

namespace quipu {
namespace {

CounterChange addition_of(Kind kind, const std::string& key, std::span<const ItemCount> items,
                          const ElementOptions& options) {
  CounterChange add = apply_change(kind, key, options);
  add.items.reserve(items.size());
  for (const ItemCount& each : items) add.items.push_back({std::string(each.item), each.count});
  return add;
}

}  // namespace

Status CounterOfItems::add(std::string_view item, std::uint64_t count, ElementOptions options) {
  const ItemCount one{item, count};
  return add_many({&one, 1}, options);
}

void CounterOfItems::add(std::string_view item, std::uint64_t count, ElementOptions options,
                         std::function<void(Status)> done) {
  const ItemCount one{item, count};
  add_many({&one, 1}, options, std::move(done));
}

std::future<Status> CounterOfItems::add_async(std::string_view item, std::uint64_t count,
                                              ElementOptions options) {
  const ItemCount one{item, count};
  return add_many_async({&one, 1}, options);
}

Status CounterOfItems::add_many(std::span<const ItemCount> items, ElementOptions options) {
  return apply_and_wait(backend_, addition_of(kind_, key_, items, options));
}

void CounterOfItems::add_many(std::span<const ItemCount> items, ElementOptions options,
                              std::function<void(Status)> done) {
  begin_apply(*backend_, addition_of(kind_, key_, items, options), callable(std::move(done)));
}

std::future<Status> CounterOfItems::add_many_async(std::span<const ItemCount> items,
                                                   ElementOptions options) {
  return apply_in_future(*backend_, addition_of(kind_, key_, items, options));
}

}  // namespace quipu
