// reactor.h: the event loop around one NodeCore.
//
//   client port ─▶ ClientSessions ┐                       ┌─▶ StorageThread ─ durable ┐
//   peer port ──▶ PeerLinks ──────┼─▶ core ─▶ effects ────┼─▶ PeerLinks, sends        │
//   Counters ───▶ LocalCalls ─────┘    ▲                  └─▶ replies                 │
//                                      └── one timer, at core.deadline() ◀────────────┘
//
//   bind ─▶ listen ─▶ start ─▶ serving ──restart effect──▶ recovering ─▶ serving
//                       │                                    │      ▲
//                       ├── full disk ──▶ waiting ◀──────────┘      │
//                       │                    └── room ──────────────┘
//                       └── failed disk ──▶ failed            … stop, from anywhere
//
// While it waits for room on the disk, it has a core that only reads, and no peers.
//
// Invariants: everything but the storage thread is one thread, so nothing here is locked.
// After the events of one read, call or timer, the effects are done once, in order. A
// restart keeps the listening sockets and nothing else. The reactors of one node send each
// other mail (core_router.h), and are members to each other. Apart from that they see some
// flags and figures of each other.
#pragma once

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "node/base/log.h"
#include "node/clients/client_sessions.h"
#include "node/clients/resp/resp_decisions.h"
#include "node/cores/core_router.h"
#include "node/cores/local_calls.h"
#include "node/disk/data_directory.h"
#include "node/disk/storage_thread.h"
#include "node/net/connection_limits.h"
#include "node/net/listener.h"
#include "node/peers/peer_links.h"
#include "node/reactor/node_plan.h"
#include "node/tls/tls_files.h"

namespace quipu {

class Reactor {
 public:
  // On the reactor's thread.
  struct Events {
    std::function<void(bool ready)> ready;      // whenever it changes
    std::function<void(const Status&)> failed;  // it serves nothing any more
  };

  // `client_tls`: for the client ports of other members; null: plain text.
  Reactor(NodePlan plan, Log log, Random random, Events events,
          std::shared_ptr<const TlsContext> client_tls = nullptr);
  ~Reactor();  // stops
  Reactor(const Reactor&) = delete;
  Reactor& operator=(const Reactor&) = delete;

  // ---- before start ----
  // Takes the ports. cannot_start names the one that is in use.
  [[nodiscard]] Status bind();
  // Connects the reactors of one node, each bound, in order. All must live until each has
  // stopped.
  static void introduce(const std::vector<Reactor*>& reactors);
  // Connections are accepted from here on, and wait for start. cannot_start as above.
  [[nodiscard]] Status listen();
  // What connections must authenticate as.
  void start_with(std::shared_ptr<const Users> users) { sessions_.set_users(std::move(users)); }
  // What encrypts connections, in the thread of `handshakes`. If clients may use TLS, it accepts
  // them, too. It outlives this, and ends after this has stopped.
  void start_with(const TlsMaterial& tls, Handshakes& handshakes);
  // Begins to serve the recovered store, which is below `data`, and returns.
  void start(RecoveredStore store, std::filesystem::path data);

  // ---- any thread ----
  [[nodiscard]] const std::shared_ptr<LocalCalls>& calls() const { return calls_; }
  // The bound address. Empty: that port is not open.
  [[nodiscard]] std::string client_address() const;
  [[nodiscard]] std::string peer_address() const;
  struct Health {
    bool ready = false;       // it serves, and its store is filled
    std::string waits_for{};  // if not ready
    Instant last_turn{};
  };
  // Never waits for the reactor's thread, which may be stuck.
  [[nodiscard]] Health health() const;
  // At most about a second old, unless the reactor is stuck. The same holds.
  [[nodiscard]] Figures figures() const { return router_.own_published(); }
  // As Node::set_client_limits. REQUIRES: check_client_port() found them sound.
  void set_client_limits(const ClientPortOptions& limits);
  // The users that connections authenticate as, from now on.
  void set_users(std::shared_ptr<const Users> users);
  // For connections from now on. REQUIRES: start_with() was called with TLS
  void set_tls(std::shared_ptr<const TlsMaterial> tls);
  // Another reactor of this node has failed. So does this one.
  void fail_too(const Status& why);
  // Stopping has steps, since reactors need each other. stop() does the steps that are left.
  // When this returns, no new connection and no new request is accepted.
  void begin_closing();
  // Begins to finish what clients wait for and what peers lack, within bounds, and to make all
  // of it durable: for at most this long.
  void begin_stop(Duration patience);
  // When that is done, joins both threads. Do not call it on the reactor's thread.
  void stop();

 private:
  enum class Phase { unstarted, serving, waiting, recovering, failed, stopping, stopped };

  // ---- events and effects ----
  void finish();
  void finish_later();
  void perform(Instant now, Effects effects);
  void after_batch();
  void arm_timer();
  void on_timer();
  void publish_figures();
  void measure_disk();
  void sweep_calls();
  void tell_ready();
  void log_clock();
  void tell_filled();
  void pulse();
  void tell_health();
  static constexpr const char* kBeingFilled =
      "the new disk is being filled from the other owners: it does not count yet";
  void reply(Instant now, ClientId client, const Answer& answer);
  void on_durable(Commit commit);
  void on_loaded(const Loaded& loaded);
  void on_full(const Status& status);

  // ---- from start to end ----
  [[nodiscard]] ConnectionLimits connections() const;
  [[nodiscard]] RespSettings resp() const;
  [[nodiscard]] StorageThread::Events storage_events();
  void run();
  std::size_t kill(ClientId asker, std::uint64_t question, const ClientFilter& which);
  asio::io_context& choose();
  void accept(asio::ip::tcp::socket socket);
  void accept_later(asio::ip::tcp::socket socket);
  void accept_beside(asio::ip::tcp::socket socket);
  [[nodiscard]] bool mail_is_full() const;
  [[nodiscard]] Status listen_to_clients();
  void begin(Recovered recovered);
  void look_for_room();
  void on_room(const Status& room);
  void restart();
  void recover_anew();
  void on_recovered(Result<Recovered> recovered);
  void give_up_core(const Status& changes, const Status& reads);
  void fail(const Status& status);
  void close_ports();
  void finish_all(Duration patience);
  void check_stopped();
  void tell_quiet();
  void log_who_lacks_changes();
  void end_storage();
  void end();

  NodePlan plan_;
  const Log log_;
  Random random_;
  const Events events_;

  asio::io_context client_sockets_{1};  // never runs: see ready_sockets.h
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  const RespDecider decider_;
  CoreHolder port_;
  std::vector<Reactor*> all_;      // of this node
  Reactor* accepting_ = nullptr;   // the next client is its
  Handshakes* accepts_ = nullptr;  // clients; null: this does
  CoreRouter router_;
  std::shared_ptr<LocalCalls> calls_;
  std::atomic<std::size_t> most_clients_;       // connected to this reactor
  std::atomic<std::size_t> mailed_clients_{0};  // on their way to it
  ClientSessions sessions_;
  PeerLinks links_;
  Listener client_listener_;
  Listener peer_listener_;
  Timer timer_;
  Instant armed_ = kNever;  // when timer_ fires
  Timer sweep_;             // of calls_, while any call waits
  bool sweeping_ = false;
  Timer retry_;  // waiting for room: the next look; stopping: its end

  Phase phase_ = Phase::unstarted;
  std::atomic<bool> was_quiet_{false};  // while it stopped
  bool finishing_ = false;
  bool finish_posted_ = false;
  bool paused_ = false;
  bool ready_ = false;
  bool clock_doubted_ = false;  // as logged
  Instant log_clock_from_{};    // not before this time
  bool filling_ = false;
  Instant stop_by_ = kNever;

  Timer pulse_;
  std::uint64_t pulses_ = 0;
  std::optional<std::uint64_t> disk_free_;  // bytes
  bool measuring_disk_ = false;
  mutable std::mutex health_mutex_;
  Health health_;

  std::filesystem::path data_;
  std::unique_ptr<StorageThread> storage_;
  bool stop_begun_ = false;  // for the caller's thread
  std::thread thread_;
};

}  // namespace quipu
