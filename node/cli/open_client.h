// open_client.h: the client for the commands that need one.
//
// The library rides out a node that restarts. Somebody at a terminal wants to know at
// once that no node is there, so a command gives up as soon as every address has failed.
#pragma once

#include <memory>
#include <string>

#include "node/cli/environment.h"
#include "node/client.h"
#include "quipu/counter.h"

namespace quipu::cli {

// A client thread that ends with its owner.
class OpenClient {
 public:
  explicit OpenClient(ClientSettings settings);
  ~OpenClient();
  OpenClient(const OpenClient&) = delete;
  OpenClient& operator=(const OpenClient&) = delete;

  [[nodiscard]] Counter counter(std::string key) const {
    return CounterBackend::make_counter(thread_, std::move(key));
  }
  [[nodiscard]] ClientThread& thread() const { return *thread_; }

 private:
  std::shared_ptr<ClientThread> thread_;
};

// nullptr: no node of a founded cluster answers, and that has been said.
[[nodiscard]] std::unique_ptr<OpenClient> open_client(const Environment& environment);

// Of a client that is not usable.
void complain_unusable(const ClientThread& client, const std::string& more = {});
void complain_unreachable(const std::string& why);

// The end of a command that changed `key`, or did not. Returns the exit code.
[[nodiscard]] int report_change(const Environment& environment, const std::string& key,
                                const Status& status);

}  // namespace quipu::cli
