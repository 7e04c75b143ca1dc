#include "tests/chaos/kinds.h"

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace quipu::chaos {
namespace {

// The answer of one kind, as that of all.
template <class Reading, class Fill>
auto tell(std::function<void(const Result<Told>&)> done, Fill fill) {
  return [done = std::move(done), fill](const Result<Reading>& reading) {
    if (!reading.ok()) return done(reading.status());
    Told told{.complete = reading->complete, .age = reading->age};
    fill(*reading, told);
    done(told);
  };
}

void add_item(Told& told, std::string_view item, std::uint64_t lower, std::uint64_t upper) {
  told.items.push_back(
      {std::string(item), static_cast<std::int64_t>(lower), static_cast<std::int64_t>(upper)});
  told.value += static_cast<std::int64_t>(upper);
}

}  // namespace

void add_to(Client& client, const Keys::Next& next, const AddOptions& options,
            std::function<void(Status)> done) {
  const ElementOptions of_item{.ack = options.ack, .timeout = options.timeout, .ttl = options.ttl};
  const auto count = static_cast<std::uint64_t>(next.amount);
  switch (kind_of(next.key)) {
    case Kind::distinct:
      return client.distinct(next.key).add(next.item, of_item, std::move(done));
    case Kind::frequency:
      // Each second counter is in slices, if this reaches its home before the first add.
      if (next.amount == 1 && (next.key.back() - '0') % 2 == 1)
        client.frequency(next.key).begin({.width = 20'000}, of_item, [](const Status&) {});
      return client.frequency(next.key).add(next.item, count, of_item, std::move(done));
    case Kind::top:
      return client.top(next.key).add(next.item, count, of_item, std::move(done));
    default:
      return client.counter(next.key).add(next.amount, options, std::move(done));
  }
}

std::string redis_line(const Keys::Next& next, Ack ack) {
  constexpr std::string_view kLevels[] = {"MEMORY", "DISK", "QUORUM"};
  const std::string amount = std::to_string(next.amount);
  switch (kind_of(next.key)) {
    case Kind::distinct:
      return "PFADD " + next.key + ' ' + next.item;
    case Kind::frequency:
      return "CMS.INCRBY " + next.key + ' ' + next.item + ' ' + amount;
    case Kind::top:
      return "TOPK.INCRBY " + next.key + ' ' + next.item + ' ' + amount;
    default:
      return "QUIPU.ADD " + next.key + ' ' + amount + " ACK " +
             std::string(kLevels[static_cast<std::size_t>(ack)]);
  }
}

void read_from(Client& client, const std::string& key, const ReadOptions& options,
               std::function<void(const Result<Told>&)> done) {
  switch (kind_of(key)) {
    case Kind::distinct:
      return client.distinct(key).count(
          options, tell<DistinctReading>(std::move(done), [](const auto& reading, Told& told) {
            told.value = static_cast<std::int64_t>(reading.estimate);
          }));
    case Kind::frequency:
      return client.frequency(key).query(
          kItems, options,
          tell<FrequencyReading>(std::move(done), [](const auto& reading, Told& told) {
            const std::size_t counts = std::min(reading.counts.size(), kItems.size());
            for (std::size_t i = 0; i < counts; ++i)
              if (reading.counts[i] > 0)
                add_item(told, kItems[i], reading.counts[i], reading.counts[i]);
          }));
    case Kind::top:
      return client.top(key).list(
          options, tell<TopReading>(std::move(done), [](const auto& reading, Told& told) {
            for (const TopItem& one : reading.items) add_item(told, one.item, one.lower, one.upper);
          }));
    default:
      return client.counter(key).read(
          options, tell<Reading>(std::move(done), [](const auto& reading, Told& told) {
            told.value = reading.value;
          }));
  }
}

std::string find_elements(Client& client) {
  for (char letter = 'a'; letter <= 'z'; ++letter) {
    const std::string prefix(1, letter);
    std::vector<std::string> elements;
    for (std::size_t i = 0; i < kElements; ++i) elements.push_back(prefix + std::to_string(i));
    const std::vector<std::string_view> views(elements.begin(), elements.end());
    Distinct all = client.distinct("elements:" + prefix);
    const Status added = all.add_many(views, {.ack = Ack::quorum});
    const auto count = all.count({.level = ReadLevel::strong});
    if (added.ok() && count.ok() && count->estimate == kElements) return prefix;
  }
  throw std::runtime_error("of 26 sets of " + std::to_string(kElements) +
                           " elements, the cluster counts none exactly");
}

}  // namespace quipu::chaos
