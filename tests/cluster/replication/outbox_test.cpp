// An outbox behaves as a list of shards that is searched from end to end, whatever is
// pushed, taken, acked and lost.
#include "cluster/replication/outbox.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "protocol/shard_number.h"

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

// Eight keys in a row have the same hash, so that their names decide.
PlacedRef placed(const std::string& key, std::size_t number) {
  return {{key, 0}, Placement(number / 8 * 0x9e3779b97f4a7c15)};
}

struct Model {
  std::list<Held> waiting;
  struct Flying {
    Commit as_of{};
    std::vector<Held> items;
  };
  std::map<std::uint64_t, Flying> flying;

  std::list<Held>::iterator find(const std::string& key) {
    return std::ranges::find(waiting, key, &Held::key);
  }
  [[nodiscard]] std::size_t size() const {
    std::size_t count = waiting.size();
    for (const auto& [number, frame] : flying) count += frame.items.size();
    return count;
  }
  [[nodiscard]] bool reached(Commit commit) const {
    const auto older = [commit](const Held& one) { return one.since <= commit; };
    return std::ranges::none_of(waiting, older) && std::ranges::none_of(flying, [&](auto& frame) {
             return std::ranges::any_of(frame.second.items, older);
           });
  }
  // Each waits once, since the oldest of its changes; what was in flight in front, in the
  // order in which it flew for the last time.
  void relink() {
    std::map<std::string, Commit> since;
    std::vector<std::string> order;
    const auto see = [&](const Held& one) {
      const auto [at, fresh] = since.try_emplace(one.key, one.since);
      if (!fresh) std::erase(order, one.key);
      order.push_back(one.key);
      at->second = std::min(at->second, one.since);
    };
    for (const auto& [number, frame] : flying) std::ranges::for_each(frame.items, see);
    std::list<Held> front;
    for (const std::string& key : order) {
      if (find(key) == waiting.end()) front.push_back({key, since[key]});
    }
    for (Held& one : waiting) {
      if (since.contains(one.key)) one.since = std::min(one.since, since[one.key]);
    }
    waiting.splice(waiting.begin(), front);
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
      Model::Flying& sent = model.flying[number++];
      sent.as_of = now;
      std::vector<Held>& frame = sent.items;
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
      const Outbox::Acked acked = outbox.acked(one);
      const Model::Flying expected = at == model.flying.end() ? Model::Flying{} : at->second;
      RC_ASSERT(all(acked.items) == expected.items && acked.as_of == expected.as_of);
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
    const Commit some{1 + which % commit};
    RC_ASSERT(outbox.reached(some) == model.reached(some));
  }
}

// `count` units of a large body.
Units some_units(Unit first, Unit count) {
  Units units;
  units.are_of(std::size_t{4} << 20);
  for (Unit unit = first; unit < first + count; ++unit) units.add(unit);
  return units;
}

PlacedRef placed_body(std::size_t number) {
  static std::vector<std::string> keys(64);
  std::string& key = keys[number];
  key = "k" + std::to_string(number);
  return {{key, shard_of(Kind::frequency)}, Placement(number * 0x9e3779b97f4a7c15)};
}

// What it forgets of them, it sends as a whole.
RC_GTEST_PROP(Outbox, remembers_units_within_its_bound, ()) {
  Outbox outbox(1000, 3, 7);
  std::map<std::string, std::vector<Unit>> missing;  // what no frame has that is in flight
  std::vector<std::uint64_t> flying;
  for (int step = 0; step < 60; ++step) {  // some push more than the bound
    const int what = *rc::gen::inRange(0, 10);
    if (what < 6) {
      const PlacedRef shard = placed_body(*rc::gen::inRange<std::size_t>(0, 64));
      const Unit first = *rc::gen::inRange<Unit>(0, 1'000'000);
      const Units units = some_units(first, *rc::gen::inRange<Unit>(1, 200'000));
      RC_ASSERT(outbox.push(shard, Commit{1}, &units));
      missing[std::string(shard.shard.key)].push_back(first);
    } else if (what < 8 && outbox.can_take()) {
      const std::size_t count = *rc::gen::inRange<std::size_t>(1, outbox.next_size() + 1);
      for (std::size_t i = 0; i < count; ++i) {
        const Units units = outbox.next_units(i);
        for (const Unit unit : missing[outbox.next_item(i).shard.key])
          RC_ASSERT(units.all() || std::ranges::binary_search(units.some(), unit));
      }
      flying.push_back(outbox.next_number());
      outbox.take(count, Commit{1});
    } else if (what == 8 && !flying.empty()) {
      for (const Outbox::Item& item : outbox.acked(flying.back()).items)
        missing[item.shard.key].clear();
      flying.pop_back();
    } else if (what == 9) {
      outbox.relink();
      flying.clear();
    }
    RC_ASSERT(outbox.unit_bytes() <= Outbox::kMostUnitBytes);
  }
  outbox.relink();
  while (outbox.can_take()) {
    const std::uint64_t number = outbox.next_number();
    outbox.take(outbox.next_size(), Commit{1});
    static_cast<void>(outbox.acked(number));
  }
  RC_ASSERT(outbox.unit_bytes() == 0);
}

}  // namespace
}  // namespace quipu::test
