// campaign.h: strikes one after the other, until the time is over.
//
//   calm ─▶ strike (sometimes two: a network's and a process's) ─▶ end ─▶ nurse ─▶ calm …
//
// Every kind comes once before any comes again. The seed decides the order and each strike. It
// does not decide how long the nodes take to recover, and so how many strikes there are.
#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "tests/chaos/nemesis.h"
#include "tests/chaos/recorder.h"

namespace quipu::chaos {

class Campaign {
 public:
  struct Options {
    std::vector<Nemesis> kinds;  // that can be done here
    std::uint64_t seed = 1;
    std::chrono::steady_clock::time_point until;
    std::function<bool()> interrupted;
    std::function<void(const std::string&)> say;
  };
  Campaign(Options options, Testbed& testbed, Recorder& recorder)
      : options_(std::move(options)),
        testbed_(testbed),
        recorder_(recorder),
        random_(options_.seed) {}

  // False: the nodes did not recover, or the run was interrupted.
  bool run();
  // Lets the load run, in peace or under a fault. False: interrupted.
  bool let_pass(std::chrono::milliseconds time) const;

 private:
  [[nodiscard]] const Nemesis& next();
  [[nodiscard]] const Nemesis* companion(const Nemesis& first);
  bool episode();

  Options options_;
  Testbed& testbed_;
  Recorder& recorder_;
  Random random_;
  std::vector<std::size_t> order_;  // of kinds; used up from the back
};

}  // namespace quipu::chaos
