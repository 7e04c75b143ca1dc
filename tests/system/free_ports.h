// free_ports.h: ports of loopback that nobody listens on.
#pragma once

#include <cstddef>
#include <vector>

namespace quipu::test {

// Free a moment ago; no two are the same.
[[nodiscard]] std::vector<int> free_ports(std::size_t count);

}  // namespace quipu::test
