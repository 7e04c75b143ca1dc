// A Redis client sees what its own commands did, in their order, whichever nodes they went to.
#include <gtest/gtest.h>

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/read_until.hpp>
#include <asio/write.hpp>
#include <string>
#include <string_view>

#include "tests/system/daemons.h"

namespace quipu::test {
namespace {

using asio::ip::tcp;

class OrderOfCommands : public testing::Test {
 protected:
  OrderOfCommands() {
    daemons_.start_all();
    EXPECT_TRUE(daemons_.all_ready());
    const std::string& address = daemons_.client_address(0);
    const auto port = static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
    socket_.connect({asio::ip::make_address("127.0.0.1"), port});
  }

  // Writes these lines at once. Returns all that comes up to the reply to a PING behind them.
  std::string ask(const std::string& lines) {
    static constexpr std::string_view kEnd = "+PONG\r\n";
    asio::write(socket_, asio::buffer(lines + "PING\r\n"));
    const std::size_t size = asio::read_until(socket_, asio::dynamic_buffer(read_), kEnd);
    std::string replies = read_.substr(0, size - kEnd.size());
    read_.erase(0, size);
    return replies;
  }
  // The same for twenty keys, since each has its own home: KEY stands for it.
  void expect(const std::string& lines, const std::string& replies) {
    for (int i = 0; i < 20; ++i) {
      const std::string key = "key" + std::to_string(++keys_);
      std::string named = lines;
      for (std::size_t at; (at = named.find("KEY")) != std::string::npos;)
        named.replace(at, 3, key);
      EXPECT_EQ(ask(named), replies) << named;
    }
  }

  Daemons daemons_{3};
  asio::io_context io_;
  tcp::socket socket_{io_};
  std::string read_;
  int keys_ = 0;
};

TEST_F(OrderOfCommands, AListHasWhatWasJustAdded) {
  expect("TOPK.ADD KEY a\r\nTOPK.LIST KEY\r\n", "*1\r\n$-1\r\n*1\r\n$1\r\na\r\n");
  expect("MULTI\r\nTOPK.ADD KEY a\r\nTOPK.LIST KEY\r\nEXEC\r\n",
         "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n*1\r\n$-1\r\n*1\r\n$1\r\na\r\n");
}

TEST_F(OrderOfCommands, AnEstimateHasWhatWasJustCounted) {
  expect("CMS.INCRBY KEY x 2\r\nCMS.INCRBY KEY x 3\r\nCMS.QUERY KEY x\r\n",
         "*1\r\n:2\r\n*1\r\n:5\r\n*1\r\n:5\r\n");
}

TEST_F(OrderOfCommands, AMergeHasAllThatWasAddedBeforeIt) {
  const std::string roll_up = "PFADD KEY a b c\r\nPFMERGE sum:KEY KEY\r\nDEL KEY\r\n";
  expect(roll_up + "PFCOUNT sum:KEY\r\n", ":1\r\n+OK\r\n:1\r\n:3\r\n");
  expect("MULTI\r\n" + roll_up + "EXEC\r\nPFCOUNT sum:KEY\r\n",
         "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n:1\r\n+OK\r\n:1\r\n:3\r\n");
}

TEST_F(OrderOfCommands, AStrongReadHasWhatWasAddedAtAQuorumBeforeIt) {
  EXPECT_EQ(ask("QUIPU.NAMESPACE CREATE exact ACK QUORUM READ STRONG\r\n"), "*0\r\n")
      << "members that have missed it";
  expect("INCR exact:KEY\r\nGET exact:KEY\r\n", ":1\r\n$1\r\n1\r\n");
  expect("PFADD exact:pf:KEY a\r\nPFCOUNT exact:pf:KEY\r\n", ":1\r\n:1\r\n");
}

}  // namespace
}  // namespace quipu::test
