#include "node/clients/client_session.h"

#include <sys/socket.h>

#include <asio/post.hpp>
#include <cerrno>
#include <utility>

#include "node/net/address.h"

namespace quipu {
namespace {

using asio::ip::tcp;

constexpr std::size_t kTurnSize = std::size_t{64} << 10;
// How long a client may take to fetch the last reply.
constexpr std::chrono::seconds kLinger{1};

std::string in_seconds(std::chrono::milliseconds time) {
  return std::to_string(time.count() / 1000) + " s";
}

// Empty: there is none.
std::string text_of(const tcp::endpoint& endpoint, const asio::error_code& error) {
  return error ? "" : to_string(Address{endpoint.address().to_string(), endpoint.port()});
}

}  // namespace

ClientSession::ClientSession(Channel channel, ClientId id, SessionsShared& shared)
    : channel_(std::move(channel)),
      watched_{channel_.socket().native_handle(), id},
      shared_(shared) {}

void ClientSession::go_on() {
  if (going_on_ || closed_ || must_wait()) return;
  going_on_ = true;
  if (turn_over_) {
    return asio::post(shared_.io, [self = shared_from_this()] {
      self->going_on_ = false;
      if (self->closed_ || self->must_wait()) return;
      if (!self->turn_over_) return self->go_on();  // turned out meanwhile
      self->take_turn(*self->left_over_);
    });
  }
  if (channel_.over()) {
    return asio::post(shared_.io, [self = shared_from_this()] {
      self->going_on_ = false;
      if (!self->closed_) self->on_readable();
    });
  }
  watch({.read = true, .write = watched_.interest.write});
}

void ClientSession::watch(ReadySockets::Interest interest) {
  if (!shared_.sockets.watch(watched_, interest)) close();
}

// Most sockets are read again and again. So the interest in reading stays until something must
// not be read now.
void ClientSession::on_ready(ReadySockets::Interest ready) {
  const ReadySockets::Interest wanted = watched_.interest;
  if (ready.write && wanted.write) {
    flush();
    go_on();
  }
  if (!ready.read || !wanted.read || closed_) return;
  if (!going_on_ || turn_over_) return watch({.read = false, .write = watched_.interest.write});
  going_on_ = false;
  on_readable();
}

// go_on() is called when that has changed.
bool ClientSession::must_wait() {
  if (ending_) return false;
  if (output_.waiting() > shared_.limits.soft_output) return true;
  if (unflushed_ && stranger()) return true;  // so that its replies do not pile up within a batch
  if (protocol_ != nullptr && protocol_->state() == ClientProtocol::State::waiting) return true;
  const bool swamped = shared_.gated > shared_.limits.gated;
  if (!swamped && !shared_.context.paused()) return false;
  if (!std::exchange(core_paused_, true)) shared_.paused.push_back(shared_from_this());
  return true;
}

void ClientSession::on_core_resumed() {
  core_paused_ = false;
  request_since_ = NodeClock::now();  // nothing was read meanwhile
  go_on();
}

void ClientSession::on_readable() {
  if (ending_) return discard();
  if (must_wait() || (protocol_ == nullptr && leaves())) return;
  ReadBuffer& in = left_over_ != nullptr ? *left_over_ : shared_.buffer;
  const std::size_t most =
      stranger() ? std::min(kStrangerTurn, kMaxStrangerBytes - in.buffered()) : kTurnSize;
  const std::size_t wanted = channel_.room_for(most);
  asio::error_code error;
  const std::size_t read = channel_.read_some(in.prepare(wanted).first(wanted), error);
  if (error && !is_later(error)) return close();
  in.commit(read);
  PortFigures& figures = shared_.context.figures;
  ++figures.reads;
  figures.bytes_in += read;
  take_turn(in);
}

// It looks at the first byte without reading it.
bool ClientSession::leaves() {
  if (shared_.on_first == nullptr || channel_.tls() != nullptr || left_over_ != nullptr)
    return false;
  char first = 0;
  const ssize_t peeked = ::recv(descriptor(), &first, 1, MSG_PEEK);
  if (peeked < 0 && errno == EAGAIN) {
    go_on();  // nothing may be read before its first byte was seen
    return true;
  }
  if (peeked != 1) return false;  // the read will say why
  return shared_.on_first(*this, first) == SessionsShared::First::leave;
}

void ClientSession::take_turn(ReadBuffer& in) {
  {
    const CorePort::Event turn(shared_.context.port, CorePort::End::later);
    take_requests(in);
    if (!closed_) {
      keep_left_over(in);
      bound_stranger();
      part();
      if (shared_.held > shared_.limits.held) shared_.on_held_too_much();
    }
  }
  go_on();
}

void ClientSession::take_requests(ReadBuffer& in) {
  turn_over_ = false;
  const std::size_t before = in.buffered();
  if (before == 0) return;
  if (protocol_ == nullptr) {
    // A client that speaks TLS where there is none makes nothing of an answer in plain text.
    if (static_cast<std::uint8_t>(in.unread().front()) == kTlsFirstByte) {
      in = {};
      return close();
    }
    protocol_ = shared_.speak(*this, in.unread().front());
  }
  const std::uint64_t from = output_.position();
  protocol_->take(in, output_.tail());
  if (left_over_ == nullptr || in.buffered() < before) request_since_ = NodeClock::now();
  turn_over_ = in.buffered() > 0 && protocol_->state() != ClientProtocol::State::reading;
  on_said(from);
  if (!ending_ && !closed_) return;
  in = {};
  turn_over_ = false;
}

// Output was appended there, or the protocol's state has changed.
void ClientSession::on_said(std::uint64_t from) {
  // An answer behind another one may be sent only now, though its own commit was durable before.
  if (const Commit after = protocol_->take_after(); after > shared_.released) {
    output_.hold(from, after);
    shared_.holding.hold(shared_from_this(), after);
    count_gated();
  }
  if (output_.free() > 0) mark_unflushed();
  if (protocol_->state() == ClientProtocol::State::broken) return close();
  if (protocol_->state() == ClientProtocol::State::ended) end();
}

void ClientSession::keep_left_over(ReadBuffer& in) {
  if (left_over_ == nullptr && in.buffered() > 0) {
    left_over_ = std::make_unique<ReadBuffer>(std::exchange(in, {}));
  } else if (left_over_ != nullptr && in.buffered() == 0) {
    shared_.buffer = std::move(in);
    left_over_.reset();
  }
  const bool in_record = channel_.incomplete();
  const std::size_t kept =
      (protocol_ == nullptr ? 0 : protocol_->kept()) + (in_record ? kTlsRecord : 0);
  if (left_over_ == nullptr) {
    if (in_record && request_late_ == nullptr) {
      request_since_ = NodeClock::now();
      watch_request();
    }
    return hold(kept);
  }
  if (!turn_over_) {
    // Ten thousand clients may each have sent a few bytes of a request.
    if (left_over_->buffered() < kTurnSize) left_over_->fit();
    if (request_late_ == nullptr) watch_request();
  }
  hold(left_over_->held() + kept);
}

void ClientSession::hold(std::size_t bytes) {
  shared_.held += bytes;
  shared_.held -= std::exchange(held_, bytes);
}

// Many reads end within a request. So the timer runs on, and checks when it fires.
void ClientSession::watch_request() {
  request_late_ = std::make_unique<Timer>(shared_.io, request_since_ + shared_.limits.request);
  request_late_->async_wait([self = shared_from_this()](const asio::error_code& error) {
    if (!error && !self->closed_) self->on_request_late();
  });
}

void ClientSession::on_request_late() {
  request_late_.reset();
  const bool unfinished = left_over_ != nullptr ? !turn_over_ : channel_.incomplete();
  if (!unfinished) return;
  const Instant now = NodeClock::now();
  if (!going_on_) request_since_ = now;  // this node does not read
  if (now < request_since_ + shared_.limits.request) return watch_request();
  if (protocol_ == nullptr) return close();  // not even its protocol is known
  evict({Code::protocol_error,
         "a request was begun and not finished in " + in_seconds(shared_.limits.request)});
}

void ClientSession::reply(const Answer& answer) {
  if (closed_ || ending_) return;
  const std::uint64_t from = output_.position();
  const bool waited = protocol_->state() == ClientProtocol::State::waiting;
  protocol_->reply(answer, output_.tail());
  on_said(from);
  answered_ = NodeClock::now();
  shared_.context.meter.on_answer(protocol_->protocol(), answered_, answer);
  if (waited) request_since_ = answered_;  // nothing was read meanwhile
  part();
  go_on();  // it may have waited for this
}

void ClientSession::end() {
  if (std::exchange(ending_, true)) return;
  mark_unflushed();
}

// Closing a connection with unread input would reset it and lose the last reply. The reply may
// also have to wait for the disk first.
void ClientSession::linger() {
  if (!ending_ || linger_ != nullptr || output_.free() < output_.waiting()) return;
  linger_ = std::make_unique<Timer>(shared_.io, NodeClock::now() + kLinger);
  linger_->async_wait([self = shared_from_this()](const asio::error_code& error) {
    if (!error) self->close();
  });
}

void ClientSession::count_gated() {
  const std::size_t now = closed_ ? 0 : output_.waiting() - output_.free();
  shared_.gated += now;
  shared_.gated -= std::exchange(gated_, now);
}

void ClientSession::evict(const Status& why) {
  if (closed_ || ending_ || protocol_ == nullptr) return;
  const CorePort::Event event(shared_.context.port);
  left_over_.reset();
  turn_over_ = false;
  hold(0);
  const std::uint64_t from = output_.position();
  protocol_->refuse(why, output_.tail());
  on_said(from);
  go_on();
}

// What is unread is never carried out. So the client need not doubt what it gets no answer to.
void ClientSession::part() {
  if (protocol_ != nullptr && shared_.context.closing && protocol_->parts())
    evict({Code::unavailable,
           "the node is closing, and carried out nothing that it has not answered"});
}

bool ClientSession::stranger() const {
  return protocol_ == nullptr ? shared_.context.access.users != nullptr
                              : !protocol_->access().authenticated();
}

void ClientSession::bound_stranger() {
  if (left_over_ == nullptr || turn_over_ || left_over_->buffered() < kMaxStrangerBytes ||
      !stranger())
    return;
  evict({Code::protocol_error, "a request before authentication has at most " +
                                   std::to_string(kMaxStrangerBytes) + " bytes"});
}

void ClientSession::renew_access() {
  if (protocol_ != nullptr && !protocol_->renew_access())
    evict({Code::unauthenticated,
           "the user of this connection, or its secret, was removed from the users file"});
}

void ClientSession::discard() {
  asio::error_code error;
  (void)channel_.read_some(shared_.buffer.prepare(channel_.room_for(kTurnSize)), error);
  if (error && !is_later(error)) {
    const CorePort::Event event(shared_.context.port);  // a node that stops waits for this
    return close();
  }
  go_on();
}

void ClientSession::mark_unflushed() {
  if (!std::exchange(unflushed_, true)) shared_.unflushed.push_back(shared_from_this());
}

void ClientSession::flush() {
  unflushed_ = false;
  if (closed_) return;
  const std::size_t waiting = output_.waiting();
  const SocketOutput::Flushed flushed = output_.flush(channel_);
  if (const std::size_t sent = waiting - output_.waiting(); sent > 0) {
    ++shared_.context.figures.writes;
    shared_.context.figures.bytes_out += sent;
  }
  switch (flushed) {
    case SocketOutput::Flushed::broken:
      return close();
    case SocketOutput::Flushed::some:
      if (output_.free() > (stranger() ? kMaxStrangerBytes : shared_.limits.hard_output))
        return close();
      watch_output();
      linger();
      watch({.read = watched_.interest.read, .write = true});
      return go_on();  // it may have waited for this
    case SocketOutput::Flushed::all:
      break;
  }
  watch({.read = watched_.interest.read, .write = false});
  if (closed_) return;
  output_late_.reset();
  linger();
  if (ending_ && output_.waiting() == 0) {
    channel_.shut_down_sending();
  }
  go_on();  // it may have waited for room
}

void ClientSession::on_released(Commit durable) {
  if (closed_) return;
  output_.release(durable);
  count_gated();
  mark_unflushed();
}

void ClientSession::watch_output() {
  if (output_.free() <= shared_.limits.soft_output) return output_late_.reset();
  if (output_late_ != nullptr) return;
  output_late_ =
      std::make_unique<Timer>(shared_.io, NodeClock::now() + shared_.limits.soft_output_time);
  output_late_->async_wait([self = shared_from_this()](const asio::error_code& error) {
    if (!error && self->output_.free() > self->shared_.limits.soft_output) self->close();
  });
}

std::string ClientSession::remote() const {
  asio::error_code error;
  const tcp::endpoint endpoint = channel_.socket().remote_endpoint(error);
  return text_of(endpoint, error);
}

std::string ClientSession::local() const {
  asio::error_code error;
  const tcp::endpoint endpoint = channel_.socket().local_endpoint(error);
  return text_of(endpoint, error);
}

void ClientSession::close() {
  if (closed_) return;
  const tcp::socket closing = leave();
}

tcp::socket ClientSession::leave() {
  closed_ = true;
  (void)shared_.sockets.watch(watched_, {});
  tcp::socket socket = std::move(channel_.socket());
  for (const std::unique_ptr<Timer>* timer : {&linger_, &request_late_, &output_late_}) {
    if (*timer != nullptr) (*timer)->cancel();
  }
  hold(0);
  count_gated();
  if (protocol_ != nullptr) protocol_->on_closed();
  shared_.on_closed(id());
  return socket;
}

}  // namespace quipu
