// client.h: a client of a Quipu cluster.
//
//   auto client = quipu::Client::connect({.seeds = {"127.0.0.1:7400"}});
//   (*client)->counter("likes:42").add(1);
//
// Every add carries a token. So the client retries by itself, through any node that answers, and
// the add counts once. If the node that executes an add has died, the add waits for it until the
// timeout, and then answers in_doubt. New adds go to another node at once.
//
// A Client owns one thread. It connects to one node at a time: the first seed that answers. It
// returns to a preferred seed when that answers again.
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

#include "quipu/client_tls.h"
#include "quipu/counters.h"
#include "quipu/credentials.h"

namespace quipu {

struct ClientOptions {
  // host:port of any members. An element may hold several, with commas between them. The
  // first seed is preferred while it answers.
  std::vector<std::string> seeds{};
  std::chrono::milliseconds connect_timeout{5000};
  // The user of this program, if the nodes have a users file. A call without the needed permission
  // ends with not_permitted.
  Credentials credentials{};
  // How connections are encrypted, if the nodes have a certificate.
  ClientTls tls{};
};

// counters.h has the calls that a Client shares with a Node. Every call is thread-safe, except the
// destructor: see the top of this file.
class QUIPU_EXPORT Client : public Counters {
 public:
  // Blocks until the first node answers. The caller owns the Client. Errors: unavailable (no seed
  // answered within connect_timeout), unauthenticated (the nodes refuse the credentials),
  // invalid_argument (no seeds, malformed ones, or files of `tls` that cannot be used).
  static Result<std::unique_ptr<Client>> connect(const ClientOptions& options);
  // Calls that still wait answer in_doubt or unavailable.
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

 private:
  class QUIPU_HIDDEN Impl;
  QUIPU_HIDDEN explicit Client(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace quipu
