#include "node/cli/node_session.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cluster/client/directory.h"
#include "node/cli/output.h"
#include "protocol/check.h"

namespace quipu::cli {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Why no node answers, by address.
class Failures {
 public:
  void add(const std::string& node, const Status& why) {
    text_ += (text_.empty() ? "" : "; ") + node + ": " + why.detail();
    if (why.code() == Code::unauthenticated) code_ = why.code();
    ++count_;
  }
  [[nodiscard]] Status status() const {
    return {code_, (count_ == 1 ? "no node answers at " : "no node answers: ") + text_};
  }

 private:
  std::string text_;
  Code code_ = Code::unavailable;
  std::size_t count_ = 0;
};

bool knows_all_addresses(const ConfigReply& config) {
  return std::none_of(config.members.begin(), config.members.end(),
                      [](const MemberInfo& member) { return member.client_address.empty(); });
}

// Fills in missing client addresses from another node's config; `address` is that node's own.
void learn_addresses(ConfigReply& config, const ConfigReply& said, const std::string& address) {
  for (MemberInfo& member : config.members) {
    for (const MemberInfo& told : said.members) {
      if (told.node == member.node && member.client_address.empty())
        member.client_address = told.client_address;
    }
    if (member.node == said.node && member.client_address.empty()) member.client_address = address;
  }
}

}  // namespace

NodeSession::~NodeSession() {
  if (connection_) connection_->close();
  io_.restart();
  io_.poll();  // the callbacks that own the connection
}

Status NodeSession::open(const std::string& address) {
  const Result<Address> parsed = parse_address(address);
  if (!parsed.ok()) return parsed.status();
  address_ = address;
  connection_ = std::make_shared<ClientConnection>(
      io_, tls_,
      ClientConnection::Events{.connected = [this] { introduce(); },
                               .closed = [this](std::string why) { broken_ = std::move(why); },
                               .frame = [this](const FrameDecoder::Frame& frame) { take(frame); },
                               .turn_over = [] {}});
  connection_->dial(*parsed);
  return wait(connected_);
}

Status NodeSession::open(const ConfigReply& config, const MemberInfo& member) {
  const std::string& address = member.client_address;
  if (address.empty()) return Status(Code::unavailable, "no client address");
  if (Status opened = open(address); !opened.ok()) return opened;
  const Result<ConfigReply> said = this->config();
  if (!said.ok()) return said.status();
  if (said->cluster == config.cluster) return Status();
  return Status(Code::unavailable,
                "a node of another cluster, \"" + said->cluster_name + "\", answers at " + address);
}

// The first request is behind the credentials.
void NodeSession::introduce() {
  connected_ = true;
  std::string frame;
  encode_credentials(frame, credentials_, version_);
  connection_->send(std::move(frame));
}

Status NodeSession::wait(const bool& done) {
  const auto deadline = Clock::now() + timeout_;
  while (!done && !broken_) {
    io_.restart();
    if (io_.run_one_until(deadline) == 0 && Clock::now() >= deadline) {
      timed_out_ = true;
      return Status(Code::unavailable, (connected_ ? "no answer" : "no connection") +
                                           (" within " + for_people(timeout_)));
    }
  }
  return done ? Status() : Status(Code::unavailable, *broken_);
}

// That the credentials were accepted is no answer to a question.
void NodeSession::take(const FrameDecoder::Frame& frame) {
  const auto admitted = answer_to_credentials(frame.type, frame.payload);
  if (admitted && admitted->ok()) return;
  if (answered_) return;
  answered_ = true;
  type_ = frame.type;
  size_ = frame.payload.size();
  words_.resize((size_ + 7) / 8);
  if (size_ > 0) std::memcpy(words_.data(), frame.payload.data(), size_);
}

// A node that does not speak the version says which it speaks, and closes the connection.
Result<Payload> NodeSession::ask(const std::string& request, FrameType answer) {
  for (bool again = false;; again = true) {
    QUIPU_CHECK(connection_ != nullptr && connected_, "a node is asked once it is connected");
    answered_ = false;
    std::string frame;
    encode_again(frame, request, version_);
    connection_->send(std::move(frame));
    connection_->flush();
    if (Status waited = wait(answered_); !waited.ok()) return waited;
    const Payload payload(reinterpret_cast<const std::byte*>(words_.data()), size_);
    if (type_ == answer) return payload;
    if (const auto rejected = answer_to_credentials(type_, payload)) return *rejected;
    const Result<Refusal> refusal = decode_refusal(payload);
    if (type_ != FrameType::refusal || !refusal.ok())
      return Status(Code::unavailable, "it answered something else");
    const auto version = common_version(refusal->by.frames, spoken_versions());
    if (again || !version || *version == version_) return unanswered(*refusal);
    version_ = *version;
    connection_->close();
    connected_ = false;
    broken_.reset();
    if (Status opened = open(std::string(address_)); !opened.ok()) return opened;
  }
}

Result<ConfigReply> NodeSession::config() {
  std::string frame;
  encode(frame, ConfigRequest{.id = 1});
  const Result<Payload> payload = ask(frame, FrameType::config_reply);
  if (!payload.ok()) return payload.status();
  Result<ConfigReply> config = decode_config_reply(*payload);
  if (!config.ok() || ClientDirectory::sound(*config)) return config;
  return Status(Code::unavailable, "its config contradicts itself");
}

Result<StatusReply> NodeSession::status(const MemberInfo& member) {
  std::string frame;
  encode(frame, StatusRequest{.id = 1, .node = member.node});
  const Result<Payload> payload = ask(frame, FrameType::status_reply);
  if (!payload.ok()) return payload.status();
  Result<StatusReply> status = decode_status_reply(*payload);
  if (!status.ok() || status->node == member.node) return status;
  return Status(Code::unavailable, "another member answers at " + member.client_address);
}

// The node's timeout is a little shorter, so that its answer can name the missing members.
std::uint32_t NodeSession::patience() const {
  const auto ms = std::clamp<std::int64_t>(timeout_.count() * 3 / 4, 1, kMaxTimeoutMs);
  return static_cast<std::uint32_t>(ms);
}

Result<Value> NodeSession::read(const std::string& key) {
  std::string frame;
  encode(frame, Read{.id = 1, .timeout_ms = patience(), .keys = {key}});
  const Result<Payload> payload = ask(frame, FrameType::values);
  if (!payload.ok()) return payload.status();
  Result<Values> values = decode_values(*payload);
  if (!values.ok()) return values.status();
  if (values->values.size() == 1) return std::move(values->values.front());
  return Status(Code::unavailable, "it answered for other keys than requested");
}

Result<Keys> NodeSession::list(const std::string& prefix, std::uint32_t cursor) {
  std::string frame;
  encode(frame, List{.id = 1, .prefix = prefix, .cursor = cursor, .timeout_ms = patience()});
  const Result<Payload> payload = ask(frame, FrameType::keys);
  return payload.ok() ? decode_keys(*payload) : Result<Keys>(payload.status());
}

Result<Reached> open_any(const Environment& environment) {
  const milliseconds timeout = environment.timeout;
  const auto deadline = Clock::now() + timeout;
  const milliseconds patience = std::min(timeout, kPatience);
  for (;;) {
    Failures failures;
    bool may_answer = false;
    for (const std::string& node : environment.nodes) {
      auto session = std::make_unique<NodeSession>(patience, environment);
      const Status opened = session->open(node);
      Result<ConfigReply> config = opened.ok() ? session->config() : Result<ConfigReply>(opened);
      if (config.ok()) {
        session->set_timeout(timeout);
        return Reached{std::move(session), std::move(*config)};
      }
      may_answer |= session->timed_out();
      failures.add(node, config.status());
    }
    if (!may_answer || Clock::now() + patience > deadline) return failures.status();
  }
}

Result<ConfigReply> ask_config(const Environment& environment) {
  Result<Reached> first = open_any(environment);
  if (!first.ok()) return first.status();
  ConfigReply found = std::move(first->config);
  for (const std::string& node : environment.nodes) {
    if (knows_all_addresses(found)) break;
    Environment alone = environment;
    alone.nodes = {node};
    alone.timeout = std::min(alone.timeout, kPatience);
    const Result<Reached> other = open_any(alone);
    if (other.ok() && other->config.cluster == found.cluster)
      learn_addresses(found, other->config, node);
  }
  return found;
}

}  // namespace quipu::cli
