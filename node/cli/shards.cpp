// quipu shards KEY N
#include "node/cli/commands.h"
#include "node/cli/open_client.h"

namespace quipu::cli {

int run(const Environment& environment, const ShardsCommand& command) {
  const ChangeOptions options{.timeout = environment.timeout};
  return change(environment, {.command = "shards", .key = command.key},
                [&](const OpenClient& client) {
                  return client.counter(command.key).raise_shards(command.count, options);
                });
}

}  // namespace quipu::cli
