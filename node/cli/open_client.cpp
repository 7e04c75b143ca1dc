#include "node/cli/open_client.h"

#include <nlohmann/json.hpp>

#include "node/cli/output.h"

namespace quipu::cli {

OpenClient::OpenClient(ClientSettings settings)
    : thread_(std::make_shared<ClientThread>(std::move(settings))) {
  thread_->start();
}

OpenClient::~OpenClient() { thread_->close(); }

std::unique_ptr<OpenClient> open_client(const Environment& environment) {
  ClientSettings settings;
  settings.seeds = environment.nodes;
  auto client = std::make_unique<OpenClient>(std::move(settings));
  if (client->thread().wait_usable(environment.timeout) == ClientThread::Reach::usable)
    return client;
  complain_unusable(client->thread());
  return nullptr;
}

void complain_unusable(const ClientThread& client, const std::string& more) {
  const std::string why = client.trouble() + more;
  if (!client.connected()) return complain_unreachable(why);
  complain(why + " (all members must be up together once: start those that are missing)");
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
