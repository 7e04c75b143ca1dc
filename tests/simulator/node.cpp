#include "tests/simulator/node.h"

#include <algorithm>
#include <cstring>

#include "tests/cluster/word_decider.h"

namespace quipu::sim {
namespace {

using std::chrono::milliseconds;

constexpr ClientId kSelf{~std::uint64_t{0}}, kDefiner{~std::uint64_t{1}}, kOther{~std::uint64_t{2}};

void feed(FrameDecoder& decoder, const std::string& bytes) {
  std::memcpy(decoder.prepare(bytes.size()).data(), bytes.data(), bytes.size());
  decoder.commit(bytes.size());
}

// Its replies end with the name of the node that has decided.
class NamedDecider final : public Decider {
 public:
  explicit NamedDecider(const std::string& name) : signature_(" by " + name) {}

  std::string decide(std::string_view words, Decisions& on) const override {
    return words_.decide(words, on) + signature_;
  }
  std::vector<std::string_view> keys(std::string_view words) const override {
    return words_.keys(words);
  }

 private:
  const test::WordDecider words_{};
  const std::string signature_;
};

}  // namespace

SimNode::SimNode(const Shared& shared, MemberIndex self, Random random)
    : shared_(shared),
      self_(self),
      random_(random),
      clock_(shared.time),
      disk_(self, shared.oracle, random_.split()),
      decider_(std::make_unique<NamedDecider>(name())) {}

void SimNode::broken(std::string what) {
  shared_.trace.fail(shared_.time.now(), Invariant::no_crash, name() + ": " + std::move(what));
}

// ---- the process ----

template <class What>
void SimNode::when_awake(What&& what) {
  if (!asleep_) {
    what();
    return;
  }
  inbox_.push_back([this, born = incarnation_, what = std::forward<What>(what)]() mutable {
    if (born == incarnation_ && running()) what();
  });
}

template <class What>
void SimNode::later(Instant when, What what) {
  if (when == kNever) return;
  shared_.time.at(when, [this, born = incarnation_, what = std::move(what)] {
    if (born == incarnation_ && running()) when_awake(what);
  });
}

bool SimNode::start() {
  ++incarnation_;
  armed_ = kNever;
  const StoreOwner owner{shared_.config.id, shared_.config.members[self_].id};
  Store& store = disk_.open();
  if (disk_.bytes().durable.empty()) {
    const Meta meta = new_meta(owner, rebuild_ ? NewStore::marked : NewStore::unmarked, random_);
    refusal_ = initialize(store, meta);
    if (!refusal_.ok()) return false;
  }
  Result<std::unique_ptr<Executor>> executor =
      recover(store, owner, executor_options(shared_.config, self_, shared_.settings), random_);
  refusal_ = executor.ok() ? Status{} : executor.status();
  if (!executor.ok()) return false;
  shared_.oracle.on_start(self_, (*executor)->meta().store, disk_.bytes());
  shared_.trace.say(shared_.time.now(), [&] {
    return name() + " starts at record " + std::to_string(raw((*executor)->sealed())) +
           " of store " + std::to_string(raw((*executor)->meta().store) % 1000) +
           ((*executor)->meta().marked ? ", a replacement" : "") +
           (disk_.bytes().durable.size() < 3 ? ", on an empty disk" : "");
  });
  trusted_wall_ = {};
  const StoreId opened = (*executor)->meta().store;
  if (std::exchange(store_, opened) != opened) silent_ = Partitions::all();
  core_ = std::make_unique<NodeCore>(clock_.now(), wall(), shared_.config, self_, settings(),
                                     std::move(*executor), random_.split());
  core_->decide_by(*decider_);
  tick();
  dial();
  return true;
}

// Each start but the first of all may be one into the next release. The simulator is linked with
// that; what this release speaks is the lowest version of it.
NodeSettings SimNode::settings() {
  NodeSettings settings = shared_.settings;
  const std::uint64_t draw = hash64(HashKey{incarnation_}, name());
  if (shared_.upgrades && draw % 3 == 0 && !std::exchange(is_next_release_, true))
    shared_.trace.say(shared_.time.now(), [&] { return name() + " is of the next release"; });
  const FrameVersion lowest = spoken_versions().from;
  if (!is_next_release_) settings.speaker = {"this one", {lowest, lowest}};
  return settings;
}

void SimNode::crash() {
  if (!running()) return;
  shared_.trace.say(shared_.time.now(), [&] { return name() + " crashes"; });
  shared_.on_crash();
  die();
}

void SimNode::die() {
  core_.reset();
  closing_ = nullptr;
  disk_.crash();
  ++incarnation_;
  asleep_ = false;
  inbox_.clear();
  unread_.clear();
  links_.clear();
  clients_.clear();
  held_.clear();
  released_ = Commit{};
  must_serve_.clear();
  asked_namespaces_.clear();
  asked_others_.clear();
  dialed_.clear();
  shared_.network.close_all(host());
}

void SimNode::close(Duration patience, std::function<void()> ended) {
  if (!listens()) return;
  closing_ = std::move(ended);
  Effects effects;
  core_->begin_closing(clock_.now(), effects);
  perform(effects);
  later(shared_.time.now() + patience, [this] {
    if (!closing()) return;
    const auto told = std::move(closing_);
    crash();
    told();
  });
}

// It loses nothing, so to the ledger it is no crash.
void SimNode::end_if_quiet() {
  if (!running() || !closing() || !held_.empty() || !core_->quiet()) return;
  shared_.trace.say(shared_.time.now(), [&] { return name() + " has closed"; });
  shared_.on_quiet(*this);
  const auto told = std::move(closing_);
  die();
  told();
}

void SimNode::pause(Duration length) {
  if (!running()) return;
  const Instant until = shared_.time.now() + length;
  wakes_ = asleep_ ? std::max(wakes_, until) : until;
  asleep_ = true;
  shared_.time.at(until, [this, born = incarnation_] {
    if (born == incarnation_ && running() && shared_.time.now() >= wakes_) wake();
  });
}

void SimNode::wake() {
  if (!asleep_) return;
  asleep_ = false;
  while (!inbox_.empty() && !asleep_) {
    const std::function<void()> what = std::move(inbox_.front());
    inbox_.pop_front();
    what();
  }
}

void SimNode::jump_clock(Duration by) {
  clock_.jump(by);
  if (!running()) return;
  armed_ = kNever;  // timers of before are due at another time
  when_awake([this] { arm(); });
}

// ---- peers ----

void SimNode::dial() {
  for (MemberIndex member = 0; member < shared_.config.members.size(); ++member) {
    if (member == self_ || !core_->dials(member)) continue;
    const auto at = dialed_.find(member);
    if (at == dialed_.end() || !links_.contains(at->second)) dial(member);
  }
  later(shared_.time.now() + milliseconds(100), [this] { dial(); });
}

void SimNode::dial(MemberIndex member) {
  SimNode& peer = *nodes_[member];
  if (!shared_.network.reachable(host(), peer.host())) return;
  const auto connection = std::make_shared<ConnId>();
  std::optional<Ears> theirs = peer.accept_peer([connection] { return *connection; });
  if (!theirs) return;
  const LinkId mine{next_id_++};
  links_[mine].connection = [connection] { return *connection; };
  dialed_[member] = mine;
  *connection = shared_.network.connect(host(), link_ears(mine), peer.host(), std::move(*theirs));
  Effects effects;
  core_->on_link_open(clock_.now(), mine, member, effects);
  perform(effects);
}

std::optional<Ears> SimNode::accept_peer(std::function<ConnId()> connection) {
  if (!running()) return std::nullopt;
  const LinkId link{next_id_++};
  links_[link].connection = std::move(connection);
  later(shared_.time.now(), [this, link] {
    Effects effects;
    core_->on_link_open(clock_.now(), link, std::nullopt, effects);
    perform(effects);
  });
  return link_ears(link);
}

Ears SimNode::link_ears(LinkId link) {
  return {[this, link](std::string bytes) {
            if (!running()) return;
            when_awake([this, link, bytes = std::move(bytes)] { on_link_bytes(link, bytes); });
          },
          [this, link] {
            if (running()) when_awake([this, link] { on_link_closed(link); });
          }};
}

void SimNode::on_link_bytes(LinkId link, const std::string& bytes) {
  const auto at = links_.find(link);
  if (at == links_.end()) return;
  feed(at->second.decoder, bytes);
  while (links_.contains(link)) {
    auto frame = at->second.decoder.next(core_->frame_salt());
    if (!frame.ok()) {  // as a link does: it says no more than that it ends
      shared_.network.close(at->second.connection(), host());
      on_link_closed(link);
      return;
    }
    if (!*frame) return;
    Effects effects;
    core_->on_link_frame(clock_.now(), link, **frame, effects);
    perform(effects);
    if (!running()) return;
  }
}

void SimNode::on_link_closed(LinkId link) {
  if (!running() || links_.erase(link) == 0) return;
  Effects effects;
  core_->on_link_closed(clock_.now(), link, effects);
  perform(effects);
}

// ---- clients ----

std::optional<Ears> SimNode::accept_client(std::function<ConnId()> connection) {
  if (!running() || closing()) return std::nullopt;
  const ClientId client{next_id_++};
  clients_[client].connection = std::move(connection);
  return Ears{
      [this, client](std::string bytes) {
        if (!running()) return;
        when_awake([this, client, bytes = std::move(bytes)] { on_client_bytes(client, bytes); });
      },
      [this, client] { clients_.erase(client); }};
}

void SimNode::on_client_bytes(ClientId client, const std::string& bytes) {
  if (core_->paused()) {
    unread_.emplace_back(client, bytes);
    return;
  }
  const auto at = clients_.find(client);
  if (at == clients_.end()) return;
  if (closing()) {  // without a word, so the client must doubt what it sent
    shared_.network.close(at->second.connection(), host());
    clients_.erase(at);
    return;
  }
  feed(at->second.decoder, bytes);
  Effects effects;
  std::vector<Op> ops;
  for (;;) {
    const auto frame = at->second.decoder.next();
    if (!frame.ok()) {
      broken("a client's frame: " + frame.status().message());
      return;
    }
    if (!*frame) break;
    if ((*frame)->type == FrameType::op) {
      ops.push_back(take_op(client, **frame));
      continue;
    }
    give_ops(client, ops, effects);
    on_client_frame(client, **frame, effects);
  }
  give_ops(client, ops, effects);
  core_->finish_batch(clock_.now(), effects);
  perform(effects);
}

Op SimNode::take_op(ClientId client, const FrameDecoder::Frame& frame) {
  const Result<Op> op = decode_op(frame.payload);
  shared_.trace.say_message(shared_.time.now(), [&] {
    return "client " + std::to_string(raw(client)) + " -> " + name() + ": " + tell(*op);
  });
  if (needs_nobody(*op)) must_serve_.emplace(client, op->id);
  return *op;
}

// As a connection does: what is known at once is kept until its commit is durable.
void SimNode::give_ops(ClientId client, std::vector<Op>& ops, Effects& effects) {
  if (ops.empty()) return;
  std::vector<AtOnce> known;
  core_->on_ops(clock_.now(), client, ops, effects, &known);
  for (const AtOnce& one : known) check_total(ops, one.done);
  ops.clear();
  for (AtOnce& one : known) held_.emplace_back(client, std::move(one));
}

void SimNode::say_what_may_be() {
  for (std::size_t left = held_.size(); left > 0; --left) {
    auto [client, one] = std::move(held_.front());
    held_.pop_front();
    if (one.after <= released_) {
      reply(client, one.done);
    } else {
      held_.emplace_back(client, std::move(one));
    }
  }
}

void SimNode::on_client_frame(ClientId client, const FrameDecoder::Frame& frame, Effects& effects) {
  std::string reply;
  switch (frame.type) {
    case FrameType::read:
      core_->on_read(clock_.now(), client, decode_read(frame.payload).value(), effects);
      break;
    case FrameType::config:
      encode(reply, core_->config(decode_config_request(frame.payload)->id));
      break;
    default:
      broken("a client sent something else");
  }
  if (!reply.empty()) answer_client(client, std::move(reply));
}

// Where the batch changed a counter once, what it was told it counts now is what is held.
void SimNode::check_total(const std::vector<Op>& ops, const Done& done) {
  const auto op = std::ranges::find(ops, done.id, &Op::id);
  if (!done.total || op == ops.end() || std::ranges::count(ops, op->key, &Op::key) != 1) return;
  if (Wide{*done.total} == core_->executor().map().total({op->key, 0}).sum) return;
  shared_.trace.fail(shared_.time.now(), Invariant::total_within_bounds,
                     name() + " told an add another total than it holds");
}

// An eventual add that nobody but this node has to do with: it owns the shard and counts
// for it, or knows of no owner that is up.
bool SimNode::needs_nobody(const Op& op) const {
  if (core_->view().edge()) return false;
  if (op.kind != OpKind::add || op.token.store != StoreId{} || op.ack == Ack::quorum ||
      op.ack == Ack::by_default || !core_->ready())
    return false;
  const ShardMap& map = core_->executor().map();
  const Placement first = map.place({op.key, 0});
  // It may go to one of several.
  if (!map.resident(first, {op.key, 0}) || map.usable(first, {op.key, 0}) > 1) return false;
  const Partition partition = first.partition();
  if (shared_.config.owners.owns(self_, partition) && core_->state() == "ready") return true;
  for (MemberIndex member = 0; member < core_->view().size(); ++member) {
    if (member != self_ && core_->view().up(member)) return false;
  }
  return true;
}

void SimNode::check_served(ClientId client, const Done& done) {
  if (must_serve_.erase({client, done.id}) == 0) return;
  if (done.code != Code::unavailable && done.code != Code::no_quorum && done.code != Code::in_doubt)
    return;
  shared_.trace.fail(shared_.time.now(), Invariant::eventual_add_needs_nobody,
                     name() + " could have carried out an add by itself, and answered " +
                         std::string(quipu::describe(done.code).name) + ": " + done.detail);
}

void SimNode::answer_client(ClientId client, std::string bytes) {
  const auto at = clients_.find(client);
  if (at != clients_.end()) shared_.network.send(at->second.connection(), host(), std::move(bytes));
}

// ---- effects ----

void SimNode::perform(Effects& effects) {
  shared_.on_turn(*this);
  if (core_->clock().trusted()) last_trusted_ = shared_.time.now();
  for (Sealed& sealed : effects.writes) disk_.write(std::move(sealed));
  begin_sync();
  if (effects.load) begin_load(std::move(*effects.load));
  for (Effects::Send& send : effects.sends) {
    const auto at = links_.find(send.link);
    if (at == links_.end()) continue;
    const ConnId connection = at->second.connection();
    shared_.oracle.on_sent(self_, shared_.network.peer(connection, host()), connection, send.frame);
    shared_.network.send(connection, host(), std::move(send.frame));
  }
  for (const Effects::Close& close : effects.closes) {
    const auto at = links_.find(close.link);
    if (at == links_.end()) continue;
    shared_.trace.say(shared_.time.now(),
                      [&] { return name() + " closes a link: " + close.reason.substr(0, 60); });
    shared_.network.close(at->second.connection(), host());
    later(shared_.time.now(), [this, link = close.link] { on_link_closed(link); });
  }
  for (const Effects::Reply& reply : effects.replies) {
    if (reply.client == kDefiner) {
      const auto& changed = std::get<NamespaceReply>(reply.answer);
      const auto asked = asked_namespaces_.extract(changed.id);
      if (!asked) return broken("a change of namespaces was answered twice");
      asked.mapped().ended(changed);
      continue;
    }
    if (reply.client == kOther) {
      const auto id = std::visit([](const auto& answer) { return answer.id; }, reply.answer);
      const auto asked = asked_others_.extract(id);
      if (!asked) return broken("a request was answered twice");
      asked.mapped()(reply.answer);
      continue;
    }
    if (reply.client == kSelf) {
      // One to an earlier question may come late.
      const auto id = std::visit([](const auto& answer) { return answer.id; }, reply.answer);
      if (id == asked_) told_ = reply.answer;
      continue;
    }
    this->reply(reply.client, reply.answer);
  }
  released_ = std::max(released_, effects.released);
  say_what_may_be();
  if (effects.restart) {
    crash();
    if (!start()) broken("does not start again: " + refusal_.message());
    return;
  }
  watch_votes();
  if (closing()) later(shared_.time.now(), [this] { end_if_quiet(); });
  if (!unread_.empty() && !core_->paused())
    later(shared_.time.now(), [this] { read_clients_again(); });
  arm();
}

void SimNode::watch_votes() {
  const View& view = core_->view();
  const std::tuple now(view.fence(), core_->executor().meta().filled_from.size(), view.retired());
  silent_ = silent_.without(view.answers_for(silent_));
  if (std::exchange(votes_, now) != now) shared_.on_votes();
}

void SimNode::reply(ClientId client, const Answer& answer) {
  std::string bytes;
  std::visit([&](const auto& one) { encode(bytes, one); }, answer);
  if (const auto* done = std::get_if<Done>(&answer)) {
    check_served(client, *done);
    shared_.trace.say_message(shared_.time.now(), [&] {
      return name() + " -> client " + std::to_string(raw(client)) + ": " + tell(*done);
    });
  }
  answer_client(client, std::move(bytes));
}

void SimNode::read_clients_again() {
  for (const auto& [client, bytes] : std::exchange(unread_, {})) {
    if (running()) on_client_bytes(client, bytes);
  }
}

void SimNode::begin_sync() {
  const auto takes = disk_.begin();
  if (takes) later(shared_.time.now() + *takes, [this] { end_sync(); });
}

// What it sees and when that arrives are two moments, and syncs end in between.
void SimNode::begin_load(LoadRequest request) {
  later(shared_.time.now() + disk_.read_time(), [this, request = std::move(request)] {
    auto loaded = disk_.load(core_->executor().map().placement_key(), request);
    if (!loaded.ok()) return broken("a load: " + loaded.status().message());
    later(shared_.time.now() + disk_.read_time(), [this, loaded = std::move(*loaded)] {
      Effects effects;
      core_->on_loaded(clock_.now(), loaded, effects);
      perform(effects);
    });
  });
}

// As the storage thread does.
void SimNode::end_sync() {
  const Disk::Ended ended = disk_.end();
  switch (ended.what) {
    case Disk::Ended::What::failed:
      shared_.trace.say(shared_.time.now(), [&] { return name() + ": a sync failed"; });
      crash();
      return;
    case Disk::Ended::What::full:
      core_->on_storage_full(true);
      later(shared_.time.now() + milliseconds(200), [this] {
        disk_.retry();
        begin_sync();
      });
      return;
    case Disk::Ended::What::durable: {
      core_->on_storage_full(false);
      Effects effects;
      core_->on_durable(clock_.now(), ended.commit, effects);
      perform(effects);
    }
  }
}

void SimNode::arm() {
  const Instant deadline = clock_.when(core_->deadline());
  if (deadline >= armed_) return;
  armed_ = deadline;
  later(deadline, [this, deadline] {
    if (armed_ != deadline) return;
    armed_ = kNever;
    tick();
  });
}

Wall SimNode::wall() const {
  constexpr Wall kAtStart{std::chrono::milliseconds(1'700'000'000'000)};
  const Duration passed = shared_.time.now() - Timeline::kStart;
  return kAtStart + wall_ahead_ + std::chrono::floor<Wall::duration>(passed);
}

// What others say of the time is wrong by less than a second, and never that of two nodes at once.
// If only one was heard, its clock and this one's stand on both sides of the median.
void SimNode::tick() {
  Effects effects;
  core_->on_tick(clock_.now(), wall(), effects);
  check_clock();
  perform(effects);
}

void SimNode::check_clock() {
  const WallClock& clock = core_->clock();
  if (!clock.trusted()) return;
  const Wall shown = clock.at(clock_.now());
  const auto fail = [&](const std::string& why) {
    shared_.trace.fail(shared_.time.now(), Invariant::clocks_are_judged,
                       name() + " trusts its clock, which " + why);
  };
  if (shown < trusted_wall_)
    fail("went back by " + std::to_string((trusted_wall_ - shown).count()) + " ms");
  trusted_wall_ = shown;
  const Wall::duration ahead = shown - wall() + wall_ahead_;
  if (shared_.config.members.size() > 1 &&
      std::chrono::abs(ahead) > 2 * shared_.settings.clock_skew + std::chrono::seconds(1))
    fail("is " + std::to_string(ahead.count()) + " ms ahead");
}

template <class Begin>
void SimNode::ask_core(Begin begin) {
  told_.reset();
  ++asked_;
  if (!running() || closing()) return;
  Effects effects;
  begin(effects);
  perform(effects);
}

void SimNode::ask(const std::string& key) {
  ask_core([&](Effects& effects) {
    core_->on_read(clock_.now(), kSelf, {.id = asked_, .keys = {key}}, effects);
  });
}

void SimNode::ask_strongly(const std::vector<std::string>& keys, Duration timeout) {
  ask_core([&](Effects& effects) {
    Read read{.id = asked_, .level = ReadLevel::strong};
    read.timeout_ms = static_cast<std::uint32_t>(timeout / milliseconds(1));
    read.keys.assign(keys.begin(), keys.end());
    core_->on_read(clock_.now(), kSelf, read, effects);
  });
}

void SimNode::ask(Op op) {
  ask_core([&](Effects& effects) {
    op.id = asked_;
    core_->on_ops(clock_.now(), kSelf, {&op, 1}, effects);
  });
}

void SimNode::ask(List list) {
  ask_core([&](Effects& effects) {
    list.id = asked_;
    core_->on_list(clock_.now(), kSelf, list, effects);
  });
}

void SimNode::ask(CountKeys size) {
  ask_core([&](Effects& effects) {
    size.id = asked_;
    core_->on_count_keys(clock_.now(), kSelf, size, effects);
  });
}

void SimNode::ask(NamespaceRequest request, NamespacesAsked asked) {
  if (!running() || closing()) return;
  when_awake([this, request, asked = std::move(asked)]() mutable {
    request.id = next_id_++;
    Effects effects;
    core_->on_namespaces(clock_.now(), kDefiner, request, effects);
    asked.begun(core_->executor().namespaces());
    asked_namespaces_.emplace(request.id, std::move(asked));
    perform(effects);
  });
}

// Asked while it sleeps, it never arrives.
void SimNode::ask(Op op, Ended ended) {
  if (!listens()) return;
  op.id = next_id_++;
  asked_others_.emplace(op.id, std::move(ended));
  Effects effects;
  core_->on_ops(clock_.now(), kOther, {&op, 1}, effects);
  perform(effects);
}

void SimNode::ask(Read read, Ended ended) {
  if (!listens()) return;
  read.id = next_id_++;
  asked_others_.emplace(read.id, std::move(ended));
  Effects effects;
  core_->on_read(clock_.now(), kOther, read, effects);
  perform(effects);
}

void SimNode::ask(RangeRequest range, Ended ended) {
  if (!listens()) return;
  range.id = next_id_++;
  asked_others_.emplace(range.id, std::move(ended));
  Effects effects;
  core_->on_range(clock_.now(), kOther, range, effects);
  perform(effects);
}

void SimNode::ask(Query query, Ended ended) {
  if (!listens()) return;
  query.id = next_id_++;
  asked_others_.emplace(query.id, std::move(ended));
  Effects effects;
  core_->on_query(clock_.now(), kOther, query, effects);
  perform(effects);
}

std::optional<Value> SimNode::answer() const {
  const auto* const values = told_ ? std::get_if<Values>(&*told_) : nullptr;
  if (values == nullptr) return std::nullopt;
  return values->values.front();
}

}  // namespace quipu::sim
