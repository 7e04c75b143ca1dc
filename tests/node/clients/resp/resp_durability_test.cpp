// P1 for Redis clients: no reply to a change leaves the node before the change is durable.
//
//   client ══ a stream ══ sessions, core "here" ══ mail ══ core "there"
//
// Two reactors on one thread, over disks that finish a write only when the test says so. So
// every way that a reply takes is shown: at once from this core, behind other replies, from
// the core's queue, from another core.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <asio/io_context.hpp>
#include <deque>

#include "node/clients/client_sessions.h"
#include "node/cores/core_router.h"
#include "node/reactor/node_plan.h"
#include "storage/memory_store.h"
#include "tests/node/cores/core_alone.h"

namespace quipu::test {
namespace {

class HeldReactor {
 public:
  explicit HeldReactor(Ack ack) : ack_(ack) { port.set(core_alone(store_)); }

  // Does what the core wants, but for what the disk must do.
  void finish() {
    if (std::exchange(finishing_, true)) return;
    do {
      const Effects effects = port.finish_batch(NodeClock::now());
      for (const Sealed& sealed : effects.writes) writes_.push_back(sealed.commit);
      batches_ += effects.writes.empty() ? 0 : 1;
      for (const Effects::Reply& reply : effects.replies) {
        if (reply.client == CoreRouter::kPendingCalls) {
          router.on_pending_answer(reply.answer);
        } else if (reply.client == CoreRouter::kPartialReads) {
          router.on_part(reply.answer);
        } else {
          sessions.reply(reply.client, reply.answer);
        }
      }
      if (effects.released != Commit{}) {
        sessions.on_released(NodeClock::now(), effects.released);
        router.on_released(effects.released);
      }
      router.flush();
      sessions.flush(NodeClock::now());
    } while (!port.effects().replies.empty() || port.effects().released != Commit{} ||
             port.core()->in_batch());
    sessions.resume();
    finishing_ = false;
  }
  // Whether anything happened.
  bool poll() {
    io.restart();
    const bool ran = io.poll() > 0;
    const bool due = std::exchange(finish_is_due_, false);
    if (due) finish();
    return ran || due;
  }
  // The disk finishes its oldest write. False: there is none.
  bool write() {
    if (writes_.empty()) return false;
    const Commit commit = writes_.front();
    writes_.pop_front();
    const CorePort::Event event(port);
    event->on_durable(NodeClock::now(), commit, event.effects());
    return true;
  }

  // How many writes the disk was given, each of one sync.
  [[nodiscard]] int batches() const { return batches_; }

 private:
  MemoryDisk disk_;
  MemoryStore store_{disk_};
  const Ack ack_;
  bool finishing_ = false;
  bool finish_is_due_ = false;
  std::deque<Commit> writes_;
  int batches_ = 0;

 public:
  asio::io_context io;
  CoreHolder port{router,
                  {.now = [this] { finish(); }, .later = [this] { finish_is_due_ = true; }}};
  CoreRouter router{io, port, [this](ClientId client, const Answer& answer) {
                      sessions.reply(client, answer);
                      finish_is_due_ = true;
                    }};
  ClientSessions sessions{io, port, {.sessions = 10}, {.ack = ack_, .flushall = true}, Random(1)};
};

class RespDurability : public testing::Test {
 protected:
  enum class Reactors { one, two };
  explicit RespDurability(Ack ack = Ack::disk, Reactors reactors = Reactors::two)
      : here_(ack), there_(ack) {
    client_ = connect();
    if (reactors == Reactors::two) meet();
  }
  ~RespDurability() override {
    here_.sessions.close_all();
    for (const int end : ends_) ::close(end);
  }

  void meet() {
    NodeOptions options;
    options.data_directory = "none";
    options.reactors = 2;
    const Result<NodePlan> first = plan_node(options, 0);
    const Result<NodePlan> second = plan_node(options, 1);
    EXPECT_TRUE(first.ok() && second.ok());
    const std::vector<CoreRouter*> all{&here_.router, &there_.router};
    const std::vector<MemberIndex> members{first->self, second->self};
    here_.router.meet(all, members, first->config, 0);
    there_.router.meet(all, members, first->config, 1);
    here_.router.set_serving(true);
    there_.router.set_serving(true);
    owned_by_ = [config = first->config, self = first->self,
                 placement =
                     here_.port.core()->executor().map().placement_key()](const std::string& key) {
      return config.owners.owns(self, Placement(placement, {key, 0}).partition());
    };
    spread(key("H", "spread"));
    spread(key("T", "spread"));
  }
  int connect() {
    std::array<int, 2> ends{-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
    asio::ip::tcp::socket socket(sockets_);
    socket.assign(asio::ip::tcp::v4(), ends[0]);  // any stream will do
    here_.sessions.expect();
    here_.sessions.accept(Channel(std::move(socket)));
    ends_.push_back(ends[1]);
    return ends[1];
  }
  // A key that this core holds (H), or the other (T).
  [[nodiscard]] std::string key(std::string_view side, std::string_view name) const {
    for (int i = 0;; ++i) {
      std::string key = std::string(name) + std::to_string(i);
      if (owned_by_(key) == (side == "H")) return key;
    }
  }
  // "H:a" and "T:a" stand for such keys.
  [[nodiscard]] std::string with_keys(std::string text) const {
    for (const std::string_view side : {"H", "T"}) {
      const std::string mark = std::string(side) + ':';
      for (std::size_t at = 0; (at = text.find(mark, at)) != text.npos;) {
        const std::size_t end = text.find_first_of(" \r\n", at);
        const std::string name = text.substr(at + mark.size(), end - at - mark.size());
        text.replace(at, end - at, key(side, name));
      }
    }
    return text;
  }

  void spread(const std::string& key) {
    HeldReactor& holder = owned_by_(key) ? here_ : there_;
    const Op raise{.id = 1, .key = key, .amount = 4, .kind = OpKind::raise};
    {
      const CorePort::Event event(holder.port);
      event->on_ops(NodeClock::now(), ClientId{99}, std::span(&raise, 1), event.effects());
    }
    write_all();
  }

  void settle() {
    while (here_.poll() | there_.poll()) {
    }
  }
  // One write of the disk here, or there.
  bool write(HeldReactor& side) {
    const bool wrote = side.write();
    settle();
    return wrote;
  }
  void write_all() {
    settle();
    while (write(here_) || write(there_)) {
    }
  }
  void say(const std::string& requests) {
    const std::string bytes = with_keys(requests);
    EXPECT_EQ(::send(client_, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    settle();
  }
  // Each line end as one space.
  std::string heard() {
    std::string text;
    std::array<char, 65536> bytes{};
    for (ssize_t read = 0; (read = ::recv(client_, bytes.data(), bytes.size(), 0)) > 0;)
      text.append(bytes.data(), static_cast<std::size_t>(read));
    for (std::size_t at = 0; (at = text.find("\r\n", at)) != text.npos;) text.replace(at, 2, " ");
    return text;
  }
  void expect(const std::string& before, const std::string& requests, const std::string& replies);

  asio::io_context sockets_;  // nobody runs it
  HeldReactor here_, there_;
  std::function<bool(const std::string&)> owned_by_;
  std::vector<int> ends_;
  int client_ = -1;
};

// With `before` durable, `requests` are answered only when all of them are.
void RespDurability::expect(const std::string& before, const std::string& requests,
                            const std::string& replies) {
  SCOPED_TRACE(requests);
  if (!before.empty()) say(before);
  write_all();
  (void)heard();
  say(requests);
  EXPECT_EQ(heard(), "") << "said before it was durable";
  write_all();
  EXPECT_EQ(heard(), replies);
}

TEST_F(RespDurability, NoReplyToAnAddLeavesBeforeItsRecordIsDurable) {
  for (const std::string_view side : {"H", "T"}) {
    const std::string a = std::string(side) + ":a";
    expect("DEL " + a + "\r\n", "INCR " + a + "\r\n", ":1 ");
    expect("", "DECR " + a + "\r\n", ":0 ");
    expect("", "INCRBY " + a + " 5\r\n", ":5 ");
    expect("", "DECRBY " + a + " 2\r\n", ":3 ");
    expect("", "QUIPU.ADD " + a + " 1\r\n", ":4 ");
    expect("", "QUIPU.ADD " + a + " 1 ACK DISK\r\n", ":5 ");
    expect("", "QUIPU.ADD " + a + " 1 ACK QUORUM\r\n", ":6 ");
    expect("", "QUIPU.ADD " + a + " 1 ACK DISK AFFINITY me\r\n", ":7 ");
    const std::string spread = std::string(side) + ":spread";
    expect("", "INCR " + spread + "\r\n", ":1 ");
    expect("", "QUIPU.ADD " + spread + " 1 ACK QUORUM AFFINITY me\r\n", ":2 ");
  }
}

TEST_F(RespDurability, NoReplyToASetOrResetLeavesBeforeItsRecordIsDurable) {
  for (const std::string_view side : {"H", "T"}) {
    const std::string a = std::string(side) + ":a";
    expect("", "SET " + a + " 7\r\n", "+OK ");
    expect("", "SET " + a + " 0\r\n", "+OK ");
    expect("", "GETDEL " + a + "\r\n", "$1 0 ");
    expect("INCR " + a + "\r\n", "DEL " + a + "\r\n", ":1 ");
    expect("INCR " + a + "\r\n", "UNLINK " + a + "\r\n", ":1 ");
    expect("INCR " + a + "\r\n", "QUIPU.RESET " + a + "\r\n", "+OK ");
    expect("INCR " + a + "\r\n", "QUIPU.RESET " + a + " ACK QUORUM\r\n", "+OK ");
    const std::string spread = std::string(side) + ":spread";
    expect("INCR " + spread + "\r\n", "SET " + spread + " 3\r\n", "+OK ");
    expect("", "DEL " + spread + "\r\n", ":1 ");
  }
  expect("INCR H:a\r\nINCR T:a\r\n", "DEL H:a T:a\r\n", ":2 ");
  expect("INCR H:a\r\n", "FLUSHALL\r\n", "+OK ");
}

// The bytes of what needs no disk stand behind those that do.
TEST_F(RespDurability, WhatFollowsAnAddInAPipelineWaitsWithIt) {
  for (const std::string_view side : {"H", "T"}) {
    const std::string a = std::string(side) + ":a";
    const std::string begin = "DEL " + a + "\r\n";
    const std::string incr = "INCR " + a + "\r\n";
    expect(begin, incr + "GET " + a + "\r\n", ":1 $1 1 ");
    expect(begin, incr + "MGET " + a + " H:none T:none\r\n", ":1 *3 $1 1 $-1 $-1 ");
    expect(begin, incr + "EXISTS " + a + "\r\n" + incr, ":1 :1 :2 ");
    expect(begin, incr + "PING\r\n", ":1 +PONG ");
    expect(begin, incr + "ECHO x\r\nNONSENSE\r\n",
           ":1 $1 x -ERR unknown command 'NONSENSE', with args beginning with:  ");
    expect(begin, incr + "QUIPU.ADD " + a + " 1 ACK MEMORY\r\n", ":1 :2 ");
    expect(begin, incr + "QUIPU.GET " + a + " STRONG\r\n",
           ":1 *6 $5 value :1 $6 age_ms :0 $8 complete :1 ");
    expect(begin, incr + "SET " + a + " 9\r\n" + incr, ":1 +OK :10 ");
    expect(begin, incr + "SELECT 16\r\nSELECT 0\r\n", ":1 -ERR DB index is out of range +OK ");
  }
  say("INCR H:b\r\nINFO\r\n");
  EXPECT_EQ(heard(), "");
  write_all();
  EXPECT_EQ(heard().substr(0, 4), ":1 $");
}

// Each core's answers become known at another time; each reply waits for all before it.
TEST_F(RespDurability, RepliesOfTwoCoresKeepTheirOrderAndTheirCommits) {
  const std::string mixed = "INCR H:a\r\nINCR T:a\r\nINCR H:a\r\nPING\r\nINCR T:a\r\n";
  expect("", mixed, ":1 :1 :2 +PONG :2 ");
  say(mixed);
  EXPECT_TRUE(write(there_));  // all of it there, nothing here
  EXPECT_EQ(heard(), "");
  write_all();
  EXPECT_EQ(heard(), ":3 :3 :4 +PONG :4 ");
  say("INCR T:a\r\nINCR H:a\r\n");
  EXPECT_TRUE(write(there_));
  EXPECT_EQ(heard(), "") << "they leave together";
  EXPECT_TRUE(write(here_));
  EXPECT_EQ(heard(), ":5 :5 ");
  say("INCR H:a\r\nINCR T:a\r\nINCR H:a\r\n");
  EXPECT_TRUE(write(here_));
  EXPECT_EQ(heard(), ":6 ");
  EXPECT_TRUE(write(there_));
  EXPECT_EQ(heard(), ":6 :7 ");
}

TEST_F(RespDurability, ARecordsReplyLeavesWithItsOwnRecord) {
  say("INCR H:a\r\n");
  say("INCR H:a\r\nPING\r\n");  // into the next record, since the disk is busy
  say("INCR H:b\r\n");
  EXPECT_EQ(heard(), "");
  EXPECT_TRUE(write(here_));
  EXPECT_EQ(heard(), ":1 ");
  EXPECT_TRUE(write(here_));
  EXPECT_EQ(heard(), ":2 +PONG :1 ");
  EXPECT_FALSE(write(here_));
}

// The reset and the add go to the disk together.
TEST_F(RespDurability, ASetTakesOneSync) {
  for (const char* const value : {"7", "7", "0", "8"}) {
    const int before = here_.batches();
    expect("", std::string("SET H:a ") + value + "\r\n", "+OK ");
    EXPECT_EQ(here_.batches(), before + 1);
  }
}

TEST_F(RespDurability, AnAddAtMemoryIsAnsweredAtOnce) {
  say("QUIPU.ADD H:a 1 ACK MEMORY\r\n");
  EXPECT_EQ(heard(), ":1 ");
  say("INCR H:b\r\nQUIPU.ADD H:a 1 ACK MEMORY\r\n");
  EXPECT_EQ(heard(), "");
  write_all();
  EXPECT_EQ(heard(), ":1 :2 ");
}

TEST_F(RespDurability, ADeepPipelineWaitsForItsLastRecord) {
  std::string requests, replies;
  for (int i = 1; i <= 20'000; ++i) {
    requests += "INCR H:a\r\n";
    replies += ':' + std::to_string(i) + ' ';
  }
  requests = with_keys(requests);
  std::string got;
  // The stream takes a part at a time.
  for (std::size_t at = 0; at < requests.size();) {
    const ssize_t sent = ::send(client_, requests.data() + at, requests.size() - at, 0);
    if (sent > 0) at += static_cast<std::size_t>(sent);
    settle();
    EXPECT_EQ(heard(), "");
  }
  while (write(here_)) got += heard();
  EXPECT_EQ(got, replies);
}

class RespDurabilityAtQuorum : public RespDurability {
 protected:
  RespDurabilityAtQuorum() : RespDurability(Ack::quorum) {}
};

TEST_F(RespDurabilityAtQuorum, EveryChangeWaits) {
  for (const std::string_view side : {"H", "T"}) {
    const std::string a = std::string(side) + ":a";
    expect("", "INCR " + a + "\r\nPING\r\n", ":1 +PONG ");
    expect("", "SET " + a + " 5\r\n", "+OK ");
    expect("", "GETDEL " + a + "\r\n", "$1 5 ");
    expect("INCR " + a + "\r\n", "DEL " + a + "\r\n", ":1 ");
  }
}

// These cores do not know each other's stores, which tokens name.
class RespDurabilityAlone : public RespDurability {
 protected:
  RespDurabilityAlone() : RespDurability(Ack::disk, Reactors::one) {}
};

// A retry is answered when the first attempt is durable.
TEST_F(RespDurabilityAlone, NoReplyToASessionOrATokenLeavesBeforeItsRecordIsDurable) {
  say("QUIPU.SESSION a\r\n");
  EXPECT_EQ(heard(), "");
  write_all();
  const std::string session = heard().substr(4, 33);
  const std::string add = "QUIPU.ADD a 1 TOKEN " + session + ' ';
  expect("", add + "1\r\n", ":1 ");
  expect("", add + "2 ACK QUORUM\r\n", ":2 ");
  expect("", add + "3\r\n" + add + "3\r\nPING\r\n", ":3 :3 +PONG ");
  say(add + "4\r\n");
  say(add + "4\r\n");
  EXPECT_EQ(heard(), "");
  write_all();
  EXPECT_EQ(heard(), ":4 :4 ");
}

// Last words stand behind the replies that wait for the disk.
TEST_F(RespDurability, AProtocolErrorIsSaidBehindWhatWaits) {
  expect("", "INCR H:a\r\n*1\r\n:1\r\n", ":1 -ERR Protocol error: expected '$', got ':' ");
}

}  // namespace
}  // namespace quipu::test
