// client.h: runs a ClientCore on a thread with sockets and a clock. quipu::Client wraps this.
// The command line uses it directly.
//
//   any thread ─call─▶ queue ─one wake-up, all at once─▶ core ─▶ effects ─▶ sockets
//                                                        core ─▶ completions ─▶ done
//
// Counters hold it, and may outlive the Client: once closed, it answers `unavailable`. `done`
// runs on the client's thread, or on the caller's if the call is refused at once. No lock is
// held then.
#pragma once

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "cluster/client/core.h"
#include "node/api/client_journal.h"
#include "node/base/clock.h"
#include "node/cores/counter_backend.h"
#include "node/net/name_lookup.h"
#include "node/remote/client_connection.h"
#include "node/remote/cluster_survey.h"
#include "quipu/client.h"

namespace quipu {

class ClientThread final : public CounterBackend {
 public:
  // `tls`: null for plain text. With a journal, which must outlive it, noted entries are durable
  // before anything is sent. REQUIRES: the settings' seeds are valid addresses.
  ClientThread(const ClientSettings& settings, ClientConnection::Tls tls,
               ClientJournal* journal = nullptr);
  ~ClientThread() override;

  // Call it once, first.
  void start();
  // False: no node answered in time; trouble() says why.
  [[nodiscard]] bool wait_connected(std::chrono::milliseconds timeout);
  enum class Reach : std::uint8_t { usable, hopeless, trying };
  // For a caller that would rather fail than wait for a node to start. `hopeless`: every
  // address was tried, and none has a founded cluster; trouble() says why.
  [[nodiscard]] Reach wait_usable(std::chrono::milliseconds timeout);
  [[nodiscard]] bool connected() const;

  // ---- any thread ----
  using CounterBackend::begin;
  void begin(std::span<CounterCall> calls) override;
  [[nodiscard]] bool on_own_thread() const override;
  [[nodiscard]] std::chrono::milliseconds wait_for_room(std::chrono::milliseconds timeout,
                                                        std::size_t calls) override;

  // Ends all calls, and the thread. Do not call it from two threads at once.
  void close();

  // ---- the client's thread, or once closed ----
  [[nodiscard]] const ClientCore& core() const { return core_; }

  [[nodiscard]] Status trouble() const;

 private:
  void run();
  [[nodiscard]] Status admit(std::size_t calls = 1) const;  // REQUIRES: mutex_ is held
  void drain();
  void give(CounterCall&& given);
  void change(Instant now, CallId id, CounterChange&& change);
  void finish();
  // False: nothing may be sent.
  [[nodiscard]] bool keep(const ClientEffects& effects);
  void dial(const ClientEffects::Connect& connect);
  void complete(ClientEffects::Completion completion);
  void ask_members(CallId id, StatusCall call, const ConfigReply& config);
  void leave();  // a call has ended
  void arm();
  void stop();
  void tell_state();

  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  Timer timer_;
  NameLookup names_;
  std::thread thread_;
  std::atomic<std::thread::id> thread_id_;

  // The client's thread only.
  ClientJournal* const journal_;  // null: none
  ClientCore core_;
  ClientEffects effects_;
  std::map<ConnectionId, std::shared_ptr<ClientConnection>> connections_;
  std::unordered_map<std::uint64_t, CounterCall> calls_;  // never iterated
  std::vector<CounterCall> spare_;                        // memory for the queue
  struct Survey {
    StatusCall call;
    std::shared_ptr<ClusterSurvey> survey;
  };
  std::map<CallId, Survey> surveys_;
  std::uint64_t next_call_ = 1;
  Instant armed_ = kNever;
  bool stopped_ = false;

  const std::vector<std::string> seeds_;
  const Credentials credentials_;
  const ClientConnection::Tls tls_;
  const std::size_t room_for_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<CounterCall> queued_;
  std::size_t in_flight_ = 0;  // queued and not completed
  std::size_t wanting_ = 0;    // threads that wait for room
  bool woken_ = false;         // drain() is on its way
  bool closed_ = false;
  bool connected_ = false;
  bool usable_ = false;
  bool exhausted_ = false;
  bool rejected_ = false;  // the nodes refuse the credentials
  std::string trouble_;    // empty while usable
};

// The addresses in `seeds`, each of which may be a list with commas. invalid_argument: the
// text names the first invalid one.
[[nodiscard]] Result<std::vector<std::string>> sound_seeds(const std::vector<std::string>& seeds);

}  // namespace quipu
