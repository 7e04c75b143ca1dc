// retry_action.h: the meaning of an answer to a change, by how often the change was sent. The
// exactly-once promise of clients and forwarders rests on this table.
//
//                                   sent once            sent more than once
//   ok                              complete             complete
//   refused for good                complete             complete   (noted with the token)
//   refused for now                 rebind               retry      (an older copy may yet arrive)
//   token_expired, executor_gone    rebind               complete   (cannot be found out any more)
//   in_doubt, storage_failed        retry                retry
//
// complete   settle the number, answer the caller
// rebind     it certainly was not applied: settle the number, start again with a new token
// retry      send the same token again, after a while, until the deadline
#pragma once

#include <cstddef>
#include <cstdint>

#include "quipu/status.h"

namespace quipu {

enum class RetryAction : std::uint8_t { complete, rebind, retry };

[[nodiscard]] RetryAction retry_action(Code code, std::size_t sends);

}  // namespace quipu
