// serve.h: runs a node until a signal stops it, or it fails.
#pragma once

#include <functional>
#include <string>

#include "node/daemon/stop_signals.h"
#include "node/settings/settings.h"
#include "quipu/node.h"

namespace quipu {

// A stop signal stops it gracefully (stop_signals.h), once it has started. Returns the exit
// code. Reports an error on stderr in one line. `greet` returns the text for stderr once the
// node runs. Nothing here waits for stderr for longer than a second.
[[nodiscard]] int serve(const Settings& settings, const StopSignals& signals,
                        const std::function<std::string(Node&)>& greet);

}  // namespace quipu
