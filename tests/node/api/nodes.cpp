#include "tests/node/api/nodes.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <random>

#include "tests/node/eventually.h"

namespace quipu::test {
namespace {

using asio::ip::tcp;

// As quipud does: a shell's limit has often no room for several reactors.
void raise_descriptor_limit() {
  rlimit limit{};
  EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = limit.rlim_max;
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
}

}  // namespace

std::unique_ptr<Node> open_node(NodeOptions options) {
  if (options.reactors > 1) raise_descriptor_limit();
  auto node = Node::open(std::move(options));
  if (!node.ok()) {
    ADD_FAILURE() << node.status().message();
    return nullptr;
  }
  return std::move(*node);
}

Nodes open_all(const std::vector<NodeOptions>& cluster) {
  Nodes nodes;
  for (const NodeOptions& options : cluster) nodes.push_back(open_node(options));
  for (const auto& node : nodes) EXPECT_TRUE(node->wait_ready(kPatience));
  return nodes;
}

NodeOptions alone(const std::string& directory) {
  NodeOptions options;
  options.data_directory = directory;
  options.client_address = "127.0.0.1:0";
  return options;
}

// All different, and below the ports that the system gives to those that dial: one of them could be
// a node's own, dialing the one that it waits for.
std::vector<std::string> free_addresses(std::size_t count) {
  asio::io_context io;
  std::vector<tcp::acceptor> held;
  std::vector<std::string> addresses;
  std::random_device random;
  std::uniform_int_distribution<std::uint16_t> some(10'000, 32'000);
  while (addresses.size() < count) {
    const tcp::endpoint endpoint(asio::ip::address_v4::loopback(), some(random));
    tcp::acceptor acceptor(io, endpoint.protocol());
    asio::error_code taken;
    acceptor.bind(endpoint, taken);
    if (taken) continue;
    addresses.push_back("127.0.0.1:" + std::to_string(endpoint.port()));
    held.push_back(std::move(acceptor));
  }
  return addresses;
}

std::vector<NodeOptions> cluster_of(std::size_t count, const std::string& directory) {
  const std::vector<std::string> addresses = free_addresses(count);
  std::vector<NodeMember> members(count);
  for (std::size_t i = 0; i < count; ++i) {
    members[i].name = "n" + std::to_string(i + 1);
    members[i].peer_address = addresses[i];
  }
  std::vector<NodeOptions> cluster(count);
  for (std::size_t i = 0; i < count; ++i) {
    cluster[i].name = members[i].name;
    cluster[i].members = members;
    cluster[i].data_directory = directory + "/" + members[i].name;
    cluster[i].client_address = "127.0.0.1:0";
  }
  return cluster;
}

}  // namespace quipu::test
