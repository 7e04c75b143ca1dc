#include "tests/cluster/client/harness.h"

#include <gtest/gtest.h>

#include "protocol/distinct_words.h"
#include "tests/cluster/frames.h"

namespace quipu {
namespace {

std::string address_of(std::size_t member) { return "n" + std::to_string(member + 1) + ":1"; }

}  // namespace

ClientSettings ClientHarness::settings(const Options& options) {
  ClientSettings settings;
  const std::size_t seeds = options.seeds == 0 ? options.members : options.seeds;
  for (std::size_t i = 0; i < seeds; ++i) settings.seeds.push_back(address_of(i));
  settings.max_in_flight = options.max_in_flight;
  settings.wait_for_room = options.wait_for_room;
  settings.journaled = options.journaled;
  return settings;
}

ClientHarness::ClientHarness(Options options)
    : core(settings(options), Random(1)), options_(std::move(options)) {
  core.on_tick(now, effects_);
  perform();
}

// ---- the network ----

std::optional<ConnectionId> ClientHarness::dialing(const std::string& address) {
  for (const auto& [connection, to] : dialing_) {
    if (to == address) return connection;
  }
  return std::nullopt;
}

ConnectionId ClientHarness::open(const std::string& address) {
  const auto connection = dialing(address);
  EXPECT_TRUE(connection.has_value()) << "nobody dials " << address;
  if (!connection) return {};
  dialing_.erase(*connection);
  open_[*connection] = true;
  core.on_connected(now, *connection, effects_);
  perform();
  return *connection;
}

ConnectionId ClientHarness::connect(const std::string& address, bool ready) {
  const ConnectionId connection = open(address);
  if (connection != ConnectionId{}) tell_config(connection, config_of(address, ready));
  return connection;
}

void ClientHarness::refuse(const std::string& address) {
  const auto connection = dialing(address);
  ASSERT_TRUE(connection.has_value()) << "nobody dials " << address;
  dialing_.erase(*connection);
  core.on_closed(now, *connection, "connection refused", effects_);
  perform();
}

void ClientHarness::drop(ConnectionId connection) {
  open_[connection] = false;
  core.on_closed(now, connection, "connection reset", effects_);
  perform();
}

ConfigReply ClientHarness::config_of(const std::string& address, bool ready) const {
  ConfigReply reply;
  reply.cluster = ClusterId{1};
  reply.cluster_name = "test";
  reply.version = 1;
  reply.ready = ready;
  reply.placement_key = HashKey{5};
  std::vector<std::uint16_t> owners = options_.owners;
  for (std::size_t i = 0; i < options_.members; ++i) {
    const std::string name = "n" + std::to_string(i + 1);
    reply.members.push_back({.node = NodeId{i + 1},
                             .name = name,
                             .client_address = address_of(i),
                             .store = StoreId{101 + i},
                             .weight = 1});
    if (address_of(i) == address) reply.node = NodeId{i + 1};
    if (options_.owners.empty()) owners.push_back(static_cast<std::uint16_t>(i));
  }
  reply.replication = static_cast<std::uint8_t>(owners.size());
  for (std::size_t p = 0; p < kPartitions; ++p) {
    reply.owners.insert(reply.owners.end(), owners.begin(), owners.end());
  }
  return reply;
}

void ClientHarness::tell_config(ConnectionId connection, const ConfigReply& reply) {
  std::string frame;
  encode(frame, reply);
  deliver(connection, frame);
}

void ClientHarness::tell_refusal(ConnectionId connection, const Refusal& refusal) {
  std::string frame;
  encode(frame, refusal);
  deliver(connection, frame);
}

bool ClientHarness::closed(ConnectionId connection) const {
  const auto at = open_.find(connection);
  return at == open_.end() || !at->second;
}

void ClientHarness::deliver(ConnectionId connection, const std::string& frame) {
  for_each_frame(frame, [&](FrameType type, Payload payload) {
    core.on_frame(now, connection, type, payload, effects_);
  });
  perform();
}

void ClientHarness::take_frame(ConnectionId connection, FrameType type, Payload payload) {
  if (type == FrameType::config) {
    ++config_asks;
    last_config_id = decode_config_request(payload)->id;
  } else if (type == FrameType::op) {
    auto op = decode_op(payload);
    ASSERT_TRUE(op.ok()) << op.status().message();
    if (options_.journaled && op->kind != OpKind::open_session) expect_journaled(*op);
    ops.push_back({connection, *op, std::string(op->key), std::string(op->words)});
    ops.back().op.key = ops.back().op.words = {};
  } else if (type == FrameType::read) {
    auto read = decode_read(payload);
    ASSERT_TRUE(read.ok()) << read.status().message();
    reads.push_back({connection, read->id, read->level, {read->keys.begin(), read->keys.end()}});
  } else if (type == FrameType::query) {
    auto query = decode_query(payload);
    ASSERT_TRUE(query.ok()) << query.status().message();
    queries.push_back({connection,
                       query->id,
                       query->level,
                       std::string(query->words),
                       {query->keys.begin(), query->keys.end()}});
  } else if (type == FrameType::list) {
    auto list = decode_list(payload);
    ASSERT_TRUE(list.ok()) << list.status().message();
    lists.push_back({connection, list->id, std::string(list->prefix), list->cursor, list->limit});
  } else if (type == FrameType::namespaces) {
    auto request = decode_namespace_request(payload);
    ASSERT_TRUE(request.ok()) << request.status().message();
    namespace_requests.push_back(
        {connection, request->id, request->action, std::string(request->name)});
  } else {
    FAIL() << "an unexpected frame";
  }
}

void ClientHarness::take_entry(const ClientJournalEntry& entry) {
  journal.push_back(entry);
  if (entry.kind == ClientJournalEntry::Kind::bound) {
    EXPECT_TRUE(bound_.emplace(entry.ticket, entry.binding.token).second) << "bound twice";
  } else {
    EXPECT_EQ(bound_.erase(entry.ticket), 1u) << "was not bound";
  }
}

void ClientHarness::expect_journaled(const Op& op) const {
  bool found = false;
  for (const auto& [ticket, token] : bound_) {
    if (token.store != op.token.store || token.serial != op.token.serial) continue;
    found |= token.number == op.token.number;
    EXPECT_LE(op.token.floor, token.number) << "passes a number that may be retried";
  }
  EXPECT_TRUE(found) << "sent before it was in the journal";
}

void ClientHarness::perform() {
  for (const ClientJournalEntry& entry : effects_.journal) take_entry(entry);
  for (const auto& connect : effects_.connects) dialing_[connect.connection] = connect.address;
  for (const auto& send : effects_.sends) {
    EXPECT_FALSE(closed(send.connection)) << "sent to a closed connection";
    versions_[send.connection] = FrameVersion{static_cast<std::uint8_t>(send.frames[1])};
    for_each_frame(send.frames, [&](FrameType type, Payload payload) {
      take_frame(send.connection, type, payload);
    });
  }
  for (const ConnectionId connection : effects_.closes) {
    dialing_.erase(connection);
    open_[connection] = false;
  }
  for (auto& completion : effects_.completions) {
    EXPECT_TRUE(done.emplace(completion.call, completion.answer).second) << "completed twice";
    totals.emplace(completion.call, completion.total);
  }
  effects_.clear();
}

// ---- calls ----

void ClientHarness::add(std::uint64_t call, const std::string& key, std::int64_t amount,
                        std::chrono::milliseconds timeout) {
  core.add(now, CallId{call}, {.key = key, .amount = amount, .timeout = timeout, .ticket = call},
           effects_);
  perform();
}

void ClientHarness::add_with_ttl(std::uint64_t call, const std::string& key,
                                 std::chrono::milliseconds ttl) {
  core.add(now, CallId{call},
           {.key = key, .amount = 1, .timeout = std::chrono::seconds(5), .ttl = ttl}, effects_);
  perform();
}

void ClientHarness::add_bound(std::uint64_t call, const std::string& key,
                              const ClientBinding& binding, std::chrono::milliseconds timeout) {
  bound_.emplace(call, binding.token);
  core.add(now, CallId{call},
           {.key = key, .amount = 1, .timeout = timeout, .ticket = call, .bound = binding},
           effects_);
  perform();
}

void ClientHarness::add_for(Affinity affinity, std::uint64_t call, const std::string& key,
                            std::chrono::milliseconds timeout) {
  core.add(now, CallId{call}, {.key = key, .amount = 1, .timeout = timeout, .affinity = affinity},
           effects_);
  perform();
}

namespace {

std::vector<Item> items_of(std::vector<std::string> names) {
  std::vector<Item> items;
  for (std::string& name : names) items.push_back({std::move(name)});
  return items;
}

}  // namespace

void ClientHarness::apply(std::uint64_t call, const std::string& key,
                          std::vector<std::string> elements) {
  core.apply(now, CallId{call},
             {.key = key,
              .timeout = std::chrono::seconds(5),
              .counter = Kind::distinct,
              .items = items_of(std::move(elements)),
              .ticket = call},
             effects_);
  perform();
}

void ClientHarness::apply_bound(std::uint64_t call, const std::string& key,
                                std::vector<std::string> elements, const ClientBinding& binding) {
  core.apply(now, CallId{call},
             {.key = key,
              .timeout = std::chrono::seconds(5),
              .counter = Kind::distinct,
              .items = items_of(std::move(elements)),
              .ticket = call,
              .bound = binding},
             effects_);
  perform();
}

void ClientHarness::count_distinct(std::uint64_t call, std::vector<std::string> keys) {
  core.query(now, CallId{call},
             {.kind = Kind::distinct,
              .words = distinct::kCountQuestion,
              .keys = {keys.begin(), keys.end()}},
             {}, std::chrono::seconds(5), effects_);
  perform();
}

void ClientHarness::reset(std::uint64_t call, const std::string& key, Ack ack, Kind counter) {
  core.reset(now, CallId{call},
             {.key = key, .ack = ack, .timeout = std::chrono::seconds(5), .counter = counter},
             effects_);
  perform();
}

void ClientHarness::expire(std::uint64_t call, const std::string& key, std::int64_t at) {
  core.expire(now, CallId{call}, {.key = key, .amount = at, .timeout = std::chrono::seconds(5)},
              effects_);
  perform();
}

void ClientHarness::raise(std::uint64_t call, const std::string& key, std::int64_t count) {
  core.raise(now, CallId{call}, {.key = key, .amount = count, .timeout = std::chrono::seconds(5)},
             effects_);
  perform();
}

void ClientHarness::read(std::uint64_t call, const std::string& key, ReadLevel level) {
  core.read(now, CallId{call}, {.keys = {key}, .level = level, .timeout = std::chrono::seconds(5)},
            effects_);
  perform();
}

void ClientHarness::read_many(std::uint64_t call, std::vector<std::string> keys) {
  core.read(now, CallId{call}, {.keys = std::move(keys), .timeout = std::chrono::seconds(5)},
            effects_);
  perform();
}

void ClientHarness::list(std::uint64_t call, const std::string& prefix, std::uint32_t cursor) {
  core.list(now, CallId{call},
            {.prefix = prefix, .cursor = cursor, .timeout = std::chrono::seconds(5)}, effects_);
  perform();
}

void ClientHarness::ask_config(std::uint64_t call) {
  core.config(now, CallId{call}, std::chrono::seconds(5), effects_);
  perform();
}

void ClientHarness::namespaces(std::uint64_t call, const NamespaceRequest& request) {
  core.namespaces(now, CallId{call}, request, std::chrono::seconds(5), effects_);
  perform();
}

// ---- answers ----

void ClientHarness::answer(const SentOp& op, Code code, const std::string& detail,
                           ShardIndex usable) {
  Done done_message{.id = op.op.id, .code = code, .detail = detail, .usable = usable};
  std::string frame;
  encode(frame, done_message);
  deliver(op.connection, frame);
}

void ClientHarness::answer_total(const SentOp& op, std::optional<std::int64_t> total) {
  std::string frame;
  encode(frame, Done{.id = op.op.id, .usable = 1, .total = total});
  deliver(op.connection, frame);
}

void ClientHarness::answer_session(const SentOp& op, Serial serial) {
  std::string frame;
  encode(frame, Done{.id = op.op.id, .store = op.op.token.store, .serial = serial});
  deliver(op.connection, frame);
}

void ClientHarness::answer_read(const SentRead& read, const Value& value) {
  answer_read(read, std::vector{value});
}

void ClientHarness::answer_read(const SentRead& read, std::vector<Value> values) {
  std::string frame;
  encode(frame, Values{.id = read.id, .values = std::move(values)});
  deliver(read.connection, frame);
}

void ClientHarness::answer_namespaces(const SentNamespaces& request, NamespaceReply reply) {
  reply.id = request.id;
  std::string frame;
  encode(frame, reply);
  deliver(request.connection, frame);
}

void ClientHarness::answer_query(const SentQuery& query, QueryReply reply) {
  reply.id = query.id;
  std::string frame;
  encode(frame, reply);
  deliver(query.connection, frame);
}

void ClientHarness::answer_list(const SentList& list, Keys keys) {
  keys.id = list.id;
  std::string frame;
  encode(frame, keys);
  deliver(list.connection, frame);
}

SentOp ClientHarness::take_change() {
  SentOp op = take_op();
  while (op.op.kind == OpKind::open_session && !::testing::Test::HasFailure()) {
    answer_session(op, Serial{next_serial_++});
    op = take_op();
  }
  return op;
}

namespace {

template <class Sent>
Sent take_first(std::deque<Sent>& sent) {
  if (sent.empty()) {
    ADD_FAILURE() << "nothing was sent";
    return {};
  }
  Sent first = std::move(sent.front());
  sent.pop_front();
  return first;
}

}  // namespace

SentOp ClientHarness::take_op() { return take_first(ops); }

SentRead ClientHarness::take_read() { return take_first(reads); }
SentQuery ClientHarness::take_query() { return take_first(queries); }
SentList ClientHarness::take_list() { return take_first(lists); }
SentNamespaces ClientHarness::take_namespaces() { return take_first(namespace_requests); }

void ClientHarness::pass(Duration time) {
  const Instant until = now + time;
  constexpr int kMostTicks = 100'000;
  for (int ticks = 0; core.deadline() <= until; ++ticks) {
    ASSERT_LT(ticks, kMostTicks) << "the timer does not come to rest";
    now = std::max(now, core.deadline());
    core.on_tick(now, effects_);
    perform();
  }
  now = until;
}

std::optional<Status> ClientHarness::status(std::uint64_t call) const {
  const auto at = done.find(CallId{call});
  if (at == done.end()) return std::nullopt;
  const Status* status = std::get_if<Status>(&at->second);
  return status == nullptr ? Status() : *status;
}

std::optional<Code> ClientHarness::ended(std::uint64_t call) const {
  const auto status_of = status(call);
  if (!status_of) return std::nullopt;
  return status_of->code();
}

}  // namespace quipu
