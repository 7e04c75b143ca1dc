// native_protocol.h: Quipu's own frames on the client port (protocol/README.md).
//
// All ops of one read go to the core together. A question whose answer may be large (list,
// config, status) ends a turn. Bytes that are not a request end the connection, and so does any
// request but Authenticate before the client has authenticated.
#pragma once

#include "node/clients/client_protocol.h"
#include "protocol/frame.h"
#include "protocol/message_codec.h"

namespace quipu {

class NativeProtocol final : public ClientProtocol {
 public:
  NativeProtocol(ClientId id, ClientContext& context)
      : ClientProtocol(id, context.access), id_(id), context_(context) {}

  void take(ReadBuffer& in, std::string& out) override;
  void reply(const Answer& answer, std::string& out) override;
  void refuse(const Status& why, std::string& out) override;
  [[nodiscard]] Protocol protocol() const override { return Protocol::native; }
  [[nodiscard]] State state() const override { return state_; }
  [[nodiscard]] bool owes() const override { return unanswered_ > 0; }
  [[nodiscard]] bool parts() const override { return state_ != State::ended && !owes(); }

 private:
  template <class Question>
  void ask(const Result<Question>& question, std::string& out);
  template <class Question>
  [[nodiscard]] bool permitted(const Question& question, std::string& out);
  void authenticate(const Frame& frame, std::string& out);
  void handle(const Frame& frame, std::string& out);
  template <class Request, class Ask>
  void answer(const Result<Request>& request, std::string& out, Ask ask);
  void give_ops(std::string& out);

  const ClientId id_;
  ClientContext& context_;
  State state_ = State::reading;
  // The version of the newest request. Answers have it, too: who sends it can read it.
  FrameVersion version_ = spoken_versions().from;
  std::size_t unanswered_ = 0;
};

}  // namespace quipu
