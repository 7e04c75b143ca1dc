// local_calls.h: calls of the program that embeds this node.
//
//   any thread ─begin──▶ queue ─one wake-up, all at once─▶ core ─▶ reply ─▶ done
//                                                   in doubt at its deadline ─┘
//
// The Counters of a Node hold this object, and may outlive the Node: it uses the reactor only
// until it is closed. `done` runs on the reactor's thread, or on the caller's if the call is
// refused at once. No lock is held then.
#pragma once

#include <asio/io_context.hpp>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "node/base/clock.h"
#include "node/cores/core_port.h"
#include "node/cores/counter_backend.h"
#include "node/cores/request_meter.h"
#include "node/remote/cluster_survey.h"

namespace quipu {

// The most queued and waiting calls together.
inline constexpr std::size_t kMaxLocalCalls = 65'536;

class LocalCalls final : public CounterBackend {
 public:
  static constexpr ClientId kClient{0};

  // `node` identifies the node: callbacks of any of its reactors must not make blocking calls
  // here. Before the threads run.
  void belong_to(const void* node) { node_ = node; }

  // Until close(), `io` and `port` must live.
  // `credentials` and `tls` (null: plain text): for the other members' client ports.
  LocalCalls(asio::io_context& io, CorePort& port, Credentials credentials,
             ClientConnection::Tls tls)
      : io_(io), port_(port), credentials_(std::move(credentials)), tls_(std::move(tls)) {}

  // ---- any thread ----
  using CounterBackend::begin;
  void begin(std::span<CounterCall> calls) override;
  [[nodiscard]] bool on_own_thread() const override;
  [[nodiscard]] std::chrono::milliseconds wait_for_room(std::chrono::milliseconds timeout,
                                                        std::size_t calls) override;
  // Every new call is answered by `why` from now on. The first `why` stays.
  void close(Status why);

  // ---- the reactor's thread ----
  // The calling thread belongs to this node from now on, or to none.
  void run_here(bool runs);
  void reply(Instant now, const Answer& answer);
  [[nodiscard]] const RequestFigures& requests() const { return meter_.figures(); }
  // While true, callback calls get `overloaded` and blocking calls wait.
  void set_paused(bool paused);
  // Ends calls that wait for the core, changes with `change` and reads with `read`. Queued calls
  // never reached the core, so they are not applied.
  void abandon(const Status& change, const Status& read);

  // Ends calls past their deadline. The core does that itself while it waits for peers. This is
  // for calls that wait for the disk.
  void expire(Instant now);
  [[nodiscard]] bool waiting() const { return waiting_ > 0; }

 private:
  struct Call {
    Call(CounterCall&& begun, Instant until) : call(std::move(begun)), deadline(until) {}
    CounterCall call;
    Instant deadline;
    Asked asked{};  // of a change
  };
  struct Slot {
    std::optional<Call> call;
    std::uint32_t uses = 0;  // makes each id unique
  };

  [[nodiscard]] Status admit(std::size_t calls = 1) const;  // REQUIRES: mutex_ is held
  void drain();
  void refuse_queued();
  void give(std::span<const std::uint64_t> ids);
  void ask(std::uint64_t id, const WantedRead& wanted);
  void ask(std::uint64_t id, const ListQuestion& question);
  void ask(std::uint64_t id, const QueryQuestion& question);
  void ask(std::uint64_t id, const RangeQuestion& question);
  void ask(std::uint64_t id, const NamespaceQuestion& question);
  void ask_members(std::uint64_t id, Instant deadline);
  std::uint64_t keep(Call&& call);
  [[nodiscard]] bool waits(std::uint64_t id) const;
  void finish(std::size_t slot, const Answer& told);
  void end(std::size_t slot, const Status& change, const Status& question);
  [[nodiscard]] Call take(std::size_t slot);

  asio::io_context& io_;
  CorePort& port_;
  const Credentials credentials_;
  const ClientConnection::Tls tls_;
  const void* node_ = this;

  mutable std::mutex mutex_;
  std::condition_variable room_;
  std::vector<Call> queued_;
  std::size_t in_flight_ = 0;  // queued and waiting calls
  std::size_t wanting_ = 0;    // threads that wait for room
  bool woken_ = false;         // drain() is on its way
  bool paused_ = false;
  Status closed_;  // not ok: closed

  // The reactor's thread only.
  std::vector<Slot> slots_;
  std::vector<std::size_t> free_;
  std::size_t waiting_ = 0;
  std::vector<Call> spare_;                                          // memory for the queue
  Read read_{};                                                      // memory for ask
  std::map<std::uint64_t, std::shared_ptr<ClusterSurvey>> surveys_;  // by id of the call
  RequestMeter meter_;
};

}  // namespace quipu
