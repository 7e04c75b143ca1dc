// client.h: counting in a cluster from outside it.
//
//   auto client = quipu::Client::connect({.seeds = {"127.0.0.1:7400"}});
//   (*client)->counter("likes:42").add(1);
//
// Every add carries a token, so that the client retries by itself, through
// whichever node answers, and it counts once. What was sent to an executor that
// died waits for it until the timeout, and then answers in_doubt; new adds go
// elsewhere at once.
//
// A Client owns one thread. It connects to one node at a time: the first seed that
// answers, and back to it when it returns.
//
// Threads: all functions of a Client may be called from any thread, by several at once. The
// destructor is the exception: no other thread may still be in a call of this Client. (Its
// Counters may still be used, then and later.) Callbacks run on the client's own thread; counter.h
// says what they may do. A callback may destroy the Client.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "quipu/counters.h"

namespace quipu {

struct ClientOptions {
  // host:port of any members, one each or several with commas between them. The first
  // is preferred while it answers.
  std::vector<std::string> seeds{};
  std::chrono::milliseconds connect_timeout{5000};
};

// Its counters, and what else can be asked of the cluster, are in counters.h.
class QUIPU_EXPORT Client : public Counters {
 public:
  // Waits for the first node that answers. unavailable: no seed answered in time. invalid_argument:
  // no or malformed seeds.
  static Result<std::unique_ptr<Client>> connect(ClientOptions options);
  // Calls that are still waiting answer in_doubt or unavailable.
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

 private:
  class QUIPU_HIDDEN Impl;
  QUIPU_HIDDEN explicit Client(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace quipu
