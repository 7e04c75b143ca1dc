#include "node/net/socket_output.h"

#include <span>
#include <utility>

#include "node/base/sockets.h"
#include "protocol/check.h"

namespace quipu {
namespace {

// A longer buffer is freed when it is empty: ten thousand idle connections must not each keep
// room for their largest answer.
constexpr std::size_t kIdleBuffer = std::size_t{4} << 10;

}  // namespace

void SocketOutput::append(std::string&& frames) {
  if (bytes_.empty()) {
    bytes_ = std::move(frames);
  } else {
    bytes_.append(frames);
  }
}

// Bytes keep their order, so those behind a later commit wait for that one anyway.
void SocketOutput::hold(std::uint64_t from, Commit until) {
  QUIPU_CHECK(from >= flushed_ && from <= position(), "what was sent cannot be held back", from,
              flushed_, position());
  if (gate_.last() < until) gate_.hold(from, until);
}

void SocketOutput::release(Commit durable) {
  gate_.release(durable, [](std::uint64_t) {});
}

std::size_t SocketOutput::free() const {
  return gate_.empty() ? waiting() : static_cast<std::size_t>(gate_.front() - flushed_);
}

SocketOutput::Flushed SocketOutput::flush(Channel& channel) {
  asio::error_code error = channel.send_pending();
  while (!error && free() > 0) {
    const auto bytes = std::as_bytes(std::span(bytes_).subspan(sent_, free()));
    const std::size_t sent = channel.write_some(bytes, error);
    sent_ += sent;
    flushed_ += sent;
  }
  QUIPU_CHECK(gate_.empty() || flushed_ <= gate_.front(),
              "no byte is sent before what it tells of is durable", flushed_);
  forget_sent();
  if (!error) return Flushed::all;
  return is_later(error) ? Flushed::some : Flushed::broken;
}

void SocketOutput::forget_sent() {
  if (waiting() == 0) {
    bytes_.clear();
    if (bytes_.capacity() > kIdleBuffer) std::string().swap(bytes_);  // "= {}" would keep it
    sent_ = 0;
  } else if (sent_ >= bytes_.size() / 2) {  // so that each byte moves once at most
    bytes_.erase(0, std::exchange(sent_, 0));
  }
}

}  // namespace quipu
