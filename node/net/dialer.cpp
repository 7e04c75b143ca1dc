#include "node/net/dialer.h"

#include <algorithm>
#include <utility>

namespace quipu {
namespace {

using asio::ip::tcp;

constexpr Duration kFirstBackoff = std::chrono::milliseconds(50);
constexpr Duration kLastBackoff = std::chrono::seconds(2);
// Longer than the delay after one lost SYN.
constexpr Duration kConnect = std::chrono::seconds(2);

}  // namespace

Dialer::Dialer(NameLookup& names, Address address, Events events, Random random)
    : address_(std::move(address)),
      events_(std::move(events)),
      random_(random),
      names_(names),
      timer_(names.loop()),
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
  stopped_ = true;
  timer_.cancel();
  if (dial_ != nullptr) dial_->cancel();
}

void Dialer::dial() {
  dial_ = std::make_shared<TcpDial>(
      names_, [self = shared_from_this()](const asio::error_code& error, tcp::socket socket) {
        self->on_dialed(error, std::move(socket));
      });
  dial_->start(address_, kConnect);
}

void Dialer::on_dialed(const asio::error_code& error, tcp::socket socket) {
  if (!error) return events_.connected(std::move(socket));
  events_.failed(error == asio::error::timed_out ? "no answer" : error.message());
  wait_and_dial();
}

// Jitter, so that nodes that start together do not dial together.
void Dialer::wait_and_dial() {
  const auto half = static_cast<std::uint64_t>(backoff_.count() / 2);
  const Duration wait = backoff_ / 2 + Duration(random_.below(half));
  backoff_ = std::min(backoff_ * 2, kLastBackoff);
  timer_.expires_after(wait);
  timer_.async_wait([self = shared_from_this()](const asio::error_code& error) {
    if (!error && !self->stopped_) self->dial();
  });
}

}  // namespace quipu
