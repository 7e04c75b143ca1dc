#include "node/client_connection.h"

#include <fcntl.h>

#include <asio/buffer.hpp>
#include <asio/connect.hpp>
#include <utility>

namespace quipu {
namespace {

using asio::ip::tcp;

constexpr std::size_t kReadSize = std::size_t{256} << 10;

}  // namespace

ClientConnection::ClientConnection(asio::io_context& io, Events events)
    : resolver_(io), socket_(io), events_(std::move(events)) {}

void ClientConnection::dial(const Address& address) {
  asio::error_code not_numeric;
  const asio::ip::address ip = asio::ip::make_address(address.host, not_numeric);
  if (!not_numeric) {
    const tcp::endpoint endpoint(ip, address.port);
    return connect(tcp::resolver::results_type::create(endpoint, address.host, ""));
  }
  resolver_.async_resolve(
      address.host, std::to_string(address.port),
      [self = shared_from_this()](const asio::error_code& error,
                                  const tcp::resolver::results_type& endpoints) {
        if (self->closed_) return;
        if (error) return self->end(error.message());
        self->connect(endpoints);
      });
}

void ClientConnection::connect(const tcp::resolver::results_type& endpoints) {
  asio::async_connect(socket_, endpoints,
                      [self = shared_from_this()](asio::error_code error, const tcp::endpoint&) {
                        if (self->closed_) return;
                        if (!error) error = self->set_up();
                        if (error) return self->end(error.message());
                        self->wait_readable();
                        self->events_.connected();
                        self->events_.turn_over();
                      });
}

asio::error_code ClientConnection::set_up() {
  asio::error_code error;
  const tcp::endpoint remote = socket_.remote_endpoint(error);
  // On a free port of this machine, TCP may connect a socket to itself.
  if (!error && socket_.local_endpoint(error) == remote) error = asio::error::connection_refused;
  if (!error) socket_.non_blocking(true, error);
  asio::error_code only_slower;
  socket_.set_option(tcp::no_delay(true), only_slower);
  // Programs that the embedding one starts are not to hold it open.
  ::fcntl(socket_.native_handle(), F_SETFD, FD_CLOEXEC);
  return error;
}

void ClientConnection::wait_readable() {
  socket_.async_wait(tcp::socket::wait_read,
                     [self = shared_from_this()](const asio::error_code& error) {
                       if (!error && !self->closed_) self->on_readable();
                     });
}

void ClientConnection::on_readable() {
  const std::span<std::byte> room = decoder_.prepare(kReadSize);
  asio::error_code error;
  const std::size_t read = socket_.read_some(asio::buffer(room.data(), room.size()), error);
  if (error && error != asio::error::would_block && error != asio::error::try_again) {
    return end(error == asio::error::eof ? "closed by the node" : error.message());
  }
  decoder_.commit(read);
  give_frames();
  if (closed_) return;
  events_.turn_over();
  if (!closed_) wait_readable();
}

void ClientConnection::give_frames() {
  while (!closed_) {
    const Result<std::optional<FrameDecoder::Frame>> frame = decoder_.next();
    if (!frame.ok()) return end(frame.status().detail());
    if (!*frame) return;
    events_.frame(**frame);
  }
}

void ClientConnection::flush() {
  if (closed_) return;
  switch (output_.flush(socket_)) {
    case SocketOutput::Flushed::all:
      return;
    // The reader will be told why, and when nothing more comes.
    case SocketOutput::Flushed::broken:
      return;
    case SocketOutput::Flushed::some:
      return wait_writable();
  }
}

void ClientConnection::wait_writable() {
  if (std::exchange(writing_, true)) return;
  socket_.async_wait(tcp::socket::wait_write,
                     [self = shared_from_this()](const asio::error_code& error) {
                       self->writing_ = false;
                       if (!error && !self->closed_) self->flush();
                     });
}

void ClientConnection::end(std::string why) {
  close();
  events_.closed(std::move(why));
  events_.turn_over();
}

void ClientConnection::close() {
  if (std::exchange(closed_, true)) return;
  resolver_.cancel();
  asio::error_code ignored;
  socket_.close(ignored);
}

}  // namespace quipu
