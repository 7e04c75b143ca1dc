// free_ports.h: ports of loopback for servers that start later, and again.
//
// Not those that the system gives to connections: any connection of this machine could have one in
// the meantime.
#pragma once

#include <cstddef>
#include <vector>

namespace quipu::test {

// No server has them now, and no other process of these tests gets them while this one lives. Throws
// std::runtime_error if there are none.
[[nodiscard]] std::vector<int> free_ports(std::size_t count);

}  // namespace quipu::test
