// What somebody outside writes who counts from outside of the nodes, and links the remote
// client alone. Its argument is the address of a node.
#include <quipu/client.h>

#include <iostream>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  auto client = quipu::Client::connect({.seeds = {argv[1]}});
  if (!client.ok()) return 1;
  if (!(*client)->counter("likes:42").add_async(8).get().ok()) return 1;
  const auto total = (*client)->counter("likes:42").read({.level = quipu::ReadLevel::strong});
  if (!total.ok()) return 1;
  std::cout << total->value << '\n';
  return (*client)->list().status.ok() && (*client)->status().ok() ? 0 : 1;
}
