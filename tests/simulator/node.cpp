#include "tests/simulator/node.h"

#include <cstring>
#include <stdexcept>

namespace quipu::sim {
namespace {

constexpr ClientId kOwnReads{~std::uint64_t{0}};

void feed(FrameDecoder& decoder, const std::string& bytes) {
  std::memcpy(decoder.prepare(bytes.size()).data(), bytes.data(), bytes.size());
  decoder.commit(bytes.size());
}

}  // namespace

SimNode::SimNode(Timeline& time, Network& network, const ClusterConfig& config, MemberIndex self,
                 NodeSettings settings, DiskFaults faults, Random random)
    : time_(time),
      network_(network),
      config_(config),
      self_(self),
      settings_(settings),
      faults_(faults),
      random_(random) {}

void SimNode::later(Instant when, std::function<void()> what) {
  time_.at(when, [this, born = incarnation_, what = std::move(what)] {
    if (born == incarnation_ && running()) what();
  });
}

void SimNode::start() {
  recover_core();
  dial();
}

void SimNode::recover_core() {
  ++incarnation_;
  armed_ = kNever;
  const StoreOwner owner{config_.id, config_.members[self_].id};
  store_ = std::make_unique<MemoryStore>(disk_);
  if (disk_.durable.empty()) {
    const Meta meta = new_meta(owner, rebuild_ ? NewStore::marked : NewStore::unmarked, random_);
    if (!initialize(*store_, meta).ok()) throw std::runtime_error("cannot initialize a store");
  }
  ExecutorOptions options;
  options.tokens = settings_.tokens;
  options.checkpoint = settings_.checkpoint;
  Result<std::unique_ptr<Executor>> executor = recover(*store_, owner, options, random_);
  if (!executor.ok()) throw std::runtime_error("recovery: " + executor.status().message());
  core_ = std::make_unique<NodeCore>(time_.now(), config_, self_, settings_, std::move(*executor),
                                     random_.split());
  Effects effects;
  core_->on_tick(time_.now(), effects);
  perform(effects);
}

void SimNode::crash() {
  if (!running()) return;
  // Whole batches, in order: the store's atomicity is tested on its own.
  const std::size_t survive = random_.below(writing_.size() + 1);
  for (std::size_t i = 0; i < survive; ++i) (void)store_->write(writing_[i].batch);
  core_.reset();
  ++incarnation_;
  queued_.clear();
  writing_.clear();
  links_.clear();
  clients_.clear();
  dialed_.clear();
  network_.close_all(host());
}

void SimNode::replace_disk(MemoryDisk disk, bool rebuild) {
  disk_ = std::move(disk);
  rebuild_ = rebuild;
}

void SimNode::dial() {
  for (MemberIndex member = 0; member < config_.members.size(); ++member) {
    if (member == self_ || !core_->dials(member)) continue;
    if (const auto at = dialed_.find(member); at != dialed_.end() && links_.contains(at->second))
      continue;
    SimNode& peer = *nodes_[member];
    if (!peer.running() || !network_.reachable(host(), peer.host())) continue;
    const LinkId mine{next_id_++};
    const LinkId theirs{peer.next_id_++};
    const ConnId connection =
        network_.connect(host(), link_ears(mine), peer.host(), peer.link_ears(theirs));
    dialed_[member] = mine;
    links_[mine].connection = connection;
    peer.links_[theirs].connection = connection;
    Effects effects;
    core_->on_link_open(time_.now(), mine, member, effects);
    perform(effects);
    peer.later(time_.now(), [&peer, theirs] {
      Effects answer;
      peer.core_->on_link_open(peer.time_.now(), theirs, std::nullopt, answer);
      peer.perform(answer);
    });
  }
  later(time_.now() + std::chrono::milliseconds(100), [this] { dial(); });
}

Ears SimNode::link_ears(LinkId link) {
  return {[this, link](const std::string& bytes) { on_link_bytes(link, bytes); },
          [this, link] { on_link_closed(link); }};
}

void SimNode::on_link_bytes(LinkId link, const std::string& bytes) {
  const auto at = links_.find(link);
  if (!running() || at == links_.end()) return;
  feed(at->second.decoder, bytes);
  while (links_.contains(link)) {
    auto frame = at->second.decoder.next(core_->frame_salt());
    if (!frame.ok()) throw std::runtime_error("peer frame: " + frame.status().message());
    if (!*frame) return;
    Effects effects;
    core_->on_link_frame(time_.now(), link, (*frame)->type, (*frame)->payload, effects);
    perform(effects);
    if (!running()) return;
  }
}

void SimNode::on_link_closed(LinkId link) {
  if (!running() || links_.erase(link) == 0) return;
  Effects effects;
  core_->on_link_closed(time_.now(), link, effects);
  perform(effects);
}

std::optional<Ears> SimNode::accept_client(std::function<ConnId()> connection) {
  if (!running()) return std::nullopt;
  const ClientId client{next_id_++};
  clients_[client].connection = std::move(connection);
  return Ears{[this, client](const std::string& bytes) { on_client_bytes(client, bytes); },
              [this, client] { clients_.erase(client); }};
}

void SimNode::on_client_bytes(ClientId client, const std::string& bytes) {
  const auto at = clients_.find(client);
  if (!running() || at == clients_.end()) return;
  feed(at->second.decoder, bytes);
  Effects effects;
  for (;;) {
    const auto frame = at->second.decoder.next();
    if (!frame.ok()) throw std::runtime_error("client frame: " + frame.status().message());
    if (!*frame) break;
    std::string reply;
    const Payload payload = (*frame)->payload;
    switch ((*frame)->type) {
      case FrameType::op: {
        const Result<Op> op = decode_op(payload);
        core_->on_ops(time_.now(), client, std::span(&op.value(), 1), effects);
        break;
      }
      case FrameType::read:
        core_->on_read(time_.now(), client, decode_read(payload).value(), effects);
        break;
      case FrameType::config:
        encode(reply, core_->config(decode_config_request(payload)->id));
        break;
      default:
        throw std::runtime_error("a client sent something else");
    }
    if (!reply.empty()) answer_client(client, reply);
  }
  perform(effects);
}

void SimNode::answer_client(ClientId client, const std::string& bytes) {
  const auto at = clients_.find(client);
  if (at != clients_.end()) network_.send(at->second.connection(), host(), bytes);
}

void SimNode::perform(Effects& effects) {
  for (Sealed& sealed : effects.writes) queued_.push_back(std::move(sealed));
  begin_write();
  for (Effects::Send& send : effects.sends) {
    if (const auto at = links_.find(send.link); at != links_.end()) {
      network_.send(at->second.connection, host(), std::move(send.frame));
    }
  }
  for (const Effects::Close& close : effects.closes) {
    const auto at = links_.find(close.link);
    if (at == links_.end()) continue;
    network_.close(at->second.connection, host());
    later(time_.now(), [this, link = close.link] { on_link_closed(link); });
  }
  for (const Effects::Reply& reply : effects.replies) {
    if (reply.client == kOwnReads) {
      own_answer_ = std::get<Values>(reply.answer).values;
      continue;
    }
    std::string bytes;
    std::visit([&](const auto& answer) { encode(bytes, answer); }, reply.answer);
    answer_client(reply.client, bytes);
  }
  if (effects.restart) {
    crash();
    start();
    return;
  }
  arm();
}

void SimNode::begin_write() {
  if (!writing_.empty() || queued_.empty()) return;
  writing_.assign(std::make_move_iterator(queued_.begin()), std::make_move_iterator(queued_.end()));
  queued_.clear();
  const auto spread = static_cast<std::uint64_t>((faults_.sync_max - faults_.sync_min).count());
  later(time_.now() + faults_.sync_min +
            Duration(static_cast<std::int64_t>(random_.below(spread + 1))),
        [this] {
          for (const Sealed& sealed : writing_) {
            if (!store_->write(sealed.batch).ok())
              throw std::runtime_error("the disk failed unasked");
          }
          const Commit commit = writing_.back().commit;
          writing_.clear();
          Effects effects;
          core_->on_durable(time_.now(), commit, effects);
          perform(effects);
        });
}

void SimNode::arm() {
  const Instant deadline = std::max(core_->deadline(), time_.now());
  if (deadline >= armed_) return;
  armed_ = deadline;
  later(deadline, [this, deadline] {
    if (armed_ != deadline) return;
    armed_ = kNever;
    Effects effects;
    core_->on_tick(time_.now(), effects);
    perform(effects);
  });
}

std::optional<Value> SimNode::local_read(const std::string& key) {
  if (!running() || !core_->ready()) return std::nullopt;
  Read read;
  read.keys.push_back(key);
  Effects effects;
  own_answer_.clear();
  core_->on_read(time_.now(), kOwnReads, read, effects);
  perform(effects);
  if (own_answer_.empty()) return std::nullopt;
  return own_answer_.front();
}

}  // namespace quipu::sim
