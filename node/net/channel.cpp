#include "node/net/channel.h"

#include <array>
#include <asio/buffer.hpp>

namespace quipu {

std::size_t Channel::read_some(std::span<std::byte> room, asio::error_code& error) {
  if (tls_ == nullptr) return socket_.read_some(asio::buffer(room.data(), room.size()), error);
  if (over_) {
    error = over_;
    return 0;
  }
  std::array<std::byte, kMostCiphertext> ciphertext;
  const std::size_t most = std::min(kMostCiphertext, room.size() - kTlsRecord);
  const std::size_t read = socket_.read_some(asio::buffer(ciphertext.data(), most), error);
  if (error) return 0;
  const TlsStream::Decrypted got = tls_->decrypt(std::span(ciphertext).first(read), room);
  // OpenSSL answers a change of keys. A side that asks for many and reads none is cut off.
  if (!tls_->output().empty()) error = send_ciphertext();
  if (got.ended) over_ = asio::error::eof;
  if (got.broken || tls_->output().size() > kMostCiphertext)
    over_ = asio::error::connection_aborted;
  if (got.bytes == 0 && over_) error = over_;
  return got.bytes;
}

std::size_t Channel::write_some(std::span<const std::byte> bytes, asio::error_code& error) {
  if (tls_ == nullptr) return socket_.write_some(asio::buffer(bytes.data(), bytes.size()), error);
  error = send_ciphertext();
  if (error || bytes.empty()) return 0;
  const std::span<const std::byte> record = bytes.first(std::min(bytes.size(), kTlsPlaintext));
  if (!tls_->encrypt(record)) {
    error = asio::error::connection_aborted;
    return 0;
  }
  error = send_ciphertext();
  return record.size();
}

asio::error_code Channel::send_ciphertext() {
  std::string& output = tls_->output();
  asio::error_code error;
  while (!output.empty() && !error)
    output.erase(0, socket_.write_some(asio::buffer(output), error));
  if (output.empty() && output.capacity() > kTlsPlaintext / 4) std::string().swap(output);
  return error;
}

std::string Channel::describe(const asio::error_code& error) const {
  return tls_ == nullptr || tls_->why().empty() ? error.message() : tls_->why();
}

void Channel::shut_down_sending() {
  if (tls_ != nullptr) {
    tls_->end();
    (void)send_ciphertext();
  }
  asio::error_code ignored;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
}

}  // namespace quipu
