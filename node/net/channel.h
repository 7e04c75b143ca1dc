// channel.h: what sessions, links and clients read and write: a socket, or a socket with TLS.
//
//   socket ──one recv──▶ [decrypt] ──▶ read_some()
//   socket ◀──one send── [encrypt, a record] ◀── write_some()
//
// One recv a turn, and all of it is decrypted at once. So the socket alone says whether there is
// more. At most one record of ciphertext waits to be sent.
//
// One thread at a time.
#pragma once

#include <algorithm>
#include <asio/ip/tcp.hpp>
#include <asio/post.hpp>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "node/tls/tls_stream.h"

namespace quipu {

class Channel {
 public:
  // `socket` is non-blocking. `tls`: after its handshake; null: plain.
  explicit Channel(asio::ip::tcp::socket socket, std::unique_ptr<TlsStream> tls = nullptr)
      : socket_(std::move(socket)), tls_(std::move(tls)) {}

  [[nodiscard]] asio::ip::tcp::socket& socket() { return socket_; }
  [[nodiscard]] const asio::ip::tcp::socket& socket() const { return socket_; }
  // Null: plain.
  [[nodiscard]] const TlsStream* tls() const { return tls_.get(); }

  // How much room read_some() needs to take `most` bytes off the socket: one that is longer gives
  // no more.
  [[nodiscard]] std::size_t room_for(std::size_t most) const {
    return tls_ == nullptr ? most : std::min(most, kMostCiphertext) + kTlsRecord;
  }
  // As socket.read_some(): would_block if nothing came, eof at the end. With TLS, no bytes without
  // an error are a part of a record. REQUIRES: room.size() >= room_for(1)
  [[nodiscard]] std::size_t read_some(std::span<std::byte> room, asio::error_code& error);
  // As socket.write_some(), of the bytes that it takes. With TLS would_block may come beside bytes:
  // they were taken, and the next call must wait until the socket can be written.
  [[nodiscard]] std::size_t write_some(std::span<const std::byte> bytes, asio::error_code& error);
  // Sends ciphertext that waits. The error is would_block if some is left.
  [[nodiscard]] asio::error_code send_pending() {
    return tls_ == nullptr ? asio::error_code() : send_ciphertext();
  }
  // Calls `ready` from the socket's loop once read_some() has something to say. Not if the socket
  // is closed before.
  template <class Ready>
  void when_readable(Ready ready) {
    if (over()) return asio::post(socket_.get_executor(), std::move(ready));
    socket_.async_wait(asio::ip::tcp::socket::wait_read,
                       [ready = std::move(ready)](const asio::error_code& error) {
                         if (!error) ready();
                       });
  }
  // The next read_some() reports an error, whatever the socket has. So do not wait for the socket.
  [[nodiscard]] bool over() const { return static_cast<bool>(over_); }
  // A part of a record waits for the rest: up to kTlsRecord bytes of memory.
  [[nodiscard]] bool incomplete() const { return tls_ != nullptr && tls_->incomplete(); }
  // What this error of read_some() means, for people.
  [[nodiscard]] std::string describe(const asio::error_code& error) const;
  // Says that nothing follows, and sends no more.
  void shut_down_sending();

 private:
  static constexpr std::size_t kMostCiphertext = std::size_t{60} << 10;
  [[nodiscard]] asio::error_code send_ciphertext();

  asio::ip::tcp::socket socket_;
  std::unique_ptr<TlsStream> tls_;
  asio::error_code over_;  // what the next read reports
};

}  // namespace quipu
