// serve.h: runs a node until it is told to stop, or fails.
#pragma once

#include <functional>

#include "node/settings.h"

namespace quipu {

// SIGINT and SIGTERM stop it gracefully; a second one ends the process at once.
// Returns the status to exit with; what went wrong is said on stderr in one line.
// `opened` may say something once the node runs.
[[nodiscard]] int serve(const Settings& settings, const std::function<void(Node&)>& opened);

}  // namespace quipu
