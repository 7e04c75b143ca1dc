#include "node/api/client.h"

#include <algorithm>
#include <asio/post.hpp>
#include <utility>

#include "node/base/entropy.h"
#include "node/base/start_thread.h"
#include "node/tls/client_tls_files.h"
#include "protocol/check.h"

namespace quipu {
namespace {

ClientCore::Change to_change(CounterChange&& change) {
  return {.key = std::move(change.key),
          .amount = change.amount,
          .ack = change.ack,
          .timeout = std::min(change.timeout, kLongestTimeout),
          .affinity = change.affinity,
          .ttl = change.ttl,
          .at_ms = change.at_ms,
          .counter = change.counter,
          .words = std::move(change.words),
          .items = std::move(change.items),
          .ticket = change.ticket,
          .bound = change.bound == nullptr ? std::nullopt : std::optional(*change.bound)};
}

ClientSettings with_journal(ClientSettings settings, const ClientJournal* journal) {
  settings.journaled = journal != nullptr;
  return settings;
}

}  // namespace

ClientThread::ClientThread(const ClientSettings& settings, ClientConnection::Tls tls,
                           ClientJournal* journal)
    : work_(asio::make_work_guard(io_)),
      timer_(io_),
      names_(io_),
      journal_(journal),
      core_(with_journal(settings, journal), random_from_system()),
      seeds_(settings.seeds),
      credentials_(settings.credentials),
      tls_(std::move(tls)),
      room_for_(settings.max_in_flight),
      trouble_(core_.trouble()) {}

// The last reference may be dropped in a callback, on the client's own thread.
ClientThread::~ClientThread() {
  if (thread_.joinable()) thread_.detach();
}

void ClientThread::start() {
  auto self = std::static_pointer_cast<ClientThread>(shared_from_this());
  thread_ = start_thread("quipu-client", [self = std::move(self)] { self->run(); });
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
    return connected_ || closed_ || rejected_;
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

Status ClientThread::trouble() const {
  const std::lock_guard lock(mutex_);
  return {rejected_ ? Code::unauthenticated : Code::unavailable, trouble_};
}

// ---- calls ----

Status ClientThread::admit(std::size_t calls) const {
  if (closed_) return {Code::unavailable, "the client is closed"};
  if (in_flight_ + calls > room_for_)
    return {Code::overloaded, std::to_string(room_for_) + " calls are waiting already"};
  return {};
}

void ClientThread::begin(std::span<CounterCall> calls) {
  Status refused;
  std::size_t taken = 0;
  {
    const std::lock_guard lock(mutex_);
    for (; taken < calls.size(); ++taken) {
      refused = admit();
      if (!refused.ok()) break;
      queued_.push_back(std::move(calls[taken]));
      ++in_flight_;
    }
    if (taken > 0 && !std::exchange(woken_, true)) asio::post(io_, [this] { drain(); });
  }
  for (const CounterCall& call : calls.subspan(taken)) refuse(call, refused, refused);
}

std::chrono::milliseconds ClientThread::wait_for_room(std::chrono::milliseconds timeout,
                                                      std::size_t calls) {
  std::unique_lock lock(mutex_);
  const auto may_go = [this, calls] { return admit(calls).code() != Code::overloaded; };
  if (may_go()) return timeout;
  const Instant began = NodeClock::now();
  ++wanting_;
  changed_.wait_for(lock, clamp_timeout(timeout), may_go);
  --wanting_;
  const auto waited = std::chrono::ceil<std::chrono::milliseconds>(NodeClock::now() - began);
  return std::max(timeout - waited, std::chrono::milliseconds(1));
}

bool ClientThread::on_own_thread() const { return thread_id_.load() == std::this_thread::get_id(); }

void ClientThread::drain() {
  std::vector<CounterCall> calls = std::move(spare_);
  {
    const std::lock_guard lock(mutex_);
    calls.swap(queued_);
    woken_ = false;
  }
  for (CounterCall& call : calls) give(std::move(call));
  calls.clear();
  if (calls.capacity() <= kKeptCalls) spare_ = std::move(calls);
  finish();
}

// The core gets the key. The rest waits for its answer.
void ClientThread::give(CounterCall&& given) {
  const Instant now = NodeClock::now();
  const CallId id{next_call_++};
  CounterCall& call =
      calls_.emplace(static_cast<std::uint64_t>(id), std::move(given)).first->second;
  if (auto* wanted = std::get_if<ChangeCall>(&call))
    return change(now, id, std::move(wanted->change));
  if (const WantedRead wanted = read_in(call); !wanted.keys.empty()) {
    return core_.read(now, id,
                      {.keys = {wanted.keys.begin(), wanted.keys.end()},
                       .level = wanted.level,
                       .timeout = std::min(wanted.timeout, kLongestTimeout)},
                      effects_);
  }
  if (const auto* query = std::get_if<QueryCall>(&call)) {
    const QueryQuestion& ask = query->question;
    return core_.query(now, id, ask.request(0, 0), ask.items,
                       std::min(ask.timeout, kLongestTimeout), effects_);
  }
  if (const auto* range = std::get_if<RangeCall>(&call)) {
    const RangeQuestion& ask = range->question;
    return core_.range(now, id, ask.request(0, 0), std::min(ask.timeout, kLongestTimeout),
                       effects_);
  }
  if (const auto* list = std::get_if<ListCall>(&call)) {
    const ListQuestion& ask = list->question;
    return core_.list(now, id,
                      {ask.prefix, ask.cursor, ask.limit, std::min(ask.timeout, kLongestTimeout)},
                      effects_);
  }
  if (const auto* names = std::get_if<NamespaceCall>(&call)) {
    const NamespaceQuestion& ask = names->question;
    return core_.namespaces(now, id, ask.request(0, 0), std::min(ask.timeout, kLongestTimeout),
                            effects_);
  }
  const auto left =
      std::chrono::floor<std::chrono::milliseconds>(std::get<StatusCall>(call).deadline - now);
  core_.config(now, id, clamp_timeout(left), effects_);
}

void ClientThread::change(Instant now, CallId id, CounterChange&& change) {
  switch (change.kind) {
    case OpKind::apply:
      return core_.apply(now, id, to_change(std::move(change)), effects_);
    case OpKind::reset:
      return core_.reset(now, id, to_change(std::move(change)), effects_);
    case OpKind::expire:
      return core_.expire(now, id, to_change(std::move(change)), effects_);
    case OpKind::raise:
      return core_.raise(now, id, to_change(std::move(change)), effects_);
    default:
      return core_.add(now, id, to_change(std::move(change)), effects_);
  }
}

// ---- effects ----

void ClientThread::finish() {
  // A completion may lead to calls, but those are queued. A connection that is dialed or closed
  // here calls back later, if at all.
  ClientEffects effects = std::exchange(effects_, {});
  if (!keep(effects)) effects.sends.clear();
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

bool ClientThread::keep(const ClientEffects& effects) {
  if (journal_ == nullptr) return true;
  for (const ClientJournalEntry& entry : effects.journal) journal_->note(entry);
  return effects.sends.empty() || journal_->sync();
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
  const auto connection = std::make_shared<ClientConnection>(names_, tls_, std::move(events));
  connections_.emplace(id, connection);
  const Result<Address> address = parse_address(connect.address);
  if (address.ok()) return connection->dial(*address);
  // The config has an invalid address for this member: treat it as silent.
  asio::post(io_, [this, id, ended, why = address.status().detail()] {
    if (!connections_.contains(id)) return;
    ended(why);
    finish();
  });
}

void ClientThread::leave() {
  bool wanted = false;
  {
    const std::lock_guard lock(mutex_);
    --in_flight_;
    wanted = wanting_ > 0;
  }
  if (wanted) changed_.notify_all();
}

void ClientThread::complete(ClientEffects::Completion completion) {
  auto node = calls_.extract(static_cast<std::uint64_t>(completion.call));
  CounterCall& call = node.mapped();
  const auto* config = std::get_if<std::shared_ptr<const ConfigReply>>(&completion.answer);
  auto* status = std::get_if<StatusCall>(&call);
  if (config != nullptr && status != nullptr)
    return ask_members(completion.call, std::move(*status), **config);
  leave();
  if (auto* ended = std::get_if<Status>(&completion.answer)) {
    answer(call, std::move(*ended), completion.total);
  } else if (const auto* values = std::get_if<Values>(&completion.answer)) {
    answer(call, *values);
  } else if (auto* query = std::get_if<QueryReply>(&completion.answer)) {
    answer(call, std::move(*query));
  } else if (auto* range = std::get_if<RangeReply>(&completion.answer)) {
    answer(call, std::move(*range));
  } else if (auto* keys = std::get_if<Keys>(&completion.answer)) {
    answer(call, std::move(*keys));
  } else if (auto* names = std::get_if<NamespaceReply>(&completion.answer)) {
    answer(call, std::move(*names));
  } else {
    QUIPU_CHECK(false, "this answer belongs to a status call");
  }
}

void ClientThread::ask_members(CallId id, StatusCall call, const ConfigReply& config) {
  if (surveys_.size() >= kMaxStatusCalls) {
    leave();
    return call.done(Status(Code::overloaded, "too many questions for the status are under way"));
  }
  const auto done = [this, id](ClusterStatus status) {
    const auto node = surveys_.extract(id);
    leave();
    node.mapped().call.done(std::move(status));
  };
  ClusterSurvey::Question question{.config = config,
                                   .addresses = seeds_,
                                   .credentials = credentials_,
                                   .tls = tls_,
                                   .deadline = call.deadline};
  const auto survey = std::make_shared<ClusterSurvey>(io_, std::move(question), done);
  surveys_.emplace(id, Survey{std::move(call), survey});
  survey->start();
}

void ClientThread::tell_state() {
  const bool connected = core_.connected();
  const bool usable = core_.usable();
  const bool exhausted = core_.exhausted();
  const std::optional<Status> rejection = core_.rejection();
  const bool rejected = rejection.has_value();
  std::string trouble = rejected ? rejection->detail() : usable ? "" : core_.trouble();
  const std::lock_guard lock(mutex_);
  if (connected == connected_ && usable == usable_ && exhausted == exhausted_ &&
      rejected == rejected_ && trouble == trouble_)
    return;
  connected_ = connected;
  usable_ = usable;
  exhausted_ = exhausted;
  rejected_ = rejected;
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
  for (auto& [id, asked] : std::exchange(surveys_, {})) {
    asked.survey->cancel();
    leave();
    asked.call.done(Status(Code::unavailable, "the client was closed"));
  }
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

Client::Client(std::shared_ptr<Impl> impl) : Counters({impl->thread()}), impl_(std::move(impl)) {}
Client::~Client() = default;

Result<std::unique_ptr<Client>> Client::connect(const ClientOptions& options) {
  Result<std::vector<std::string>> seeds = sound_seeds(options.seeds);
  if (!seeds.ok()) return seeds.status();
  ClientSettings settings;
  settings.seeds = std::move(*seeds);
  settings.credentials = options.credentials;
  auto tls = read_client_tls(options.tls);
  if (!tls.ok()) return tls.status();
  auto thread = std::make_shared<ClientThread>(settings, std::move(*tls));
  thread->start();
  auto impl = std::make_shared<Impl>(thread);
  if (!thread->wait_connected(options.connect_timeout)) {
    return thread->trouble();
  }
  return std::unique_ptr<Client>(new Client(std::move(impl)));
}

}  // namespace quipu
