// serve.h: runs a node from its start to its end, as lifecycle.h decides.
//
//   this thread ── looks at signals, node and clock; does the steps
//     ├── opens the node, then waits for its failure    a thread: both may block for long
//     └── closes it                                     another
//
// So signals and the service manager are served while a store is recovered, or the node closes.
#pragma once

#include <functional>
#include <string>

#include "node/daemon/signals.h"
#include "node/settings/settings.h"
#include "quipu/node.h"

namespace quipu {

struct Serving {
  Settings settings;
  // Reads the settings again, for a reload. Empty: a reload does nothing.
  std::function<LoadedSettings()> read_again{};
  // The text for stderr once the node runs. Empty: none.
  std::function<std::string(Node&)> greet{};
};

// Returns the exit code. Reports an error on stderr in one line. Nothing here waits for stderr
// for longer than a second.
[[nodiscard]] int serve(Serving serving, Signals& signals);

}  // namespace quipu
