// handshakes.h: the thread that does the TLS handshakes of a node's client and peer ports, so that
// none runs on a reactor: 500 new connections a second would take a tenth of its time.
//
//   accepted here, or by a reactor ─▶ start() ─▶ HandshakeSlots ─▶ TlsHandshake ─▶ done, here
//
// It gives way to the reactors where they lack processors: connections that are open go first.
//
// Bounds: handshake_slots.h in number, tls_handshake.h in time and bytes. A port
// must count the connections that wait here, too.
#pragma once

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "node/tls/handshake_slots.h"
#include "node/tls/tls_handshake.h"

namespace quipu {

class Handshakes {
 public:
  // Throws std::system_error if there is no thread left.
  Handshakes();
  ~Handshakes();  // stops
  Handshakes(const Handshakes&) = delete;
  Handshakes& operator=(const Handshakes&) = delete;

  // The thread's. See Listener::accept_in.
  [[nodiscard]] asio::io_context& loop() { return io_; }

  struct Job {
    std::shared_ptr<const TlsContext> context;
    TlsStream::Role role;
    std::string host{};  // when connecting: see TlsStream
    const void* port;    // whose limit the connection counts towards
    TlsHandshake::Done done;
  };
  // Any thread. `socket` is connected and non-blocking, of any io_context. What `done` gets is of
  // the thread's own: use moved_to().
  void start(asio::ip::tcp::socket socket, Job job);
  // Ends one of this port, which has no room for another connection. Any thread.
  void make_room(const void* port);
  // Ends all. No `done` is called afterwards. Not on its own thread.
  void stop();

 private:
  using Id = HandshakeSlots::Id;
  struct Waiting {
    asio::ip::tcp::socket socket;
    Job job;
  };
  void take(asio::ip::tcp::socket socket, Job job);
  void begin_ready();
  void begin(Id id);
  void sweep();
  void end(Id id, const char* why);

  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  Timer sweep_;
  bool sweeping_ = false;
  HandshakeSlots slots_;
  std::uint64_t last_ = 0;
  std::map<Id, Waiting> waiting_;
  struct UnderWay {
    std::shared_ptr<TlsHandshake> handshake;
    const void* port;
  };
  std::map<Id, UnderWay> under_way_;
  std::thread thread_;
};

}  // namespace quipu
