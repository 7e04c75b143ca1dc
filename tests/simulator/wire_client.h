// wire_client.h: a client that speaks the protocol itself and does what is allowed, but the
// library would not do: it sends one request through several nodes at once, again long after
// it was answered, at another level, or with other arguments under the same token. Each change
// must count at most once in any case.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <vector>

#include "tests/simulator/client_host.h"
#include "tests/simulator/workload.h"

namespace quipu::sim {

class WireClient {
 public:
  WireClient(Timeline& time, Network& network, std::vector<SimNode*> nodes, HostId host,
             const ClusterConfig& config, Workload& workload, const Options& options,
             Random random);

  void start();
  void work();
  // What it still waits for, on links that are up.
  [[nodiscard]] std::size_t waiting() const { return changes_.size() + unanswered_.size(); }
  // That node's disk went back, or no other node hears it. This client uses it more often than
  // others, and repeats requests that its store once got.
  void favour(MemberIndex node, StoreId store);
  // Without a token, over the connection to that node. `then` gets the outcome.
  void add_through(MemberIndex node, const Task& task, std::function<void(Code)> then);
  // Once nothing fails any more: asks for the outcome of each change that is in doubt. As long as
  // its store exists, some node knows it.
  void settle_doubts();

 private:
  using ChangeId = std::uint64_t;
  struct Node {
    ConnectionId connection{};
    bool open = false;
  };
  struct Session {
    StoreId store{};
    Serial serial{};
    std::uint64_t next = 1;
    std::set<std::uint64_t> unsettled;
    [[nodiscard]] std::uint64_t floor() const {
      return unsettled.empty() ? next : *unsettled.begin();
    }
  };
  struct Change {
    Task task;
    StoreId store{};           // the executor's; 0: sent without a token
    MemberIndex executor = 0;  // … and its node
    Serial serial{};
    std::uint64_t number = 0;
    ShardIndex shard = 0;
    unsigned sends = 0;
    unsigned left = 0;        // sends more
    std::uint64_t ended = 0;  // doubts, if it was last sent late
    bool answered = false;
    bool durable = false;  // so is its token
    bool lingers = false;  // answered, and kept to be asked about once more
    bool late = false;     // asked about by settle_doubts
  };
  struct Request {
    ChangeId change = 0;
    Ack level{};
    bool forged = false;  // other arguments under a used token
  };

  [[nodiscard]] bool favoured() const;
  void dial(MemberIndex node);
  void ask_config();
  // A connection to some node. None if all are closed.
  [[nodiscard]] std::optional<ConnectionId> any();
  // A request with that id. Its answer is due as long as the link is up.
  template <class Message>
  void ask(ConnectionId connection, const Message& message);
  void read(const Task& task);
  void raise(const Task& task);
  void prepare(ChangeId id, unsigned patience);
  [[nodiscard]] Session* session(StoreId store);
  void open_session(StoreId store);
  void send(ChangeId id, Ack level);
  void forge(ChangeId id);
  [[nodiscard]] bool disks_go_back() const;
  void try_again(ChangeId id);
  void ask_again(ChangeId id);
  void linger(ChangeId id);
  void on_lost(Change& change, Code code);
  void settle(ChangeId id);
  void on_frame(const FrameDecoder::Frame& frame);
  void on_answer(std::uint64_t id);
  void on_done(const Done& done);
  void on_config(const ConfigReply& reply);

  Timeline& time_;
  const ClusterConfig& config_;
  Workload& workload_;
  const Options& options_;
  Random random_;
  ClientHost host_;
  std::vector<Node> nodes_;
  std::uint64_t next_ = 1;  // of connections, requests and changes

  HashKey placement_{};
  std::vector<StoreId> stores_;  // by member
  Instant ask_config_at_{};      // not before this: it is long
  std::map<std::string, ShardIndex> usable_;
  std::vector<Session> sessions_;
  std::map<std::uint64_t, StoreId> opening_;
  std::map<ChangeId, Change> changes_;
  std::map<std::uint64_t, Request> requests_;
  std::map<std::uint64_t, Task> reads_;
  std::map<std::uint64_t, std::pair<Task, std::function<void(Code)>>> plain_;
  std::map<std::uint64_t, Task> raises_;
  std::map<std::uint64_t, ConnectionId> unanswered_;
  std::vector<Change> doubts_;  // given up without a final answer
  std::uint64_t doubts_ended_ = 0;
  std::optional<MemberIndex> favourite_;
  Instant favoured_until_{};
};

}  // namespace quipu::sim
