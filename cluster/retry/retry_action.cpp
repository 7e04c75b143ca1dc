#include "cluster/retry/retry_action.h"

#include "protocol/check.h"

namespace quipu {

RetryAction retry_action(Code code, std::size_t sends) {
  QUIPU_CHECK(sends > 0, "an answer is to something that was sent", code);
  const bool once = sends <= 1;
  switch (code) {
    case Code::ok:
    case Code::invalid_argument:
    case Code::out_of_range:
    case Code::token_reused:
    case Code::wrong_type:           // noted with the token
    case Code::undefined_namespace:  // noted with the token
      return RetryAction::complete;
    case Code::token_expired:
    case Code::executor_gone:
      return once ? RetryAction::rebind : RetryAction::complete;
    case Code::in_doubt:
    case Code::storage_failed:
    case Code::protocol_error:
      return RetryAction::retry;
    default:
      break;
  }
  // This sending was not applied, and a retry would be refused too. An earlier sending may have
  // been applied.
  if (code == Code::unauthenticated || code == Code::not_permitted)
    return once ? RetryAction::complete : RetryAction::retry;
  // The rest was refused for now, or has a code that is newer than this build.
  const bool refused = describe(code).outcome == Outcome::not_applied;
  return once && refused ? RetryAction::rebind : RetryAction::retry;
}

}  // namespace quipu
