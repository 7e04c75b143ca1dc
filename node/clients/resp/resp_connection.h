// resp_connection.h: one Redis client. Its requests become questions to the core, and replies
// leave in the order of the requests.
//
//   words ─▶ command (resp_command.h) ─▶ known at once ─▶ reply
//                                    ├─▶ one question, expected by a Slot ─┐ answer, in its
//                                    └─▶ several, one after the other: a Task ─┘ turn ─▶ reply
//
// All commands of a pipeline that need at most one question are begun at once. Commands behind
// a Task wait for its end. A question that other nodes answer waits for the changes before it,
// since they may go to others. So a client sees its own commands in order. Nothing is asked twice:
// if a change gets no answer, its reply is an error that says so.
#pragma once

#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "node/clients/resp/resp_server.h"
#include "node/clients/resp/resp_transaction.h"
#include "protocol/resp.h"

namespace quipu {

struct RespCommand;

// The core's answer, by the kind of question. Borrows.
struct RespAnswer {
  const Done* done = nullptr;
  std::span<const Value> values{};
  const Keys* keys = nullptr;
  const KeyCount* size = nullptr;
  const NamespaceReply* namespaces = nullptr;
  const RangeReply* range = nullptr;
  const QueryReply* query = nullptr;
};

// Both ends of a connection, as "host:port", its socket, and the memory that it uses.
struct RespPeer {
  std::string remote;
  std::string local;
  int descriptor = -1;
  Instant since = NodeClock::now();
  struct Buffered {  // bytes
    std::size_t requests = 0;
    std::size_t replies = 0;     // waiting replies
    std::size_t reply_room = 0;  // for them, and for more of them
    std::size_t session = 0;     // the rest
  };
  std::function<Buffered()> buffered = [] { return Buffered{}; };
};

class RespConnection final : public ClientProtocol {
 public:
  using Words = RespRequests::Words;
  // Writes the reply for an answer. False: it has asked another question instead, which it must
  // not do if the answer has a total.
  using Write = bool (*)(RespConnection&, const RespAnswer&, RespWriter&);
  using Task = std::function<bool(const RespAnswer&, RespWriter&)>;

  RespConnection(ClientId id, RespPeer peer, RespServer& server);

  // ---- ClientProtocol ----
  void take(ReadBuffer& in, std::string& out) override;
  void reply(const Answer& answer, std::string& out) override;
  void refuse(const Status& why, std::string& out) override;
  [[nodiscard]] Protocol protocol() const override { return Protocol::resp; }
  [[nodiscard]] State state() const override;
  [[nodiscard]] bool owes() const override { return waiting() > 0; }
  [[nodiscard]] std::size_t kept() const override {
    return transaction_ ? transaction_->bytes() : 0;
  }
  [[nodiscard]] bool renew_access() override;
  void on_closed() override;

  // ---- for commands ----
  // A reply that is known. It comes after those that are not known yet.
  [[nodiscard]] RespWriter writer();
  void error(std::string_view text);
  // The same, as the reply that is being written.
  void fail(RespWriter& to, std::string_view text) {
    count_error(text, blamed_);
    to.error(text);
  }
  void ok() { writer().simple("OK"); }
  // Asks one question; `write` gets its answer.
  void change(const Op& op, Write write);
  // The same for a decision, whose reply may be long.
  void decide(const Op& op, Write write);
  // For work that takes as long as a decision, and needs no question.
  void count_decision() { ++decisions_; }
  // The first, to be filled in: an op is large. It has its id.
  [[nodiscard]] Op& new_change(Write write);
  void read(std::vector<std::string_view> keys, ReadLevel level, Write write);
  void query(Query query, Write write);
  // At the level of a read that names none. At most kMaxReadKeys keys; `write` asks nothing.
  void read_default(Words keys, Write write);
  // For several questions: `task` gets each answer to its questions, which it asks with again(),
  // from right after this call on, until it returns true. Each question borrows only during the
  // call.
  void run(Task task);
  void again(std::vector<Op> ops);
  void again(std::vector<std::string_view> keys, ReadLevel level);
  void again(List list);
  void again(CountKeys size);
  void again(NamespaceRequest request);
  void again(RangeRequest request);
  void again(Query query);
  // Returns how many answers there will be: KeyCounts of ended connections.
  [[nodiscard]] std::size_t again(const ClientFilter& killed);
  // Whether this node answers for the counter itself, and knows that it has one shard.
  [[nodiscard]] bool holds_alone(std::string_view key) const;
  // Bytes that a question borrows until it is given.
  [[nodiscard]] std::string_view keep(std::string bytes) {
    return kept_.emplace_back(std::move(bytes));
  }
  // For the Write of a change: asks for the counter's current total.
  void read_front();

  // Replies to all requests that came, then ends.
  void end() { ending_ = true; }
  void cut_off() { broken_ = true; }
  void use(RespWriter::Version version);
  // Its commands name counters without the prefix of its database: "db3:", or nothing for 0.
  void select(std::uint32_t database);
  [[nodiscard]] const std::string& prefix() const { return prefix_; }
  // The counter that a command names so. Borrows from the connection, like keep(). An empty name
  // stays one, so that it is refused.
  [[nodiscard]] std::string_view full_name(std::string_view key) {
    return prefix_.empty() || key.empty() ? key : keep(prefix_ + std::string(key));
  }
  // The words with these names instead. Borrows, too; the list is valid until the next call.
  [[nodiscard, gnu::noinline]] Words with_full_names(Words words);
  // The result of the last SELECT.
  void set_database_refused(bool refused) { set(kDatabaseRefused, refused); }

  // ---- transactions ----
  // nullptr: none has begun.
  [[nodiscard]] const RespTransaction* transaction() const { return transaction_.get(); }
  void begin_transaction();
  // Ends it.
  [[nodiscard]] std::unique_ptr<RespTransaction> take_transaction();
  void set_watch_refused(bool refused) { set(kWatchRefused, refused); }
  using Commands = std::vector<std::vector<std::string>>;
  // Executes them one after the other, before anything that comes after this request: from
  // go_on_apart() on, which a Task that ends later calls by itself.
  void execute_apart(Commands commands);
  void go_on_apart();

  // ---- its user ----
  [[nodiscard]] const Permit& permit() const { return access_.permit(); }
  // AUTH. False: the reply is an error, and after too many of them the connection ends.
  [[nodiscard]] bool log_in(std::string_view user, std::string_view secret);
  [[nodiscard]] bool has_users_file() const { return access_.has_users_file(); }
  // For what a command's row does not say. If not, the reply is an error.
  [[nodiscard]] bool permits(Rights needed, std::string_view command);
  [[nodiscard]] bool permits_keys(Words keys);
  [[nodiscard]] bool permits_namespace(std::string_view name);

  // Resets the connection to its initial state.
  void reset();

  // Call it before INFO, so that INFO includes everything before it.
  void settle_figures();
  [[nodiscard]] RespServer& server() const { return server_; }
  [[nodiscard]] ClientId id() const { return id_; }
  [[nodiscard]] RespWriter::Version version() const { return version_; }
  struct Labels {
    std::string name, library, library_version;
  };
  [[nodiscard]] Labels& labels() { return labels_; }
  [[nodiscard]] bool is_matched_by(const ClientFilter& filter) const {
    return filter.matches(id_, peer_.remote, peer_.local, permit().user());
  }
  // A line of CLIENT LIST. `arguments`: bytes of the request that is being executed.
  [[nodiscard]] std::string describe(Instant now, std::size_t arguments) const;

 private:
  using CommandCount = RespServer::CommandCount;
  struct Reply {
    Write write;
    CommandCount* command;  // that of the request
  };
  // A request that waits for its answer.
  struct Slot {
    Reply reply;
    RespWriter::Version version;
    std::uint16_t key_size;  // in keys_; 0: a read's or a task's
  };
  struct LocalRead {
    Reply reply;
    std::size_t keys;  // how many of the context's keys
  };
  // Replies that are known, after a slot.
  struct Behind {
    std::uint64_t id;  // the slot's
    std::string replies{};
    std::size_t counted = 0;  // its part of known_bytes_
  };

  void execute(Words words);
  [[gnu::noinline]] void read_by_namespace(Words keys, Write write);
  [[nodiscard]] bool queue(Words words);
  [[nodiscard]] bool may(const RespCommand& command, const RespCommand* container, Words words);
  void refuse_stranger();
  void on_access();
  bool deny(std::string_view why);
  void execute_subcommand(const RespCommand& command, Words words);
  void reject(const RespCommand& command, const RespCommand* container, std::string why);
  // An error that does not belong to a command.
  void complain(std::string_view text);
  void count_error(std::string_view text, CommandCount* of);
  void count_calls();
  [[nodiscard]] bool refuse(Words words);
  [[nodiscard]] bool refuse_without_database(Words words);
  const RespCommand* find(std::string_view name);
  [[nodiscard]] std::string& tail();
  void count_known();
  void settle(std::uint64_t id, const RespAnswer& answer, Commit after = {});
  void forget_all();
  void answer_front(const RespAnswer& answer, Commit after);
  std::uint64_t expect(Reply reply, std::string_view key = {});
  void ask(const Read& read);
  void ask(const Query& query);
  void ask(const RangeRequest& request);
  [[nodiscard]] bool asks_others(std::string_view key, ReadLevel level) const;
  template <class Question>
  void give_now(const Question& question);
  void give_questions();
  void give_changes();
  void give_reads();
  static bool run_task(RespConnection& connection, const RespAnswer& answer, RespWriter& to);
  [[nodiscard]] std::size_t waiting() const { return slots_.size() - slots_begin_; }
  [[nodiscard]] std::uint64_t last_id() const { return first_ + waiting() - 1; }

  const ClientId id_;
  const RespPeer peer_;
  RespServer& server_;
  Labels labels_;
  std::uint32_t database_ = 0;
  std::string prefix_;
  Instant now_{};
  Instant last_;  // time of the last command
  const RespCommand* last_command_ = nullptr;
  const RespCommand* last_subcommand_ = nullptr;  // of the last command
  std::string last_word_;                         // its name as sent
  bool last_permitted_ = false;                   // whatever its words are
  RespWriter::Version version_ = RespWriter::Version::resp2;

  RespRequests requests_;
  std::size_t unread_ = 0;      // bytes, including the request that is being executed
  std::string* out_ = nullptr;  // set during take() and reply()
  std::deque<std::string> kept_;
  std::vector<std::string_view> full_words_;
  // After all slots. They go to the core together.
  std::vector<Reply> changes_;  // of the context's ops
  std::vector<LocalRead> reads_;
  std::vector<Slot> slots_;  // from slots_begin_ on
  std::size_t slots_begin_ = 0;
  std::uint64_t first_ = 1;  // the id of the first of them; ids count up
  std::string keys_;         // of all slots, from keys_begin_ on
  std::size_t keys_begin_ = 0;
  std::size_t changes_open_ = 0;         // of the slots
  std::function<void()> held_question_;  // of the last slot: waits for them. False: there is none
  std::list<Behind> behind_;             // ascending by slot
  struct Early {
    Answer answer;
    Commit after;
    std::size_t bytes;  // its part of known_bytes_
  };
  std::multimap<std::uint64_t, Early> early_;  // answers that came before their turn
  std::size_t known_bytes_ = 0;                // of behind_ and early_
  Task task_;                                  // the last slot's; false if none
  CommandCount* running_ = nullptr;            // of the command that runs, or ran last
  std::uint64_t calls_ = 0;                    // calls of it that the server has not counted yet
  CommandCount* blamed_ = nullptr;             // whose reply is being written, if it may fail
  bool settling_ = false;
  // What makes commands more than they are elsewhere. Nearly always nothing: one look tells.
  enum Unusual : std::uint8_t {
    kInTransaction = 1,    // commands are queued
    kDatabaseRefused = 2,  // a SELECT was: so are nearly all until a SELECT or RESET succeeds
    kInDatabase = 4,       // not 0: keys have a prefix
    kWatchRefused = 8,     // a WATCH was: so is the next transaction
  };
  void set(Unusual which, bool on) {
    unusual_ = static_cast<std::uint8_t>(on ? unusual_ | which : unusual_ & ~which);
  }
  std::uint8_t unusual_ = 0;
  std::size_t decisions_ = 0;                     // in this turn
  std::unique_ptr<RespTransaction> transaction_;  // if it is in one
  Commands apart_;                                // of an EXEC; some may wait behind a Task
  std::size_t apart_next_ = 0;                    // the first that was not executed
  bool turn_over_ = false;
  bool ending_ = false;
  bool refused_ = false;
  bool broken_ = false;
};

}  // namespace quipu
