#include "node/socket_output.h"

#include <asio/buffer.hpp>
#include <utility>

namespace quipu {
namespace {

// A longer buffer is freed when it is empty: ten thousand idle connections must
// not each keep their largest answer's.
constexpr std::size_t kIdleBuffer = std::size_t{4} << 10;

}  // namespace

void SocketOutput::append(std::string&& frames) {
  if (bytes_.empty()) {
    bytes_ = std::move(frames);
  } else {
    bytes_.append(frames);
  }
}

SocketOutput::Flushed SocketOutput::flush(asio::ip::tcp::socket& socket) {
  Flushed result = Flushed::all;
  while (waiting() > 0) {
    asio::error_code error;
    sent_ += socket.write_some(asio::buffer(bytes_.data() + sent_, waiting()), error);
    if (!error) continue;
    const bool later = error == asio::error::would_block || error == asio::error::try_again;
    result = later ? Flushed::some : Flushed::broken;
    break;
  }
  forget_sent();
  return result;
}

void SocketOutput::forget_sent() {
  if (waiting() == 0) {
    bytes_.clear();
    if (bytes_.capacity() > kIdleBuffer) bytes_ = {};
    sent_ = 0;
  } else if (sent_ >= bytes_.size() / 2) {  // so that each byte moves once at most
    bytes_.erase(0, std::exchange(sent_, 0));
  }
}

}  // namespace quipu
