// open_client.h: the client for the commands that need one.
#pragma once

#include <memory>

#include "node/cli/environment.h"
#include "quipu/client.h"

namespace quipu::cli {

// nullptr: no node answered, and that has been said.
[[nodiscard]] std::unique_ptr<Client> open_client(const Environment& environment);

void complain_unreachable(const std::string& why);

// The end of a command that changed `key`, or did not. Returns the exit code.
[[nodiscard]] int report_change(const Environment& environment, const std::string& key,
                                const Status& status);

}  // namespace quipu::cli
