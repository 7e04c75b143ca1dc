// proxy.h: TCP connections that can be delayed and cut, and can lose answers.
//
//   dialer ──▶ listening port ──▶ [Weather] ──▶ target
//
// Delayed bytes keep their order, as in TCP. A lost answer kills its connection, silently or by
// closing it: the asker cannot know whether its request arrived.
//
// One thread, which can live in a network namespace of its own choice.
#pragma once

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <functional>
#include <list>
#include <thread>

#include "protocol/random.h"
#include "tests/chaos/weather.h"

namespace quipu::chaos {

// Marks the proxy's own connections, so that no firewall rule sends them back to it.
inline constexpr int kProxyMark = 7;

class Proxy {
 public:
  struct Options {
    std::function<void()> enter;  // called first on the thread: into its namespace
    // The place that dialed from this port. Called on the thread.
    std::function<std::size_t(std::uint16_t port)> who;
    bool mark = false;  // needs the right to administrate the network
    std::uint64_t seed = 1;
  };
  // `weather` must outlive it.
  Proxy(const Weather& weather, Options options);
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  struct Route {
    asio::ip::tcp::endpoint listen;  // port 0: a free one
    asio::ip::tcp::endpoint target;
    std::size_t to = 0;  // the place of the target
  };
  // Returns the port.
  std::uint16_t add(const Route& route);
  // Closes what is connected.
  void hang_up();

 private:
  class Connection;
  struct Listener {
    asio::ip::tcp::acceptor acceptor;
    Route route;
  };

  void accept(Listener& listener);
  void run_on_thread(const std::function<void()>& call);

  const Weather& weather_;
  Options options_;
  Random random_;
  asio::io_context io_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::list<Listener> listeners_;
  std::list<std::weak_ptr<Connection>> connections_;
  std::thread thread_;
};

}  // namespace quipu::chaos
