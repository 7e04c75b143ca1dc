#include "node/admin/admin_connections.h"

#include <algorithm>
#include <utility>

namespace quipu {

std::size_t AdminConnections::count(const std::string& from) const {
  return static_cast<std::size_t>(std::ranges::count(connections_, from, &Connection::from));
}

std::optional<int> AdminConnections::opened(Instant now, int descriptor, std::string from) {
  const bool many = count(from) >= kMostOfAnAddress;
  connections_.push_back({descriptor, std::move(from), now});
  if (!many && connections_.size() <= kMost) return {};
  // Among addresses that have equally many, that of the oldest connection.
  const auto oldest = std::ranges::max_element(
      connections_, {}, [this](const Connection& one) { return count(one.from); });
  const int leaves = oldest->descriptor;
  connections_.erase(oldest);
  return leaves;
}

void AdminConnections::closed(int descriptor) {
  std::erase_if(connections_,
                [descriptor](const Connection& one) { return one.descriptor == descriptor; });
}

std::vector<int> AdminConnections::take_old(Instant now) {
  std::vector<int> old;
  while (!connections_.empty() && now - connections_.front().since > kMostAge) {
    old.push_back(connections_.front().descriptor);
    connections_.pop_front();
  }
  return old;
}

}  // namespace quipu
