// One connection that speaks RESP, without a socket.
#include "node/clients/resp/resp_connection.h"

#include <gtest/gtest.h>

#include <asio/io_context.hpp>
#include <cstring>

#include "node/cores/core_router.h"
#include "storage/memory_store.h"
#include "tests/node/cores/core_alone.h"

namespace quipu::test {
namespace {

class RespConnections : public testing::Test {
 protected:
  RespConnections() { port_.set(core_alone(store_)); }

  // Takes what a client sent; nothing is answered that needs the core's effects.
  std::string take(const std::string& requests) {
    ReadBuffer in;
    const auto room = in.prepare(requests.size());
    std::memcpy(room.data(), requests.data(), requests.size());
    in.commit(requests.size());
    std::string out;
    connection_.take(in, out);
    return out;
  }

  MemoryDisk disk_;
  MemoryStore store_{disk_};
  asio::io_context io_;
  CoreHolder port_{router_, {.now = [] {}, .later = [] {}}};
  CoreRouter router_{io_, port_, [](ClientId, const Answer&) {}};
  ClientContext context_{.port = port_};
  RespServer server_{.context = context_, .settings = {}, .random = Random(1)};
  RespConnection connection_{ClientId{1}, {}, server_};
};

// Clients tell replies by their order: last words are one for each request, too.
TEST_F(RespConnections, LastWordsStandInTheOrderOfTheRequests) {
  EXPECT_EQ(take("GET a\r\nQUIPU.GET a STRONG\r\nGET b\r\nPING\r\nQUIPU.GET c STRONG\r\n"
                 "QUIPU.GET d STRONG\r\nPING last\r\n"),
            "$-1\r\n");
  std::string out;
  connection_.refuse({Code::overloaded, "too much is held"}, out);
  const std::string doubt = "-INDOUBT the connection is closed: it may still count\r\n";
  EXPECT_EQ(out, doubt + "$-1\r\n+PONG\r\n" + doubt + doubt +
                     "$4\r\nlast\r\n-ERR Protocol error: too much is held\r\n");
}

// Known adds need no slot, but for those behind one that waits.
TEST_F(RespConnections, AnAddStandsInItsPlaceWhetherOrNotOneWaitsBeforeIt) {
  EXPECT_EQ(take("INCR a\r\nINCRBY a x\r\nINCR a\r\nHELLO 3\r\nINCR a\r\n").substr(0, 62),
            ":1\r\n-ERR value is not an integer or out of range\r\n:2\r\n%7\r\n$6\r\n");
  EXPECT_EQ(take("INCR b\r\nQUIPU.GET a STRONG\r\nINCR b\r\nINCR b\r\nPING\r\n"), ":1\r\n");
  std::string out;
  connection_.refuse({Code::overloaded, "too much is held"}, out);
  EXPECT_EQ(out,
            "-INDOUBT the connection is closed: it may still count\r\n"
            "-INDOUBT the connection is closed: it may still count\r\n"
            "-INDOUBT the connection is closed: it may still count\r\n+PONG\r\n"
            "-ERR Protocol error: too much is held\r\n");
}

}  // namespace
}  // namespace quipu::test
