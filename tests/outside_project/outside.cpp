// What somebody outside writes: embeds a node, and counts in it and from outside of it, also
// by a program that has the remote client alone.
//   outside DATA_DIRECTORY REMOTE_PROGRAM
#include <quipu/client.h>
#include <quipu/node.h>

#include <cstdlib>
#include <iostream>
#include <string>

// Each struct that a caller may fill in, with one number of it. A compiler that warns of
// missing initialisers finds every other member that has no default.
[[maybe_unused]] const quipu::NodeMember member{.weight = 1};
[[maybe_unused]] const quipu::ClientPortOptions client_port{.connections = 1};
[[maybe_unused]] const quipu::NodeOptions node_options{.replication = 1};
[[maybe_unused]] const quipu::ClientOptions client_options{.connect_timeout = {}};
[[maybe_unused]] const quipu::AddOptions add_options{.ack = quipu::Ack::disk};
[[maybe_unused]] const quipu::ChangeOptions change_options{.ack = quipu::Ack::disk};
[[maybe_unused]] const quipu::ReadOptions read_options{.level = quipu::ReadLevel::local};
[[maybe_unused]] const quipu::ListOptions list_options{.limit = 1};
[[maybe_unused]] const quipu::Addition addition{.amount = 1};
[[maybe_unused]] const quipu::Reading reading{.value = 1};
[[maybe_unused]] const quipu::Added added{};
[[maybe_unused]] const quipu::ListPage page{.next = quipu::ListCursor::end};
[[maybe_unused]] const quipu::ClusterStatus cluster_status{.replication = 1};
[[maybe_unused]] const quipu::MemberStatus member_status{.weight = 1};
[[maybe_unused]] const quipu::MemberStatus::Peer peer{.outbox = 1};
[[maybe_unused]] const quipu::CodeInfo code_info{.code = quipu::Code::ok};

namespace {

// Each call about many counters, in its three forms. Adds 6 to likes:42.
bool use(quipu::Counters& counters) {
  std::promise<bool> called_back;
  counters.add_many({{"likes:42", 1}, {"views:42"}}, {}, [&](std::vector<quipu::Status> done) {
    called_back.set_value(done.size() == 2 && done.front().ok());
  });
  if (!called_back.get_future().get()) return false;
  if (!counters.add_many({{"likes:42", 2}}).front().ok()) return false;
  if (!counters.add_many_async({{"likes:42", 3}}).get().front().ok()) return false;

  const auto readings = counters.read_many({"likes:42", "nothing"});
  if (!readings[0].ok() || readings[1]->exists) return false;
  if (!counters.read_many_async({"views:42"}, {}).get().front()->exists) return false;
  counters.read_many({"views:42"}, {}, {});

  const quipu::ListPage first = counters.list({.prefix = "likes:"});
  if (!first.status.ok() || first.next <= quipu::ListCursor::begin) return false;
  if (!counters.list_async({.cursor = first.next}).get().status.ok()) return false;
  counters.list({}, {});

  const auto status = counters.status();
  if (!status.ok() || !status->members.front().reached.ok()) return false;
  if (!counters.status_async().get().ok()) return false;
  counters.status(std::chrono::seconds(1), {});
  return !quipu::Counters::version().empty();
}

// The counter's own calls that answer with a future. Adds 34.
bool use(quipu::Counter counter) {
  if (!counter.reset_async().get().ok() || !counter.add_async(30).get().ok()) return false;
  if (*counter.add_and_read(1)->total != 31) return false;
  if (*counter.add_and_read_async(3).get()->total != 34) return false;
  counter.add_and_read(0, {}, {});
  return counter.read_async().get()->value == 34;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  auto node = quipu::Node::open({.data_directory = argv[1], .client_address = "127.0.0.1:0"});
  if (!node.ok() || !(*node)->wait_ready(std::chrono::seconds(10))) return 1;
  if (!use((*node)->counter("likes:42")) || !use(**node)) return 1;

  auto client = quipu::Client::connect({.seeds = {(*node)->client_address()}});
  if (!client.ok() || !use(**client)) return 1;
  if (!(*client)->counter("likes:42").add(-4).ok()) return 1;
  const auto total = (*client)->counter("likes:42").read({.level = quipu::ReadLevel::strong});
  if (!total.ok()) return 1;
  std::cout << total->value << std::endl;
  const std::string remote = argv[2];
  if (std::system((remote + ' ' + (*node)->client_address()).c_str()) != 0) return 1;
  return (*node)->close().ok() ? 0 : 1;
}
