// node_session.h: one question at a time to one particular node, blocking.
#pragma once

#include <asio/io_context.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "node/remote/client_connection.h"
#include "protocol/client_messages.h"
#include "protocol/message_codec.h"

namespace quipu::cli {

// For one node, while there are others to ask.
inline constexpr std::chrono::milliseconds kPatience{1000};

class NodeSession {
 public:
  // `timeout` is for each question, and for connecting.
  explicit NodeSession(std::chrono::milliseconds timeout) : timeout_(timeout) {}
  ~NodeSession();
  NodeSession(const NodeSession&) = delete;
  NodeSession& operator=(const NodeSession&) = delete;

  // Once. unavailable: why it could not be reached.
  [[nodiscard]] Status open(const std::string& address);
  // The last question, or connecting, failed since nothing came in time.
  [[nodiscard]] bool timed_out() const { return timed_out_; }
  void set_timeout(std::chrono::milliseconds timeout) { timeout_ = timeout; }
  // open(), and makes sure that a member of this cluster answers.
  [[nodiscard]] Status open(const ConfigReply& config, const MemberInfo& member);
  // One that makes sense in itself. REQUIRES: open() was ok
  [[nodiscard]] Result<ConfigReply> config();
  // unavailable: it is not `member` who answers here.
  [[nodiscard]] Result<StatusReply> status(const MemberInfo& member);
  // At `local`.
  [[nodiscard]] Result<Value> read(const std::string& key);
  [[nodiscard]] Result<Keys> list(const std::string& prefix, std::uint32_t cursor);

 private:
  [[nodiscard]] Status wait(const bool& done);
  [[nodiscard]] std::uint32_t patience() const;
  // The payload of the answer to `frame`, which must be of this type.
  [[nodiscard]] Result<Payload> ask(std::string frame, FrameType answer);
  void take(const FrameDecoder::Frame& frame);

  std::chrono::milliseconds timeout_;
  asio::io_context io_{1};
  std::shared_ptr<ClientConnection> connection_;
  bool connected_ = false;
  bool answered_ = false;
  bool timed_out_ = false;
  std::optional<std::string> broken_;  // why
  FrameType type_{};
  std::vector<std::uint64_t> words_;  // the answer, aligned
  std::size_t size_ = 0;
};

// A node that answers, and what it says of its cluster.
struct Reached {
  std::unique_ptr<NodeSession> session;
  ConfigReply config;
};

// The first of `nodes` that answers. A node that does not answer within a second is left
// for the next, and asked again while there is time. unavailable names them all.
[[nodiscard]] Result<Reached> open_any(const std::vector<std::string>& nodes,
                                       std::chrono::milliseconds timeout);

// The config, from the first of `nodes` that answers. Members that it has no client
// address for get the one of `nodes` that they answer at.
[[nodiscard]] Result<ConfigReply> ask_config(const std::vector<std::string>& nodes,
                                             std::chrono::milliseconds timeout);

}  // namespace quipu::cli
