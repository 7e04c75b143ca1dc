// quipu add KEY [N]
#include "node/cli/commands.h"
#include "node/cli/open_client.h"

namespace quipu::cli {

int run(const Environment& environment, const AddCommand& command) {
  const auto client = open_client(environment);
  if (!client) return kFailed;
  const AddOptions options{
      .ack = command.ack, .timeout = environment.timeout, .affinity = command.affinity};
  const Status status = client->counter(command.key).add(command.amount, options);
  return report_change(environment, command.key, status);
}

}  // namespace quipu::cli
