// aftermath.h: after healing, reads every key on every node until all agree, and lists what has
// ended.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "tests/chaos/history.h"
#include "tests/chaos/recorder.h"
#include "tests/chaos/workload.h"

namespace quipu::chaos {

struct Aftermath {
  std::vector<Read> reads;    // of each key, the last on each node, and a strong one
  std::vector<Read> earlier;  // keys that did not agree yet: the reason for the time
  std::size_t keys = 0;
  std::chrono::milliseconds took{};  // until all agreed
  bool agreed = false;
};

// A key agrees if the local reads on all nodes are complete and equal to a strong one.
// Gives up after `patience`, at least two rounds; then the reads show what differs.
[[nodiscard]] Aftermath read_everywhere(const Nodes& nodes, const std::vector<std::string>& keys,
                                        const Recorder& recorder, std::chrono::seconds patience);

// Until no node lists a counter with that prefix. Returns what the lists have, or why they cannot
// be made, after `patience`. Empty: nothing is left.
[[nodiscard]] std::string await_empty_lists(const Nodes& nodes, std::string_view prefix,
                                            std::chrono::seconds patience);

}  // namespace quipu::chaos
