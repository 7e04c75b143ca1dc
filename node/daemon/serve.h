// serve.h: runs a node until it is told to stop, or fails.
#pragma once

#include <functional>

#include "node/daemon/stop_signals.h"
#include "node/settings.h"

namespace quipu {

// A stop signal stops it gracefully (stop_signals.h), once it has started.
// Returns the status to exit with; what went wrong is said on stderr in one line.
// `opened` may say something once the node runs.
[[nodiscard]] int serve(const Settings& settings, const StopSignals& signals,
                        const std::function<void(Node&)>& opened);

}  // namespace quipu
