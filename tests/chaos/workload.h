// workload.h: clients that add and read through all nodes, at a bounded rate, and
// write down each operation.
//
//   per client   one quipu::Client that prefers one node, and a thread that paces it
//   RESP         two more Redis clients, one with plain INCRs only. Each pipelines to one node,
//                and goes to the next when its connection breaks: an add without its reply is
//                in doubt
//   adds         to witness keys (4^i) and to plain counters, up and down, at every level. Some
//                witness keys have a deadline, after the run; and some counters end soon
//                A part of all is to counters of other kinds than the sum
//   reads        strong, local and fresh, of recent keys
//
// The seed decides the sequence of each client's operations. It does not decide when they
// happen, and which of the shared keys is current then.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "protocol/random.h"
#include "quipu/client.h"
#include "tests/chaos/keys.h"
#include "tests/chaos/recorder.h"
#include "tests/system/resp_pipeline.h"

namespace quipu::chaos {

// How clients reach the nodes.
struct Nodes {
  std::vector<std::string> addresses;
  ClientTls tls{};  // of clients of the library
};

class Workload {
 public:
  struct Options {
    Nodes nodes;
    std::uint64_t seed = 1;
    int operations_per_second = 600;  // all clients together
    std::chrono::milliseconds timeout{10'000};
    std::size_t in_flight = 96;  // per client; beyond, it waits
    // For each Redis client; one or two adds each. They keep a disk busy, so a killed node usually
    // has records that are not durable yet.
    int pipelines_per_second = 400;
    std::chrono::milliseconds life{};  // of counters that end after the run
    // How many of the adds and reads (not INCRs) go to other kinds. Enough must remain for the
    // checks of sums.
    unsigned percent_of_other_kinds = 15;
  };
  // Throws if a client finds no node, or no elements that can be counted exactly. `recorder` must
  // outlive it.
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
  enum class Sort { witness, plain, counted, of_other_kind };
  [[nodiscard]] Sort draw_sort(Random& random) const;
  [[nodiscard]] bool draw_other_kind(Random& random) const;
  [[nodiscard]] Begun begin(Sort sort, Random& random, Add add);
  [[nodiscard]] Keys::Next next(Sort sort, Random& random);
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
[[nodiscard]] std::unique_ptr<Client> connect_to(const Nodes& nodes, std::size_t preferred);

}  // namespace quipu::chaos
