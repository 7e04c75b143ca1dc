// hand_driven_clients.cpp: what a test asks of the nodes, and what it looks up.
#include <stdexcept>

#include "tests/cluster/hand_driven.h"

namespace quipu::test {

// ---- clients ----

std::uint64_t HandDriven::op(MemberIndex node, Op op) {
  op.id = next_id_++;
  Effects effects;
  nodes_[node].core->on_ops(now_, ClientId{1}, {&op, 1}, effects);
  perform(node, effects);
  run();
  return op.id;
}

std::uint64_t HandDriven::add(MemberIndex node, std::string_view key, std::int64_t amount,
                              Ask ask) {
  return op(node, {.key = key,
                   .amount = amount,
                   .token = ask.token,
                   .affinity = ask.affinity,
                   .timeout_ms = ask.timeout_ms,
                   .shard = ask.shard,
                   .ack = ask.ack});
}

void HandDriven::add_all(MemberIndex node, const std::vector<std::string>& keys) {
  std::vector<Op> ops;
  for (const std::string& key : keys) ops.push_back({.id = next_id_++, .key = key, .amount = 1});
  Effects effects;
  nodes_[node].core->on_ops(now_, ClientId{1}, ops, effects);
  perform(node, effects);
  run();
}

std::uint64_t HandDriven::reset(MemberIndex node, std::string_view key, Ask ask) {
  return op(node, {.key = key,
                   .token = ask.token,
                   .affinity = ask.affinity,
                   .timeout_ms = ask.timeout_ms,
                   .shard = ask.shard,
                   .kind = OpKind::reset,
                   .ack = ask.ack});
}

std::uint64_t HandDriven::raise(MemberIndex node, std::string_view key, ShardIndex count) {
  return op(node, {.key = key, .amount = count, .kind = OpKind::raise});
}

std::uint64_t HandDriven::read(MemberIndex node, std::string_view key, ReadLevel level,
                               std::uint32_t timeout_ms) {
  Read read{next_id_++, level, timeout_ms, {key}};
  Effects effects;
  nodes_[node].core->on_read(now_, ClientId{1}, read, effects);
  perform(node, effects);
  run();
  return read.id;
}

std::uint64_t HandDriven::list(MemberIndex node, List list) {
  list.id = next_id_++;
  Effects effects;
  nodes_[node].core->on_list(now_, ClientId{1}, list, effects);
  perform(node, effects);
  run();
  return list.id;
}

std::uint64_t HandDriven::size(MemberIndex node, std::uint32_t timeout_ms) {
  const CountKeys size{next_id_++, timeout_ms};
  Effects effects;
  nodes_[node].core->on_count_keys(now_, ClientId{1}, size, effects);
  perform(node, effects);
  run();
  return size.id;
}

std::uint64_t HandDriven::namespaces(MemberIndex node, NamespaceRequest request) {
  request.id = next_id_++;
  Effects effects;
  nodes_[node].core->on_namespaces(now_, ClientId{1}, request, effects);
  perform(node, effects);
  run();
  return request.id;
}

std::uint64_t HandDriven::namespaces(MemberIndex node, NamespaceRequest request,
                                     std::uint64_t wall_ms) {
  const Wall::duration usual = nodes_[node].clock_ahead;
  set_clock(node, Wall(std::chrono::milliseconds(wall_ms)));
  const std::uint64_t id = namespaces(node, std::move(request));
  nodes_[node].clock_ahead = usual;
  return id;
}

std::optional<Done> HandDriven::done(std::uint64_t id) const {
  const auto at = done_.find(id);
  return at == done_.end() ? std::nullopt : std::optional(at->second);
}

std::optional<Code> HandDriven::code(std::uint64_t id) const {
  const auto at = done_.find(id);
  return at == done_.end() ? std::nullopt : std::optional(at->second.code);
}

std::optional<Value> HandDriven::value(std::uint64_t id) const {
  const auto at = values_.find(id);
  return at == values_.end() ? std::nullopt : std::optional(at->second);
}

std::optional<Keys> HandDriven::keys(std::uint64_t id) const {
  const auto at = keys_.find(id);
  return at == keys_.end() ? std::nullopt : std::optional(at->second);
}

std::optional<KeyCount> HandDriven::sized(std::uint64_t id) const {
  const auto at = sized_.find(id);
  return at == sized_.end() ? std::nullopt : std::optional(at->second);
}

std::uint64_t HandDriven::range(MemberIndex node, RangeRequest request) {
  request.id = next_id_++;
  Effects effects;
  nodes_[node].core->on_range(now_, ClientId{1}, request, effects);
  perform(node, effects);
  run();
  return request.id;
}

std::uint64_t HandDriven::query(MemberIndex node, Query query) {
  query.id = next_id_++;
  Effects effects;
  nodes_[node].core->on_query(now_, ClientId{1}, query, effects);
  perform(node, effects);
  run();
  return query.id;
}

std::optional<QueryReply> HandDriven::queried(std::uint64_t id) const {
  const auto at = queried_.find(id);
  return at == queried_.end() ? std::nullopt : std::optional(at->second);
}

std::optional<RangeReply> HandDriven::ranged(std::uint64_t id) const {
  const auto at = ranged_.find(id);
  return at == ranged_.end() ? std::nullopt : std::optional(at->second);
}

std::optional<NamespaceReply> HandDriven::namespaces_reply(std::uint64_t id) const {
  const auto at = namespaces_.find(id);
  return at == namespaces_.end() ? std::nullopt : std::optional(at->second);
}

Token HandDriven::session(MemberIndex node, MemberIndex executor) {
  Op ask;
  ask.kind = OpKind::open_session;
  ask.token.store = meta(executor).store;
  const auto answer = done(op(node, ask));
  if (!answer || answer->code != Code::ok) throw std::runtime_error("no session");
  return {answer->store, answer->serial, 1, 1};
}

std::int64_t HandDriven::total(MemberIndex node, std::string_view key, ReadLevel level) {
  const auto answer = value(read(node, key, level));
  if (!answer || answer->code != Code::ok)
    throw std::runtime_error("the read was not answered at once");
  return answer->value;
}

std::int64_t HandDriven::held(MemberIndex node, std::string_view key, ShardIndex shard) const {
  return narrow(core(node).executor().map().total({key, shard}).sum).value();
}

ShardState HandDriven::state(MemberIndex node, std::string_view key, ShardIndex shard) const {
  ShardState state;
  (void)core(node).executor().map().read({key, shard}, state);
  return state;
}

// ---- where things live ----

const NodeCore& HandDriven::any_core() const {
  for (const Node& node : nodes_) {
    if (node.core && node.core->ready()) return *node.core;
  }
  throw std::runtime_error("no node is ready");
}

Partition HandDriven::partition(std::string_view key, ShardIndex shard) const {
  return any_core().executor().map().place({key, shard}).partition();
}

std::vector<MemberIndex> HandDriven::owners(std::string_view key, ShardIndex shard) const {
  const auto of = config_.owners.of(partition(key, shard));
  return {of.begin(), of.end()};
}

bool HandDriven::owns(MemberIndex node, std::string_view key, ShardIndex shard) const {
  return config_.owners.owns(node, partition(key, shard));
}

std::string HandDriven::find_key(MemberIndex node, bool owned, std::size_t nth) const {
  for (std::size_t i = 0;; ++i) {
    std::string key = "likes:" + std::to_string(i);
    if (owns(node, key) == owned && nth-- == 0) return key;
  }
}

}  // namespace quipu::test
