// fake_node.h: a cluster of one that answers as a test decides, to show a client what no sound
// node would do on demand.
//
// It applies each token once, and refuses one that comes again with other content. Like a node, it
// forgets a token as soon as the floor of its session has passed it. Of an apply, it counts the
// elements, each as often as it comes.
#pragma once

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "protocol/frame.h"
#include "protocol/message_codec.h"

namespace quipu::test {

class FakeNode {
 public:
  struct Reaction {
    bool apply = true;
    std::optional<Code> answer = Code::ok;  // none: silence
    bool hang_up = false;                   // after that
  };
  // For each add, by its key and by how often its token came before.
  using Script = std::function<Reaction(const std::string& key, int before)>;

  explicit FakeNode(Script script);
  ~FakeNode();

  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] std::int64_t value(const std::string& key) const;
  // How many adds and applies came, repeated ones included.
  [[nodiscard]] int adds() const { return adds_; }

 private:
  void serve();
  void converse(asio::ip::tcp::socket& socket);
  // False: hang up.
  bool handle(const FrameDecoder::Frame& frame, std::string& out);
  bool handle_op(const Op& op, std::string& out);

  Script script_;
  asio::io_context io_;
  asio::ip::tcp::acceptor acceptor_;
  std::string address_;
  std::atomic<bool> stopping_ = false;
  std::atomic<int> adds_ = 0;
  mutable std::mutex mutex_;
  std::map<std::string, std::int64_t> values_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, int> seen_;  // serial, number: how often
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::string> words_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> applied_;
  std::map<std::uint64_t, std::uint64_t> floors_;  // by serial
  std::uint64_t next_serial_ = 1;
  std::thread thread_;
};

}  // namespace quipu::test
