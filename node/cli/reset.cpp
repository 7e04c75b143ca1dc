// quipu reset KEY
#include "node/cli/commands.h"
#include "node/cli/open_client.h"

namespace quipu::cli {

int run(const Environment& environment, const ResetCommand& command) {
  const ChangeOptions options{.ack = command.ack, .timeout = environment.timeout};
  return change(environment, "reset", command.key,
                [&](Counter counter) { return counter.reset(options); });
}

}  // namespace quipu::cli
