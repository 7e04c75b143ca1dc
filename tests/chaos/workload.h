// workload.h: clients that add and read through all nodes, at a bounded rate, and
// write down each operation.
//
//   per client   one quipu::Client that prefers one node, and a thread that paces it
//   adds         to witness keys (4^i) and to plain counters, up and down, at every level
//   reads        strong, local and fresh, of the keys of late
//
// The sequence of each client's operations is its seed's; when they happen, and which
// of the shared keys is current then, is not.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "protocol/random.h"
#include "quipu/client.h"
#include "tests/chaos/recorder.h"

namespace quipu::chaos {

// The keys in use, shared by all clients.
class Keys {
 public:
  struct Next {
    std::string key;
    std::int64_t amount = 0;
  };
  // A witness's digits count up in the order of these calls.
  Next next_witness(Random& random);
  Next next_plain(Random& random);
  [[nodiscard]] std::string any(Random& random) const;

 private:
  static constexpr std::size_t kWitnesses = 4;  // at a time
  static constexpr std::size_t kPlain = 8;
  static constexpr std::size_t kAddsPerPlain = 200;
  static constexpr std::size_t kRecent = 40;

  struct Current {
    std::string key;
    std::size_t adds = 0;
  };
  Current& rotate(Current& current, std::string_view prefix, std::size_t most);

  mutable std::mutex mutex_;
  std::vector<Current> witnesses_{kWitnesses};
  std::vector<Current> plain_{kPlain};
  std::deque<std::string> recent_;
  std::size_t made_ = 0;
};

class Workload {
 public:
  struct Options {
    std::vector<std::string> nodes;  // client addresses
    std::uint64_t seed = 1;
    int operations_per_second = 600;  // all clients together
    std::chrono::milliseconds timeout{10'000};
    std::size_t in_flight = 96;  // per client; beyond, it waits
  };
  // Throws if a client finds no node. `recorder` must outlive it.
  Workload(Options options, Recorder& recorder);
  ~Workload();
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;

  // No more operations; returns when all have ended, each by its timeout at the latest.
  void stop();

 private:
  struct Worker;
  void run(Worker& worker);
  void act(Worker& worker);
  void add(Worker& worker);
  void read(Worker& worker);

  Options options_;
  Recorder& recorder_;
  Keys keys_;
  std::mutex adding_;  // a witness's digits are in the order of the history
  std::atomic<bool> stopping_ = false;
  std::vector<std::unique_ptr<Worker>> workers_;
};

// A client that prefers the node, and knows the others.
[[nodiscard]] std::unique_ptr<Client> connect_to(const std::vector<std::string>& nodes,
                                                 std::size_t preferred);

}  // namespace quipu::chaos
