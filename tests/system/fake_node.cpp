#include "tests/system/fake_node.h"

#include <asio/buffer.hpp>
#include <asio/write.hpp>

namespace quipu::test {
namespace {

using asio::ip::tcp;

constexpr StoreId kStore{7};

}  // namespace

FakeNode::FakeNode(Script script)
    : script_(std::move(script)),
      acceptor_(io_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)) {
  address_ = "127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
  thread_ = std::thread([this] { serve(); });
}

FakeNode::~FakeNode() {
  stopping_ = true;
  asio::error_code ignored;
  tcp::socket waker(io_);
  waker.connect(acceptor_.local_endpoint(), ignored);
  waker.close(ignored);
  thread_.join();
}

std::int64_t FakeNode::value(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  const auto at = values_.find(key);
  return at == values_.end() ? 0 : at->second;
}

// One connection at a time, as a client has it.
void FakeNode::serve() {
  while (!stopping_) {
    asio::error_code error;
    tcp::socket socket(io_);
    acceptor_.accept(socket, error);
    if (!error) converse(socket);
  }
}

void FakeNode::converse(tcp::socket& socket) {
  FrameDecoder decoder;
  asio::error_code error;
  while (!stopping_) {
    const std::span<std::byte> room = decoder.prepare(65'536);
    decoder.commit(socket.read_some(asio::buffer(room.data(), room.size()), error));
    if (error) return;
    std::string out;
    bool go_on = true;
    while (go_on) {
      const auto frame = decoder.next();
      if (!frame.ok()) return;
      if (!frame->has_value()) break;
      go_on = handle(**frame, out);
    }
    asio::write(socket, asio::buffer(out), error);
    if (!go_on || error) return;
  }
}

bool FakeNode::handle(const FrameDecoder::Frame& frame, std::string& out) {
  if (frame.type == FrameType::op) {
    const auto op = decode_op(frame.payload);
    return op.ok() && handle_op(*op, out);
  }
  const auto request = decode_config_request(frame.payload);
  if (frame.type != FrameType::config || !request.ok()) return false;
  ConfigReply reply{.id = request->id,
                    .cluster = ClusterId{1},
                    .cluster_name = "fake",
                    .node = NodeId{1},
                    .version = 1,
                    .ready = true,
                    .placement_key = HashKey{1}};
  reply.members = {{NodeId{1}, "fake", address_, kStore, 1}};
  reply.replication = 1;
  reply.owners.assign(kPartitions, 0);
  encode(out, reply);
  return true;
}

bool FakeNode::handle_op(const Op& op, std::string& out) {
  const std::lock_guard lock(mutex_);
  if (op.kind == OpKind::open_session) {
    encode(out, Done{.id = op.id, .store = kStore, .serial = Serial{next_serial_++}});
    return true;
  }
  ++adds_;
  const std::string key(op.key);
  const std::pair token{raw(op.token.serial), op.token.number};
  std::uint64_t& floor = floors_[token.first];
  if (op.token.number < floor) {
    encode(out, Done{.id = op.id, .code = Code::token_expired});
    return true;
  }
  floor = std::max(floor, std::min(op.token.floor, op.token.number));
  if (words_.try_emplace(token, op.words).first->second != op.words) {
    encode(out, Done{.id = op.id, .code = Code::token_reused});
    return true;
  }
  const Reaction reaction = script_(key, seen_[token]++);
  const std::int64_t elements =
      op.words.empty() ? 0
                       : static_cast<std::int64_t>((op.words.size() - 1) / sizeof(std::uint64_t));
  if (reaction.apply && applied_.insert(token).second) values_[key] += op.amount + elements;
  if (reaction.answer) encode(out, Done{.id = op.id, .code = *reaction.answer});
  return !reaction.hang_up;
}

}  // namespace quipu::test
