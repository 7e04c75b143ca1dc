#include "tests/simulator/wire_client.h"

#include <algorithm>

#include "protocol/affinity.h"

namespace quipu::sim {
namespace {

using std::chrono::milliseconds;

constexpr unsigned kPatience = 30;  // times that a change waits 100 ms for a session
constexpr std::uint32_t kTimeoutMs = 1500;
constexpr std::uint64_t kLingerMs = 8000;
constexpr unsigned kLateTries = 8;  // 0.3 to 1.8 s apart
constexpr Duration kFavour = std::chrono::seconds(8);
constexpr Duration kAskConfig = std::chrono::seconds(1);

// A node that gave an op a token of its own reports an expired one as a doubt.
bool says_expired(const Done& done) {
  return done.code == Code::token_expired ||
         (done.code == Code::in_doubt &&
          done.detail.find("dropped this node's session") != std::string::npos);
}

}  // namespace

WireClient::WireClient(Timeline& time, Network& network, std::vector<SimNode*> nodes, HostId host,
                       const ClusterConfig& config, Workload& workload, const Options& options,
                       Random random)
    : time_(time),
      config_(config),
      workload_(workload),
      options_(options),
      random_(random),
      host_(time, network, std::move(nodes), host,
            {[this](ConnectionId connection) {
               for (Node& node : nodes_) node.open |= node.connection == connection;
               ask_config();
             },
             [this](ConnectionId connection) {
               std::erase_if(unanswered_,
                             [&](const auto& owed) { return owed.second == connection; });
               for (MemberIndex node = 0; node < nodes_.size(); ++node) {
                 if (nodes_[node].connection != connection) continue;
                 nodes_[node].open = false;
                 time_.in(milliseconds(200), [this, node] { dial(node); });
               }
             },
             [this](ConnectionId, const FrameDecoder::Frame& frame) { on_frame(frame); }}),
      nodes_(config.members.size()),
      stores_(config.members.size()) {}

// ---- connections ----

void WireClient::start() {
  for (MemberIndex node = 0; node < nodes_.size(); ++node) dial(node);
  time_.in(milliseconds(500), [this] { ask_config(); });
}

void WireClient::dial(MemberIndex node) {
  nodes_[node].connection = ConnectionId{next_++};
  host_.connect(nodes_[node].connection, node);
}

std::optional<ConnectionId> WireClient::any() {
  const bool here = random_.below(2) == 0 && favoured() && nodes_[*favourite_].open;
  if (here) return nodes_[*favourite_].connection;
  const std::size_t first = random_.below(nodes_.size());
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[(first + i) % nodes_.size()];
    if (node.open) return node.connection;
  }
  return std::nullopt;
}

template <class Message>
void WireClient::ask(ConnectionId connection, const Message& message) {
  unanswered_.emplace(message.id, connection);
  std::string frame;
  encode(frame, message);
  host_.send(connection, std::move(frame));
}

void WireClient::ask_config() {
  ask_config_at_ = time_.now() + kAskConfig;
  if (const auto connection = any()) ask(*connection, ConfigRequest{next_++});
}

bool WireClient::favoured() const { return favourite_ && time_.now() < favoured_until_; }

void WireClient::favour(MemberIndex node, StoreId store) {
  favourite_ = node;
  favoured_until_ = time_.now() + kFavour;
  for (const auto& [id, change] : changes_) {
    if (change.store != store) continue;
    for (const std::uint64_t least : {300, 1500, 3000, 4500}) {
      const auto then = milliseconds(least + random_.below(1500));
      time_.in(then, [this, again = id] { ask_again(again); });
    }
  }
}

void WireClient::on_config(const ConfigReply& reply) {
  if (!reply.ready) return;
  placement_ = reply.placement_key;
  for (std::size_t i = 0; i < reply.members.size(); ++i) stores_[i] = reply.members[i].store;
}

// ---- tasks ----

void WireClient::work() {
  const std::optional<Task> task = workload_.next(random_);
  if (!task) return;
  time_.in(std::chrono::microseconds(random_.below(options_.pace_ms * 1000)), [this] { work(); });
  if (random_.below(20) == 0 && time_.now() >= ask_config_at_) ask_config();
  if (task->what == Task::What::read) {
    read(*task);
  } else if (task->what == Task::What::raise) {
    raise(*task);
  } else {
    const ChangeId id = next_++;
    changes_[id].task = *task;
    const bool whole = task->what == Task::What::reset;  // without a token it is of all shards
    if (random_.below(4) < (whole ? 3 : 1)) {
      send(id, task->ack);
      time_.in(milliseconds(kTimeoutMs * 2), [this, id] { settle(id); });
    } else {
      prepare(id, kPatience);
    }
  }
}

void WireClient::raise(const Task& task) {
  const auto connection = any();
  if (!connection) return;
  Op op;
  op.id = next_++;
  op.kind = OpKind::raise;
  op.key = task.key;
  op.amount = task.amount;
  raises_[op.id] = task;
  ask(*connection, op);
}

void WireClient::read(const Task& task) {
  const auto connection = any();
  if (!connection) return;
  const std::uint64_t id = next_++;
  reads_[id] = task;
  Read read;
  read.id = id;
  read.level = task.level;
  read.timeout_ms = kTimeoutMs;
  read.keys.push_back(task.key);
  ask(*connection, read);
}

void WireClient::add_through(MemberIndex node, const Task& task, std::function<void(Code)> then) {
  Op op;
  op.id = next_++;
  op.key = task.key;
  op.amount = task.amount;
  op.ack = task.ack;
  op.timeout_ms = kTimeoutMs;
  plain_[op.id] = {task, std::move(then)};
  ask(nodes_[node].connection, op);
}

// Chooses the executor and the token, once and for all.
void WireClient::prepare(ChangeId id, unsigned patience) {
  Change& change = changes_.at(id);
  const auto usable = usable_.find(change.task.key);
  change.shard =
      usable == usable_.end() || usable->second < 2 ? ShardIndex{0}
      : change.task.affinity != Affinity{}
          ? shard_for(change.task.affinity, {placement_, {change.task.key, 0}}, usable->second)
          : static_cast<ShardIndex>(random_.below(usable->second));
  // A shard that adds may not use, or that the counter does not have, is refused.
  if (options_.has(Knob::shards) && change.task.affinity == Affinity{} && random_.below(16) == 0)
    change.shard = static_cast<ShardIndex>(random_.below(kShards));
  const Placement placement{placement_, {change.task.key, change.shard}};
  const auto owners = config_.owners.of(placement.partition());
  MemberIndex executor = random_.below(10) == 0
                             ? static_cast<MemberIndex>(random_.below(nodes_.size()))
                             : owners[random_.below(owners.size())];
  if (random_.below(2) == 0 && favoured()) executor = *favourite_;
  const StoreId store = stores_[executor];
  Session* open = store == StoreId{} ? nullptr : session(store);
  if (open == nullptr) {
    if (patience == 0) {  // nothing was sent of it
      workload_.on_done(change.task, change.task.ack, Code::unavailable, Workload::Finality::final);
      settle(id);
      return;
    }
    time_.in(milliseconds(100), [this, id, patience] { prepare(id, patience - 1); });
    return;
  }
  change.store = store;
  change.executor = executor;
  change.serial = open->serial;
  change.number = open->next++;
  open->unsettled.insert(change.number);
  change.left = 6;
  try_again(id);
  if (options_.has(Knob::retries) && random_.below(4) == 0) send(id, change.task.ack);
}

WireClient::Session* WireClient::session(StoreId store) {
  const auto at = std::find_if(sessions_.rbegin(), sessions_.rend(), [&](const Session& one) {
    return one.store == store && one.next - one.floor() < 6;
  });
  if (at != sessions_.rend()) return &*at;
  open_session(store);
  return nullptr;
}

void WireClient::open_session(StoreId store) {
  const auto connection = any();
  if (!connection || opening_.size() > 4) return;
  Op op;
  op.id = next_++;
  op.kind = OpKind::open_session;
  op.token.store = store;
  op.timeout_ms = kTimeoutMs;
  opening_[op.id] = store;
  time_.in(milliseconds(kTimeoutMs * 2), [this, id = op.id] { opening_.erase(id); });
  ask(*connection, op);
}

// ---- one change ----

void WireClient::send(ChangeId id, Ack level) {
  Change& change = changes_.at(id);
  const auto connection = any();
  if (!connection) return;
  Op op;
  op.id = next_++;
  op.kind = change.task.what == Task::What::reset ? OpKind::reset : OpKind::add;
  op.key = change.task.key;
  op.amount = change.task.what == Task::What::reset ? 0 : change.task.amount;
  op.ack = level;
  op.timeout_ms = kTimeoutMs;
  if (change.store != StoreId{}) {
    op.shard = change.shard;
    op.token = {change.store, change.serial, change.number, 0};
    for (const Session& one : sessions_) {
      if (one.store == change.store && one.serial == change.serial) op.token.floor = one.floor();
    }
  } else {
    op.affinity = change.task.affinity;
  }
  ++change.sends;
  requests_[op.id] = {id, level, false};
  ask(*connection, op);
}

// The same token for something else: whatever happens, it must not be carried out, unless
// the disk that knew the token has gone back, which nobody can tell who saw nothing of it.
void WireClient::forge(ChangeId id) {
  const Change& change = changes_.at(id);
  const auto connection = any();
  if (!connection || change.task.what != Task::What::add || disks_go_back()) return;
  Op op;
  op.id = next_++;
  op.key = change.task.key;
  op.amount = change.task.amount / 2 + 1;
  op.ack = Ack::disk;
  op.shard = change.shard;
  op.token = {change.store, change.serial, change.number, 0};
  if (change.number % 2 == 0) {
    op.amount = change.task.amount;
    op.shard = static_cast<ShardIndex>((change.shard + 1) % kShards);
  }
  if (op.amount == change.task.amount && op.shard == change.shard) return;
  requests_[op.id] = {id, op.ack, true};
  ask(*connection, op);
}

bool WireClient::disks_go_back() const {
  return options_.has(Knob::old_copies) || options_.has(Knob::lost_tails);
}

void WireClient::try_again(ChangeId id) {
  const auto at = changes_.find(id);
  if (at == changes_.end()) return;
  Change& change = at->second;
  if (change.lingers) return;
  if (change.left == 0 || (change.late && change.answered)) {
    if (!change.answered && change.late)
      workload_.fail(Invariant::doubts_end, workload_.describe(change.task) +
                                                ": after healing nobody says what became of it");
    settle(id);
    return;
  }
  // While the doubts of others end, they may have taken what room there is.
  if (!change.late || std::exchange(change.ended, doubts_ended_) == doubts_ended_) --change.left;
  if (change.late) ask_config();  // is its store still one of them?
  const bool other_level = change.answered && random_.below(2) == 0;
  if (change.durable && random_.below(8) == 0) forge(id);
  send(id, other_level ? Ack{static_cast<std::uint8_t>(random_.below(3))} : change.task.ack);
  time_.in(milliseconds(300 + random_.below(1500)), [this, id] { try_again(id); });
}

void WireClient::ask_again(ChangeId id) {
  if (const auto at = changes_.find(id); at != changes_.end()) send(id, at->second.task.ack);
}

void WireClient::linger(ChangeId id) {
  changes_.at(id).lingers = true;
  time_.in(milliseconds(random_.below(kLingerMs)), [this, id] { settle(id); });
}

// What is open stays so for its session as well: no floor passes it.
void WireClient::settle(ChangeId id) {
  const auto at = changes_.find(id);
  if (at == changes_.end()) return;
  if (const Change& change = at->second;
      change.store != StoreId{} && change.sends > 0 && !change.answered && !change.late) {
    doubts_.push_back(change);
    changes_.erase(at);
    return;
  }
  if (at->second.late) ++doubts_ended_;
  for (Session& one : sessions_) {
    if (one.store == at->second.store && one.serial == at->second.serial)
      one.unsettled.erase(at->second.number);
  }
  changes_.erase(at);
}

void WireClient::settle_doubts() {
  for (Change& change : std::exchange(doubts_, {})) {
    const ChangeId id = next_++;
    change.late = true;
    change.left = kLateTries;
    changes_.emplace(id, std::move(change));
    try_again(id);
  }
}

// ---- answers ----

void WireClient::on_answer(std::uint64_t id) {
  if (unanswered_.erase(id) == 0)
    workload_.fail(Invariant::every_call_ends, "a request was answered twice");
}

void WireClient::on_frame(const FrameDecoder::Frame& frame) {
  if (frame.type == FrameType::done) {
    const Done done = decode_done(frame.payload).value();
    on_answer(done.id);
    on_done(done);
  } else if (frame.type == FrameType::config_reply) {
    const Result<ConfigReply> reply = decode_config_reply(frame.payload);
    on_answer(reply->id);
    on_config(*reply);
  } else if (frame.type == FrameType::values) {
    const Values values = decode_values(frame.payload).value();
    on_answer(values.id);
    const auto at = reads_.find(values.id);
    if (at == reads_.end()) return;
    const Task task = at->second;
    reads_.erase(at);
    workload_.on_value(task, values.values.front(), host_.sent());
  }
}

void WireClient::on_done(const Done& done) {
  if (const auto opened = opening_.find(done.id); opened != opening_.end()) {
    opening_.erase(opened);
    if (done.code == Code::ok) sessions_.push_back({done.store, done.serial, 1, {}});
    return;
  }
  if (const auto plain = plain_.extract(done.id)) {
    workload_.on_done(plain.mapped().first, plain.mapped().first.ack, done.code,
                      Workload::Finality::final);
    return plain.mapped().second(done.code);
  }
  if (const auto raised = raises_.extract(done.id))
    return workload_.on_raised(raised.mapped(), done.code);
  const auto at = requests_.find(done.id);
  if (at == requests_.end()) return;
  const Request request = at->second;
  requests_.erase(at);
  const auto found = changes_.find(request.change);
  if (found == changes_.end()) return;
  Change& change = found->second;
  if (request.forged) {
    if (done.code == Code::ok)
      workload_.fail(Invariant::answers_agree,
                     workload_.describe(change.task) + ": its token was taken for another change");
    return;
  }
  if (done.code == Code::token_reused) {
    workload_.fail(Invariant::answers_agree,
                   workload_.describe(change.task) + ": a retry met token_reused");
    return;
  }
  if (says_expired(done) && !options_.has(Knob::small_tokens)) workload_.check_session(change.task);
  if (done.usable > 0) usable_[change.task.key] = done.usable;
  const bool once = change.sends == 1;
  const bool undefined = done.code == Code::undefined_namespace;
  const bool for_good =
      done.code == Code::ok || done.code == Code::out_of_range || undefined || once;
  const bool part = change.task.what == Task::What::reset && change.store != StoreId{};
  const bool durable = promised(request.level) != Ack::memory;
  if (part && done.code == Code::ok && durable)
    workload_.on_part_reset(change.task, change.executor);
  workload_.on_done(change.task, part ? Ack::memory : request.level, done.code,
                    for_good ? Workload::Finality::final : Workload::Finality::may_follow);
  if (change.late) on_lost(change, done.code);
  change.durable |= done.code == Code::ok && durable;
  const Outcome outcome = describe(done.code).outcome;
  if (outcome == Outcome::unknown || !for_good) return;
  // What was settled is asked once more now and then: the answer must be the same.
  if (!std::exchange(change.answered, true)) {
    change.left = options_.has(Knob::retries) && change.store != StoreId{} && random_.below(2) == 0
                      ? 1 + static_cast<unsigned>(random_.below(2))
                      : 0;
    const bool certain =
        outcome == Outcome::applied || done.code == Code::out_of_range || undefined;
    if (!certain) change.left = 0;  // sent again, it might be carried out
    if (change.left > 0) return;
    const bool lingers =
        certain && change.store != StoreId{} && !change.late && random_.below(3) == 0;
    lingers ? linger(request.change) : settle(request.change);
  }
}

// Nobody can tell any more, and may say so where the store that knew is gone, or knows
// only so many sessions. And the shard that a change names may be none any more: an
// executor tells of a raise that stops half-way, and forgets it if it dies; and the disks
// may be lost that knew of it. The change has not been applied then, and is not.
void WireClient::on_lost(Change& change, Code code) {
  const bool gone = std::find(stores_.begin(), stores_.end(), change.store) == stores_.end();
  const bool disks_go = options_.has(Knob::wipes) || disks_go_back();
  const bool no_shard = disks_go || change.shard >= workload_.shards(change.task.key);
  const bool lost = code == Code::executor_gone ? gone
                    : code == Code::invalid_argument
                        ? no_shard
                        : code == Code::token_expired || code == Code::undefined_namespace;
  if (lost) change.answered = true;
}

}  // namespace quipu::sim
