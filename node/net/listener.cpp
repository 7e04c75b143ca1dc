#include "node/net/listener.h"

#include <netinet/tcp.h>

#include <algorithm>
#include <asio/post.hpp>
#include <future>
#include <utility>

#include "node/net/close_on_exec.h"
#include "protocol/check.h"

namespace quipu {
namespace {

using asio::ip::tcp;

// Out of descriptors or memory: others must free some first.
constexpr std::chrono::milliseconds kAcceptRetry{100};

Status refuse(const Address& address, const asio::error_code& error) {
  const std::string name = to_string(address);
  const std::string port = std::to_string(address.port);
  if (error == asio::error::address_in_use) {
    return {Code::cannot_start, name + " is in use: stop what listens there (ss -ltnp 'sport = :" +
                                    port + "' names it), or choose another address"};
  }
  if (error == asio::error::access_denied) {
    return {Code::cannot_start,
            name + " needs rights that this process lacks: choose a port above 1023"};
  }
  if (error == asio::error::no_descriptors) {
    return {Code::cannot_start,
            "no file is left for " + name + ": let this process open more files (ulimit -n)"};
  }
  return {Code::cannot_start, "cannot listen on " + name + ": " + error.message() +
                                  ": choose an address of this machine"};
}

// IPv4 if the name has both, as most people expect of "localhost".
tcp::endpoint resolve(asio::io_context& io, const Address& address, asio::error_code& error) {
  const asio::ip::address ip = asio::ip::make_address(address.host, error);
  if (!error) return {ip, address.port};
  tcp::resolver resolver(io);
  const auto found =
      resolver.resolve(address.host, std::to_string(address.port), tcp::resolver::passive, error);
  if (error || found.empty()) return {};
  const auto v4 = std::find_if(found.begin(), found.end(), [](const auto& entry) {
    return entry.endpoint().protocol() == tcp::v4();
  });
  return (v4 != found.end() ? v4 : found.begin())->endpoint();
}

}  // namespace

Status Listener::bind(const Address& address) {
  asio::error_code error;
  const tcp::endpoint endpoint = resolve(*io_, address, error);
  if (!error) acceptor_.open(endpoint.protocol(), error);
  if (!error) close_on_exec(acceptor_.native_handle());
  if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
  // Linux copies these to each socket that it accepts.
  if (!error) acceptor_.set_option(tcp::no_delay(true), error);
  if (!error) acceptor_.set_option(tcp::acceptor::keep_alive(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (error) {
    close_here();
    return refuse(address, error);
  }
  address_ = {address.host, acceptor_.local_endpoint(error).port()};
  return {};
}

Status Listener::accept_in(asio::io_context& io) {
  constexpr int kSeconds = 1;
  const tcp protocol = acceptor_.local_endpoint().protocol();
  asio::error_code error;
  const int descriptor = acceptor_.release(error);
  acceptor_ = tcp::acceptor(io);
  if (!error) acceptor_.assign(protocol, descriptor, error);
  using Defer = asio::detail::socket_option::integer<IPPROTO_TCP, TCP_DEFER_ACCEPT>;
  if (!error) acceptor_.set_option(Defer(kSeconds), error);
  if (error) return refuse(address_, error);
  retry_ = Timer(io);
  io_ = &io;
  elsewhere_ = true;
  return {};
}

Status Listener::start(OnAccept on_accept, Choose choose) {
  QUIPU_CHECK(bound(), "an address is bound before it is listened on");
  on_accept_ = std::move(on_accept);
  choose_ = std::move(choose);
  asio::error_code error;
  acceptor_.listen(tcp::acceptor::max_listen_connections, error);
  if (!error) acceptor_.non_blocking(true, error);
  if (error) return refuse(address_, error);
  accept();
  return {};
}

Result<int> Listener::hand_over() {
  QUIPU_CHECK(bound(), "an address is bound before it is listened on");
  asio::error_code error;
  acceptor_.listen(tcp::acceptor::max_listen_connections, error);
  if (error) return refuse(address_, error);
  return acceptor_.release();
}

void Listener::close() {
  if (!elsewhere_) return close_here();
  std::promise<void> closed;
  asio::post(*io_, [&] {
    close_here();
    closed.set_value();
  });
  closed.get_future().wait();
}

void Listener::close_here() {
  asio::error_code ignored;
  acceptor_.close(ignored);
  retry_.cancel();
}

void Listener::accept() {
  const asio::any_io_executor of = (choose_ ? choose_() : *io_).get_executor();
  acceptor_.async_accept(of, [this](const asio::error_code& error, tcp::socket socket) {
    if (!acceptor_.is_open()) return;
    if (error && error != asio::error::connection_aborted) return retry_later();
    asio::error_code failed = error;
    if (!failed) close_on_exec(socket.native_handle());
    if (!failed) socket.non_blocking(true, failed);
    if (!failed) on_accept_(std::move(socket));
    accept();
  });
}

void Listener::retry_later() {
  retry_.expires_after(kAcceptRetry);
  retry_.async_wait([this](const asio::error_code& error) {
    if (!error && acceptor_.is_open()) accept();
  });
}

}  // namespace quipu
