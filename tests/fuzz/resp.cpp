// resp.cpp: strangers who speak RESP, or nearly, to a node that is alone.
//
// What must hold, whatever they say: each request is answered once, in its order, with
// something that is RESP; and what waits to be said is bounded.
#include <array>
#include <asio/io_context.hpp>
#include <deque>
#include <utility>

#include "node/clients/resp/resp_command.h"
#include "node/clients/resp/resp_connection.h"
#include "node/clients/resp/resp_decisions.h"
#include "node/cores/core_router.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/chunks.h"
#include "tests/fuzz/node.h"
#include "tests/node/clients/resp/resp_reply.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace quipu::fuzz {
namespace {

using test::take_reply;

// ---- requests ----

std::string encoded(const std::vector<std::string>& words) {
  std::string request = '*' + std::to_string(words.size()) + "\r\n";
  for (const std::string& word : words)
    request.append("$").append(std::to_string(word.size())).append("\r\n").append(word) += "\r\n";
  return request;
}

std::string some_word(Bytes& bytes) {
  constexpr std::array<std::string_view, 27> kWords{"a",
                                                    "b",
                                                    "likes:42",
                                                    "",
                                                    "0",
                                                    "1",
                                                    "-9223372036854775808",
                                                    "*",
                                                    "l*[:-9",
                                                    "MATCH",
                                                    "COUNT",
                                                    "TYPE",
                                                    "string",
                                                    "FILTERBY",
                                                    "PATTERN",
                                                    "ACK",
                                                    "MEMORY",
                                                    "QUORUM",
                                                    "STRONG",
                                                    "TOKEN",
                                                    "FLOOR",
                                                    "1122334455667788-0000000000000003",
                                                    "ON",
                                                    "SETNAME",
                                                    "AUTH",
                                                    "USER",
                                                    "9223372036854775807"};
  const std::size_t which = bytes.below(kWords.size() + 2);
  if (which < kWords.size()) return std::string(kWords[which]);
  return which == kWords.size() ? std::to_string(bytes.amount())
                                : std::string(bytes.text(bytes.byte()));
}

std::vector<std::string> some_request(Bytes& bytes) {
  const auto commands = resp_commands();
  const RespCommand& command = commands[bytes.below(commands.size())];
  std::vector<std::string> words{std::string(command.name)};
  if (!command.subcommands.empty())
    words.emplace_back(command.subcommands[bytes.below(command.subcommands.size())].name);
  for (std::size_t more = bytes.below(7); more > 0; --more) words.push_back(some_word(bytes));
  return words;
}

void append(ReadBuffer& in, std::string_view bytes) {
  const std::span<std::byte> room = in.prepare(bytes.size());
  std::copy_n(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size(), room.begin());
  in.commit(bytes.size());
}

// Only whole requests count.
std::uint64_t requests_in(std::string_view bytes) {
  ReadBuffer in;
  append(in, bytes);
  RespRequests requests;
  std::uint64_t count = 0;
  while (in.buffered() > 0) {
    const auto words = requests.next(in);
    check(words.has_value(), "what was taken are whole requests");
    count += words->empty() ? 0 : 1;
  }
  return count;
}

// ---- the node ----

class Server {
 public:
  Server() : disk_(Node::founded_disk(1)), store_(disk_) {
    auto executor = recover(store_, Node::owner(config_), Node::options(), random_);
    check(executor.ok(), "a node's own disk can be recovered");
    // Connections take their time from the clock, so the core does, too.
    Instant now = NodeClock::now() - std::chrono::minutes(1);
    auto core = std::make_unique<NodeCore>(now, wall_now(), config_, 0, Node::settings(),
                                           std::move(*executor), random_.split());
    core->decide_by(decider_);
    port_.set(std::move(core));
    resp_.kill = [this](ClientId asker, std::uint64_t question, const ClientFilter&) {
      killed_.push_back({asker, KeyCount{.id = question}});
      return std::size_t{1};
    };
    const Instant begun = NodeClock::now();
    for (; now <= begun; now = std::max(now, port_.core()->deadline())) {
      const CorePort::Event event(port_);
      event->on_tick(now, wall_now(), event.effects());
    }
  }

  [[nodiscard]] RespServer& resp() { return resp_; }
  [[nodiscard]] CorePort& port() { return port_; }
  [[nodiscard]] bool paused() const { return port_.core()->paused(); }
  void stall(bool stalled) {
    const CorePort::Event event(port_);
    stalled_ = stalled;
  }
  void on_storage_full(bool full) { CorePort::Event(port_)->on_storage_full(full); }
  // From now on.
  void ask_for_users(bool asked) {
    static const auto kUsers =
        Users::parse("[[user]]\nname = \"a\"\nsecrets = [\"" + to_text(hash_secret("b", {})) +
                         "\"]\nmay = [\"read\", \"count\", \"admin\"]\nkeys = [\"l\", \"a\"]\n",
                     "users");
    context_.access.users = asked ? *kUsers : nullptr;
  }
  void tick() {
    const CorePort::Event event(port_);
    event->on_tick(NodeClock::now(), wall_now(), event.effects());
  }
  void on_reply(std::function<void(const Effects::Reply&)> tell) { tell_ = std::move(tell); }

 private:
  // Until nothing more comes of what has happened.
  void finish() {
    if (std::exchange(finishing_, true)) return;
    bool more = true;
    while (more) {
      Effects effects = port_.finish_batch(NodeClock::now());
      for (Sealed& sealed : effects.writes) writes_.push_back(std::move(sealed));
      for (const Effects::Reply& reply : effects.replies) tell_(reply);
      const std::vector<Effects::Reply> killed = std::exchange(killed_, {});
      for (const Effects::Reply& reply : killed) tell_(reply);
      more = !effects.replies.empty() || !killed.empty() || port_.core()->in_batch() || write();
    }
    finishing_ = false;
  }
  bool write() {
    if (stalled_ || writes_.empty()) return false;
    check(store_.write(writes_.front().batch).ok(), "the disk takes it");
    const CorePort::Event event(port_);
    event->on_durable(NodeClock::now(), writes_.front().commit, event.effects());
    writes_.pop_front();
    return true;
  }

  const ClusterConfig& config_ = Node::config(1);
  MemoryDisk disk_;
  MemoryStore store_;
  Random random_{1};
  RespDecider decider_;
  CoreHolder port_{router_, {.now = [this] { finish(); }, .later = [this] { finish(); }}};
  asio::io_context io_;
  CoreRouter router_{io_, port_, nullptr};  // of the only reactor
  ClientContext context_{.port = port_};
  RespServer resp_{context_, {.flushall = true, .connections = 2}, Random{3}};
  std::vector<Effects::Reply> killed_;
  std::deque<Sealed> writes_;
  bool stalled_ = false;
  bool finishing_ = false;
  std::function<void(const Effects::Reply&)> tell_ = [](const Effects::Reply&) {};
};

// ---- strangers ----

constexpr std::string_view kMark = "the mark ";
std::string mark(std::uint64_t number) { return std::string(kMark) + std::to_string(number); }

// One connection after the other, as the port ends them.
class Stranger {
 public:
  Stranger(Server& server, std::uint64_t first_id) : server_(server), next_id_(first_id) {
    connect();
  }

  void say_raw(std::string_view bytes) {
    raw_ = true;
    append(in_, bytes);
  }
  // The reply to the mark behind it tells where in the order it stands.
  void say_marked(const std::vector<std::string>& request) {
    for (const std::string& word : request) raw_ = raw_ || word.starts_with(kMark);
    append(in_, encoded(request));
    append(in_, encoded({"ECHO", mark(++marks_)}));
  }

  // As ClientSession does.
  void turn() {
    using State = ClientProtocol::State;
    while (in_.buffered() > 0 && !server_.paused()) {
      if (connection_->state() == State::waiting) return;
      const std::string before(in_.unread());
      const std::size_t said = out_.size();
      {
        const CorePort::Event turn(server_.port(), CorePort::End::later);
        connection_->take(in_, out_);
        executed_ += requests_in(before.substr(0, before.size() - in_.buffered()));
        check(out_.size() - said < kMostAtOnce, "what waits to be said is bounded");
      }
      if (connection_->state() == State::ended || connection_->state() == State::broken) {
        check_replies();
        connect();
      } else if (in_.buffered() == before.size() && connection_->state() == State::reading) {
        return;
      }
    }
  }
  void hear(const Effects::Reply& reply) {
    if (reply.client == connection_->id()) connection_->reply(reply.answer, out_);
  }
  // Everything is answered now, or never.
  void finish() {
    turn();
    check(connection_->state() != ClientProtocol::State::waiting, "each request is answered");
    check_replies();
  }

 private:
  // The replies of one turn, and to one more request.
  static constexpr std::size_t kMostAtOnce = std::size_t{2} << 20;

  void connect() {
    if (connection_ != nullptr) connection_->on_closed();
    connection_.reset();  // before the next, which may have its place
    connection_ = std::make_unique<RespConnection>(
        ClientId{next_id_}, RespPeer{.remote = "them", .local = "us"}, server_.resp());
    next_id_ += 2;
    in_ = {};
    out_.clear();
    executed_ = marks_ = 0;
    raw_ = false;
  }
  void check_replies() const {
    std::string_view rest = out_;
    std::uint64_t replies = 0;
    std::uint64_t marks = 0;
    bool refused = false;
    for (; !rest.empty(); ++replies) {
      const std::string_view before = rest;
      check(take_reply(rest), "a reply is RESP");
      refused = before.starts_with("-ERR Protocol error: ");
      const std::string_view reply = before.substr(0, before.size() - rest.size());
      if (raw_ || reply.find(kMark) == reply.npos || reply.front() != '$') continue;
      const std::string wanted = mark(++marks);
      check(reply.find(wanted + "\r\n") != reply.npos, "replies are in the requests' order");
      check(replies % 2 == 1, "each request has one reply before its mark");
    }
    const bool broken = connection_->state() == ClientProtocol::State::broken;
    check(broken ? replies < executed_ : replies == executed_ + (refused ? 1 : 0),
          "each request has one reply");
  }

  Server& server_;
  std::uint64_t next_id_;
  std::unique_ptr<RespConnection> connection_;
  ReadBuffer in_;
  std::string out_;
  std::uint64_t executed_ = 0;
  std::uint64_t marks_ = 0;
  bool raw_ = false;  // it may have said a mark of its own
};

enum Kind : std::uint8_t { raw_bytes, request, turn, disk, switched, kKinds };

}  // namespace
}  // namespace quipu::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace quipu::fuzz;
  using quipu::Effects;
  Server server;
  std::array<Stranger, 2> strangers{Stranger(server, 1), Stranger(server, 2)};
  server.on_reply([&strangers](const Effects::Reply& reply) {
    for (Stranger& one : strangers) one.hear(reply);
  });
  std::size_t who = 0;
  for (const Chunk& chunk : split({reinterpret_cast<const char*>(data), size})) {
    Bytes bytes(chunk.bytes);
    switch (chunk.kind % kKinds) {
      case raw_bytes:
        strangers[who].say_raw(chunk.bytes);
        break;
      case request:
        strangers[who].say_marked(some_request(bytes));
        break;
      case turn:
        strangers[who].turn();
        server.tick();
        break;
      case disk: {
        const std::uint8_t state = bytes.byte();
        server.on_storage_full((state & 2) != 0);
        server.stall((state & 1) != 0);
        server.ask_for_users((state & 4) != 0);
        break;
      }
      case switched:
        who = 1 - who;
        break;
    }
  }
  server.on_storage_full(false);
  server.stall(false);
  for (Stranger& one : strangers) one.finish();
  return 0;
}
