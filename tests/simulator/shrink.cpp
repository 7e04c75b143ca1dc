#include "tests/simulator/shrink.h"

#include <algorithm>

namespace quipu::sim {
namespace {

using Told = std::function<void(const std::string&)>;

class Shrinker {
 public:
  Shrinker(const Report& failing, const Told& told) : best_(failing), told_(told) {}

  // True if the run with that change fails in the same way; then it is kept.
  bool keep(const Options& smaller, const std::string& what) {
    Report report = simulate(smaller);
    if (report.failure.invariant != best_.failure.invariant) return false;
    best_ = std::move(report);
    told_(what);
    return true;
  }

  bool without_knobs() {
    bool any = false;
    for (const KnobInfo& knob : knobs()) {
      if (!best_.options.has(knob.knob)) continue;
      Options smaller = best_.options;
      smaller.set(knob.knob, false);
      any |= keep(smaller, "without " + std::string(knob.name));
    }
    return any;
  }

  // Halves a number for as long as it helps, then counts down.
  template <class Number>
  bool less(Number Options::*number, Number least, const char* name) {
    bool any = false;
    for (Number step = (best_.options.*number - least + 1) / 2; step > 0;) {
      Options smaller = best_.options;
      const Number now = best_.options.*number;
      if (now < least + step) {
        step /= 2;
        continue;
      }
      smaller.*number = now - step;
      if (keep(smaller, std::to_string(smaller.*number) + " " + name)) {
        any = true;
      } else {
        step /= 2;
      }
    }
    return any;
  }

  void run() {
    // What was really used is where to start from.
    std::size_t operations = 0, faults = 0;
    for (const auto& [kind, count] : best_.operations) operations += count;
    for (const auto& [kind, count] : best_.faults) faults += count;
    best_.options.operations = std::min(best_.options.operations, operations);
    best_.options.faults = std::min(best_.options.faults, faults);
    for (bool better = true; better;) {
      better = without_knobs();
      better |= less(&Options::faults, std::size_t{0}, "faults");
      better |= less(&Options::operations, std::size_t{1}, "operations");
      better |= less(&Options::clients, std::size_t{0}, "library clients");
      better |= less(&Options::wire_clients, std::size_t{0}, "wire clients");
      if (best_.options.nodes > 3) better |= less(&Options::nodes, std::size_t{3}, "nodes");
    }
  }

  [[nodiscard]] const Report& best() const { return best_; }

 private:
  Report best_;
  const Told& told_;
};

}  // namespace

Report shrink(const Report& failing, const Told& told) {
  Shrinker shrinker(failing, told);
  shrinker.run();
  return shrinker.best();
}

}  // namespace quipu::sim
