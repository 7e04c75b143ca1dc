#include "node/tls/tls_handshake.h"

#include <algorithm>
#include <asio/buffer.hpp>
#include <utility>

#include "node/base/sockets.h"

namespace quipu {

using asio::ip::tcp;

TlsHandshake::TlsHandshake(tcp::socket socket, std::unique_ptr<TlsStream> tls, Done done)
    : socket_(std::move(socket)),
      tls_(std::move(tls)),
      done_(std::move(done)),
      late_(socket_.get_executor()) {}

void TlsHandshake::start() {
  late_.expires_after(kTlsHandshakeTime);
  late_.async_wait([self = shared_from_this()](const asio::error_code& error) {
    if (!error) self->fail("the TLS handshake was not finished in 5 s");
  });
  waits_since_ = NodeClock::now();
  go_on({});
}

void TlsHandshake::go_on(std::span<const std::byte> input) {
  shake_ = tls_->shake(input);
  send();
}

// The last bytes of a handshake are sent before it is done: an alert says why it failed.
void TlsHandshake::send() {
  std::string& output = tls_->output();
  if (!output.empty()) {
    asio::error_code error;
    output.erase(0, socket_.write_some(asio::buffer(output), error));
    if (is_later(error)) return wait(tcp::socket::wait_write);
    if (error) return fail(error.message());
    if (!output.empty()) return send();
  }
  switch (shake_) {
    case TlsStream::Shake::wants_input:
      return wait(tcp::socket::wait_read);
    case TlsStream::Shake::failed:
      return fail(tls_->why());
    case TlsStream::Shake::done:
      return end(SecuredSocket{std::move(socket_), std::move(tls_)});
  }
}

void TlsHandshake::wait(tcp::socket::wait_type for_what) {
  socket_.async_wait(for_what,
                     [self = shared_from_this(), for_what](const asio::error_code& error) {
                       if (error || !self->done_) return;
                       if (for_what == tcp::socket::wait_write) return self->send();
                       self->on_readable();
                     });
}

void TlsHandshake::on_readable() {
  std::array<std::byte, kTlsRecord> body;
  const bool in_header = header_read_ < header_.size();
  const std::span<std::byte> room = in_header
                                        ? std::span(header_).subspan(header_read_)
                                        : std::span(body).first(std::min(body_left_, body.size()));
  asio::error_code error;
  const std::size_t read = socket_.read_some(asio::buffer(room.data(), room.size()), error);
  if (is_later(error)) return wait(tcp::socket::wait_read);
  if (error == asio::error::eof)
    return fail("it ended the connection during the TLS handshake: does it speak TLS there?");
  if (error) return fail(error.message());
  waits_since_ = NodeClock::now();
  if ((read_ += read) > kMostBytes) return fail("a TLS handshake of more than 32 KiB");
  if (in_header) {
    header_read_ += read;
    if (header_read_ == header_.size())
      body_left_ =
          std::to_integer<std::size_t>(header_[3]) << 8 | std::to_integer<std::size_t>(header_[4]);
  } else {
    body_left_ -= read;
  }
  if (header_read_ == header_.size() && body_left_ == 0) header_read_ = 0;  // the next record
  go_on(room.first(read));
}

void TlsHandshake::fail(const std::string& why) { end(Status(Code::unavailable, why)); }

void TlsHandshake::end(Result<SecuredSocket> result) {
  const Done done = std::exchange(done_, nullptr);
  if (!done) return;
  cancel();
  done(std::move(result));
}

void TlsHandshake::cancel() {
  done_ = nullptr;
  late_.cancel();
  asio::error_code ignored;
  socket_.close(ignored);
}

}  // namespace quipu
