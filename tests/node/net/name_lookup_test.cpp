#include "node/net/name_lookup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "node/net/tcp_dial.h"
#include "tests/node/eventually.h"

namespace quipu::test {
namespace {

using asio::ip::tcp;
using testing::ElementsAre;

const asio::ip::address kHome = asio::ip::make_address("127.0.0.1");

// A name server that answers when it is told to. Copies share it.
class SlowAsk {
 public:
  NameLookup::Answer operator()(const std::string&) const {
    ++*asked_;
    answer_.wait();
    return {{}, {kHome}};
  }
  void answer() { promise_->set_value(); }
  [[nodiscard]] int asked() const { return *asked_; }

 private:
  std::shared_ptr<std::promise<void>> promise_ = std::make_shared<std::promise<void>>();
  std::shared_future<void> answer_{promise_->get_future()};
  std::shared_ptr<std::atomic<int>> asked_ = std::make_shared<std::atomic<int>>(0);
};

// Runs what is ready until the condition holds.
template <class Condition>
bool run_until(asio::io_context& io, Condition condition) {
  return eventually([&] {
    io.restart();
    io.poll();
    return condition();
  });
}

TEST(NameLookup, FindsWhatTheSystemKnowsAndSaysSoIfItDoesNot) {
  asio::io_context io;
  NameLookup names(io);
  std::optional<NameLookup::Answer> known, unknown;
  names.find("localhost", [&](const NameLookup::Answer& answer) {
    known = answer;
    return true;
  });
  names.find(std::string(300, 'x'), [&](const NameLookup::Answer& answer) {
    unknown = answer;
    return true;
  });
  EXPECT_FALSE(known || unknown);
  ASSERT_TRUE(run_until(io, [&] { return known && unknown; }));
  EXPECT_FALSE(known->addresses.empty());
  EXPECT_TRUE(known->addresses.front().is_loopback());
  EXPECT_TRUE(unknown->error);
}

TEST(NameLookup, NobodyWaitsForOneThatIsNotAnswered) {
  SlowAsk slow;
  asio::io_context io;
  {
    NameLookup names(io, slow);
    names.find("slow", [](const NameLookup::Answer&) {
      ADD_FAILURE() << "called after the end";
      return true;
    });
  }
  slow.answer();
  io.poll();
}

TEST(NameLookup, AnAnswerThatComesTooLateIsForTheNextWhoAsks) {
  SlowAsk slow;
  asio::io_context io;
  NameLookup names(io, slow);
  int too_late = 0;
  for (int i = 0; i < 2; ++i) {
    names.find("slow", [&](const NameLookup::Answer&) {
      ++too_late;
      return false;  // gave up
    });
  }
  slow.answer();
  ASSERT_TRUE(run_until(io, [&] { return too_late == 2; }));
  std::optional<NameLookup::Answer> found;
  names.find("slow", [&](const NameLookup::Answer& answer) {
    found = answer;
    return true;
  });
  ASSERT_TRUE(run_until(io, [&] { return found.has_value(); }));
  EXPECT_THAT(found->addresses, ElementsAre(kHome));
  EXPECT_EQ(slow.asked(), 1);
}

// However little time there is to connect, the looking up does not take of it.
TEST(TcpDial, GoesToANameThatWasFoundLate) {
  SlowAsk slow;
  asio::io_context io;
  tcp::acceptor acceptor(io, tcp::endpoint(kHome, 0));
  NameLookup names(io, slow);
  std::optional<asio::error_code> ended;
  const auto dial = std::make_shared<TcpDial>(
      names, [&](const asio::error_code& error, const tcp::socket&) { ended = error; });
  dial->start({"slow", acceptor.local_endpoint().port()});
  io.poll();
  EXPECT_FALSE(ended);
  slow.answer();
  ASSERT_TRUE(run_until(io, [&] { return ended.has_value(); }));
  EXPECT_FALSE(*ended) << ended->message();
}

TEST(TcpDial, KeepsItsLoopRunningUntilItHasEnded) {
  asio::io_context io;
  tcp::acceptor acceptor(io, tcp::endpoint(kHome, 0));
  NameLookup names(io, [](const std::string&) { return NameLookup::Answer{{}, {kHome}}; });
  bool ended = false;
  const auto dial = std::make_shared<TcpDial>(
      names, [&](const asio::error_code&, const tcp::socket&) { ended = true; });
  dial->start({"a name", acceptor.local_endpoint().port()});
  io.run();
  EXPECT_TRUE(ended);
}

TEST(TcpDial, HoldsNoLoopOnceItIsCancelled) {
  SlowAsk slow;
  asio::io_context io;
  NameLookup names(io, slow);
  const auto dial = std::make_shared<TcpDial>(
      names, [](const asio::error_code&, const tcp::socket&) { ADD_FAILURE(); });
  dial->start({"slow", 1});
  dial->cancel();
  io.run();
  slow.answer();
}

TEST(TcpDial, TriesEachAddressOfAName) {
  asio::io_context io;
  tcp::acceptor acceptor(io, tcp::endpoint(kHome, 0));
  NameLookup names(io, [](const std::string&) {
    // Only the last of them listens.
    return NameLookup::Answer{
        {}, {asio::ip::make_address("::1"), asio::ip::make_address("127.0.0.2"), kHome}};
  });
  std::optional<asio::error_code> ended;
  const auto dial = std::make_shared<TcpDial>(
      names, [&](const asio::error_code& error, const tcp::socket& socket) {
        ended = error;
        EXPECT_TRUE(socket.non_blocking());
      });
  dial->start({"several", acceptor.local_endpoint().port()});
  ASSERT_TRUE(run_until(io, [&] { return ended.has_value(); }));
  EXPECT_FALSE(*ended) << ended->message();
}

}  // namespace
}  // namespace quipu::test
