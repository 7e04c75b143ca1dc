// cluster_survey.h: asks every member of a cluster for its status.
//
//   config ─▶ a connection to each member's client port ─▶ StatusReply, or why there is none
//                                   all of them, or the deadline ─▶ done, with a ClusterStatus
//
// A member without a known client address is looked for at the other addresses: the node that
// answers there says which member it is.
// Invariant: `done` is called once, after start() has returned, and not after cancel(). The
// loop's thread. Owned by its asker, until then, and by its pending callbacks.
#pragma once

#include <asio/io_context.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "node/base/clock.h"
#include "node/remote/client_connection.h"
#include "protocol/client_messages.h"
#include "quipu/cluster_status.h"
#include "quipu/credentials.h"

namespace quipu {

// Copies the reply of a member into `member`, which has answered from then on.
void take_status(MemberStatus& member, const StatusReply& reply);

class ClusterSurvey : public std::enable_shared_from_this<ClusterSurvey> {
 public:
  struct Question {
    ConfigReply config{};                  // has the members
    std::vector<StatusReply> known{};      // of members that need not be asked
    std::vector<std::string> addresses{};  // where the other members may be
    Credentials credentials{};             // for all of them
    ClientConnection::Tls tls{};           // null: plain text
    Instant deadline{};
  };
  using Done = std::function<void(ClusterStatus)>;

  ClusterSurvey(asio::io_context& io, Question question, Done done);

  void start();
  void cancel();

 private:
  struct Target {
    std::shared_ptr<ClientConnection> connection;  // null: it has ended
    std::string address;
    std::optional<std::size_t> member;  // the expected member; none: any
    FrameVersion version{};             // of the question
    bool again = false;                 // it refused another version
  };

  // The version of the first question to each member: that of the node that named the members,
  // which most of them speak, too.
  [[nodiscard]] FrameVersion version() const;
  [[nodiscard]] static std::optional<FrameVersion> version_after(const Target& target,
                                                                 const FrameDecoder::Frame& frame);
  [[nodiscard]] std::optional<std::size_t> find(NodeId node) const;
  void take(std::size_t at, const StatusReply& reply);
  void ask(const std::string& address, std::optional<std::size_t> member);
  void ask(const std::string& address, std::optional<std::size_t> member, FrameVersion version,
           bool again);
  [[nodiscard]] Status take_answer(const Target& target, const FrameDecoder::Frame& frame);
  void end(std::size_t at, const Status& result);
  void finish();

  asio::io_context& io_;
  const Question question_;
  Done done_;  // null: ended
  Timer timer_;
  std::vector<Target> targets_;
  std::size_t open_ = 0;  // targets that have not ended
  ClusterStatus status_;  // its members are in the config's order, until the end
};

}  // namespace quipu
