// quipu add KEY [N]
#include "node/cli/commands.h"
#include "node/cli/open_client.h"

namespace quipu::cli {

int run(const Environment& environment, const AddCommand& command) {
  const AddOptions options{.ack = command.ack,
                           .timeout = environment.timeout,
                           .affinity = command.affinity,
                           .at = command.at};
  return change(environment, "add", command.key,
                [&](Counter counter) { return counter.add(command.amount, options); });
}

}  // namespace quipu::cli
