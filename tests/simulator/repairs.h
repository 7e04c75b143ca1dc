// repairs.h: what a node reports as repaired is on its disk.
//
//   asker ─ pull ─▶ peer ─ pulled ─▶ asker ─ beat: repaired up to this epoch ─▶ peer
//
// The repairs that one side of a connection has begun and may yet report, as the messages
// show them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "protocol/message_codec.h"

namespace quipu::sim {

class Repairs {
 public:
  // The peer's newest epoch, as it says.
  void on_lost(std::uint64_t epoch) { lost_ = std::max(lost_, epoch); }
  void on_pull(const Pull& pull);
  void on_pulled(Pulled& pulled);
  using Holds = std::function<bool(const DeltaEntry&)>;
  // False: the asker reports a repair, and `holds` is false of something that it was told.
  [[nodiscard]] bool on_reported(std::uint64_t epoch, const Holds& holds);

 private:
  struct Repair {
    std::uint64_t first;  // the number of its first question
    std::uint64_t lost;   // the peer's newest epoch by then: it is of none above that
    // By question: a doubled one has two answers.
    std::map<std::uint64_t, std::vector<Delta>> told{};
  };

  std::uint64_t lost_ = 1, reported_ = 0;  // epochs, as far as they were said; a start loses all
  std::uint64_t first_ = 0;                // of the repair that was begun last
  std::deque<Repair> open_;
};

}  // namespace quipu::sim
