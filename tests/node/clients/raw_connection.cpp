#include "tests/node/clients/raw_connection.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <asio/buffer.hpp>
#include <asio/write.hpp>

#include "node/net/address.h"
#include "tests/node/clients/resp/resp_reply.h"
#include "tests/node/eventually.h"

namespace quipu::test {

using asio::ip::tcp;

RawConnection::RawConnection(const std::string& address) {
  const Result<Address> parsed = parse_address(address);
  if (!parsed.ok()) {
    ADD_FAILURE() << parsed.status().message();
    return;
  }
  asio::error_code error;
  socket_.connect(tcp::endpoint(asio::ip::make_address(parsed->host), parsed->port), error);
  EXPECT_FALSE(error) << error.message();
  const timeval patience{kPatience.count(), 0};
  ::setsockopt(socket_.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ::setsockopt(socket_.native_handle(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
}

bool RawConnection::send(std::string_view bytes) {
  asio::error_code error;
  asio::write(socket_, asio::buffer(bytes.data(), bytes.size()), error);
  return !error;
}

void RawConnection::shutdown_send() {
  asio::error_code ignored;
  socket_.shutdown(tcp::socket::shutdown_send, ignored);
}

bool RawConnection::read_some() {
  const std::span<std::byte> room = decoder_.prepare(4096);
  // Not socket_.read_some, which waits for ever, whatever SO_RCVTIMEO says.
  const ssize_t read = ::recv(socket_.native_handle(), room.data(), room.size(), 0);
  if (read < 0 && errno == EAGAIN) ADD_FAILURE() << "neither an answer nor a close in time";
  if (read <= 0) return false;
  decoder_.commit(static_cast<std::size_t>(read));
  return true;
}

std::optional<RawConnection::Answer> RawConnection::receive() {
  while (true) {
    const auto frame = decoder_.next();
    if (!frame.ok()) {
      ADD_FAILURE() << frame.status().message();
      return std::nullopt;
    }
    if (*frame) {
      const auto* const bytes = reinterpret_cast<const char*>((*frame)->payload.data());
      return Answer{(*frame)->type, std::string(bytes, (*frame)->payload.size())};
    }
    if (!read_some()) return std::nullopt;
  }
}

std::optional<Refusal> RawConnection::receive_until_closed() {
  std::optional<Refusal> refusal;
  while (const auto answer = receive()) {
    if (answer->type != FrameType::refusal) continue;
    const Result<Refusal> decoded = decode_refusal(std::as_bytes(std::span(answer->payload)));
    if (decoded.ok()) refusal = *decoded;
  }
  return refusal;
}

std::string RawConnection::reply_to(std::string_view request) {
  return send(std::string(request) + "\r\n") ? receive_reply() : "closed";
}

std::string RawConnection::receive_reply() {
  while (true) {
    const auto unread = decoder_.unread();
    const std::string reply(first_reply(unread));
    decoder_.consume(reply.size());
    if (!reply.empty() || !read_some()) return reply;
  }
}

std::string RawConnection::replies_to(std::string_view requests) {
  constexpr std::string_view kEnd = "$7\r\n-- end \r\n";  // of a request right behind them
  if (!send(std::string(requests) + "PING '-- end '\r\n")) return "closed";
  std::string replies = receive_text(kEnd);
  if (replies.ends_with(kEnd)) replies.resize(replies.size() - kEnd.size());
  return replies;
}

std::string RawConnection::receive_text(std::string_view end) {
  std::string text;
  do {
    text.append(decoder_.unread());
    decoder_.consume(decoder_.buffered());
    if (!end.empty() && text.ends_with(end)) break;
  } while (read_some());
  return text;
}

}  // namespace quipu::test
