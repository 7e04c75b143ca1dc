// What a client may hold of a node: sessions around a core, with limits that a test
// can reach.
#include "node/clients/client_sessions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <asio/post.hpp>
#include <future>
#include <thread>

#include "node/cores/core_router.h"
#include "node/net/listener.h"
#include "storage/memory_store.h"
#include "tests/node/clients/raw_connection.h"
#include "tests/node/cores/core_alone.h"
#include "tests/node/eventually.h"

namespace quipu::test {
namespace {

using testing::HasSubstr;

// Sessions on a port, and the thread that serves them. Only what is answered at once
// is: a `config` question, say.
class Served {
 public:
  explicit Served(SessionLimits limits) : sessions_(io_, port_, limits, RespSettings{}, Random(1)) {
    port_.set(core_alone(store_));
    EXPECT_TRUE(listener_.bind({"127.0.0.1", 0}).ok());
    EXPECT_TRUE(listener_
                    .start(
                        [this](asio::ip::tcp::socket socket) {
                          sessions_.expect();
                          sessions_.accept(Channel(std::move(socket)));
                        },
                        [this]() -> asio::io_context& { return client_sockets_; })
                    .ok());
    thread_ = std::thread([this] { io_.run(); });
  }
  // Returns when no new request is executed.
  void begin_closing() {
    std::promise<void> done;
    asio::post(io_, [&] {
      sessions_.begin_closing();
      done.set_value();
    });
    done.get_future().wait();
  }
  ~Served() {
    asio::post(io_, [this] {
      listener_.close();
      sessions_.close_all();
      io_.stop();
    });
    thread_.join();
  }
  [[nodiscard]] std::string address() const { return to_string(listener_.address()); }

 private:
  // Does only the replies among the effects.
  void finish() {
    for (const Effects::Reply& told : port_.finish_batch(NodeClock::now()).replies)
      sessions_.reply(told.client, told.answer);
    sessions_.flush(NodeClock::now());
  }

  MemoryDisk disk_;
  MemoryStore store_{disk_};
  CoreHolder port_{router_, {.now = [this] { finish(); }, .later = [this] { finish(); }}};
  asio::io_context client_sockets_;
  asio::io_context io_;
  CoreRouter router_{io_, port_, nullptr};
  ClientSessions sessions_;
  Listener listener_{io_};
  std::thread thread_;
};

std::string config_question() {
  std::string frame;
  encode(frame, ConfigRequest{1});
  return frame;
}

// The largest frame but for its last byte.
std::string all_but_a_byte() {
  std::string frame;
  const std::string payload(kMaxFrame - kFrameHeader, 'x');
  append_frame(frame, FrameType::read, std::as_bytes(std::span(payload)), spoken_versions().to);
  frame.pop_back();
  return frame;
}

bool is_served(RawConnection& client) {
  if (!client.send(config_question())) return false;
  const auto answer = client.receive();
  return answer && answer->type == FrameType::config_reply;
}

TEST(ClientSessions, AFrameThatIsNeverFinishedIsRefused) {
  const Served served({.sessions = 10, .request = std::chrono::milliseconds(1)});
  RawConnection idle(served.address());
  RawConnection stuck(served.address());
  ASSERT_TRUE(stuck.send(config_question().substr(0, 20)));
  const auto refusal = stuck.receive_until_closed();
  ASSERT_TRUE(refusal.has_value());
  EXPECT_THAT(refusal->detail, HasSubstr("not finished"));
  EXPECT_TRUE(is_served(idle));  // who owes nothing has all the time
}

TEST(ClientSessions, ARequestOfARedisClientThatIsNeverFinishedIsRefused) {
  const Served served({.sessions = 10, .request = std::chrono::milliseconds(1)});
  RawConnection idle(served.address());
  EXPECT_EQ(idle.reply_to("PING"), "+PONG\r\n");
  RawConnection stuck(served.address());
  ASSERT_TRUE(stuck.send("PING\r\n*2\r\n$4\r\nECHO\r\n"));
  EXPECT_EQ(stuck.receive_text(),
            "+PONG\r\n-ERR Protocol error: a request was begun and not finished in 0 s\r\n");
  EXPECT_EQ(idle.reply_to("PING"), "+PONG\r\n");
}

TEST(ClientSessions, AFrameInTwoPartsIsServedAndItsTimeIsForgotten) {
  const Served served({.sessions = 10});
  RawConnection client(served.address());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(client.send(config_question() + config_question().substr(0, 20)));
    EXPECT_TRUE(client.receive().has_value());
    ASSERT_TRUE(client.send(config_question().substr(20)));
    EXPECT_TRUE(client.receive().has_value());
  }
}

TEST(ClientSessions, OfThoseWhoHoldTooMuchTogetherTheLargestIsRefused) {
  const Served served({.sessions = 10, .held = kMaxFrame / 2});
  RawConnection small(served.address());
  ASSERT_TRUE(small.send(config_question() + config_question().substr(0, 20)));
  EXPECT_TRUE(small.receive().has_value());
  for (int i = 0; i < 3; ++i) {
    RawConnection greedy(served.address());
    ASSERT_TRUE(greedy.send(all_but_a_byte()));
    const auto refusal = greedy.receive_until_closed();
    ASSERT_TRUE(refusal.has_value());
    EXPECT_EQ(refusal->code, Code::overloaded);
    EXPECT_THAT(refusal->detail, HasSubstr("unfinished requests"));
  }
  ASSERT_TRUE(small.send(config_question().substr(20)));
  EXPECT_TRUE(small.receive().has_value());
}

TEST(ClientSessions, WhoMayNotComeInIsToldWhyInWhatItSpeaks) {
  const Served served({.sessions = 1, .rejected = 2, .rejected_time = kPatience});
  RawConnection first(served.address());
  ASSERT_TRUE(is_served(first));
  RawConnection native(served.address());
  RawConnection redis(served.address());
  RawConnection third(served.address());
  EXPECT_EQ(third.receive_text(), "");  // beyond these two, without a word
  ASSERT_TRUE(redis.send("INCR a\r\nINCR a\r\n"));
  EXPECT_EQ(redis.receive_text("\r\n"), "-ERR max number of clients reached\r\n");
  ASSERT_TRUE(native.send(config_question().substr(0, 1)));
  const auto refusal = native.receive();
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->type, FrameType::refusal);
  EXPECT_TRUE(is_served(first));
}

TEST(ClientSessions, WhoMayNotComeInAndSaysNothingIsSoonGone) {
  const Served served({.sessions = 0, .rejected_time = std::chrono::milliseconds(1)});
  RawConnection silent(served.address());
  EXPECT_EQ(silent.receive_text(), "");
}

TEST(ClientSessions, ManyWhoSentAFewBytesHoldLittle) {
  constexpr std::size_t kClients = 100;
  // Far less than a read's room for each.
  const Served served({.sessions = kClients, .held = kClients * 1024});
  std::vector<std::unique_ptr<RawConnection>> clients;
  for (std::size_t i = 0; i < kClients; ++i) {
    clients.push_back(std::make_unique<RawConnection>(served.address()));
    ASSERT_TRUE(clients.back()->send(config_question() + config_question().substr(0, 20)));
    EXPECT_TRUE(clients.back()->receive().has_value());
  }
  for (const auto& client : clients) {
    ASSERT_TRUE(client->send(config_question().substr(20)));
    EXPECT_TRUE(client->receive().has_value());
  }
}

TEST(ClientSessions, RefuseReadsAndChangesOnceTheNodeCloses) {
  Served served({.sessions = 1});
  RawConnection client(served.address());
  EXPECT_EQ(client.reply_to("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"), "$-1\r\n");
  served.begin_closing();
  EXPECT_THAT(client.reply_to("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"), HasSubstr("unavailable"));
  EXPECT_THAT(client.reply_to("*3\r\n$4\r\nMGET\r\n$1\r\na\r\n$1\r\nb\r\n"),
              HasSubstr("unavailable"));
  EXPECT_THAT(client.reply_to("*2\r\n$4\r\nINCR\r\n$1\r\nk\r\n"), HasSubstr("unavailable"));
}

}  // namespace
}  // namespace quipu::test
