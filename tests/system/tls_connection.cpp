#include "tests/system/tls_connection.h"

#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <asio/buffer.hpp>
#include <asio/write.hpp>
#include <vector>

#include "node/net/address.h"
#include "tests/node/eventually.h"

namespace quipu::test {

using asio::ip::tcp;

TlsConnection::TlsConnection(const std::string& to, const Context& context, const std::string& from)
    : tls_(std::make_unique<TlsStream>(context, TlsStream::Role::connect, "localhost")) {
  const Result<Address> address = parse_address(to);
  asio::error_code error;
  socket_.open(tcp::v4());
  socket_.bind({asio::ip::make_address(from), 0}, error);
  if (!error) socket_.connect({asio::ip::make_address(address->host), address->port}, error);
  if (error) return;
  const timeval patience{kPatience.count(), 0};
  ::setsockopt(socket_.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  std::array<std::byte, 1> byte{};  // so that no record comes with the next
  TlsStream::Shake shake = tls_->shake({});
  while (flush() && shake == TlsStream::Shake::wants_input && receive(byte) == 1)
    shake = tls_->shake(byte);
  open_ = shake == TlsStream::Shake::done && flush();
}

bool TlsConnection::flush() {
  asio::error_code error;
  asio::write(socket_, asio::buffer(tls_->output()), error);
  tls_->output().clear();
  return !error;
}

// Not socket_.read_some, which waits for ever, whatever SO_RCVTIMEO says.
std::size_t TlsConnection::receive(std::span<std::byte> room) {
  const ssize_t read = ::recv(socket_.native_handle(), room.data(), room.size(), 0);
  return read <= 0 ? 0 : static_cast<std::size_t>(read);
}

bool TlsConnection::send(const std::string& text) {
  open_ = open_ && tls_->encrypt(std::as_bytes(std::span(text))) && flush();
  return open_;
}

std::string TlsConnection::line_after(const std::string& request) {
  if (!send(request + "\r\n")) return {};
  std::array<std::byte, 4096> input{};
  std::vector<std::byte> room(input.size() + kTlsRecord);
  std::size_t end = unread_.find("\r\n");
  for (; end == std::string::npos; end = unread_.find("\r\n")) {
    const std::size_t read = receive(input);
    const TlsStream::Decrypted some = tls_->decrypt(std::span(input).first(read), room);
    unread_.append(reinterpret_cast<const char*>(room.data()), some.bytes);
    open_ = read > 0 && !some.ended && !some.broken;
    if (!open_) return {};
  }
  const std::string line = unread_.substr(0, end);
  unread_.erase(0, end + 2);
  return line;
}

}  // namespace quipu::test
