// harness.h: a client core whose cluster the test plays. The core's requests are in `ops`,
// `reads`, `queries`, `lists`, `namespace_requests` and `config_asks`, decoded, and the test
// answers them.
//
// Members are n1, n2, …; node i+1 has StoreId{101 + i} and the address "n<i+1>:1".
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cluster/client/core.h"

namespace quipu {

struct SentOp {
  ConnectionId connection{};
  Op op;  // without its key and words; use those below
  std::string key;
  std::string words;
};

struct SentRead {
  ConnectionId connection{};
  std::uint64_t id = 0;
  ReadLevel level{};
  std::vector<std::string> keys;
};

struct SentQuery {
  ConnectionId connection{};
  std::uint64_t id = 0;
  ReadLevel level{};
  std::string words;
  std::vector<std::string> keys;
};

struct SentNamespaces {
  ConnectionId connection{};
  std::uint64_t id = 0;
  NamespaceAction action{};
  std::string name;
};

struct SentList {
  ConnectionId connection{};
  std::uint64_t id = 0;
  std::string prefix;
  std::uint32_t cursor = 0;
  std::uint32_t limit = 0;
};

inline constexpr StoreId kStore1{101};
inline constexpr StoreId kStore2{102};
inline constexpr StoreId kStore3{103};

// When such a client asks again.
inline constexpr Duration kRetry = std::chrono::milliseconds(100);

class ClientHarness {
 public:
  // All members own everything, in this order, unless `owners` says otherwise.
  struct Options {
    std::size_t members = 3;
    std::vector<std::uint16_t> owners{};  // of every partition
    std::size_t max_in_flight = 65'536;
    std::size_t seeds = 0;  // how many members are; 0: all
    bool wait_for_room = false;
    bool journaled = false;
  };
  ClientHarness() : ClientHarness(Options{}) {}
  explicit ClientHarness(Options options);

  // ---- the network ----
  // The connection that the client dials now, if any.
  std::optional<ConnectionId> dialing(const std::string& address);
  // Opens the connection that is being dialed to a node, and sends nothing.
  ConnectionId open(const std::string& address);
  // Answers for a node: opens the connection that is being dialed to it, and sends the config.
  // Returns the connection.
  ConnectionId connect(const std::string& address = "n1:1", bool ready = true);
  void refuse(const std::string& address);
  void drop(ConnectionId connection);
  void tell_config(ConnectionId connection, const ConfigReply& reply);
  [[nodiscard]] ConfigReply config_of(const std::string& address, bool ready = true) const;
  void tell_refusal(ConnectionId connection, const Refusal& refusal);
  // Of the frames that were sent last.
  [[nodiscard]] FrameVersion version_to(ConnectionId connection) { return versions_[connection]; }
  [[nodiscard]] bool closed(ConnectionId connection) const;

  // ---- calls ----
  void add(std::uint64_t call, const std::string& key, std::int64_t amount = 1,
           std::chrono::milliseconds timeout = std::chrono::seconds(5));
  void add_with_ttl(std::uint64_t call, const std::string& key, std::chrono::milliseconds ttl);
  // An add that an earlier client may have sent.
  void add_bound(std::uint64_t call, const std::string& key, const ClientBinding& binding,
                 std::chrono::milliseconds timeout = std::chrono::seconds(5));
  void add_for(Affinity affinity, std::uint64_t call, const std::string& key,
               std::chrono::milliseconds timeout = std::chrono::seconds(5));
  // Adds elements to a counter of different ones.
  void apply(std::uint64_t call, const std::string& key, std::vector<std::string> elements);
  // The same. An earlier client may have sent it.
  void apply_bound(std::uint64_t call, const std::string& key, std::vector<std::string> elements,
                   const ClientBinding& binding);
  void count_distinct(std::uint64_t call, std::vector<std::string> keys);
  void reset(std::uint64_t call, const std::string& key, Ack ack = Ack::disk,
             Kind counter = Kind::sum);
  void expire(std::uint64_t call, const std::string& key, std::int64_t at);
  void raise(std::uint64_t call, const std::string& key, std::int64_t count);
  void read(std::uint64_t call, const std::string& key, ReadLevel level = ReadLevel::local);
  void read_many(std::uint64_t call, std::vector<std::string> keys);
  void list(std::uint64_t call, const std::string& prefix, std::uint32_t cursor);
  void ask_config(std::uint64_t call);
  void namespaces(std::uint64_t call, const NamespaceRequest& request);

  // ---- answers ----
  void answer(const SentOp& op, Code code, const std::string& detail = {}, ShardIndex usable = 0);
  void answer_total(const SentOp& op, std::optional<std::int64_t> total);
  void answer_session(const SentOp& op, Serial serial);
  void answer_read(const SentRead& read, const Value& value);
  void answer_read(const SentRead& read, std::vector<Value> values);
  void answer_query(const SentQuery& query, QueryReply reply);
  void answer_list(const SentList& list, Keys keys);
  void answer_namespaces(const SentNamespaces& request, NamespaceReply reply);

  // The oldest op that the test has not looked at. Fails the test if there is none.
  SentOp take_op();
  // The same, having answered with a fresh serial if it is an open_session.
  SentOp take_change();
  SentRead take_read();
  SentQuery take_query();
  SentList take_list();
  SentNamespaces take_namespaces();

  // Lets time pass. Every timer on the way fires.
  void pass(Duration time);

  // The result of a call; nothing while it has not ended.
  [[nodiscard]] std::optional<Status> status(std::uint64_t call) const;
  [[nodiscard]] std::optional<Code> ended(std::uint64_t call) const;

  std::deque<SentOp> ops;
  std::deque<SentRead> reads;
  std::deque<SentQuery> queries;
  std::deque<SentList> lists;
  std::deque<SentNamespaces> namespace_requests;
  std::size_t config_asks = 0;
  std::uint64_t last_config_id = 0;
  std::map<CallId, ClientAnswer> done;
  std::map<CallId, std::optional<std::int64_t>> totals;  // of those that are done
  // With `journaled`: all entries. Each sent op must keep the rules of journal.h.
  // The ticket of an add is its call.
  std::vector<ClientJournalEntry> journal;
  Instant now{std::chrono::hours(1)};
  ClientCore core;

 private:
  static ClientSettings settings(const Options& options);
  void perform();
  void take_entry(const ClientJournalEntry& entry);
  void expect_journaled(const Op& op) const;
  void take_frame(ConnectionId connection, FrameType type, Payload payload);
  void deliver(ConnectionId connection, const std::string& frame);

  Options options_;
  ClientEffects effects_;
  std::map<ConnectionId, std::string> dialing_;
  std::map<ConnectionId, bool> open_;
  std::map<ConnectionId, FrameVersion> versions_;
  std::uint64_t next_serial_ = 1;
  std::map<std::uint64_t, Token> bound_;  // by ticket, as the journal says
};

}  // namespace quipu
