// workload.h: clients that add and read through all nodes, at a bounded rate, and
// write down each operation.
//
//   per client   one quipu::Client that prefers one node, and a thread that paces it
//   RESP         two more Redis clients, one with plain INCRs only. Each pipelines to one node,
//                and goes to the next when its connection breaks: an add without its reply is
//                in doubt
//   adds         to witness keys (4^i) and to plain counters, up and down, at every level. Some
//                witness keys have a deadline, after the run; and some counters end soon
//   reads        strong, local and fresh, of recent keys
//
// The seed decides the sequence of each client's operations. It does not decide when they
// happen, and which of the shared keys is current then.
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
#include "tests/system/resp_pipeline.h"

namespace quipu::chaos {

// The keys in use, shared by all clients.
class Keys {
 public:
  struct Next {
    std::string key;
    std::int64_t amount = 0;
    bool ends = false;  // an add that creates it gives it a deadline, after the run
  };
  // A witness's digits count up in the order of these calls.
  Next next_witness(Random& random);
  Next next_plain(Random& random);
  // Used by the Redis clients alone, and always 1: so each missing acknowledged add is seen.
  Next next_counted();
  [[nodiscard]] std::string any(Random& random) const;

 private:
  static constexpr std::size_t kWitnesses = 4;  // at a time
  static constexpr std::size_t kPlain = 8;
  static constexpr std::size_t kAddsPerPlain = 200;
  static constexpr std::size_t kAddsPerCounted = 2000;
  static constexpr std::size_t kRecent = 40;

  struct Current {
    std::string key;
    std::size_t adds = 0;
    bool ends = false;
  };
  Current& rotate(Current& current, std::string_view prefix, std::size_t most);

  mutable std::mutex mutex_;
  std::vector<Current> witnesses_{kWitnesses};
  std::vector<Current> plain_{kPlain};
  Current counted_;
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
    // For each Redis client; one or two adds each. They keep a disk busy, so a killed node usually
    // has records that are not durable yet.
    int pipelines_per_second = 400;
    std::chrono::milliseconds life{};  // of counters that end after the run
  };
  // Throws if a client finds no node. `recorder` must outlive it.
  Workload(Options options, Recorder& recorder);
  ~Workload();
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;

  // Starts no more operations. Returns when all have ended, each by its timeout at the latest.
  void stop();
  // How many adds made a counter that ends soon.
  [[nodiscard]] std::size_t brief() const { return brief_; }

 private:
  struct Worker;
  struct RedisWorker;
  void run(Worker& worker);
  void run(RedisWorker& worker);
  void pipeline(RedisWorker& worker);
  struct Begun {
    std::size_t number;  // the recorder's
    Keys::Next next;
  };
  [[nodiscard]] Begun begin_add(Random& random, Add add);
  [[nodiscard]] Begun begin(Keys::Next next, Add add);
  void act(Worker& worker);
  void add(Worker& worker);
  void add_briefly(Worker& worker);
  void read(Worker& worker);

  Options options_;
  Recorder& recorder_;
  Keys keys_;
  std::mutex adding_;  // a witness's digits are in the order of the history
  std::atomic<bool> stopping_ = false;
  std::atomic<std::size_t> brief_ = 0, named_briefly_ = 0;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::unique_ptr<RedisWorker>> redis_;
};

// Counters that end soon have it. They are not in the history, since no client knows their end.
inline constexpr std::string_view kBriefPrefix = "brief:";

// A client that prefers the node, and knows the others.
[[nodiscard]] std::unique_ptr<Client> connect_to(const std::vector<std::string>& nodes,
                                                 std::size_t preferred);

}  // namespace quipu::chaos
