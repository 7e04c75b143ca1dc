#include "node/connection_limits.h"

#include <sys/resource.h>

#include <algorithm>

namespace quipu {

ConnectionLimits connection_limits(std::size_t descriptors, std::size_t clients) {
  const std::size_t available = descriptors - std::min(descriptors, kReservedDescriptors);
  const std::size_t peers = std::min(kMaxInboundLinks, available / 4);
  return {.clients = std::min(clients, available - peers), .inbound_peers = peers};
}

std::size_t descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  return limit.rlim_cur;  // RLIM_INFINITY is the greatest number
}

}  // namespace quipu
