// quipu frequency add KEY ITEM [N] and begin KEY, quipu top add KEY ITEM [N] and begin KEY
#include "node/cli/arguments.h"
#include "node/cli/commands.h"
#include "node/cli/open_client.h"
#include "node/cli/output.h"

namespace quipu::cli {
namespace {

// make(client, options) makes the change.
template <class ItemCommand, class Make>
int run_change(const Environment& environment, const ItemCommand& command, Make make) {
  const ElementOptions options{.ack = command.ack, .timeout = environment.timeout};
  return change(environment,
                {.command = name_of(command), .key = command.key, .other_kind = kAddToOtherKinds},
                [&](const OpenClient& client) { return make(client, options); });
}

}  // namespace

int run(const Environment& environment, const ItemAddCommand& command) {
  return run_change(environment, command, [&](const OpenClient& client, auto options) {
    return command.kind == Kind::top
               ? client.top(command.key).add(command.item, command.count, options)
               : client.frequency(command.key).add(command.item, command.count, options);
  });
}

int run(const Environment& environment, const ItemBeginCommand& command) {
  return run_change(environment, command, [&](const OpenClient& client, auto options) {
    return command.kind == Kind::top ? client.top(command.key).begin(command.length, options)
                                     : client.frequency(command.key).begin(command.size, options);
  });
}

}  // namespace quipu::cli
