// cluster_survey.h: asks every member of a cluster how it is.
//
//   config ─▶ a connection to each member's client port ─▶ StatusReply, or why there is none
//                                   all of them, or the deadline ─▶ done, with a ClusterStatus
//
// Members whose client address is not known are looked for at other addresses: the node that
// answers there says which member it is.
// Invariant: `done` is called once, later than start(), and not after cancel(). The loop's
// thread; owned by the one who asks, until then, and by its pending callbacks.
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

namespace quipu {

class ClusterSurvey : public std::enable_shared_from_this<ClusterSurvey> {
 public:
  struct Question {
    ConfigReply config{};                  // who the members are
    std::vector<StatusReply> known{};      // of members that need not be asked
    std::vector<std::string> addresses{};  // where the others may be
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
    std::optional<std::size_t> member;  // that is expected there; none: any
  };

  [[nodiscard]] std::optional<std::size_t> find(NodeId node) const;
  void take(std::size_t member, const StatusReply& reply);
  void ask(const std::string& address, std::optional<std::size_t> member);
  [[nodiscard]] Status take_answer(const Target& target, const FrameDecoder::Frame& frame);
  void end(std::size_t target, const Status& result);
  void finish();

  asio::io_context& io_;
  const Question question_;
  Done done_;  // null: ended
  Timer timer_;
  std::vector<Target> targets_;
  std::size_t open_ = 0;  // targets that have not ended
  ClusterStatus status_;  // its members are in the order of the config, until the end
};

}  // namespace quipu
