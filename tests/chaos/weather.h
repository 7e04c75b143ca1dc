// weather.h: the effect of our proxies on the bytes that pass them. The nemesis sets it, and the
// proxies' threads read it for every piece of data.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

namespace quipu::chaos {

inline constexpr std::size_t kNodes = 5;
// Where the clients are, beside the nodes 0 to 4.
inline constexpr std::size_t kClients = kNodes;
inline constexpr std::size_t kPlaces = kNodes + 1;

struct Weather {
  std::atomic<int> delay_ms = 0;     // of each piece of data, plus up to as much again
  std::atomic<int> lost_in_100 = 0;  // answers after which a connection is dead
  // cut[from][to]: nothing gets through, in that direction.
  std::array<std::array<std::atomic<bool>, kPlaces>, kPlaces> cut{};
};

}  // namespace quipu::chaos
