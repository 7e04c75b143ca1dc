#include "node/net/ready_sockets.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <set>
#include <utility>
#include <vector>

namespace quipu::test {
namespace {

using Interest = ReadySockets::Interest;
constexpr Interest kNothing{}, kRead{.read = true}, kWrite{.write = true}, kBoth{true, true};

class Ready : public testing::Test {
 protected:
  Ready() {
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends_.data()), 0);
    socket_.descriptor = ends_[0];
  }
  ~Ready() override {
    for (const int end : ends_) ::close(end);
  }
  void watch(Interest interest) { EXPECT_TRUE(sockets_.watch(socket_, interest)); }
  void send() { EXPECT_EQ(::write(ends_[1], "x", 1), 1); }
  void close_other() { ::close(std::exchange(ends_[1], -1)); }
  // What it is told in one turn.
  std::vector<Interest> told() {
    told_.clear();
    io_.restart();
    io_.poll();
    return told_;
  }

  asio::io_context io_{1};
  std::array<int, 2> ends_{-1, -1};
  ReadySockets::Socket socket_{-1, ClientId{7}};
  std::vector<Interest> told_;
  ReadySockets sockets_{io_, [this](ClientId client, Interest ready) {
                          EXPECT_EQ(client, ClientId{7});
                          told_.push_back(ready);
                          io_.stop();
                        }};
};

TEST_F(Ready, are_told_again_until_they_were_read) {
  watch(kRead);
  EXPECT_EQ(told(), std::vector<Interest>{});
  send();
  EXPECT_EQ(told(), std::vector{kRead});
  EXPECT_EQ(told(), std::vector{kRead});
  std::array<char, 1> byte;
  EXPECT_EQ(::read(ends_[0], byte.data(), 1), 1);
  EXPECT_EQ(told(), std::vector<Interest>{});
  send();
  EXPECT_EQ(told(), std::vector{kRead});
}

TEST_F(Ready, are_told_for_what_is_wished) {
  watch(kWrite);
  send();
  EXPECT_EQ(told(), std::vector{kWrite});
  watch(kBoth);
  EXPECT_EQ(told(), std::vector{kBoth});
  watch(kRead);
  EXPECT_EQ(told(), std::vector{kRead});
  watch(kNothing);
  EXPECT_EQ(told(), std::vector<Interest>{});
  watch(kRead);
  EXPECT_EQ(told(), std::vector{kRead});
}

TEST_F(Ready, are_told_of_for_both_once_they_broke) {
  watch(kRead);
  close_other();
  EXPECT_EQ(told(), std::vector{kBoth});
}

// It would be told of for ever.
TEST_F(Ready, are_not_told_of_if_they_broke_while_nothing_was_wished) {
  watch(kRead);
  watch(kNothing);
  close_other();
  EXPECT_EQ(told(), std::vector<Interest>{});
}

TEST(ReadySockets, that_are_many_all_have_their_turn) {
  constexpr std::size_t kMany = 300;
  asio::io_context io{1};
  std::set<ClientId> told;
  std::size_t turns = 0;
  ReadySockets sockets(io, [&](ClientId client, Interest) {
    told.insert(client);
    if (++turns == 2 * kMany) io.stop();
  });
  std::vector<std::array<int, 2>> pairs(kMany);
  for (std::size_t i = 0; i < kMany; ++i) {
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i].data()), 0);
    ReadySockets::Socket one{pairs[i][0], ClientId{i}};
    EXPECT_TRUE(sockets.watch(one, kRead));
    EXPECT_EQ(::write(pairs[i][1], "x", 1), 1);
  }
  io.run();
  EXPECT_EQ(told.size(), kMany);
  for (const auto& pair : pairs) {
    for (const int end : pair) ::close(end);
  }
}

TEST_F(Ready, leave_when_they_are_closed) {
  watch(kRead);
  send();
  ::close(std::exchange(ends_[0], -1));
  EXPECT_EQ(told(), std::vector<Interest>{});
}

TEST_F(Ready, that_cannot_be_watched_are_refused) {
  socket_.descriptor = -1;
  EXPECT_FALSE(sockets_.watch(socket_, kRead));
}

}  // namespace
}  // namespace quipu::test
