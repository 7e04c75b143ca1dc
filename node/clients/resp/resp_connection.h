// resp_connection.h: one Redis client: its requests become questions to the core, and
// replies leave in the order of the requests.
//
//   words ─▶ command (resp_command.h) ─▶ known at once ─▶ reply
//                                    ├─▶ one question, expected by a Slot ─┐ answer, in its
//                                    └─▶ several, one after the other: a Task ─┘ turn ─▶ reply
//
// All commands of a pipeline are begun at once, as far as they need one question
// each; what comes behind a Task waits for its end, so that a client sees its
// own commands in order. Nothing is ever asked twice: what became of a change that
// got no answer is an error that says so.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "node/clients/resp/resp_server.h"
#include "protocol/resp.h"

namespace quipu {

struct RespCommand;

// What the core answers, by what was asked. Borrows.
struct RespAnswer {
  const Done* done = nullptr;
  std::span<const Value> values{};
  const Keys* keys = nullptr;
  const Sized* size = nullptr;
};

// The two ends of a connection, as "host:port", its socket, and what is kept for it.
struct RespPeer {
  std::string remote;
  std::string local;
  int descriptor = -1;
  Instant since = NodeClock::now();
  struct Buffered {  // bytes
    std::size_t requests = 0;
    std::size_t replies = 0;     // that wait
    std::size_t reply_room = 0;  // for them, and for those to come
    std::size_t session = 0;     // the rest
  };
  std::function<Buffered()> buffered = [] { return Buffered{}; };
};

class RespConnection final : public ClientProtocol {
 public:
  using Words = RespRequests::Words;
  // Writes the reply that an answer makes. False: it has asked again instead, which it
  // does not where that tells a total.
  using Write = bool (*)(RespConnection&, const RespAnswer&, RespWriter&);
  using Task = std::function<bool(const RespAnswer&, RespWriter&)>;

  RespConnection(ClientId id, RespPeer peer, RespServer& server);

  // ---- ClientProtocol ----
  void take(ReadBuffer& in, std::string& out) override;
  void reply(const Answer& answer, std::string& out) override;
  void refuse(const Status& why, std::string& out) override;
  [[nodiscard]] State state() const override;
  [[nodiscard]] bool owes() const override { return waiting() > 0; }
  void on_closed() override;

  // ---- for commands ----
  // A reply that is known: behind those that are not.
  [[nodiscard]] RespWriter writer();
  void error(std::string_view text);
  // The same, as the reply that is being written.
  void fail(RespWriter& to, std::string_view text) {
    count_error(text, blamed_);
    to.error(text);
  }
  void ok() { writer().simple("OK"); }
  // One question; `write` gets its answer.
  void change(const Op& op, Write write);
  void read(std::vector<std::string_view> keys, ReadLevel level, Write write);
  // At most kMaxReadKeys; `write` asks nothing.
  void read_local(Words keys, Write write);
  // Several: `task` gets each answer to what it asks with again(), from right after
  // this on, until it returns true. What it asks borrows only during the call.
  void run(Task task);
  void again(std::vector<Op> ops);
  void again(std::vector<std::string_view> keys, ReadLevel level);
  void again(List list);
  void again(Size size);
  // Whether this node executes the counter's changes by itself, as one shard: then those
  // that go to the core together are applied, or refused, together and in their order.
  [[nodiscard]] bool holds_alone(std::string_view key) const;
  // For the Write of a change: the question what its counter counts now.
  void read_front();

  // The reply to all that came, then the end.
  void end() { ending_ = true; }
  void cut_off() { broken_ = true; }
  void use(RespWriter::Version version);
  // Of the last SELECT.
  void set_database_refused(bool refused) { database_refused_ = refused; }
  // As if it had just connected.
  void reset();

  // So that INFO tells of all that came before it.
  void settle_figures();
  [[nodiscard]] RespServer& server() const { return server_; }
  [[nodiscard]] ClientId id() const { return id_; }
  [[nodiscard]] RespWriter::Version version() const { return version_; }
  struct Labels {
    std::string name, library, library_version;
  };
  [[nodiscard]] Labels& labels() { return labels_; }
  // A line of CLIENT LIST; `arguments`: of the request that is being carried out, in bytes.
  [[nodiscard]] std::string describe(Instant now, std::size_t arguments) const;

 private:
  using CommandCount = RespServer::CommandCount;
  struct Reply {
    Write write;
    CommandCount* command;  // whose it is
  };
  // A request that waits for its answer.
  struct Slot {
    Reply reply;
    RespWriter::Version version;
    std::uint16_t key_size;  // of keys_; 0: a read's or a task's
  };
  struct LocalRead {
    Reply reply;
    std::size_t keys;  // how many of the context's
  };
  // Replies that are known, behind a slot.
  struct Behind {
    std::uint64_t id;  // the slot's
    std::string replies{};
    std::size_t counted = 0;  // of them, in known_bytes_
  };

  void execute(Words words);
  void execute_subcommand(const RespCommand& command, Words words);
  void reject(const RespCommand& command, const RespCommand* container);
  // An error that is no command's.
  void complain(std::string_view text);
  void count_error(std::string_view text, CommandCount* of);
  void count_calls();
  void refuse_unknown(Words words);
  [[nodiscard]] bool refuse(Words words);
  [[nodiscard]] bool refuse_in_transaction(Words words);
  [[nodiscard]] bool refuse_without_database(Words words);
  const RespCommand* find(std::string_view name);
  [[nodiscard]] std::string& tail();
  void count_known();
  void settle(std::uint64_t id, const RespAnswer& answer, Commit after = {});
  void forget_all();
  void answer_front(const RespAnswer& answer, Commit after);
  std::uint64_t expect(Reply reply, std::string_view key = {});
  void ask(const Read& read);
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
  Instant now_{};
  Instant last_;  // command
  const RespCommand* last_command_ = nullptr;
  const RespCommand* last_subcommand_ = nullptr;  // of it
  std::string last_word_;                         // as it was named
  RespWriter::Version version_ = RespWriter::Version::resp2;

  RespRequests requests_;
  std::size_t unread_ = 0;      // bytes, with those of the request that is being carried out
  std::string* out_ = nullptr;  // during take() and reply()
  // Behind all slots; they go to the core together.
  std::vector<Reply> changes_;  // of the context's ops
  std::vector<LocalRead> reads_;
  std::vector<Slot> slots_;  // from slots_begin_ on
  std::size_t slots_begin_ = 0;
  std::uint64_t first_ = 1;  // the id of the first of them, which counts up
  std::string keys_;         // of all slots, from keys_begin_ on
  std::size_t keys_begin_ = 0;
  std::list<Behind> behind_;  // ascending by slot
  struct Early {
    Answer answer;
    Commit after;
    std::size_t bytes;  // of known_bytes_
  };
  std::multimap<std::uint64_t, Early> early_;  // answers that came before their turn
  std::size_t known_bytes_ = 0;                // of behind_ and early_
  Task task_;                                  // the last slot's; none: false
  CommandCount* running_ = nullptr;            // of the command that runs, or ran last
  std::uint64_t calls_ = 0;                    // of it, which the server does not know of yet
  CommandCount* blamed_ = nullptr;             // whose reply is being written, if it may fail
  bool settling_ = false;
  // A MULTI was refused. Until its EXEC, DISCARD or RESET, all commands are.
  bool in_refused_transaction_ = false;
  // A SELECT was refused. Until another or a RESET succeeds, all commands are but a few.
  bool database_refused_ = false;
  bool turn_over_ = false;
  bool ending_ = false;
  bool refused_ = false;
  bool broken_ = false;
};

}  // namespace quipu
