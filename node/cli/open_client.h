// open_client.h: the client of the commands that need one.
//
// The library waits for a node that restarts. A person at a terminal wants to know at once that
// there is no node, so a command gives up as soon as every address has failed.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "node/api/client.h"
#include "node/cli/environment.h"
#include "node/cli/interrupts.h"
#include "quipu/counter.h"
#include "quipu/distinct.h"

namespace quipu::cli {

// A client thread that ends with its owner.
class OpenClient {
 public:
  // `environment` says where the nodes are and how to reach them. `journal`: as for ClientThread;
  // null: none.
  explicit OpenClient(const Environment& environment, ClientSettings settings = {},
                      ClientJournal* journal = nullptr);
  ~OpenClient();
  OpenClient(const OpenClient&) = delete;
  OpenClient& operator=(const OpenClient&) = delete;

  [[nodiscard]] Counter counter(std::string key) const {
    return CounterBackend::make<Counter>(thread_, std::move(key));
  }
  [[nodiscard]] Distinct distinct(std::string key) const {
    return CounterBackend::make<Distinct>(thread_, std::move(key));
  }
  [[nodiscard]] Frequency frequency(std::string key) const {
    return CounterBackend::make<Frequency>(thread_, std::move(key));
  }
  [[nodiscard]] Top top(std::string key) const {
    return CounterBackend::make<Top>(thread_, std::move(key));
  }
  [[nodiscard]] ClientThread& thread() const { return *thread_; }
  [[nodiscard]] const std::shared_ptr<ClientThread>& shared_thread() const { return thread_; }

 private:
  std::shared_ptr<ClientThread> thread_;
};

// Not ok: no node of a founded cluster answers. The detail was already printed.
[[nodiscard]] Result<std::unique_ptr<OpenClient>> open_client(const Environment& environment);

// Why a client is not usable, and what to do. `reach`: the answer of wait_usable.
[[nodiscard]] Status unusable(const ClientThread& client, ClientThread::Reach reach,
                              std::chrono::milliseconds timeout);
// As open_client() waits, but ends early at a Ctrl-C. Prints nothing.
[[nodiscard]] Status wait_usable(ClientThread& client, std::chrono::milliseconds timeout,
                                 Interrupts& interrupts);
// No node answers, because of `why`.
[[nodiscard]] Status unreachable(const Status& why);

// Asks about namespaces, and waits.
[[nodiscard]] NamespaceReply ask(const OpenClient& client, NamespaceQuestion question);

// Runs a command that changes one counter. Returns the exit code. `other_kind`: what to do if the
// key has a counter of another kind.
struct ChangeOfOne {
  std::string_view command;
  const std::string& key;
  std::string_view other_kind{};
};
[[nodiscard]] int change(const Environment& environment, const ChangeOfOne& change,
                         const std::function<Status(const OpenClient&)>& how);

}  // namespace quipu::cli
