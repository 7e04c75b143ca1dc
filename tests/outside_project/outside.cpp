#include <quipu/client.h>
#include <quipu/node.h>

#include <iostream>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  auto node = quipu::Node::open({.data_directory = argv[1], .client_address = "127.0.0.1:0"});
  if (!node.ok() || !(*node)->wait_ready(std::chrono::seconds(10))) return 1;
  if (!(*node)->counter("likes:42").add(40).ok()) return 1;

  auto client = quipu::Client::connect({.seeds = {(*node)->client_address()}});
  if (!client.ok() || !(*client)->counter("likes:42").add(2).ok()) return 1;
  const auto reading = (*client)->counter("likes:42").read({.level = quipu::ReadLevel::strong});
  if (!reading.ok()) return 1;
  std::cout << reading->value << '\n';
  return (*node)->close().ok() ? 0 : 1;
}
