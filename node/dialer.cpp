#include "node/dialer.h"

#include <algorithm>
#include <asio/connect.hpp>
#include <utility>

namespace quipu {
namespace {

using asio::ip::tcp;

constexpr Duration kFirstBackoff = std::chrono::milliseconds(50);
constexpr Duration kLastBackoff = std::chrono::seconds(2);
// Resolving included. Longer than one lost SYN costs.
constexpr Duration kAttempt = std::chrono::seconds(2);

}  // namespace

Dialer::Dialer(asio::io_context& io, Address address, Events events, Random random)
    : address_(std::move(address)),
      events_(std::move(events)),
      random_(random),
      resolver_(io),
      socket_(io),
      timer_(io),
      backoff_(kFirstBackoff) {}

void Dialer::start() {
  backoff_ = kFirstBackoff;
  dial();
}

void Dialer::start_again(Duration lived) {
  if (lived > kLastBackoff) backoff_ = kFirstBackoff;
  wait_and_dial();
}

void Dialer::stop() {
  ++attempt_;
  timer_.cancel();
  resolver_.cancel();
  asio::error_code ignored;
  socket_.close(ignored);
}

void Dialer::dial() {
  const std::uint64_t attempt = ++attempt_;
  timer_.expires_after(kAttempt);
  timer_.async_wait([self = shared_from_this(), attempt](const asio::error_code& error) {
    if (!error && attempt == self->attempt_) self->on_failed("no answer");
  });
  asio::error_code not_numeric;
  const asio::ip::address ip = asio::ip::make_address(address_.host, not_numeric);
  if (!not_numeric) {
    const tcp::endpoint endpoint(ip, address_.port);
    return connect(tcp::resolver::results_type::create(endpoint, address_.host, ""));
  }
  resolver_.async_resolve(
      address_.host, std::to_string(address_.port),
      [self = shared_from_this(), attempt](const asio::error_code& error,
                                           const tcp::resolver::results_type& endpoints) {
        if (attempt != self->attempt_) return;
        if (error) return self->on_failed(error.message());
        self->connect(endpoints);
      });
}

void Dialer::connect(const tcp::resolver::results_type& endpoints) {
  asio::async_connect(socket_, endpoints,
                      [self = shared_from_this(), attempt = attempt_](const asio::error_code& error,
                                                                      const tcp::endpoint&) {
                        if (attempt != self->attempt_) return;
                        if (error) return self->on_failed(error.message());
                        self->on_connected();
                      });
}

void Dialer::on_connected() {
  asio::error_code error;
  socket_.non_blocking(true, error);
  if (error) return on_failed(error.message());
  ++attempt_;
  timer_.cancel();
  tcp::socket connected = std::exchange(socket_, tcp::socket(socket_.get_executor()));
  events_.connected(std::move(connected));
}

void Dialer::on_failed(std::string why) {
  asio::error_code ignored;
  socket_.close(ignored);
  resolver_.cancel();
  events_.failed(std::move(why));
  wait_and_dial();
}

// Jitter, so that a cluster that starts together does not dial together.
void Dialer::wait_and_dial() {
  const std::uint64_t attempt = ++attempt_;
  const auto half = static_cast<std::uint64_t>(backoff_.count() / 2);
  const Duration wait = backoff_ / 2 + Duration(random_.below(half));
  backoff_ = std::min(backoff_ * 2, kLastBackoff);
  timer_.expires_after(wait);
  timer_.async_wait([self = shared_from_this(), attempt](const asio::error_code& error) {
    if (!error && attempt == self->attempt_) self->dial();
  });
}

}  // namespace quipu
