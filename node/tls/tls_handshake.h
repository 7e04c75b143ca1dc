// tls_handshake.h: one TLS handshake over a socket that is connected.
//
//   start ─▶ read a record's header, then its body ─▶ shake ─▶ send ─▶ … ─▶ done
//                └── too late, too long, refused, or the socket broke ──▶ done, with why
//
// It reads one record at a time. So bytes behind the handshake stay in the socket, and the next
// reader finds them there.
//
// Invariant: `done` is called once, from the loop, and not after cancel(). The loop's thread.
// Owned by the object that wants it, and by its pending callbacks.
#pragma once

#include <array>
#include <asio/ip/tcp.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "node/base/clock.h"
#include "node/tls/tls_stream.h"

namespace quipu {

// A socket and the TLS connection on it.
struct SecuredSocket {
  asio::ip::tcp::socket socket;
  std::unique_ptr<TlsStream> tls;
};

inline constexpr std::chrono::seconds kTlsHandshakeTime{5};

class TlsHandshake : public std::enable_shared_from_this<TlsHandshake> {
 public:
  // An error: `unavailable`, with why for people. The socket is closed then.
  using Done = std::function<void(Result<SecuredSocket>)>;

  // `socket` is non-blocking, of an io_context that runs.
  TlsHandshake(asio::ip::tcp::socket socket, std::unique_ptr<TlsStream> tls, Done done);

  // Ends it when it takes longer than kTlsHandshakeTime.
  void start();
  // Ends it without a call of `done`.
  void cancel();
  // Ends it, with `done`.
  void fail(const std::string& why);
  // Since then it has waited for the other side.
  [[nodiscard]] Instant waits_since() const { return waits_since_; }

 private:
  static constexpr std::size_t kMostBytes = std::size_t{32} << 10;

  void go_on(std::span<const std::byte> input);
  void wait(asio::ip::tcp::socket::wait_type for_what);
  void on_readable();
  void send();
  void end(Result<SecuredSocket> result);

  asio::ip::tcp::socket socket_;
  std::unique_ptr<TlsStream> tls_;
  Done done_;  // null: ended
  Timer late_;
  Instant waits_since_{};
  TlsStream::Shake shake_ = TlsStream::Shake::wants_input;
  std::array<std::byte, 5> header_{};
  std::size_t header_read_ = 0;
  std::size_t body_left_ = 0;  // once the header was read
  std::size_t read_ = 0;       // of all
};

}  // namespace quipu
