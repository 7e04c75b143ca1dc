#include "node/clients/native_protocol.h"

#include "node/base/clock.h"

namespace quipu {

// The views in ops borrow the buffer, which does not move until the next read.
void NativeProtocol::take(ReadBuffer& in, std::string& out) {
  state_ = State::reading;
  while (state_ == State::reading) {
    const Result<std::optional<Frame>> frame = next_frame(in);
    if (frame.ok() && !*frame) break;
    if (frame.ok() && !is_greeting((*frame)->type)) version_ = (*frame)->version;
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

template <class Question>
void NativeProtocol::ask(const Question& question) {
  ++unanswered_;
  context_.ask(NodeClock::now(), id_, question);
}

void NativeProtocol::handle(const Frame& frame, std::string& out) {
  switch (frame.type) {
    case FrameType::read: {
      const Result<Read> read = decode_read(frame.payload);
      if (!read.ok()) return refuse(read.status(), out);
      return ask(*read);
    }
    case FrameType::query: {
      const Result<Query> query = decode_query(frame.payload);
      if (!query.ok()) return refuse(query.status(), out);
      return ask(*query);
    }
    case FrameType::list: {
      const Result<List> list = decode_list(frame.payload);
      if (!list.ok()) return refuse(list.status(), out);
      state_ = State::turn_over;
      return ask(*list);
    }
    case FrameType::size: {
      const Result<CountKeys> size = decode_count_keys(frame.payload);
      if (!size.ok()) return refuse(size.status(), out);
      state_ = State::turn_over;
      return ask(*size);
    }
    case FrameType::namespaces: {
      const Result<NamespaceRequest> request = decode_namespace_request(frame.payload);
      if (!request.ok()) return refuse(request.status(), out);
      state_ = State::turn_over;
      return ask(*request);
    }
    case FrameType::range: {
      const Result<RangeRequest> request = decode_range_request(frame.payload);
      if (!request.ok()) return refuse(request.status(), out);
      state_ = State::turn_over;
      return ask(*request);
    }
    case FrameType::config:
      return answer(decode_config_request(frame.payload), out,
                    [&](const ConfigRequest& it) { return context_.config(it.id); });
    case FrameType::status:
      return answer(decode_status_request(frame.payload), out,
                    [&](const StatusRequest& it) { return context_.status(NodeClock::now(), it); });
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
  encode(out, ask(*request), version_);
  state_ = State::turn_over;
}

void NativeProtocol::give_ops(std::string& out) {
  std::vector<Op>& ops = context_.ops;
  if (ops.empty()) return;
  std::vector<AtOnce>& at_once = context_.at_once;
  context_.ask(Protocol::native, NodeClock::now(), id_, ops, at_once);
  unanswered_ += ops.size() - at_once.size();
  for (const AtOnce& known : at_once) {
    encode(out, known.done, version_);
    wait_for(known.after);
  }
  at_once.clear();
  ops.clear();
}

void NativeProtocol::reply(const Answer& answer, std::string& out) {
  --unanswered_;
  std::visit([&](const auto& one) { encode(out, one, version_); }, answer);
}

// What is unread is never carried out. So the client need not doubt what it gets no answer to.
void NativeProtocol::part(std::string& out) {
  if (state_ != State::ended && !owes())
    refuse({Code::unavailable,
            "the node is closing, and carried out nothing that it has not answered"},
           out);
}

void NativeProtocol::refuse(const Status& why, std::string& out) {
  encode(out, Refusal{why.code(), why.detail()});
  state_ = State::ended;
}

}  // namespace quipu
