// An outbox behaves as a list of shards that is searched from end to end, whatever is
// pushed, taken, acked and lost.
#include "cluster/outbox.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <list>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace quipu::test {
namespace {

struct Held {
  std::string key;
  Commit since{};
  bool operator==(const Held&) const = default;
};

Held held(const Outbox::Item& item) { return {item.shard.key, item.since}; }

std::vector<Held> all(const std::vector<Outbox::Item>& items) {
  std::vector<Held> list;
  for (const Outbox::Item& item : items) list.push_back(held(item));
  return list;
}

// Of a few hundred keys; in each eight all hashes are alike, so that names decide.
PlacedRef placed(const std::string& key, std::size_t number) {
  return {{key, 0}, Placement(number / 8 * 0x9e3779b97f4a7c15)};
}

struct Model {
  std::list<Held> waiting;
  std::map<std::uint64_t, std::vector<Held>> flying;

  std::list<Held>::iterator find(const std::string& key) {
    return std::ranges::find(waiting, key, &Held::key);
  }
  [[nodiscard]] std::size_t size() const {
    std::size_t count = waiting.size();
    for (const auto& [number, items] : flying) count += items.size();
    return count;
  }
  void relink() {
    for (auto frame = flying.rbegin(); frame != flying.rend(); ++frame) {
      for (auto item = frame->second.rbegin(); item != frame->second.rend(); ++item) {
        if (const auto at = find(item->key); at == waiting.end()) {
          waiting.push_front(*item);
        } else {
          at->since = std::min(at->since, item->since);
        }
      }
    }
    flying.clear();
  }
};

RC_GTEST_PROP(Outbox, is_a_list_of_shards_each_of_them_once, ()) {
  constexpr std::size_t kKeys = 400, kLimit = 300, kFrames = 3;
  Outbox outbox(kLimit, kFrames, 7);
  Model model;
  std::uint64_t number = 7, commit = 0;
  const auto steps = *rc::gen::container<std::vector<std::pair<std::uint16_t, std::uint16_t>>>(
      3000, rc::gen::pair(rc::gen::inRange<std::uint16_t>(0, 128),
                          rc::gen::inRange<std::uint16_t>(0, 4096)));
  for (const auto& [what, which] : steps) {
    const Commit now{++commit};
    if (what % 16 == 0 && outbox.can_take()) {
      const std::size_t count = 1 + which % outbox.next_size();
      RC_ASSERT(outbox.next_number() == number);
      std::vector<Held>& frame = model.flying[number++];
      for (std::size_t i = 0; i < count; ++i) {
        RC_ASSERT(held(outbox.next_item(i)) == model.waiting.front());
        frame.push_back(model.waiting.front());
        model.waiting.pop_front();
        if (model.waiting.empty()) RC_ASSERT(i + 1 == count);
      }
      outbox.take(count, now);
    } else if (what % 16 == 1) {
      const std::uint64_t one = number - which % 5;
      const auto at = model.flying.find(one);
      RC_ASSERT(all(outbox.acked(one).items) ==
                (at == model.flying.end() ? std::vector<Held>{} : at->second));
      if (at != model.flying.end()) model.flying.erase(at);
    } else if (what == 2) {
      outbox.relink();
      model.relink();
    } else {
      const std::size_t i = which % kKeys;
      const std::string key = "k" + std::to_string(i);
      if (model.find(key) == model.waiting.end()) model.waiting.push_back({key, now});
      const bool lost = model.size() > kLimit;
      if (lost) model = {};
      RC_ASSERT(outbox.push(placed(key, i), now) == !lost);
    }
    RC_ASSERT(outbox.size() == model.size());
    RC_ASSERT(outbox.can_take() == (!model.waiting.empty() && model.flying.size() < kFrames));
  }
  const auto oldest = [](const auto& list) {
    return std::ranges::min_element(list, {}, &Held::since)->since;
  };
  if (!model.waiting.empty()) RC_ASSERT(!outbox.reached(oldest(model.waiting)));
  RC_ASSERT(outbox.reached(Commit{}));
}

}  // namespace
}  // namespace quipu::test
