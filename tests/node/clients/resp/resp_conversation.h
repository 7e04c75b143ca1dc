// resp_conversation.h: one node, and a Redis client's conversation with it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/node/api/nodes.h"
#include "tests/node/clients/raw_connection.h"
#include "tests/node/eventually.h"
#include "tests/node/temporary_directory.h"

namespace quipu::test {

// The parameter: how many reactors the node has.
class Resp : public testing::TestWithParam<std::uint8_t> {
 protected:
  explicit Resp(ClientPortOptions port = {}) {
    NodeOptions options = alone(directory_ / "data");
    options.reactors = GetParam();
    options.client_port = port;
    node_ = open_node(options);
    EXPECT_TRUE(node_->wait_ready(kPatience));
  }
  [[nodiscard]] RawConnection connect() const { return RawConnection(node_->client_address()); }

  TemporaryDirectory directory_;
  std::unique_ptr<Node> node_;
};

// Each line of a conversation: an inline request, and its reply. RESP's line ends are written
// as one space.
struct Said {
  std::string request;
  std::string reply;
};
inline void converse(RawConnection client, const std::vector<Said>& conversation) {
  for (const auto& [request, reply] : conversation) {
    std::string got = client.reply_to(request);
    for (std::size_t at = 0; (at = got.find("\r\n", at)) != got.npos;) got.replace(at, 2, " ");
    EXPECT_EQ(got, reply) << request;
  }
}

}  // namespace quipu::test
