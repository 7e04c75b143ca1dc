#include "tests/fuzz/node.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "tests/fuzz/check.h"

namespace quipu::fuzz {
namespace {

constexpr MemberIndex kSelf = 0;
constexpr BootId kPeerBoot{77};
// As Asked::keys, what no read has.
constexpr std::size_t kList = kMaxReadKeys + 2;
constexpr std::size_t kSized = kMaxReadKeys + 3;
constexpr std::size_t kNamespaces = kMaxReadKeys + 4;
constexpr std::size_t kRange = kMaxReadKeys + 5;
constexpr std::size_t kQuery = kMaxReadKeys + 6;

StoreId store_of(MemberIndex member) { return StoreId{1000u + member}; }

// Two copies of three members' data, so that some of it is elsewhere.
ClusterConfig make_config(std::size_t count) {
  std::vector<Member> members;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = "n" + std::to_string(i);
    members.push_back({{}, name, name + ":7401", name + ":7400", {}, 1});
  }
  return std::move(*found_config("fuzz", std::move(members), count == 1 ? 1 : 2));
}

Meta founded_meta(const ClusterConfig& config) {
  Meta meta;
  meta.cluster = config.id;
  meta.node = config.members[kSelf].id;
  meta.store = store_of(kSelf);
  for (MemberIndex member = 0; member < config.members.size(); ++member)
    meta.pins.founding.push_back({config.members[member].id, store_of(member), 1});
  meta.pins.current = meta.pins.founding;
  meta.pins.founded = true;
  return meta;
}

void feed(FrameDecoder& decoder, std::string_view bytes) {
  const std::span<std::byte> room = decoder.prepare(bytes.size());
  if (!bytes.empty()) std::memcpy(room.data(), bytes.data(), bytes.size());
  decoder.commit(bytes.size());
}

}  // namespace

const ClusterConfig& Node::config(std::size_t members) {
  static const ClusterConfig one = make_config(1);
  static const ClusterConfig three = make_config(3);
  return members == 1 ? one : three;
}

StoreOwner Node::owner(const ClusterConfig& config) {
  return {config.id, config.members[kSelf].id};
}

const MemoryDisk& Node::founded_disk(std::size_t members) {
  const auto make = [](std::size_t count) {
    MemoryDisk disk;
    MemoryStore store(disk);
    check(initialize(store, founded_meta(config(count))).ok(), "a store is initialized");
    return disk;
  };
  static const MemoryDisk one = make(1);
  static const MemoryDisk three = make(3);
  return members == 1 ? one : three;
}

NodeSettings Node::settings() {
  NodeSettings settings;
  settings.gossip_interval = std::chrono::seconds(5);
  settings.link_timeout = std::chrono::seconds(30);
  settings.outbox_shards = 6;
  settings.frames_in_flight = 2;
  settings.frame_bytes = 2048;
  settings.pending_operations = 24;
  settings.pending_read_bytes = 16384;
  settings.rollup_shards = 4;
  settings.question_bytes = 1'000;
  settings.unsynced_bytes = 4096;
  settings.backlog_bytes = 8192;
  settings.tokens = {.window = 4, .sessions = 3};
  settings.checkpoint = {.journal_bytes = 1024, .slice_states = 2, .cut_records = 3};
  return settings;
}

ExecutorOptions Node::options() {
  ExecutorOptions options;
  options.tokens = settings().tokens;
  options.checkpoint = settings().checkpoint;
  return options;
}

Node::Node(std::size_t members) : config_(config(members)), disk_(founded_disk(members)) {
  recover_core();
  start();
}

Node::Node(const ClusterConfig& config, std::unique_ptr<Executor> executor, const MemoryDisk& disk)
    : config_(config), disk_(disk), store_(std::make_unique<MemoryStore>(disk_)) {
  core_ = std::make_unique<NodeCore>(now_, wall(), config_, kSelf, settings(), std::move(executor),
                                     random_.split());
  start();
}

void Node::recover_core() {
  store_ = std::make_unique<MemoryStore>(disk_);
  auto executor = recover(*store_, owner(config_), options(), random_);
  check(executor.ok(), "a node's own disk can be recovered");
  core_ = std::make_unique<NodeCore>(now_, wall(), config_, kSelf, settings(), std::move(*executor),
                                     random_.split());
}

// As long as it takes to wait for peers that say nothing.
void Node::start() {
  Effects effects;
  core_->on_tick(now_, wall(), effects);
  perform(effects);
  pass(settings().confirm_wait);
}

Known Node::known() const {
  Known known;
  const Meta& meta = core_->executor().meta();
  known.stores.push_back(meta.store);
  for (const Pin& pin : meta.pins.current) known.stores.push_back(pin.store);
  known.serials = serials_;
  known.boots = {kPeerBoot, meta.lineage.back().boot};
  View view(config_, kSelf, meta.lineage.back().boot);
  view.adopt(meta);
  known.fence = view.fence();
  ShardState state;
  for (const char* key : {"a", "likes:42"}) {
    (void)core_->executor().map().read({key, 0}, state);
    for (const Cell& cell : state.cells) known.actors.push_back(cell.actor);
  }
  return known;
}

// ---- clients ----

// As node/clients/client_session.cpp does: all ops of one read together, in order with what
// stands between them; a refusal ends the connection.
void Node::client_bytes(std::string_view bytes) {
  if (core_->paused()) return;
  feed(client_, bytes);
  std::vector<Op> ops;
  bool sound = true;
  while (sound) {
    const auto frame = client_.next();
    if (frame.ok() && !*frame) break;
    sound = frame.ok() && client_frame(**frame, ops);
  }
  give_ops(ops);
  if (sound) return;
  client_ = {};
  client_id_ = ClientId{raw(client_id_) + 1};
}

bool Node::client_frame(const FrameDecoder::Frame& frame, std::vector<Op>& ops) {
  if (frame.type == FrameType::op) {
    const Result<Op> op = decode_op(frame.payload);
    if (op.ok()) ops.push_back(*op);
    return op.ok();
  }
  give_ops(ops);
  std::string reply;
  switch (frame.type) {
    case FrameType::read: {
      const Result<Read> read = decode_read(frame.payload);
      if (!read.ok()) return false;
      owed_.push_back({read->id, read->keys.size() + 1});
      Effects effects;
      core_->on_read(now_, client_id_, *read, effects);
      perform(effects);
      return true;
    }
    case FrameType::list: {
      const Result<List> list = decode_list(frame.payload);
      if (!list.ok()) return false;
      owed_.push_back({list->id, kList});
      Effects effects;
      core_->on_list(now_, client_id_, *list, effects);
      perform(effects);
      return true;
    }
    case FrameType::size: {
      const Result<CountKeys> size = decode_count_keys(frame.payload);
      if (!size.ok()) return false;
      owed_.push_back({size->id, kSized});
      Effects effects;
      core_->on_count_keys(now_, client_id_, *size, effects);
      perform(effects);
      return true;
    }
    case FrameType::namespaces: {
      const Result<NamespaceRequest> request = decode_namespace_request(frame.payload);
      if (!request.ok()) return false;
      owed_.push_back({request->id, kNamespaces});
      Effects effects;
      core_->on_namespaces(now_, client_id_, *request, effects);
      perform(effects);
      return true;
    }
    case FrameType::range: {
      const Result<RangeRequest> request = decode_range_request(frame.payload);
      if (!request.ok()) return false;
      owed_.push_back({request->id, kRange});
      Effects effects;
      core_->on_range(now_, client_id_, *request, effects);
      perform(effects);
      return true;
    }
    case FrameType::query: {
      const Result<Query> query = decode_query(frame.payload);
      if (!query.ok()) return false;
      owed_.push_back({query->id, kQuery});
      Effects effects;
      core_->on_query(now_, client_id_, *query, effects);
      perform(effects);
      return true;
    }
    case FrameType::config: {
      const Result<ConfigRequest> request = decode_config_request(frame.payload);
      if (request.ok()) encode(reply, core_->config(request->id));
      return request.ok();
    }
    case FrameType::status: {
      const Result<StatusRequest> request = decode_status_request(frame.payload);
      if (request.ok()) encode(reply, core_->status(now_, request->id));
      return request.ok();
    }
    default:
      return false;
  }
}

void Node::ask(const Op& op) {
  owed_.push_back({op.id, 0, op.kind, std::string(op.key), op.amount, op.token});
  if (op.kind == OpKind::reset) unsure_.insert(std::string(op.key));
}

void Node::give_ops(std::vector<Op>& ops) {
  if (ops.empty()) return;
  for (const Op& op : ops) ask(op);
  Effects effects;
  core_->on_ops(now_, client_id_, ops, effects);
  perform(effects);
  ops.clear();
}

void Node::take_answer(const Effects::Reply& reply) {
  std::string frame;
  std::visit([&](const auto& answer) { encode(frame, answer); }, reply.answer);
  const auto* const done = std::get_if<Done>(&reply.answer);
  const auto* const values = std::get_if<Values>(&reply.answer);
  const bool listed = std::holds_alternative<Keys>(reply.answer);
  const bool sized = std::holds_alternative<KeyCount>(reply.answer);
  const bool ranged = std::holds_alternative<RangeReply>(reply.answer);
  const bool queried = std::holds_alternative<QueryReply>(reply.answer);
  const std::uint64_t id = std::visit([](const auto& answer) { return answer.id; }, reply.answer);
  const std::size_t keys = done != nullptr     ? 0
                           : values != nullptr ? values->values.size() + 1
                           : listed            ? kList
                           : sized             ? kSized
                           : ranged            ? kRange
                           : queried           ? kQuery
                                               : kNamespaces;
  const auto at = std::find_if(owed_.begin(), owed_.end(), [&](const Asked& asked) {
    return asked.id == id && asked.keys == keys;
  });
  check(at != owed_.end(), "an answer was asked for, and not given before");
  if (done != nullptr) note(*at, *done);
  owed_.erase(at);
}

// Ids are the client's to choose: where two different ops under way share one, the
// answer tells nothing of either.
void Node::note(const Asked& asked, const Done& done) {
  if (asked.kind == OpKind::open_session && done.code == Code::ok) {
    serials_.push_back(done.serial);
    if (serials_.size() > 4) serials_.erase(serials_.begin());
  }
  const auto confused = [&](const Asked& other) { return other.id == asked.id && other != asked; };
  if (std::any_of(owed_.begin(), owed_.end(), confused)) {
    unsure_.insert(asked.key);
    for (const Asked& other : owed_) {
      if (confused(other)) unsure_.insert(other.key);
    }
    return;
  }
  if (asked.kind != OpKind::add) return;
  if (describe(done.code).outcome == Outcome::unknown) unsure_.insert(asked.key);
  if (done.code != Code::ok) return;
  const bool tokened = asked.token.store != StoreId{};
  if (tokened && !counted_.emplace(asked.token.serial, asked.token.number).second) return;
  sums_[asked.key] += asked.amount;
}

void Node::check_sums() const {
  const ShardMap& map = core_->executor().map();
  for (const auto& [key, sum] : sums_) {
    if (unsure_.contains(key)) continue;
    ShardState first;
    (void)map.read({key, 0}, first);
    Total held;
    for (ShardIndex shard = 0; shard < first.shard_count; ++shard) held += map.total({key, shard});
    check(held.sum == sum, "a counter holds what was acknowledged, each add once");
  }
}

// ---- peers ----

void Node::connect(MemberIndex member) {
  disconnect(member);
  Link& link = links_[member];
  link.id = LinkId{next_link_++};
  const auto dialed = core_->dials(member) ? std::optional(member) : std::nullopt;
  Effects effects;
  core_->on_link_open(now_, link.id, dialed, effects);
  perform(effects);
}

void Node::disconnect(MemberIndex member) {
  const auto at = links_.find(member);
  if (at == links_.end()) return;
  const LinkId link = at->second.id;
  links_.erase(at);
  Effects effects;
  core_->on_link_closed(now_, link, effects);
  perform(effects);
}

// As node/peers/peer_link.cpp does.
void Node::peer_bytes(MemberIndex member, std::string_view bytes) {
  if (!links_.contains(member)) return;
  const LinkId link = links_[member].id;
  feed(links_[member].decoder, bytes);
  while (links_.contains(member) && links_[member].id == link) {
    const auto frame = links_[member].decoder.next(core_->frame_salt());
    if (!frame.ok()) return disconnect(member);
    if (!*frame) return;
    link_frame(member, **frame);
  }
}

void Node::link_frame(MemberIndex member, const FrameDecoder::Frame& frame) {
  const LinkId link = links_[member].id;
  const bool refused = !decode_peer(frame.type, frame.payload).ok();
  const Print before = refused ? print(core_->executor()) : Print();
  Effects effects;
  core_->on_link_frame(now_, link, frame, effects);
  if (refused) {
    check(before == print(core_->executor()), "a refused frame changes nothing");
    const auto closes = [link](const Effects::Close& close) { return close.link == link; };
    check(std::any_of(effects.closes.begin(), effects.closes.end(), closes),
          "a refused frame ends its link");
  }
  perform(effects);
}

Hello Node::hello(MemberIndex member) const {
  Hello hello;
  hello.cluster = config_.id;
  hello.node = config_.members[member].id;
  hello.store = store_of(member);
  hello.boot = kPeerBoot;
  hello.welcome = true;
  hello.pins = founded_meta(config_).pins;
  return hello;
}

std::optional<PeerMessage> Node::take_asked(MemberIndex member) {
  const auto at = links_.find(member);
  if (at == links_.end() || at->second.asked.empty()) return std::nullopt;
  PeerMessage asked = std::move(at->second.asked.front());
  at->second.asked.pop_front();
  return asked;
}

void Node::take_sent(const Effects::Send& send) {
  FrameDecoder decoder;
  feed(decoder, send.frame);
  const auto frame = decoder.next(core_->frame_salt());
  check(frame.ok() && *frame, "what is sent is a frame");
  Result<PeerMessage> message = decode_peer((*frame)->type, (*frame)->payload);
  check(message.ok(), "what is sent can be read");
  // Forward's keys borrow the frame, which is gone by the time of the answer.
  if (auto* const forward = std::get_if<Forward>(&*message)) {
    for (Op& op : forward->ops) op.key = {};
  }
  constexpr std::size_t kRemembered = 16;
  for (auto& [member, link] : links_) {
    if (link.id != send.link || link.asked.size() >= kRemembered) continue;
    link.asked.push_back(std::move(*message));
    return;
  }
}

// ---- effects ----

void Node::perform(Effects& effects) {
  for (Sealed& sealed : effects.writes) writes_.push_back(std::move(sealed));
  for (const Effects::Send& send : effects.sends) take_sent(send);
  for (const Effects::Reply& reply : effects.replies) take_answer(reply);
  if (effects.restart) {
    writes_.clear();
    links_.clear();
    owed_.clear();
    sums_.clear();
    recover_core();
    return start();
  }
  for (const Effects::Close& close : effects.closes) {
    for (MemberIndex member = 0; member < config_.members.size(); ++member) {
      if (links_.contains(member) && links_[member].id == close.link) disconnect(member);
    }
  }
  write();
}

void Node::write() {
  while (!stalled_ && !writes_.empty()) {
    const Sealed sealed = std::move(writes_.front());
    writes_.pop_front();
    check(store_->write(sealed.batch).ok(), "the disk takes it");
    Effects effects;
    core_->on_durable(now_, sealed.commit, effects);
    perform(effects);
  }
}

void Node::stall(bool stalled) {
  stalled_ = stalled;
  write();
}

void Node::on_storage_full(bool full) { core_->on_storage_full(full); }

void Node::pass(Duration duration) {
  const Instant end = now_ + duration;
  while (core_->deadline() <= end) {
    now_ = std::max(now_, core_->deadline());
    Effects effects;
    core_->on_tick(now_, wall(), effects);
    perform(effects);
    check(core_->deadline() > now_, "a tick moves the deadline");
  }
  now_ = end;
}

// ---- the end ----

// Only what it owns. It drops the rest once the owners have it, and a record may bring that
// back.
Node::Print Node::print(const Executor& executor) const {
  Print print;
  const ShardMap& map = executor.map();
  for (std::uint16_t p = 0; p < kPartitions; ++p) {
    const Partition partition{p};
    if (map.ledger().size(partition) != 0 && config_.owners.owns(kSelf, partition))
      print.digests.emplace_back(partition, map.ledger().digest(partition));
  }
  print.namespaces = executor.namespaces().sum();
  print.sealed = executor.sealed();
  print.open = executor.has_open();
  return print;
}

void Node::finish() {
  stall(false);
  on_storage_full(false);
  pass(std::chrono::milliseconds(kMaxTimeoutMs) + 2 * settings().gossip_interval);
  check(owed_.empty(), "each request is answered by its deadline");
  check_recovered();
}

namespace {

bool holds_ends(const Executor& executor) {
  bool found = false;
  for (const Partition partition : executor.map().ledger().held_in()) {
    executor.map().index().for_each(partition,
                                    [&](const Entry& entry) { found |= entry.is_dated(); });
  }
  return found;
}

}  // namespace

// What it sealed since is its own start alone.
void Node::check_recovered() {
  MemoryDisk copy = disk_;
  MemoryStore store(copy);
  Random random(2);
  const auto executor = recover(store, owner(config_), options(), random);
  check(executor.ok(), "what a node wrote can be recovered");
  // A deadline passes without a record, and this start does not know the date.
  check(holds_ends(**executor) || print(core_->executor()).digests == print(**executor).digests,
        "what is recovered is what was held");
  check(core_->executor().namespaces().all() == (*executor)->namespaces().all(),
        "the namespaces that are recovered are those that were held");
}

}  // namespace quipu::fuzz
