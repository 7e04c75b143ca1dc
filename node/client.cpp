#include "node/client.h"

#include <algorithm>
#include <asio/post.hpp>
#include <utility>

#include "node/entropy.h"

namespace quipu {
namespace {

ClientCore::Change to_change(CounterChange&& change) {
  return {.key = std::move(change.key),
          .amount = change.amount,
          .ack = change.ack,
          .timeout = std::min(change.timeout, kLongestTimeout),
          .affinity = change.affinity};
}

}  // namespace

ClientThread::ClientThread(ClientSettings settings)
    : work_(asio::make_work_guard(io_)),
      timer_(io_),
      names_(io_),
      core_(settings, random_from_system()),
      room_for_(settings.max_in_flight),
      trouble_(core_.trouble()) {}

// The last reference may be dropped in a callback, on the own thread.
ClientThread::~ClientThread() {
  if (thread_.joinable()) thread_.detach();
}

void ClientThread::start() {
  auto self = std::static_pointer_cast<ClientThread>(shared_from_this());
  thread_ = std::thread([self = std::move(self)] { self->run(); });
}

void ClientThread::run() {
  thread_id_ = std::this_thread::get_id();
  core_.on_tick(NodeClock::now(), effects_);
  finish();
  io_.run();
}

bool ClientThread::wait_connected(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, clamp_timeout(timeout), [this] {
    return connected_ || closed_;
  }) && connected_;
}

ClientThread::Reach ClientThread::wait_usable(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  const bool known = changed_.wait_for(lock, clamp_timeout(timeout),
                                       [this] { return usable_ || exhausted_ || closed_; });
  if (usable_) return Reach::usable;
  return known ? Reach::hopeless : Reach::trying;
}

bool ClientThread::connected() const {
  const std::lock_guard lock(mutex_);
  return connected_;
}

std::string ClientThread::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

// ---- calls ----

void ClientThread::submit(CounterChange change, ChangeDone done) {
  enqueue({std::move(change), std::move(done)});
}

void ClientThread::read_many(ClientCore::Question question, ValuesDone done) {
  enqueue({std::move(question), std::move(done)});
}

void ClientThread::read(CounterQuestion question, ReadDone done) {
  ClientCore::Question ask{.keys = {std::move(question.key)},
                           .level = question.level,
                           .timeout = std::min(question.timeout, kLongestTimeout)};
  read_many(std::move(ask), [done = std::move(done)](Result<Values> values) {
    done(values.ok() ? to_reading(values->values.front()) : Result<Reading>(values.status()));
  });
}

void ClientThread::enqueue(Call call) {
  Status refused;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) {
      refused = Status(Code::unavailable, "the client is closed");
    } else if (in_flight_ >= room_for_) {
      refused = Status(Code::overloaded, std::to_string(room_for_) + " calls are waiting already");
    } else {
      queued_.push_back(std::move(call));
      ++in_flight_;
      if (!std::exchange(woken_, true)) asio::post(io_, [this] { drain(); });
      return;
    }
  }
  std::visit([&refused](auto& done) { done(refused); }, call.done);
}

std::chrono::milliseconds ClientThread::wait_for_room(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  const auto may_go = [this] { return closed_ || in_flight_ < room_for_; };
  if (may_go()) return timeout;
  const Instant began = NodeClock::now();
  changed_.wait_for(lock, clamp_timeout(timeout), may_go);
  const auto waited = std::chrono::ceil<std::chrono::milliseconds>(NodeClock::now() - began);
  return std::max(timeout - waited, std::chrono::milliseconds(1));
}

bool ClientThread::on_own_thread() const { return thread_id_.load() == std::this_thread::get_id(); }

void ClientThread::drain() {
  std::vector<Call> calls;
  {
    const std::lock_guard lock(mutex_);
    calls.swap(queued_);
    woken_ = false;
  }
  for (Call& call : calls) give(std::move(call));
  finish();
}

void ClientThread::give(Call call) {
  const Instant now = NodeClock::now();
  const CallId id{next_call_++};
  calls_.emplace(static_cast<std::uint64_t>(id), std::move(call.done));
  if (const auto* question = std::get_if<ClientCore::Question>(&call.what)) {
    return core_.read(now, id, *question, effects_);
  }
  auto& change = std::get<CounterChange>(call.what);
  switch (change.kind) {
    case OpKind::reset:
      return core_.reset(now, id, to_change(std::move(change)), effects_);
    case OpKind::raise:
      return core_.raise(now, id, to_change(std::move(change)), effects_);
    default:
      return core_.add(now, id, to_change(std::move(change)), effects_);
  }
}

// ---- effects ----

void ClientThread::finish() {
  // A completion may lead to calls, but those are queued; a connection that is
  // dialed or closed here calls back later, if at all.
  ClientEffects effects = std::exchange(effects_, {});
  for (const ClientEffects::Connect& connect : effects.connects) dial(connect);
  for (ClientEffects::Send& send : effects.sends) {
    const auto at = connections_.find(send.connection);
    if (at == connections_.end()) continue;
    at->second->send(std::move(send.frames));
    at->second->flush();
  }
  for (const ConnectionId connection : effects.closes) {
    const auto at = connections_.find(connection);
    if (at == connections_.end()) continue;
    at->second->close();
    connections_.erase(at);
  }
  tell_state();
  for (ClientEffects::Completion& completion : effects.completions) complete(std::move(completion));
  arm();
}

void ClientThread::dial(const ClientEffects::Connect& connect) {
  const ConnectionId id = connect.connection;
  const auto ended = [this, id](std::string why) {
    connections_.erase(id);
    core_.on_closed(NodeClock::now(), id, std::move(why), effects_);
  };
  ClientConnection::Events events{
      .connected = [this, id] { core_.on_connected(NodeClock::now(), id, effects_); },
      .closed = ended,
      .frame =
          [this, id](const FrameDecoder::Frame& frame) {
            core_.on_frame(NodeClock::now(), id, frame.type, frame.payload, effects_);
          },
      .turn_over = [this] { finish(); },
  };
  const auto connection = std::make_shared<ClientConnection>(names_, std::move(events));
  connections_.emplace(id, connection);
  const Result<Address> address = parse_address(connect.address);
  if (address.ok()) return connection->dial(*address);
  // A member that the config names badly: as if it did not answer.
  asio::post(io_, [this, id, ended, why = address.status().detail()] {
    if (!connections_.contains(id)) return;
    ended(why);
    finish();
  });
}

void ClientThread::complete(ClientEffects::Completion completion) {
  const auto node = calls_.extract(static_cast<std::uint64_t>(completion.call));
  bool was_full = false;
  {
    const std::lock_guard lock(mutex_);
    was_full = in_flight_-- >= room_for_;
  }
  if (was_full) changed_.notify_all();
  if (const auto* done = std::get_if<ChangeDone>(&node.mapped())) {
    return (*done)(std::get<Status>(std::move(completion.answer)));
  }
  const auto& done = std::get<ValuesDone>(node.mapped());
  if (auto* values = std::get_if<Values>(&completion.answer)) return done(std::move(*values));
  done(std::get<Status>(std::move(completion.answer)));
}

void ClientThread::tell_state() {
  const bool connected = core_.connected();
  const bool usable = core_.usable();
  const bool exhausted = core_.exhausted();
  std::string trouble = usable ? std::string() : core_.trouble();
  const std::lock_guard lock(mutex_);
  if (connected == connected_ && usable == usable_ && exhausted == exhausted_ &&
      trouble == trouble_)
    return;
  connected_ = connected;
  usable_ = usable;
  exhausted_ = exhausted;
  trouble_ = std::move(trouble);
  changed_.notify_all();
}

void ClientThread::arm() {
  const Instant at = core_.deadline();
  if (at == armed_ || stopped_) return;
  armed_ = at;
  if (at == kNever) {
    timer_.cancel();
    return;
  }
  timer_.expires_at(at);
  timer_.async_wait([this](const asio::error_code& error) {
    if (error || stopped_) return;  // it may have been queued already
    armed_ = kNever;
    core_.on_tick(NodeClock::now(), effects_);
    finish();
  });
}

// ---- the end ----

void ClientThread::close() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(closed_, true)) return;
  }
  changed_.notify_all();
  asio::post(io_, [this] { stop(); });
  if (!on_own_thread()) thread_.join();
}

void ClientThread::stop() {
  drain();
  core_.stop(NodeClock::now(), effects_);
  stopped_ = true;
  finish();
  timer_.cancel();
  for (auto& [id, connection] : connections_) connection->close();
  connections_.clear();
  work_.reset();
}

Result<std::vector<std::string>> sound_seeds(const std::vector<std::string>& seeds) {
  if (seeds.empty()) return Status(Code::invalid_argument, "no seed is given: name a host:port");
  std::vector<std::string> sound;
  for (const std::string& list : seeds) {
    for (std::string& seed : split_addresses(list)) {
      const Result<Address> address = parse_address(seed);
      if (!address.ok()) return address.status();
      sound.push_back(std::move(seed));
    }
  }
  return sound;
}

// ---- the public face ----

class Client::Impl {
 public:
  explicit Impl(std::shared_ptr<ClientThread> thread) : thread_(std::move(thread)) {}
  ~Impl() { thread_->close(); }
  [[nodiscard]] const std::shared_ptr<ClientThread>& thread() const { return thread_; }

 private:
  std::shared_ptr<ClientThread> thread_;
};

Client::Client(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::~Client() = default;

Result<std::unique_ptr<Client>> Client::connect(ClientOptions options) {
  Result<std::vector<std::string>> seeds = sound_seeds(options.seeds);
  if (!seeds.ok()) return seeds.status();
  ClientSettings settings;
  settings.seeds = std::move(*seeds);
  auto thread = std::make_shared<ClientThread>(std::move(settings));
  thread->start();
  auto impl = std::make_shared<Impl>(thread);
  if (!thread->wait_connected(options.connect_timeout)) {
    return Status(Code::unavailable, thread->trouble());
  }
  return std::unique_ptr<Client>(new Client(std::move(impl)));
}

Counter Client::counter(std::string key) {
  return CounterBackend::make_counter(impl_->thread(), std::move(key));
}

}  // namespace quipu
