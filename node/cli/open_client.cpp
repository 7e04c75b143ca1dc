#include "node/cli/open_client.h"

#include <nlohmann/json.hpp>

#include "node/api/call_forms.h"
#include "node/cli/output.h"

namespace quipu::cli {

OpenClient::OpenClient(const Environment& environment, ClientSettings settings,
                       ClientJournal* journal) {
  settings.seeds = environment.nodes;
  settings.credentials = environment.credentials;
  thread_ = std::make_shared<ClientThread>(settings, environment.tls, journal);
  thread_->start();
}

OpenClient::~OpenClient() { thread_->close(); }

Result<std::unique_ptr<OpenClient>> open_client(const Environment& environment) {
  auto client = std::make_unique<OpenClient>(environment);
  const auto reach = client->thread().wait_usable(environment.timeout);
  if (reach == ClientThread::Reach::usable) return client;
  Status why = unusable(client->thread(), reach, environment.timeout);
  complain(why.detail());
  return why;
}

Status unusable(const ClientThread& client, ClientThread::Reach reach,
                std::chrono::milliseconds timeout) {
  const Status why = client.trouble();
  if (why.code() == Code::unauthenticated) return unreachable(why);
  if (!client.connected() && reach == ClientThread::Reach::trying)
    return {why.code(),
            why.detail() + " (gave up after " + for_people(timeout) + ": see --timeout)"};
  if (!client.connected()) return unreachable(why);
  return {why.code(),
          why.detail() + " (all members must be up together once: start those that are missing)"};
}

Status wait_usable(ClientThread& client, std::chrono::milliseconds timeout,
                   Interrupts& interrupts) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kPause{50};
  const auto give_up = Clock::now() + timeout;
  auto reach = ClientThread::Reach::trying;
  while (reach == ClientThread::Reach::trying && interrupts.count() == 0 && Clock::now() < give_up)
    reach = client.wait_usable(kPause);
  if (interrupts.count() > 0) return {Code::unavailable, "interrupted; nothing was done"};
  return reach == ClientThread::Reach::usable ? Status() : unusable(client, reach, timeout);
}

Status unreachable(const Status& why) {
  if (why.code() == Code::unauthenticated)
    return {why.code(), why.detail() + " (check --user and --secret-file)"};
  // A node did answer, if the trouble is its certificate or ours.
  if (why.detail().find("certificate") != std::string::npos ||
      why.detail().find("TLS") != std::string::npos)
    return {why.code(), why.detail() + " (check --ca, --certificate and the name in --node)"};
  return {why.code(), why.detail() + " (start quipud there, or name another node with --node)"};
}

NamespaceReply ask(const OpenClient& client, NamespaceQuestion question) {
  return begin_with_promise<NamespaceReply>([&](NamespaceCall::Done done) {
           client.thread().begin(NamespaceCall{std::move(question), std::move(done)});
         })
      .get();
}

int change(const Environment& environment, const ChangeOfOne& change,
           const std::function<Status(const OpenClient&)>& how) {
  const auto client = open_client(environment);
  const Status status = client.ok() ? how(**client) : client.status();
  if (environment.json) {
    nlohmann::json json = document(change.command, status);
    put_key(json, change.key);
    print_json(json);
  }
  // The message may name the key's namespace.
  if (client.ok() && !status.ok())
    complain(printable(change.key) + ": " + printable(message_of(status, change.other_kind)));
  return exit_code(status);
}

}  // namespace quipu::cli
