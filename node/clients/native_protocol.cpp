#include "node/clients/native_protocol.h"

#include "node/base/clock.h"
#include "node/clients/native_rights.h"

namespace quipu {

static_assert(kMaxUserWord >= kMaxSecret && kMaxUserWord >= kMaxUserName, "each user fits");

// The views in ops borrow the buffer, which does not move until the next read.
void NativeProtocol::take(ReadBuffer& in, std::string& out) {
  state_ = State::reading;
  while (state_ == State::reading) {
    const Result<std::optional<Frame>> frame = next_frame(in);
    if (frame.ok() && !*frame) break;
    if (frame.ok() && !is_greeting((*frame)->type)) version_ = (*frame)->version;
    if (frame.ok() && !access_.authenticated() && (*frame)->type != FrameType::authenticate) {
      refuse({Code::unauthenticated, "it asks for a user and a secret"}, out);
      break;
    }
    if (frame.ok() && (*frame)->type == FrameType::op) {
      const Result<Op> op = decode_op((*frame)->payload);
      if (!op.ok()) {
        refuse(op.status(), out);
      } else if (permitted(*op, out)) {
        context_.ops.push_back(*op);
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
bool NativeProtocol::permitted(const Question& question, std::string& out) {
  const Rights missing = access_.missing_of(needs(question));
  if (missing.none()) [[likely]]
    return true;
  const auto keys = missing == kEveryKey ? covers_keys(access_.permit(), question) : std::nullopt;
  if (keys.value_or(false)) return true;
  const Status why{Code::not_permitted, "the user " + access_.permit().user() +
                                            (keys ? " may not use this key"
                                                  : " lacks the permission " + names_of(missing))};
  encode(out, refused(question, why), version_);
  context_.meter.on_refused(Protocol::native, operation_of(question), why.code());
  return false;
}

template <class Question>
void NativeProtocol::ask(const Result<Question>& question, std::string& out) {
  if (!question.ok()) return refuse(question.status(), out);
  if (!permitted(*question, out)) return;
  ++unanswered_;
  context_.ask(NodeClock::now(), id_, *question);
}

void NativeProtocol::authenticate(const Frame& frame, std::string& out) {
  const Result<Authenticate> request = decode_authenticate(frame.payload);
  if (!request.ok()) return refuse(request.status(), out);
  // Answers that are owed belong to the user that asked.
  if (owes()) return refuse({Code::protocol_error, "an answer is owed: authenticate later"}, out);
  Authenticated answer{.id = request->id};
  if (access_.has_users_file() && !access_.log_in(request->user, request->secret)) {
    answer.code = Code::unauthenticated;
    answer.detail = "there is no such user, or that is not its secret";
  }
  encode(out, answer, version_);
  state_ = access_.exhausted() ? State::ended : State::turn_over;
}

void NativeProtocol::handle(const Frame& frame, std::string& out) {
  switch (frame.type) {
    case FrameType::authenticate:
      return authenticate(frame, out);
    case FrameType::read:
      return ask(decode_read(frame.payload), out);
    case FrameType::query:
      return ask(decode_query(frame.payload), out);
    case FrameType::list:
      state_ = State::turn_over;
      return ask(decode_list(frame.payload), out);
    case FrameType::size:
      state_ = State::turn_over;
      return ask(decode_count_keys(frame.payload), out);
    case FrameType::namespaces:
      state_ = State::turn_over;
      return ask(decode_namespace_request(frame.payload), out);
    case FrameType::range:
      state_ = State::turn_over;
      return ask(decode_range_request(frame.payload), out);
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
  if (!access_.missing_of(needs(*request)).none())
    return refuse({Code::not_permitted,
                   "the user " + access_.permit().user() + " lacks the permission observe"},
                  out);
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
  if (!access_.rights().has(kEveryKey | kMayRead)) [[unlikely]]
    return encode_permitted(out, answer, access_.permit(), version_);
  std::visit([&](const auto& one) { encode(out, one, version_); }, answer);
}

void NativeProtocol::refuse(const Status& why, std::string& out) {
  encode(out, Refusal{why.code(), why.detail()});
  state_ = State::ended;
}

}  // namespace quipu
