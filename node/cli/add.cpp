// quipu add KEY [N]
#include "node/cli/commands.h"
#include "node/cli/open_client.h"
#include "node/cli/output.h"

namespace quipu::cli {

int run(const Environment& environment, const AddCommand& command) {
  const AddOptions options{.ack = command.ack,
                           .timeout = environment.timeout,
                           .affinity = command.affinity,
                           .at = command.at};
  return change(environment, {.command = "add", .key = command.key, .other_kind = kAddToOtherKinds},
                [&](const OpenClient& client) {
                  return client.counter(command.key).add(command.amount, options);
                });
}

}  // namespace quipu::cli
