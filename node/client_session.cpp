#include "node/client_session.h"

#include <asio/buffer.hpp>
#include <asio/post.hpp>
#include <utility>

#include "protocol/message_codec.h"

namespace quipu {
namespace {

using asio::ip::tcp;

constexpr std::size_t kReadSize = std::size_t{64} << 10;
// Answers that a client has not fetched: beyond the first it is read no more,
// beyond the second (they may come long after their requests) it is dropped.
constexpr std::size_t kPauseOutput = std::size_t{1} << 20;
constexpr std::size_t kMaxOutput = std::size_t{8} << 20;
static_assert(kPauseOutput + kMaxFrame < kMaxOutput);
// How long a refused client has to fetch the Refusal.
constexpr std::chrono::seconds kLinger{1};

constexpr const char* kClosing = "the node is closing";

Values refuse_all(const Read& read) {
  Value refused;
  refused.code = Code::unavailable;
  refused.detail = kClosing;
  return {read.id, std::vector<Value>(read.keys.size(), refused)};
}

std::string in_seconds(std::chrono::milliseconds time) {
  return std::to_string(time.count() / 1000) + " s";
}

bool is_later(const asio::error_code& error) {
  return error == asio::error::would_block || error == asio::error::try_again;
}

}  // namespace

ClientSession::ClientSession(tcp::socket socket, ClientId id, SessionsShared& shared)
    : socket_(std::move(socket)), id_(id), shared_(shared) {
  asio::error_code ignored;
  socket_.set_option(tcp::no_delay(true), ignored);
  socket_.set_option(tcp::socket::keep_alive(true), ignored);
}

void ClientSession::go_on() {
  if (going_on_ || closed_ || must_wait()) return;
  going_on_ = true;
  if (turn_over_) {
    return asio::post(socket_.get_executor(), [self = shared_from_this()] {
      self->going_on_ = false;
      if (self->closed_ || self->must_wait()) return;
      if (!self->turn_over_) return self->go_on();  // turned out meanwhile
      self->take_turn(*self->left_over_);
    });
  }
  socket_.async_wait(tcp::socket::wait_read,
                     [self = shared_from_this()](const asio::error_code& error) {
                       self->going_on_ = false;
                       if (!error && !self->closed_) self->on_readable();
                     });
}

// Somebody calls go_on() when that has changed.
bool ClientSession::must_wait() {
  if (refused_ != nullptr) return false;
  if (output_.waiting() > kPauseOutput) return true;
  if (!shared_.port.core->paused()) return false;
  if (!std::exchange(core_paused_, true)) shared_.paused.push_back(shared_from_this());
  return true;
}

void ClientSession::on_core_resumed() {
  core_paused_ = false;
  frame_since_ = NodeClock::now();  // nothing was read meanwhile
  go_on();
}

void ClientSession::on_readable() {
  if (refused_ != nullptr) return discard();
  if (must_wait()) return;
  FrameDecoder& in = left_over_ != nullptr ? *left_over_ : shared_.decoder;
  const std::span<std::byte> room = in.prepare(kReadSize);
  asio::error_code error;
  const std::size_t read = socket_.read_some(asio::buffer(room.data(), room.size()), error);
  if (error && !is_later(error)) return close();
  in.commit(read);
  take_turn(in);
}

void ClientSession::take_turn(FrameDecoder& in) {
  turn_over_ = false;
  handle_frames(in);
  turn_over_ = turn_over_ && in.buffered() > 0;
  keep_left_over(in);
  if (shared_.held > shared_.limits.held) shared_.on_held_too_much();
  shared_.port.finish();
  go_on();
}

void ClientSession::keep_left_over(FrameDecoder& in) {
  if (left_over_ == nullptr && in.buffered() > 0) {
    left_over_ = std::make_unique<FrameDecoder>(std::exchange(in, {}));
  } else if (left_over_ != nullptr && in.buffered() == 0) {
    shared_.decoder = std::move(in);
    left_over_.reset();
  }
  if (left_over_ == nullptr) return hold(0);
  if (!turn_over_) {
    // Ten thousand clients may each have sent a few bytes of a frame.
    if (left_over_->buffered() < kReadSize) left_over_->fit();
    if (frame_late_ == nullptr) watch_frame();
  }
  hold(left_over_->held());
}

void ClientSession::hold(std::size_t bytes) {
  shared_.held += bytes;
  shared_.held -= std::exchange(held_, bytes);
}

// Many a read ends within a frame: so the timer is let run, and looks when it fires.
void ClientSession::watch_frame() {
  frame_late_ =
      std::make_unique<Timer>(socket_.get_executor(), frame_since_ + shared_.limits.frame);
  frame_late_->async_wait([self = shared_from_this()](const asio::error_code& error) {
    if (!error && !self->closed_) self->on_frame_late();
  });
}

void ClientSession::on_frame_late() {
  frame_late_.reset();
  if (left_over_ == nullptr || turn_over_) return;
  const Instant now = NodeClock::now();
  if (!going_on_) frame_since_ = now;  // it is us who do not read
  if (now < frame_since_ + shared_.limits.frame) return watch_frame();
  turn_out({Code::protocol_error,
            "a frame was begun and not finished in " + in_seconds(shared_.limits.frame)});
  shared_.port.finish();
}

// The views in ops borrow the decoder's buffer, which stands still until the next read.
void ClientSession::handle_frames(FrameDecoder& in) {
  bool cut = left_over_ == nullptr;
  while (refused_ == nullptr && !turn_over_) {
    const Result<std::optional<FrameDecoder::Frame>> frame = in.next();
    if (frame.ok() && !*frame) break;
    cut = true;
    if (frame.ok() && (*frame)->type == FrameType::op) {
      const Result<Op> op = decode_op((*frame)->payload);
      if (op.ok()) {
        shared_.ops.push_back(*op);
      } else {
        refuse(op.status());
      }
      continue;
    }
    give_ops();
    if (frame.ok()) {
      handle(**frame);
    } else {
      refuse(frame.status());
    }
  }
  give_ops();
  if (cut) frame_since_ = NodeClock::now();
  if (refused_ != nullptr) in = {};
}

void ClientSession::handle(const FrameDecoder::Frame& frame) {
  CorePort& port = shared_.port;
  switch (frame.type) {
    case FrameType::read: {
      const Result<Read> read = decode_read(frame.payload);
      if (!read.ok()) return refuse(read.status());
      if (shared_.closing) return reply(refuse_all(*read));
      return port.core->on_read(NodeClock::now(), id_, *read, port.effects);
    }
    case FrameType::list:
      return answer(decode_list(frame.payload),
                    [&](const List& it) { return port.core->list(it); });
    case FrameType::config:
      return answer(decode_config_request(frame.payload),
                    [&](const ConfigRequest& it) { return port.core->config(it.id); });
    case FrameType::status:
      return answer(decode_status_request(frame.payload), [&](const StatusRequest& it) {
        return port.core->status(NodeClock::now(), it.id);
      });
    default:
      return refuse({Code::protocol_error, "frame of type " +
                                               std::to_string(static_cast<unsigned>(frame.type)) +
                                               ": not a request of the client port"});
  }
}

template <class Request, class Ask>
void ClientSession::answer(const Result<Request>& request, Ask ask) {
  if (!request.ok()) return refuse(request.status());
  encode(output_.tail(), ask(*request));
  mark_unflushed();
  turn_over_ = true;
}

void ClientSession::give_ops() {
  if (shared_.ops.empty()) return;
  if (shared_.closing) {
    for (const Op& op : shared_.ops) reply(Done{op.id, Code::unavailable, kClosing});
  } else {
    shared_.port.core->on_ops(NodeClock::now(), id_, shared_.ops, shared_.port.effects);
  }
  shared_.ops.clear();
}

void ClientSession::reply(const Answer& answer) {
  if (closed_ || refused_ != nullptr) return;
  std::visit([this](const auto& one) { encode(output_.tail(), one); }, answer);
  mark_unflushed();
}

// Closing with bytes unread would reset the connection, and the Refusal with it.
void ClientSession::refuse(const Status& why) {
  encode(output_.tail(), Refusal{why.code(), why.detail()});
  mark_unflushed();
  refused_ = std::make_unique<Timer>(socket_.get_executor(), NodeClock::now() + kLinger);
  refused_->async_wait([self = shared_from_this()](const asio::error_code& error) {
    if (!error) self->close();
  });
}

void ClientSession::turn_out(const Status& why) {
  if (closed_ || refused_ != nullptr) return;
  left_over_.reset();
  turn_over_ = false;
  hold(0);
  refuse(why);
  go_on();
}

void ClientSession::discard() {
  const std::span<std::byte> room = shared_.decoder.prepare(kReadSize);
  asio::error_code error;
  socket_.read_some(asio::buffer(room.data(), room.size()), error);
  if (error && !is_later(error)) return close();
  go_on();
}

void ClientSession::mark_unflushed() {
  if (!std::exchange(unflushed_, true)) shared_.unflushed.push_back(shared_from_this());
}

void ClientSession::flush() {
  unflushed_ = false;
  if (closed_) return;
  switch (output_.flush(socket_)) {
    case SocketOutput::Flushed::broken:
      return close();
    case SocketOutput::Flushed::some:
      if (output_.waiting() > kMaxOutput) return close();
      return wait_writable();
    case SocketOutput::Flushed::all:
      break;
  }
  if (refused_ != nullptr) {
    asio::error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
  }
}

void ClientSession::wait_writable() {
  if (std::exchange(writing_, true)) return;
  socket_.async_wait(tcp::socket::wait_write,
                     [self = shared_from_this()](const asio::error_code& error) {
                       self->writing_ = false;
                       if (error || self->closed_) return;
                       self->flush();
                       self->go_on();
                     });
}

void ClientSession::close() {
  if (std::exchange(closed_, true)) return;
  asio::error_code ignored;
  socket_.close(ignored);
  if (refused_ != nullptr) refused_->cancel();
  if (frame_late_ != nullptr) frame_late_->cancel();
  hold(0);
  shared_.on_closed(id_);
}

}  // namespace quipu
