// links.h: chooses the node that a client is connected to.
//
//   none ──dial, ConfigReply──▶ current ──lost, silent──▶ none
//                                  ▲
//   candidate ──ready, and better──┘     dialed while there is no current, or a
//                                        better one could exist
//
// Better: the first seed, or any node that is ready if the current one is not. While the
// current one is not ready, each other address is tried once without a pause. A node of
// another cluster than that of the first node that answered is never chosen.
//
// The first frame to an address is of the lowest version that this build speaks. If the node does
// not speak that, its Refusal says what it speaks, and it is dialed again. After its ConfigReply,
// frames have the highest common version. Credentials go before the first ConfigRequest.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/client/effects.h"
#include "cluster/client/settings.h"
#include "protocol/client_messages.h"
#include "protocol/instant.h"
#include "protocol/release.h"

namespace quipu {

class ClientLinks {
 public:
  // Wire id of every ConfigRequest that is asked here.
  static constexpr std::uint64_t kConfigId = 0;

  // `settings` must outlive it.
  explicit ClientLinks(const ClientSettings& settings);

  // The effect of an event on the current connection.
  enum class Event : std::uint8_t { none, lost, taken };

  void on_connected(Instant now, ConnectionId connection, ClientEffects& effects);
  // The other side closed it, or it could not be opened. `why` is for people.
  [[nodiscard]] Event on_closed(Instant now, ConnectionId connection, std::string why);
  // The answer to kConfigId.
  [[nodiscard]] Event on_config(Instant now, ConnectionId connection, const ConfigReply& reply,
                                ClientEffects& effects);
  // The other side refuses the connection.
  [[nodiscard]] Event on_refused(Instant now, ConnectionId connection, const Refusal& refusal,
                                 ClientEffects& effects);
  // Closes the connection: it sent nonsense.
  [[nodiscard]] Event give_up(Instant now, ConnectionId connection, std::string why,
                              ClientEffects& effects);
  void on_heard(Instant now, ConnectionId connection);
  // Whether the current node owes an answer.
  void set_waiting(Instant now, bool waiting);
  [[nodiscard]] Event on_tick(Instant now, ClientEffects& effects);
  [[nodiscard]] Instant deadline() const;

  // Asks the current node for the config, unless a question is open.
  void ask_config(ClientEffects& effects);

  [[nodiscard]] std::optional<ConnectionId> current() const;
  // The version that frames to the current node have. REQUIRES: there is one.
  [[nodiscard]] FrameVersion version() const { return versions_[current_->address]; }
  [[nodiscard]] std::size_t taken() const { return taken_; }
  // By address: why it is not connected.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }
  // Every address but the current one was tried, and trying again at once would fail in the same
  // way. A node that merely gave no answer in time may still answer. So without a current node,
  // such a node keeps this false.
  [[nodiscard]] bool exhausted() const;
  // No node is connected, every address was tried, and some node refused the credentials:
  // unauthenticated. Addresses are still dialed, in case an operator changes the users.
  [[nodiscard]] std::optional<Status> rejection() const;

 private:
  // Why the last attempt at an address failed.
  struct Failure {
    std::string why;  // empty: not tried since the last ready node was lost
    bool may_answer = false;
    bool unauthenticated = false;
  };
  struct Link {
    ConnectionId connection{};
    std::size_t address = 0;  // into addresses_
    Instant since{};          // dialed (candidate), heard or first owing (current)
    bool ready = false;
    bool asked = false;  // asked for the config
  };

  Event give_up(Instant now, ConnectionId connection, Failure failure, ClientEffects& effects);
  [[nodiscard]] bool is_current(ConnectionId connection) const;
  [[nodiscard]] bool is_candidate(ConnectionId connection) const;
  [[nodiscard]] bool wants_better() const;
  void dial(Instant now, ClientEffects& effects);
  Event drop(Instant now, ConnectionId connection, Failure failure);
  void candidate_failed(Instant now);
  // An address other than the current one that was not tried.
  [[nodiscard]] bool untried() const;
  void describe_trouble();
  void take_candidate(Instant now, ClientEffects& effects);
  void learn_addresses(const ConfigReply& reply);
  Event watch_current(Instant now, ClientEffects& effects);

  const ClientSettings& settings_;
  std::vector<std::string> addresses_;  // the seeds, then other members
  std::vector<Failure> failures_;       // by address
  std::vector<FrameVersion> versions_;  // by address: of the frames to it
  std::optional<Link> current_;
  std::optional<Link> candidate_;
  std::size_t next_address_ = 0;
  // Dialed again in another version since the last node was taken. Once is enough.
  std::optional<std::size_t> redialed_;
  std::size_t tried_ = 0;  // tries in this round
  Duration backoff_;
  Instant dial_at_{};
  Instant config_at_ = kNever;
  bool waiting_ = false;
  std::optional<ClusterId> cluster_;
  std::uint64_t next_connection_ = 1;
  std::size_t taken_ = 0;
  std::string trouble_;
};

}  // namespace quipu
