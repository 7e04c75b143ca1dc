// What somebody outside writes: embeds a node, and counts in it and from outside of it.
#include <quipu/client.h>
#include <quipu/node.h>

#include <iostream>

// Each struct that a caller may fill in, with one number of it. A compiler that warns of
// missing initialisers finds every other member that has no default.
[[maybe_unused]] const quipu::NodeMember member{.weight = 1};
[[maybe_unused]] const quipu::ClientPortOptions client_port{.connections = 1};
[[maybe_unused]] const quipu::NodeOptions node_options{.replication = 1};
[[maybe_unused]] const quipu::ClientOptions client_options{.connect_timeout = {}};
[[maybe_unused]] const quipu::AddOptions add_options{.ack = quipu::Ack::disk};
[[maybe_unused]] const quipu::ReadOptions read_options{.level = quipu::ReadLevel::local};
[[maybe_unused]] const quipu::Reading reading{.value = 1};
[[maybe_unused]] const quipu::CodeInfo code_info{.code = quipu::Code::ok};

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  auto node = quipu::Node::open({.data_directory = argv[1], .client_address = "127.0.0.1:0"});
  if (!node.ok() || !(*node)->wait_ready(std::chrono::seconds(10))) return 1;
  if (!(*node)->counter("likes:42").add(40).ok()) return 1;

  auto client = quipu::Client::connect({.seeds = {(*node)->client_address()}});
  if (!client.ok() || !(*client)->counter("likes:42").add(2).ok()) return 1;
  const auto total = (*client)->counter("likes:42").read({.level = quipu::ReadLevel::strong});
  if (!total.ok()) return 1;
  std::cout << total->value << '\n';
  return (*node)->close().ok() ? 0 : 1;
}
