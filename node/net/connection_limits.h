// connection_limits.h: how many connections a node's two ports accept.
//
//   descriptors of the process, shared by its reactors
//   |- kReservedDescriptors and dialed peers, each -|- inbound peers, 1/4 at most -|- clients -|
//   |- kMaxStatusCalls to each member, and          -|
//   |  kAdminDescriptors, once                      -|
//
// LevelDB opens its next log in the middle of an add, and a node that cannot write it has
// failed. So connections are limited to the descriptors of the process, less a reserve that
// no stranger can use up. And clients cannot use up the peers' part.
#pragma once

#include <cstddef>

#include "storage/store.h"

namespace quipu {

inline constexpr std::size_t kMaxInboundLinks = 1024;
// For rejected connections, also those in the mail to a reactor that will reject them, and
// for other open files of the process, besides the store.
inline constexpr std::size_t kOtherDescriptors = 128;
inline constexpr std::size_t kReservedDescriptors = kMaxStoreFiles + kOtherDescriptors;
// Once for a process: quipud's admin port with its 64 connections, and a server or two.
inline constexpr std::size_t kAdminDescriptors = 80;
inline constexpr std::size_t kMaxRejected = 32;  // at one time, on the client port
static_assert(2 * kMaxRejected <= kOtherDescriptors / 2);

struct ConnectionLimits {
  std::size_t clients = 0;
  std::size_t inbound_peers = 0;
};

// The limits of each reactor of a node, for a process that may have `descriptors` open and
// wants at most this many clients. Together they may be a few more. `members` are the
// cluster's; each reactor is one.
[[nodiscard]] ConnectionLimits connection_limits(std::size_t descriptors, std::size_t clients,
                                                 std::size_t reactors, std::size_t members);

// How many files the process may have open now: RLIMIT_NOFILE.
[[nodiscard]] std::size_t descriptor_limit();

}  // namespace quipu
