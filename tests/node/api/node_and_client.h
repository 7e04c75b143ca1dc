// node_and_client.h: a test that runs once through a Node and once through a Client of it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include "quipu/client.h"
#include "tests/node/api/nodes.h"
#include "tests/node/eventually.h"
#include "tests/node/temporary_directory.h"

namespace quipu::test {

enum class CalledThrough : std::uint8_t { node, client };

class NodeAndClientTest : public testing::TestWithParam<CalledThrough> {
 protected:
  void SetUp() override {
    node_ = open_node(alone(directory_ / "data"));
    ASSERT_TRUE(node_->wait_ready(kPatience));
    if (GetParam() == CalledThrough::node) return;
    auto client = Client::connect({.seeds = {node_->client_address()}});
    ASSERT_TRUE(client.ok()) << client.status().message();
    client_ = std::move(*client);
  }
  Counters& counters() { return client_ != nullptr ? static_cast<Counters&>(*client_) : *node_; }

  TemporaryDirectory directory_;
  std::unique_ptr<Node> node_;
  std::unique_ptr<Client> client_;
};

inline const auto kThroughBoth = testing::Values(CalledThrough::node, CalledThrough::client);
inline std::string name_of(const testing::TestParamInfo<CalledThrough>& way) {
  return way.param == CalledThrough::node ? "Node" : "Client";
}

}  // namespace quipu::test
