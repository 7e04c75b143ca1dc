#include "tests/chaos/campaign.h"

#include <algorithm>
#include <numeric>
#include <thread>

#include "tests/node/eventually.h"

namespace quipu::chaos {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kPatience{60};  // for all nodes to be ready again
constexpr milliseconds kCalm{1500};
constexpr std::size_t kMostFindings = 5;

}  // namespace

bool Campaign::let_pass(milliseconds time) const {
  // The time itself is the point; only an interrupt ends it sooner.
  const auto until = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < until) {
    if (options_.interrupted()) return false;
    std::this_thread::sleep_for(milliseconds(10));  // waits for nothing: faults last so long
  }
  return true;
}

const Nemesis& Campaign::next() {
  if (order_.empty()) {
    order_.resize(options_.kinds.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    for (std::size_t i = order_.size(); i > 1; --i) {
      std::swap(order_[i - 1], order_[random_.below(i)]);
    }
  }
  const Nemesis& chosen = options_.kinds[order_.back()];
  order_.pop_back();
  return chosen;
}

// A node may die, stand still or lose its power while the network is bad. No disk is lost
// then: its node could not be filled.
const Nemesis* Campaign::companion(const Nemesis& first) {
  const bool wanted = random_.below(3) == 0;
  if (!wanted || first.family != Nemesis::Family::network) return nullptr;
  constexpr std::string_view kCompanions[] = {"kill-one", "pause", "power-loss", "sync-error"};
  const std::string_view name = kCompanions[random_.below(std::size(kCompanions))];
  const auto at = std::ranges::find(options_.kinds, name, &Nemesis::name);
  return at == options_.kinds.end() ? nullptr : &*at;
}

bool Campaign::episode() {
  const Nemesis& first = next();
  std::vector<const Nemesis*> kinds{&first};
  if (const Nemesis* second = companion(first)) kinds.push_back(second);
  std::vector<Strike> strikes;
  std::vector<std::size_t> faults;
  milliseconds lasts{};
  for (const Nemesis* kind : kinds) {
    Strike strike = kind->make(testbed_, random_);
    lasts = std::max(lasts, strike.lasts);
    options_.say(std::string(kind->name) + ": " + strike.what);
    faults.push_back(
        recorder_.begin(Fault{std::string(kind->name), strike.what, kind->loss, {}, kNever}));
    strike.begin();
    strikes.push_back(std::move(strike));
  }
  const bool went_on = let_pass(lasts);
  for (const Strike& strike : strikes) strike.end();
  if (!went_on) return false;
  const std::string wrong = testbed_.cluster.nurse(kPatience);
  if (!wrong.empty()) {
    testbed_.cluster.find(wrong);
    return false;
  }
  for (const Strike& strike : strikes) strike.verify();
  for (const std::size_t fault : faults) recorder_.end_fault(fault);
  return true;
}

bool Campaign::run() {
  while (std::chrono::steady_clock::now() < options_.until) {
    if (!episode() || !let_pass(kCalm)) return false;
    if (testbed_.cluster.findings().size() >= kMostFindings) return false;
  }
  return true;
}

}  // namespace quipu::chaos
