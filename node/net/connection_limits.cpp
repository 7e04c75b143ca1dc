#include "node/net/connection_limits.h"

#include <sys/resource.h>

#include <algorithm>

#include "quipu/counters.h"

namespace quipu {

ConnectionLimits connection_limits(std::size_t descriptors, std::size_t clients,
                                   std::size_t reactors, std::size_t members) {
  const std::size_t reserved = reactors * (kReservedDescriptors + members - 1) +
                               kMaxStatusCalls * (members - 1) + kAdminDescriptors;
  const std::size_t available = (descriptors - std::min(descriptors, reserved)) / reactors;
  const std::size_t peers = std::min(kMaxInboundLinks, available / 4);
  const std::size_t wanted = (clients + reactors - 1) / reactors;
  return {.clients = std::min(wanted, available - peers), .inbound_peers = peers};
}

std::size_t descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  return limit.rlim_cur;  // RLIM_INFINITY is the greatest number
}

}  // namespace quipu
