#include "node/cli/bench_connection.h"

#include <utility>

namespace quipu::cli {

void BenchResult::add(const BenchResult& other) {
  latency.add(other.latency);
  for (const auto& [name, count] : other.errors) errors[name] += count;
  if (why.empty()) why = other.why;
  broken += other.broken;
}

BenchConnection::BenchConnection(asio::io_context& io, const Environment& environment,
                                 const BenchCommand& command, const Phase& phase,
                                 BenchResult& result, std::uint64_t seed)
    : environment_(environment),
      command_(command),
      phase_(phase),
      result_(result),
      random_(seed),
      slots_(command.pipeline) {
  connection_ = std::make_shared<ClientConnection>(
      io, environment.tls,
      ClientConnection::Events{
          .connected = [this] { on_connected(); },
          .closed = [this](const std::string& why) { on_closed(why); },
          .frame = [this](const FrameDecoder::Frame& frame) { on_frame(frame); },
          .turn_over = [this] { flush(); }});
}

void BenchConnection::dial(const Address& node) { connection_->dial(node); }

void BenchConnection::expect_started() {
  if (!started()) fail("no answer in time");
}

void BenchConnection::close() {
  if (!std::exchange(closed_, true) && open_ > 0) result_.errors["unanswered"] += open_;
  connection_->close();
}

void BenchConnection::on_connected() {
  encode_credentials(frames_, environment_.credentials, spoken_versions().from);
  if (!command_.tokens) return fill();
  Op op;
  op.id = slots_.size() + 1;
  op.kind = OpKind::open_session;
  encode(frames_, op);
}

void BenchConnection::fill() {
  started_ = true;
  for (std::uint64_t id = 1; id <= slots_.size(); ++id) ask(id);
}

void BenchConnection::ask(std::uint64_t id) {
  if (phase_.stopping) return;
  Slot& slot = slots_[id - 1];
  key_ = prefix_ + std::to_string(command_.hot ? 0 : random_.below(command_.keys));
  if (command_.what == BenchCommand::What::reads) {
    encode(frames_, Read{.id = id, .level = command_.level, .keys = {key_}});
  } else {
    Op op{.id = id, .key = key_, .amount = 1, .ack = command_.ack};
    if (session_) {
      op.token = slot.token = session_->take();
      op.shard = 0;
    }
    encode(frames_, op);
  }
  ++open_;
  slot.asked = NodeClock::now();
}

void BenchConnection::on_frame(const FrameDecoder::Frame& frame) {
  if (frame.type == FrameType::done) {
    const Result<Done> done = decode_done(frame.payload);
    if (done.ok()) return on_done(*done);
  } else if (frame.type == FrameType::values) {
    const Result<Values> values = decode_values(frame.payload);
    if (values.ok()) return on_values(*values);
  } else if (const auto admitted = answer_to_credentials(frame.type, frame.payload)) {
    if (!admitted->ok()) fail(admitted->message());
    return;
  } else if (frame.type == FrameType::refusal) {
    const Result<Refusal> refusal = decode_refusal(frame.payload);
    if (refusal.ok()) return fail(reason(*refusal));
  }
  fail("the node sent something that is not an answer");
}

void BenchConnection::on_done(const Done& done) {
  if (done.id <= slots_.size()) return finish(done.id, done.code);
  if (started_) return fail("the node sent an answer without a request");
  if (done.code != Code::ok) return fail("no session: " + Status(done.code, done.detail).message());
  session_.emplace(done.store, done.serial);
  fill();
}

void BenchConnection::on_values(const Values& values) {
  const bool one = values.values.size() == 1;
  finish(values.id, one ? values.values.front().code : Code::protocol_error);
}

void BenchConnection::finish(std::uint64_t id, Code code) {
  if (id == 0 || id > slots_.size()) return fail("the node sent an answer without a request");
  const Slot& slot = slots_[id - 1];
  if (session_) session_->settle(slot.token.number);
  --open_;
  if (phase_.measuring && code == Code::ok) result_.latency.add(NodeClock::now() - slot.asked);
  if (phase_.measuring && code != Code::ok) ++result_.errors[std::string(describe(code).name)];
  ask(id);
}

void BenchConnection::flush() {
  if (closed_ || frames_.empty()) return;
  connection_->send(std::exchange(frames_, {}));
  connection_->flush();
}

void BenchConnection::fail(const std::string& why) {
  connection_->close();
  on_closed(why);
}

void BenchConnection::on_closed(const std::string& why) {
  if (std::exchange(closed_, true)) return;
  if (result_.why.empty()) result_.why = why;
  ++result_.broken;
  if (phase_.measuring && open_ > 0) result_.errors["lost"] += open_;
}

}  // namespace quipu::cli
