// raw_connection.h: a blocking TCP connection that may send anything.
#pragma once

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/frame.h"
#include "protocol/message_codec.h"

namespace quipu::test {

class RawConnection {
 public:
  // To "127.0.0.1:port".
  explicit RawConnection(const std::string& address);

  // False: the other side has closed.
  bool send(std::string_view bytes);
  void shutdown_send();

  struct Answer {
    FrameType type{};
    std::string payload;  // a frame of its own, so that it is aligned
  };
  // The next frame. Nothing once the other side has closed. Fails the test if neither happens in
  // time.
  [[nodiscard]] std::optional<Answer> receive();
  // Reads until the other side closes; the last Refusal on the way, if any.
  [[nodiscard]] std::optional<Refusal> receive_until_closed();

  // ---- RESP ----
  // The bytes of one reply, whatever it is; empty: the other side has closed.
  [[nodiscard]] std::string reply_to(std::string_view request);
  [[nodiscard]] std::string receive_reply();
  // The bytes of all replies to several requests, on a connection that answers a PING.
  [[nodiscard]] std::string replies_to(std::string_view requests);
  // All bytes until `end` has come, or the other side has closed.
  [[nodiscard]] std::string receive_text(std::string_view end = {});

 private:
  [[nodiscard]] bool read_some();

  asio::io_context io_;
  asio::ip::tcp::socket socket_{io_};
  FrameDecoder decoder_;
};

}  // namespace quipu::test
