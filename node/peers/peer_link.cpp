#include "node/peers/peer_link.h"

#include <sstream>
#include <utility>

#include "node/base/sockets.h"
#include "protocol/check.h"
#include "protocol/message_codec.h"

namespace quipu {
namespace {

using asio::ip::tcp;

constexpr std::size_t kPeerReadSize = std::size_t{256} << 10;
// The core keeps few frames in flight per peer. A peer that owes more than this has stopped
// reading.
constexpr std::size_t kMaxOutput = std::size_t{64} << 20;
constexpr std::chrono::seconds kFirstFrame{5};
constexpr const char* kWantsTls =
    "it speaks TLS, and this node does not: all members need cluster.secret_file or tls.peer_ca, "
    "or none";

}  // namespace

std::string describe_remote(const tcp::socket& socket) {
  asio::error_code error;
  const tcp::endpoint endpoint = socket.remote_endpoint(error);
  if (error) return "unknown";
  std::ostringstream text;
  text << endpoint;
  return text.str();
}

PeerLink::PeerLink(Channel channel, Identity identity, CorePort& port, Events events)
    : channel_(std::move(channel)),
      identity_(identity),
      port_(port),
      events_(std::move(events)),
      remote_(describe_remote(channel_.socket())),
      opened_(NodeClock::now()),
      first_frame_(channel_.socket().get_executor()) {
  QUIPU_CHECK(port.core() != nullptr, "a link of a peer is opened for a core");
  asio::error_code ignored;
  channel_.socket().set_option(tcp::no_delay(true), ignored);
}

void PeerLink::open() {
  const CorePort::Event event(port_);
  event->on_link_open(NodeClock::now(), identity_.id, identity_.dialed, event.effects());
  if (!identity_.dialed) wait_for_first_frame();
  wait_readable();
}

void PeerLink::wait_for_first_frame() {
  first_frame_.expires_after(kFirstFrame);
  first_frame_.async_wait([self = shared_from_this()](const asio::error_code& error) {
    if (!error && !self->heard_) self->close("said nothing for 5 s");
  });
}

void PeerLink::wait_readable() {
  channel_.when_readable([self = shared_from_this()] {
    if (!self->closed_) self->on_readable();
  });
}

void PeerLink::on_readable() {
  asio::error_code error;
  const std::size_t read = channel_.read_some(decoder_.prepare(kPeerReadSize), error);
  if (error && !is_later(error)) {
    return close(error == asio::error::eof ? "closed by the peer" : channel_.describe(error));
  }
  decoder_.commit(read);
  wants_tls_ = begins_tls();
  if (wants_tls_) return close(kWantsTls);
  give_frames();
  if (!closed_) wait_readable();
}

bool PeerLink::begins_tls() const {
  const std::string_view bytes = decoder_.unread();
  return channel_.tls() == nullptr && !heard_ && !bytes.empty() &&
         static_cast<std::uint8_t>(bytes.front()) == kTlsFirstByte;
}

void PeerLink::give_frames() {
  const CorePort::Event event(port_);
  while (true) {
    const Result<std::optional<FrameDecoder::Frame>> frame =
        decoder_.next(port_.core()->frame_salt());
    if (!frame.ok()) return refuse(frame.status());
    if (!*frame) return;
    if (!std::exchange(heard_, true)) first_frame_.cancel();
    if (std::string why = objection(**frame); !why.empty())
      return refuse({Code::cannot_start, std::move(why)});
    event->on_link_frame(NodeClock::now(), identity_.id, **frame, event.effects());
  }
}

std::string PeerLink::objection(const FrameDecoder::Frame& frame) const {
  if (frame.type != FrameType::hello || identity_.dialed || channel_.tls() == nullptr) return {};
  const auto message = decode_peer(frame.type, frame.payload);
  const Hello* const hello = message.ok() ? std::get_if<Hello>(&*message) : nullptr;
  return hello == nullptr ? std::string() : events_.objection(channel_, hello->node);
}

// A handshake message, so that the other side can report it.
void PeerLink::refuse(const Status& why) {
  encode_peer(output_.tail(), Refusal{why.code(), why.detail()}, {});
  close(why.detail());
}

void PeerLink::flush() {
  if (closed_) return;
  switch (output_.flush(channel_)) {
    case SocketOutput::Flushed::all:
      return;
    case SocketOutput::Flushed::broken:
      return close("the connection broke");
    case SocketOutput::Flushed::some:
      break;
  }
  if (output_.waiting() > kMaxOutput) return close("reads too slowly");
  wait_writable();
}

void PeerLink::wait_writable() {
  if (std::exchange(writing_, true)) return;
  channel_.socket().async_wait(tcp::socket::wait_write,
                               [self = shared_from_this()](const asio::error_code& error) {
                                 self->writing_ = false;
                                 if (error || self->closed_) return;
                                 const CorePort::Event event(self->port_);
                                 self->flush();
                               });
}

void PeerLink::close(const std::string& reason) {
  if (closed_) return;
  shut();
  events_.closed(*this, reason);
}

void PeerLink::shut() {
  if (std::exchange(closed_, true)) return;
  static_cast<void>(output_.flush(channel_));  // a Refusal may be waiting
  channel_.shut_down_sending();
  asio::error_code ignored;
  channel_.socket().close(ignored);
  first_frame_.cancel();
}

}  // namespace quipu
