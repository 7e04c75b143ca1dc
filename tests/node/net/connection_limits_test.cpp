#include "node/net/connection_limits.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "tests/node/api/nodes.h"
#include "tests/node/clients/raw_connection.h"
#include "tests/node/eventually.h"
#include "tests/node/temporary_directory.h"

namespace quipu::test {
namespace {

constexpr std::size_t kClients = 10'000;

// What a node with one reactor reserves.
constexpr std::size_t kReserved = kReservedDescriptors + kAdminDescriptors;

TEST(ConnectionLimits, LeaveTheReserveAndThePeersTheirPart) {
  struct Case {
    std::size_t descriptors, clients, inbound_peers;
  };
  for (const auto& [descriptors, clients, inbound_peers] :
       {Case{0, 0, 0}, Case{kReserved, 0, 0}, Case{kReserved + 1, 1, 0}, Case{1024, 312, 104},
        Case{kReserved + 11'023, 9'999, 1'024}, Case{kReserved + 11'025, 10'000, 1'024},
        Case{SIZE_MAX, 10'000, 1'024}}) {
    const ConnectionLimits limits = connection_limits(descriptors, kClients, 1, 1);
    EXPECT_EQ(limits.clients, clients) << descriptors;
    EXPECT_EQ(limits.inbound_peers, inbound_peers) << descriptors;
  }
}

TEST(ConnectionLimits, ReactorsShareWhatTheirStoresAndPeersLeave) {
  const std::size_t descriptors =
      4 * (kReservedDescriptors + 11) + kMaxStatusCalls * 11 + kAdminDescriptors + 4 * 1000;
  const ConnectionLimits limits = connection_limits(descriptors, kClients, 4, 12);
  EXPECT_EQ(limits.inbound_peers, 250U);
  EXPECT_EQ(limits.clients, 750U);
  EXPECT_EQ(connection_limits(SIZE_MAX, kClients, 3, 3).clients, 3334U);
}

// While it lives, this process may open no more than so many files.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(rlim_t limit) {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    const rlimit lower{limit, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &lower), 0);
  }
  ~DescriptorLimit() { EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before_), 0); }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;

 private:
  rlimit before_{};
};

TEST(ConnectionLimits, AFloodOfClientsLeavesTheNodeItsDescriptors) {
  constexpr std::size_t kDescriptors = kReserved + 40;
  const ConnectionLimits limits = connection_limits(kDescriptors, kClients, 1, 1);
  const TemporaryDirectory directory;
  const DescriptorLimit limit(kDescriptors);
  const auto node = open_node(alone(directory / "data"));
  ASSERT_TRUE(node->wait_ready(kPatience));
  std::vector<std::unique_ptr<RawConnection>> clients;
  for (std::size_t i = 0; i < limits.clients; ++i) {
    clients.push_back(std::make_unique<RawConnection>(node->client_address()));
  }
  std::string question;
  encode(question, ConfigRequest{1});
  RawConnection one_more(node->client_address());
  RawConnection redis(node->client_address());
  ASSERT_TRUE(one_more.send(question));
  const auto refusal = one_more.receive_until_closed();
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->code, Code::overloaded);
  ASSERT_TRUE(redis.send("PING\r\n"));
  EXPECT_EQ(redis.receive_text(), "-ERR max number of clients reached\r\n");
  // Whoever came before is served, and the next to come once one has gone.
  ASSERT_TRUE(clients.back()->send(question));
  EXPECT_TRUE(clients.back()->receive().has_value());
  clients.pop_back();
  EXPECT_TRUE(eventually([&] {
    RawConnection next(node->client_address());
    static_cast<void>(next.send(question));
    const auto answer = next.receive();
    return answer && answer->type == FrameType::config_reply;
  }));
}

}  // namespace
}  // namespace quipu::test
