#include "node/net/tcp_dial.h"

#include <asio/post.hpp>
#include <cctype>
#include <utility>

#include "node/net/close_on_exec.h"

namespace quipu {

using asio::ip::tcp;

std::string why_not_connected(const asio::error_code& error) {
  if (error == asio::error::host_not_found || error == asio::error::no_data)
    return "there is no host of this name";
  if (error == asio::error::host_not_found_try_again)
    return "the name server does not answer for this name";
  std::string text = error.message();
  if (!text.empty()) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

TcpDial::TcpDial(NameLookup& names, Done done)
    : names_(names), done_(std::move(done)), timer_(names.loop()), socket_(names.loop()) {}

void TcpDial::start(const Address& address, Duration most) {
  most_ = most;
  asio::error_code not_numeric;
  const asio::ip::address ip = asio::ip::make_address(address.host, not_numeric);
  if (!not_numeric) return connect({ip}, address.port);
  looking_up_.emplace(names_.loop().get_executor());
  names_.find(address.host,
              [self = shared_from_this(), port = address.port](const NameLookup::Answer& answer) {
                if (!self->done_) return false;
                if (answer.error) {
                  self->end(answer.error);
                } else {
                  self->connect(answer.addresses, port);
                }
                return true;
              });
}

void TcpDial::connect(const std::vector<asio::ip::address>& hosts, std::uint16_t port) {
  looking_up_.reset();
  for (const asio::ip::address& host : hosts) endpoints_.emplace_back(host, port);
  timer_.expires_after(most_);
  timer_.async_wait([self = shared_from_this()](const asio::error_code& error) {
    if (!error) self->end(asio::error::timed_out);
  });
  try_next(asio::error::host_not_found);
}

void TcpDial::try_next(const asio::error_code& last) {
  if (next_ == endpoints_.size()) return end(last);
  const tcp::endpoint endpoint = endpoints_[next_++];
  asio::error_code error;
  socket_.close(error);
  socket_.open(endpoint.protocol(), error);
  if (error) {  // later, as any other error
    return asio::post(socket_.get_executor(), [self = shared_from_this(), error] {
      if (self->done_) self->try_next(error);
    });
  }
  close_on_exec(socket_.native_handle());
  socket_.async_connect(endpoint, [self = shared_from_this()](asio::error_code failed) {
    if (!self->done_) return;
    if (!failed) failed = self->set_up();
    if (failed) return self->try_next(failed);
    self->end({});
  });
}

asio::error_code TcpDial::set_up() {
  asio::error_code error;
  const tcp::endpoint remote = socket_.remote_endpoint(error);
  // On a free port of this machine, TCP may connect a socket to itself.
  if (!error && socket_.local_endpoint(error) == remote) error = asio::error::connection_refused;
  if (!error) socket_.non_blocking(true, error);
  return error;
}

void TcpDial::end(const asio::error_code& error) {
  if (!done_) return;
  const Done done = std::exchange(done_, nullptr);
  tcp::socket socket = std::exchange(socket_, tcp::socket(names_.loop()));
  cancel();
  done(error, std::move(socket));
}

void TcpDial::cancel() {
  done_ = nullptr;
  looking_up_.reset();
  timer_.cancel();
  asio::error_code ignored;
  socket_.close(ignored);
}

}  // namespace quipu
