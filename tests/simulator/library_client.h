// library_client.h: a program that uses Quipu's client library.
#pragma once

#include <functional>
#include <map>

#include "cluster/client/core.h"
#include "tests/simulator/client_host.h"
#include "tests/simulator/workload.h"

namespace quipu::sim {

class LibraryClient {
 public:
  LibraryClient(Timeline& time, Network& network, std::vector<SimNode*> nodes, HostId host,
                const ClusterConfig& config, Workload& workload, const Options& options,
                Random random);

  void start();
  // Begins the workload's next task, and goes on.
  void work();
  [[nodiscard]] std::size_t waiting() const { return calls_.size(); }
  // One more task, for a caller that wants its result.
  using Ended = std::function<void(const ClientAnswer&)>;
  void call(Task task, Ended ended);

 private:
  struct Call {
    Task task;
    Ended ended;
  };
  void perform(ClientEffects& effects);
  void complete(CallId id, const ClientAnswer& answer);
  void arm();

  Timeline& time_;
  const ClusterConfig& config_;
  Workload& workload_;
  const Options& options_;
  Random random_;
  ClientCore core_;
  ClientHost host_;
  std::map<CallId, Call> calls_;
  std::uint64_t next_call_ = 1;
  Instant armed_ = kNever;
};

}  // namespace quipu::sim
