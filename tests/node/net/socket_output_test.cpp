// Answers behind gates, of one connection: none leaves before its commit is durable.
#include "node/net/socket_output.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <asio/io_context.hpp>
#include <string>

namespace quipu::test {
namespace {

class Gates : public testing::Test {
 protected:
  Gates() {
    std::array<int, 2> ends{-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
    channel_.socket().assign(asio::ip::tcp::v4(), ends[0]);  // any stream will do
    client_ = ends[1];
  }
  ~Gates() override { ::close(client_); }

  // Says it, once that commit is durable; 0: at once.
  void say(const std::string& answer, std::uint64_t until) {
    const std::uint64_t from = output_.position();
    output_.tail() += answer;
    if (until > 0) output_.hold(from, Commit{until});
  }
  // All that has arrived since the last call.
  std::string heard() {
    EXPECT_EQ(output_.flush(channel_), SocketOutput::Flushed::all);
    std::array<char, 1024> bytes{};
    const ssize_t read = ::recv(client_, bytes.data(), bytes.size(), 0);
    return {bytes.data(), read > 0 ? static_cast<std::size_t>(read) : 0};
  }
  std::string heard_once_durable(std::uint64_t commit) {
    output_.release(Commit{commit});
    return heard();
  }

  asio::io_context io_;
  Channel channel_{asio::ip::tcp::socket(io_)};
  int client_ = -1;
  SocketOutput output_;
};

TEST_F(Gates, WhatNeedsNoCommitLeavesAtOnce) {
  say("now", 0);
  EXPECT_EQ(heard(), "now");
}

TEST_F(Gates, EachOfTwoOpensWithItsOwnCommit) {
  say("before ", 0);
  say("first ", 1);
  say("second", 2);
  EXPECT_EQ(heard(), "before ");
  EXPECT_EQ(heard_once_durable(1), "first ");
  EXPECT_EQ(heard_once_durable(1), "");
  EXPECT_EQ(heard_once_durable(2), "second");
}

TEST_F(Gates, ASecondOneIsKeptWhileTheFirstIsClosed) {
  say("first ", 1);
  EXPECT_EQ(heard(), "");
  say("second", 3);
  EXPECT_EQ(heard(), "");
  EXPECT_EQ(heard_once_durable(2), "first ");
  EXPECT_EQ(heard_once_durable(3), "second");
}

// Its own commit is durable earlier, but bytes keep their order.
TEST_F(Gates, AnAnswerBehindALaterCommitWaitsForThat) {
  say("late ", 5);
  say("early ", 3);
  say("none", 0);
  EXPECT_EQ(heard_once_durable(3), "");
  EXPECT_EQ(heard_once_durable(4), "");
  EXPECT_EQ(heard_once_durable(5), "late early none");
}

TEST_F(Gates, WhatNeedsNoCommitWaitsBehindWhatDoes) {
  say("first ", 1);
  say("ping ", 0);
  say("second ", 2);
  say("ping", 0);
  EXPECT_EQ(heard(), "");
  EXPECT_EQ(heard_once_durable(1), "first ping ");
  EXPECT_EQ(heard_once_durable(2), "second ping");
}

TEST_F(Gates, ACommitOpensAllThatWaitForEarlierOnes) {
  say("first ", 1);
  say("second ", 2);
  say("third", 3);
  EXPECT_EQ(heard_once_durable(2), "first second ");
  EXPECT_EQ(heard_once_durable(9), "third");
  say("fourth", 10);
  EXPECT_EQ(heard(), "");
  EXPECT_EQ(heard_once_durable(10), "fourth");
}

// The gate stands before bytes that are appended later.
TEST_F(Gates, OneThatIsClosedBeforeAnythingIsSaidHoldsWhatFollows) {
  output_.hold(output_.position(), Commit{1});
  say("later", 0);
  EXPECT_EQ(heard(), "");
  EXPECT_EQ(heard_once_durable(1), "later");
}

// Sent bytes leave the buffer, and gates are counted from the connection's first byte.
TEST_F(Gates, StandWhereTheyWereWhenMuchWasSentBefore) {
  for (std::uint64_t commit = 1; commit <= 100; ++commit) {
    say(std::string(100, 'a'), commit);
    say(std::string(50, 'b'), commit + 1);
    EXPECT_EQ(heard_once_durable(commit),
              std::string(commit == 1 ? 0 : 50, 'b') + std::string(100, 'a'));
  }
}

// Ten thousand idle connections must not each keep room for their longest answer.
TEST_F(Gates, ALongAnswersMemoryIsFreedOnceItWasSent) {
  say(std::string(50'000, 'x'), 0);
  std::string got;
  while (got.size() < 50'000) got += heard();
  EXPECT_LT(output_.room(), 8192u);
}

}  // namespace
}  // namespace quipu::test
