// node_session.h: blocking requests to one particular node, one at a time.
#pragma once

#include <asio/io_context.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "node/cli/environment.h"
#include "node/remote/client_connection.h"
#include "protocol/client_messages.h"
#include "protocol/message_codec.h"

namespace quipu::cli {

// The longest wait for one node while there are others to ask.
inline constexpr std::chrono::milliseconds kPatience{1000};

class NodeSession {
 public:
  // `timeout` is for each request, and for connecting.
  // `timeout`: for each answer. The environment's is for all nodes together.
  NodeSession(std::chrono::milliseconds timeout, const Environment& environment)
      : timeout_(timeout), credentials_(environment.credentials), tls_(environment.tls) {}
  ~NodeSession();
  NodeSession(const NodeSession&) = delete;
  NodeSession& operator=(const NodeSession&) = delete;

  // unavailable: the text says why it could not be reached. REQUIRES: it is not connected
  [[nodiscard]] Status open(const std::string& address);
  // The last request, or connecting, failed because nothing came in time.
  [[nodiscard]] bool timed_out() const { return timed_out_; }
  void set_timeout(std::chrono::milliseconds timeout) { timeout_ = timeout; }
  // open(), and checks that a member of this cluster answers.
  [[nodiscard]] Status open(const ConfigReply& config, const MemberInfo& member);
  // A valid config. REQUIRES: open() was ok
  [[nodiscard]] Result<ConfigReply> config();
  // unavailable: another node than `member` answers here.
  [[nodiscard]] Result<StatusReply> status(const MemberInfo& member);
  // At `local`.
  [[nodiscard]] Result<Value> read(const std::string& key);
  [[nodiscard]] Result<Keys> list(const std::string& prefix, std::uint32_t cursor);

 private:
  void introduce();
  [[nodiscard]] Status wait(const bool& done);
  [[nodiscard]] std::uint32_t patience() const;
  // The payload of the answer to `request`, a frame in the lowest version. It must be of this type.
  [[nodiscard]] Result<Payload> ask(const std::string& request, FrameType answer);
  void take(const FrameDecoder::Frame& frame);

  std::chrono::milliseconds timeout_;
  const Credentials credentials_;
  const ClientConnection::Tls tls_;
  asio::io_context io_{1};
  std::shared_ptr<ClientConnection> connection_;
  std::string address_;
  FrameVersion version_ = spoken_versions().from;
  bool connected_ = false;
  bool answered_ = false;
  bool timed_out_ = false;
  std::optional<std::string> broken_;  // why
  FrameType type_{};
  std::vector<std::uint64_t> words_;  // the answer, aligned
  std::size_t size_ = 0;
};

// A node that answers, and its view of the cluster.
struct Reached {
  std::unique_ptr<NodeSession> session;
  ConfigReply config;
};

// The first of the nodes that answers. If a node does not answer within a second, the next one is
// asked, and this one again while there is time. unavailable, or unauthenticated: the text names
// all of them.
[[nodiscard]] Result<Reached> open_any(const Environment& environment);

// The config, from the first of the nodes that answers. A member without a client address gets
// the one of the nodes at which it answers.
[[nodiscard]] Result<ConfigReply> ask_config(const Environment& environment);

}  // namespace quipu::cli
