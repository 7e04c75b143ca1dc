// connection_limits.h: how many may be connected to a node's two ports.
//
//   descriptors of the process, shared by its reactors
//   |- kReservedDescriptors and dialed peers, each -|- inbound peers, 1/4 at most -|- clients -|
//   |- kMaxStatusCalls to each member, once         -|
//
// LevelDB opens its next log in the middle of an add, and a node that cannot write
// it has failed. So whoever connects is bounded by what the process may open, less a
// reserve that no stranger can use up; and clients cannot use up the peers' part.
#pragma once

#include <cstddef>

#include "storage/store.h"

namespace quipu {

inline constexpr std::size_t kMaxInboundLinks = 1024;
// For the connections that are being turned away, or are in the mail to a reactor that will
// turn them away, and what else the process has open, besides the store.
inline constexpr std::size_t kOtherDescriptors = 128;
inline constexpr std::size_t kReservedDescriptors = kMaxStoreFiles + kOtherDescriptors;
inline constexpr std::size_t kMaxTurnedAway = 32;  // at once, of the client port
static_assert(2 * kMaxTurnedAway <= kOtherDescriptors / 2);

struct ConnectionLimits {
  std::size_t clients = 0;
  std::size_t inbound_peers = 0;
};

// Of each of a node's reactors, for a process that may have `descriptors` open, and wants
// at most so many clients; together they may be a few more. `members` are the cluster's,
// each reactor one.
[[nodiscard]] ConnectionLimits connection_limits(std::size_t descriptors, std::size_t clients,
                                                 std::size_t reactors, std::size_t members);

// What the process may have open now: RLIMIT_NOFILE.
[[nodiscard]] std::size_t descriptor_limit();

}  // namespace quipu
