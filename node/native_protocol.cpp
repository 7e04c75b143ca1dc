#include "node/native_protocol.h"

#include "node/clock.h"

namespace quipu {
namespace {

Values refuse_all(const Read& read) {
  Value refused;
  refused.code = Code::unavailable;
  refused.detail = kClosing;
  return {read.id, std::vector<Value>(read.keys.size(), refused)};
}

}  // namespace

// The views in ops borrow the buffer, which stands still until the next read.
void NativeProtocol::take(ReadBuffer& in, std::string& out) {
  state_ = State::reading;
  while (state_ == State::reading) {
    const Result<std::optional<Frame>> frame = next_frame(in);
    if (frame.ok() && !*frame) break;
    if (frame.ok() && (*frame)->type == FrameType::op) {
      const Result<Op> op = decode_op((*frame)->payload);
      if (op.ok()) {
        context_.ops.push_back(*op);
      } else {
        refuse(op.status(), out);
      }
      continue;
    }
    give_ops(out);
    if (frame.ok()) {
      handle(**frame, out);
    } else {
      refuse(frame.status(), out);
    }
  }
  give_ops(out);
}

void NativeProtocol::handle(const Frame& frame, std::string& out) {
  CorePort& port = context_.port;
  switch (frame.type) {
    case FrameType::read: {
      const Result<Read> read = decode_read(frame.payload);
      if (!read.ok()) return refuse(read.status(), out);
      if (context_.closing) return encode(out, refuse_all(*read));
      return port.core->on_read(NodeClock::now(), id_, *read, port.effects);
    }
    case FrameType::list: {
      const Result<List> list = decode_list(frame.payload);
      if (!list.ok()) return refuse(list.status(), out);
      state_ = State::turn_over;
      if (context_.closing)
        return encode(out, Keys{list->id, {}, list->cursor, Code::unavailable, kClosing});
      return port.core->on_list(NodeClock::now(), id_, *list, port.effects);
    }
    case FrameType::size: {
      const Result<Size> size = decode_size(frame.payload);
      if (!size.ok()) return refuse(size.status(), out);
      state_ = State::turn_over;
      if (context_.closing) return encode(out, Sized{size->id, 0, Code::unavailable, kClosing});
      return port.core->on_size(NodeClock::now(), id_, *size, port.effects);
    }
    case FrameType::config:
      return answer(decode_config_request(frame.payload), out,
                    [&](const ConfigRequest& it) { return port.core->config(it.id); });
    case FrameType::status:
      return answer(decode_status_request(frame.payload), out, [&](const StatusRequest& it) {
        return port.core->status(NodeClock::now(), it.id);
      });
    default:
      return refuse({Code::protocol_error, "frame of type " +
                                               std::to_string(static_cast<unsigned>(frame.type)) +
                                               ": not a request of the client port"},
                    out);
  }
}

template <class Request, class Ask>
void NativeProtocol::answer(const Result<Request>& request, std::string& out, Ask ask) {
  if (!request.ok()) return refuse(request.status(), out);
  encode(out, ask(*request));
  state_ = State::turn_over;
}

void NativeProtocol::give_ops(std::string& out) {
  std::vector<Op>& ops = context_.ops;
  if (ops.empty()) return;
  if (context_.closing) {
    for (const Op& op : ops) encode(out, Done{op.id, Code::unavailable, kClosing});
  } else {
    std::vector<AtOnce>& at_once = context_.at_once;
    context_.port.core->on_ops(NodeClock::now(), id_, ops, context_.port.effects, &at_once);
    for (const AtOnce& known : at_once) {
      encode(out, known.done);
      wait_for(known.after);
    }
    at_once.clear();
  }
  ops.clear();
}

void NativeProtocol::reply(const Answer& answer, std::string& out) {
  std::visit([&out](const auto& one) { encode(out, one); }, answer);
}

void NativeProtocol::refuse(const Status& why, std::string& out) {
  encode(out, Refusal{why.code(), why.detail()});
  state_ = State::ended;
}

}  // namespace quipu
