#include "tests/node/nodes.h"

#include <gtest/gtest.h>

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>

namespace quipu::test {
namespace {

using asio::ip::tcp;

// Ports that were free a moment ago, all different.
std::vector<std::string> free_addresses(std::size_t count) {
  asio::io_context io;
  std::vector<tcp::acceptor> held;
  std::vector<std::string> addresses;
  for (std::size_t i = 0; i < count; ++i) {
    held.emplace_back(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
    addresses.push_back("127.0.0.1:" + std::to_string(held.back().local_endpoint().port()));
  }
  return addresses;
}

}  // namespace

std::unique_ptr<Node> open_node(NodeOptions options) {
  auto node = Node::open(std::move(options));
  if (!node.ok()) {
    ADD_FAILURE() << node.status().message();
    return nullptr;
  }
  return std::move(*node);
}

NodeOptions alone(const std::string& directory) {
  NodeOptions options;
  options.data_directory = directory;
  options.client_address = "127.0.0.1:0";
  return options;
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
