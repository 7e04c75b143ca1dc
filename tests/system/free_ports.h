// free_ports.h: free ports of loopback.
#pragma once

#include <cstddef>
#include <vector>

namespace quipu::test {

// Free a moment ago; no two are equal.
[[nodiscard]] std::vector<int> free_ports(std::size_t count);

}  // namespace quipu::test
