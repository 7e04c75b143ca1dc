// nodes.h: nodes inside the test, on free loopback ports.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "quipu/node.h"

namespace quipu::test {

using Nodes = std::vector<std::unique_ptr<Node>>;

// Opens or fails the test. For several reactors it first raises the limit of open files.
[[nodiscard]] std::unique_ptr<Node> open_node(NodeOptions options);
// All of them, once they are ready.
[[nodiscard]] Nodes open_all(const std::vector<NodeOptions>& cluster);

// A cluster of one on `directory`, with a client port.
[[nodiscard]] NodeOptions alone(const std::string& directory);

// On loopback, and free a moment ago.
[[nodiscard]] std::vector<std::string> free_addresses(std::size_t count);
// `count` members n1, n2, …, whose data is below `directory`.
[[nodiscard]] std::vector<NodeOptions> cluster_of(std::size_t count, const std::string& directory);

}  // namespace quipu::test
