#include "node/cli/node_session.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace quipu::cli {
namespace {

Result<ConfigReply> ask_config(const std::string& node, std::chrono::milliseconds timeout) {
  NodeSession session(timeout);
  const Status opened = session.open(node);
  return opened.ok() ? session.config() : Result<ConfigReply>(opened);
}

bool knows_all_addresses(const ConfigReply& config) {
  return std::none_of(config.members.begin(), config.members.end(),
                      [](const MemberInfo& member) { return member.client_address.empty(); });
}

// Who answered at `address` knows where it is to be found itself.
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
  connection_ = std::make_shared<ClientConnection>(
      io_,
      ClientConnection::Events{.connected = [this] { connected_ = true; },
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

Status NodeSession::wait(const bool& done) {
  const auto deadline = std::chrono::steady_clock::now() + timeout_;
  while (!done && !broken_) {
    io_.restart();
    if (io_.run_one_until(deadline) == 0 && std::chrono::steady_clock::now() >= deadline) {
      return Status(Code::unavailable, "no answer in time");
    }
  }
  return done ? Status() : Status(Code::unavailable, *broken_);
}

void NodeSession::take(const FrameDecoder::Frame& frame) {
  answered_ = true;
  type_ = frame.type;
  size_ = frame.payload.size();
  words_.resize((size_ + 7) / 8);
  if (size_ > 0) std::memcpy(words_.data(), frame.payload.data(), size_);
}

Result<Payload> NodeSession::ask(std::string frame, FrameType answer) {
  answered_ = false;
  connection_->send(std::move(frame));
  connection_->flush();
  if (Status waited = wait(answered_); !waited.ok()) return waited;
  const Payload payload(reinterpret_cast<const std::byte*>(words_.data()), size_);
  if (type_ == answer) return payload;
  const Result<Refusal> refusal = decode_refusal(payload);
  const bool refused = type_ == FrameType::refusal && refusal.ok();
  return Status(Code::unavailable, refused ? refusal->detail : "it answered something else");
}

Result<ConfigReply> NodeSession::config() {
  std::string frame;
  encode(frame, ConfigRequest{.id = 1});
  const Result<Payload> payload = ask(std::move(frame), FrameType::config_reply);
  return payload.ok() ? decode_config_reply(*payload) : Result<ConfigReply>(payload.status());
}

Result<StatusReply> NodeSession::status(const MemberInfo& member) {
  std::string frame;
  encode(frame, StatusRequest{.id = 1, .node = member.node});
  const Result<Payload> payload = ask(std::move(frame), FrameType::status_reply);
  if (!payload.ok()) return payload.status();
  Result<StatusReply> status = decode_status_reply(*payload);
  if (!status.ok() || status->node == member.node) return status;
  return Status(Code::unavailable, "another member answers at " + member.client_address);
}

Result<Keys> NodeSession::list(const std::string& prefix, std::uint32_t cursor) {
  std::string frame;
  // The node gives up a little before we do, so that it can say who is missing.
  const auto patience = std::clamp<std::int64_t>(timeout_.count() * 3 / 4, 1, kMaxTimeoutMs);
  encode(frame, List{.id = 1,
                     .prefix = prefix,
                     .cursor = cursor,
                     .timeout_ms = static_cast<std::uint32_t>(patience)});
  const Result<Payload> payload = ask(std::move(frame), FrameType::keys);
  return payload.ok() ? decode_keys(*payload) : Result<Keys>(payload.status());
}

Result<std::unique_ptr<NodeSession>> open_any(const std::vector<std::string>& nodes,
                                              std::chrono::milliseconds timeout) {
  std::string trouble;
  for (const std::string& node : nodes) {
    auto session = std::make_unique<NodeSession>(timeout);
    const Status opened = session->open(node);
    if (opened.ok()) return session;
    trouble += (trouble.empty() ? "" : "; ") + node + ": " + opened.detail();
  }
  return Status(Code::unavailable, "no node answered: " + trouble);
}

Result<ConfigReply> ask_config(const std::vector<std::string>& nodes,
                               std::chrono::milliseconds timeout) {
  std::optional<ConfigReply> found;
  std::string trouble;
  for (const std::string& node : nodes) {
    if (found && knows_all_addresses(*found)) break;
    const Result<ConfigReply> config = ask_config(node, timeout);
    if (!config.ok()) {
      trouble += (trouble.empty() ? "" : "; ") + node + ": " + config.status().detail();
      continue;
    }
    if (!found) found = *config;
    if (found->cluster == config->cluster) learn_addresses(*found, *config, node);
  }
  if (found) return std::move(*found);
  return Status(Code::unavailable, "no node answered: " + trouble);
}

}  // namespace quipu::cli
