#include "node/remote/client_connection.h"

#include <utility>

#include "node/base/sockets.h"

namespace quipu {
namespace {

using asio::ip::tcp;

constexpr std::size_t kClientReadSize = std::size_t{256} << 10;

}  // namespace

ClientConnection::ClientConnection(NameLookup& names, Tls tls, Events events)
    : names_(names),
      tls_(std::move(tls)),
      channel_(tcp::socket(names.loop())),
      events_(std::move(events)) {}

ClientConnection::ClientConnection(asio::io_context& io, Tls tls, Events events)
    : own_names_(std::make_unique<NameLookup>(io)),
      names_(*own_names_),
      tls_(std::move(tls)),
      channel_(tcp::socket(io)),
      events_(std::move(events)) {}

void ClientConnection::dial(const Address& address) {
  host_ = address.host;
  dial_ = std::make_shared<TcpDial>(
      names_, [self = shared_from_this()](const asio::error_code& error, tcp::socket socket) {
        self->on_dialed(error, std::move(socket));
      });
  dial_->start(address);
}

void ClientConnection::on_dialed(const asio::error_code& error, tcp::socket socket) {
  if (error) return end(why_not_connected(error));
  asio::error_code only_slower;
  socket.set_option(tcp::no_delay(true), only_slower);
  if (tls_ == nullptr) return open(Channel(std::move(socket)));
  handshake_ = std::make_shared<TlsHandshake>(
      std::move(socket), std::make_unique<TlsStream>(tls_, TlsStream::Role::connect, host_),
      [self = shared_from_this()](Result<SecuredSocket> secured) {
        self->on_secured(std::move(secured));
      });
  handshake_->start();
}

void ClientConnection::on_secured(Result<SecuredSocket> secured) {
  if (!secured.ok()) return end(secured.status().detail());
  open(Channel(std::move(secured->socket), std::move(secured->tls)));
}

void ClientConnection::open(Channel channel) {
  channel_ = std::move(channel);
  wait_readable();
  events_.connected();
  events_.turn_over();
}

void ClientConnection::wait_readable() {
  channel_.when_readable([self = shared_from_this()] {
    if (!self->closed_) self->on_readable();
  });
}

void ClientConnection::on_readable() {
  asio::error_code error;
  const std::size_t read = channel_.read_some(decoder_.prepare(kClientReadSize), error);
  if (error && !is_later(error)) {
    return end(error == asio::error::eof ? "closed by the node" : channel_.describe(error));
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
  switch (output_.flush(channel_)) {
    case SocketOutput::Flushed::all:
      return;
    // The reader gets the reason when no more input comes.
    case SocketOutput::Flushed::broken:
      return;
    case SocketOutput::Flushed::some:
      return wait_writable();
  }
}

void ClientConnection::wait_writable() {
  if (std::exchange(writing_, true)) return;
  channel_.socket().async_wait(tcp::socket::wait_write,
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
  if (dial_ != nullptr) dial_->cancel();
  if (handshake_ != nullptr) handshake_->cancel();
  asio::error_code ignored;
  channel_.socket().close(ignored);
}

}  // namespace quipu
