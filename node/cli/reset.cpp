// quipu reset KEY
#include "node/cli/commands.h"
#include "node/cli/open_client.h"

namespace quipu::cli {

int run(const Environment& environment, const ResetCommand& command) {
  const auto client = open_client(environment);
  if (!client) return kFailed;
  const AddOptions options{.ack = command.ack, .timeout = environment.timeout};
  return report_change(environment, command.key, client->counter(command.key).reset(options));
}

}  // namespace quipu::cli
