#include "node/cli/open_client.h"

#include <nlohmann/json.hpp>

#include "node/cli/output.h"

namespace quipu::cli {

std::unique_ptr<Client> open_client(const Environment& environment) {
  auto client =
      Client::connect({.seeds = environment.nodes, .connect_timeout = environment.timeout});
  if (client.ok()) return std::move(*client);
  complain_unreachable(client.status().detail());
  return nullptr;
}

void complain_unreachable(const std::string& why) {
  complain(why + " (start quipud there, or name another node with --node)");
}

int report_change(const Environment& environment, const std::string& key, const Status& status) {
  if (environment.json) {
    nlohmann::json json = to_json(status);
    put_key(json, key);
    print_json(json);
  }
  if (status.ok()) return kOk;
  complain(printable(key) + ": " + status.message());
  return status.outcome() == Outcome::unknown ? kUnknown : kFailed;
}

}  // namespace quipu::cli
