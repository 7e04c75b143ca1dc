// cli_of_one_node.h: `quipu` and one node to ask.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "quipu/node.h"
#include "tests/node/temporary_directory.h"
#include "tests/system/cli_runner.h"

namespace quipu::test {

// A cluster of one in this process, and `quipu` told of it.
class Cli : public testing::Test {
 protected:
  void SetUp() override {
    NodeOptions options;
    options.data_directory = directory_ / "data";
    options.client_address = "127.0.0.1:0";
    auto node = Node::open(options);
    ASSERT_TRUE(node.ok()) << node.status().message();
    node_ = std::move(*node);
    ASSERT_TRUE(node_->wait_ready(std::chrono::seconds(20)));
  }

  CliResult quipu(const std::vector<std::string>& arguments) {
    return run_cli(arguments, {.nodes = {node_->client_address()}});
  }

  // Its output. It must succeed and say nothing on stderr.
  std::string done(const std::vector<std::string>& arguments) {
    const CliResult result = quipu(arguments);
    EXPECT_EQ(result.exit, 0) << testing::PrintToString(arguments) << result.err;
    EXPECT_EQ(result.err, "");
    return result.out;
  }

  std::int64_t value(const std::string& key) { return node_->counter(key).read()->value; }

  const TemporaryDirectory directory_;
  std::unique_ptr<Node> node_;
};

}  // namespace quipu::test
