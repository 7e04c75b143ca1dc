#include "tests/chaos/proxy.h"

#include <sys/socket.h>

#include <array>
#include <asio/buffer.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <asio/write.hpp>
#include <chrono>
#include <future>
#include <memory>

namespace quipu::chaos {

using asio::ip::tcp;

// Two pipes, one for each direction.
class Proxy::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Proxy& proxy, tcp::socket dialer, const Route& route, std::size_t from)
      : proxy_(proxy),
        dialer_(std::move(dialer)),
        target_(proxy.io_),
        route_(route),
        there_{dialer_, target_, asio::steady_timer(proxy.io_), from, route.to, false, {}},
        back_{target_, dialer_, asio::steady_timer(proxy.io_), route.to, from, true, {}} {}

  void begin() {
    asio::error_code error;
    target_.open(route_.target.protocol(), error);
    if (error) return close();
    if (proxy_.options_.mark) {
      ::setsockopt(target_.native_handle(), SOL_SOCKET, SO_MARK, &kProxyMark, sizeof kProxyMark);
    }
    target_.async_connect(route_.target, [self = shared_from_this()](const asio::error_code& e) {
      if (e) return self->close();
      asio::error_code ignored;
      self->target_.set_option(tcp::no_delay(true), ignored);
      self->dialer_.set_option(tcp::no_delay(true), ignored);
      self->read(self->there_);
      self->read(self->back_);
    });
  }

  void close() {
    asio::error_code ignored;
    dialer_.close(ignored);
    target_.close(ignored);
    there_.timer.cancel();
    back_.timer.cancel();
  }

 private:
  struct Pipe {
    tcp::socket& in;
    tcp::socket& out;
    asio::steady_timer timer;
    std::size_t from, to;
    bool carries_answers;
    std::array<char, 65536> bytes;
  };

  void read(Pipe& pipe) {
    pipe.in.async_read_some(
        asio::buffer(pipe.bytes),
        [self = shared_from_this(), &pipe](const asio::error_code& e, std::size_t size) {
          if (e) return self->close();
          if (self->loses(pipe)) return;
          const int delay = self->proxy_.weather_.delay_ms;
          if (delay == 0) return self->pass(pipe, size);
          const auto jitter = self->proxy_.random_.below(static_cast<std::uint64_t>(delay) + 1);
          self->wait(pipe, size, std::chrono::milliseconds(delay + static_cast<int>(jitter)));
        });
  }

  // Half of them in silence: the asker must find out by itself.
  bool loses(const Pipe& pipe) {
    const int lost = proxy_.weather_.lost_in_100;
    if (!pipe.carries_answers || lost == 0) return false;
    if (proxy_.random_.below(100) >= static_cast<std::uint64_t>(lost)) return false;
    if (proxy_.random_.below(2) == 0) close();
    return true;
  }

  void wait(Pipe& pipe, std::size_t size, std::chrono::milliseconds time) {
    pipe.timer.expires_after(time);
    pipe.timer.async_wait([self = shared_from_this(), &pipe, size](const asio::error_code& e) {
      if (!e) self->pass(pipe, size);
    });
  }

  void pass(Pipe& pipe, std::size_t size) {
    if (proxy_.weather_.cut[pipe.from][pipe.to]) {
      return wait(pipe, size, std::chrono::milliseconds(20));
    }
    asio::async_write(pipe.out, asio::buffer(pipe.bytes.data(), size),
                      [self = shared_from_this(), &pipe](const asio::error_code& e, std::size_t) {
                        if (e) return self->close();
                        self->read(pipe);
                      });
  }

  Proxy& proxy_;
  tcp::socket dialer_;
  tcp::socket target_;
  Route route_;
  Pipe there_;
  Pipe back_;
};

Proxy::Proxy(const Weather& weather, Options options)
    : weather_(weather),
      options_(std::move(options)),
      random_(options_.seed),
      work_(asio::make_work_guard(io_)) {
  thread_ = std::thread([this] {
    if (options_.enter) options_.enter();
    io_.run();
  });
}

Proxy::~Proxy() {
  hang_up();
  io_.stop();
  thread_.join();
}

void Proxy::run_on_thread(const std::function<void()>& call) {
  std::promise<void> done;
  asio::post(io_, [&] {
    try {
      call();
      done.set_value();
    } catch (...) {
      done.set_exception(std::current_exception());
    }
  });
  done.get_future().get();
}

std::uint16_t Proxy::add(const Route& route) {
  std::uint16_t port = 0;
  run_on_thread([&] {
    Listener& listener = listeners_.emplace_back(Listener{tcp::acceptor(io_), route});
    listener.acceptor.open(route.listen.protocol());
    listener.acceptor.set_option(tcp::acceptor::reuse_address(true));
    listener.acceptor.bind(route.listen);
    listener.acceptor.listen();
    port = listener.acceptor.local_endpoint().port();
    accept(listener);
  });
  return port;
}

void Proxy::accept(Listener& listener) {
  listener.acceptor.async_accept(
      [this, &listener](const asio::error_code& error, tcp::socket socket) {
        if (error) return;
        asio::error_code gone;
        const tcp::endpoint remote = socket.remote_endpoint(gone);
        if (!gone) {
          const auto made = std::make_shared<Connection>(*this, std::move(socket), listener.route,
                                                         options_.who(remote.port()));
          std::erase_if(connections_, [](const auto& one) { return one.expired(); });
          connections_.push_back(made);
          made->begin();
        }
        accept(listener);
      });
}

void Proxy::hang_up() {
  run_on_thread([this] {
    for (const auto& one : connections_) {
      if (const auto connection = one.lock()) connection->close();
    }
    connections_.clear();
  });
}

}  // namespace quipu::chaos
