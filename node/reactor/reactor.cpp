#include "node/reactor/reactor.h"

#include <algorithm>
#include <asio/post.hpp>
#include <future>
#include <tuple>
#include <utility>

#include "node/base/sockets.h"
#include "node/base/start_thread.h"
#include "node/clients/resp/resp_decisions.h"
#include "protocol/check.h"

namespace quipu {
namespace {

// A clock at the edge of what is trusted may change sides at each heartbeat.
constexpr Duration kClockLogInterval = std::chrono::seconds(10);
constexpr std::chrono::milliseconds kLookForRoom{200};
constexpr std::chrono::milliseconds kSweep{100};
constexpr std::chrono::seconds kPulse{1};
constexpr std::uint64_t kMeasureDisk = 10;  // pulses

SessionLimits session_limits(const ClientPortOptions& port, std::size_t clients) {
  return {.sessions = clients,
          .request = port.request,
          .soft_output = port.soft_output,
          .soft_output_time = port.soft_output_time,
          .hard_output = port.hard_output,
          .idle = port.idle};
}

// How somebody on this machine reaches who listens there.
Address dialed_here(const Address& listens) {
  if (!is_unspecified(listens)) return listens;
  return {listens.host.find(':') == std::string::npos ? "127.0.0.1" : "::1", listens.port};
}

bool any(const Effects& effects) {
  return !effects.writes.empty() || effects.load || !effects.sends.empty() ||
         !effects.closes.empty() || !effects.replies.empty() || effects.released != Commit{} ||
         effects.restart;
}

}  // namespace

Reactor::Reactor(NodePlan plan, Log log, Random random, Events events,
                 std::shared_ptr<const TlsContext> client_tls)
    : plan_(std::move(plan)),
      log_(std::move(log)),
      random_(random),
      events_(std::move(events)),
      work_(asio::make_work_guard(io_)),
      port_(router_, {.now = [this] { finish(); }, .later = [this] { finish_later(); }}),
      all_{this},
      router_(io_, port_,
              [this](ClientId client, const Answer& answer) {
                reply(NodeClock::now(), client, answer);
              }),
      calls_(std::make_shared<LocalCalls>(io_, port_, plan_.credentials, std::move(client_tls))),
      most_clients_(connections().clients),
      sessions_(io_, port_, session_limits(plan_.client_port, most_clients_), resp(),
                random_.split()),
      links_(io_, port_, log_, random_.split(), connections().inbound_peers),
      client_listener_(io_),
      peer_listener_(io_),
      timer_(io_),
      sweep_(io_),
      retry_(io_),
      pulse_(io_) {
  // With its first socket Asio opens an epoll for it. If that cannot be, it is told here.
  const asio::ip::tcp::socket first(client_sockets_);
  sessions_.log_refused(
      [this](const std::string& address, std::uint64_t unlogged) {
        log_.warning("an authentication was refused", {{"audit", "true"},
                                                       {"port", "client"},
                                                       {"address", address},
                                                       {"unlogged", std::to_string(unlogged)}});
      },
      [this](const std::string& address, std::uint64_t unlogged, const Status& why) {
        log_.warning("a TLS handshake of a client failed",
                     {{"audit", "true"},
                      {"address", address},
                      {"why", why.detail()},
                      {"unlogged", std::to_string(unlogged)}});
      });
}

Reactor::~Reactor() { stop(); }

ConnectionLimits Reactor::connections() const {
  return connection_limits(descriptor_limit(), plan_.client_port.connections, plan_.reactors,
                           plan_.config.members.size());
}

RespSettings Reactor::resp() const {
  return resp_settings(plan_.client_port,
                       std::min(most_clients_ * plan_.reactors, plan_.client_port.connections),
                       plan_.settings.memory_limit * plan_.reactors);
}

void Reactor::set_client_limits(const ClientPortOptions& limits) {
  asio::post(io_, [this, limits] {
    ClientPortOptions& port = plan_.client_port;
    port.connections = limits.connections;
    port.idle = limits.idle;
    port.soft_output = limits.soft_output;
    port.soft_output_time = limits.soft_output_time;
    port.hard_output = limits.hard_output;
    most_clients_ = connections().clients;
    sessions_.set_limits(session_limits(port, most_clients_), resp());
  });
}

void Reactor::set_users(std::shared_ptr<const Users> users) {
  asio::post(io_, [this, users = std::move(users)] {
    const CorePort::Event event(port_);
    sessions_.set_users(users);
  });
}

void Reactor::start_with(const TlsMaterial& tls, Handshakes& handshakes) {
  if (tls.clients != nullptr) {
    accepts_ = &handshakes;
    sessions_.encrypt_by({handshakes, client_sockets_, plan_.client_port.plaintext, tls.clients});
  }
  if (tls.members != nullptr && !plan_.peer_hosts.empty())
    links_.protect_by({handshakes, plan_.peer_hosts, tls.members});
}

void Reactor::set_tls(std::shared_ptr<const TlsMaterial> tls) {
  asio::post(io_, [this, tls = std::move(tls)] {
    const CorePort::Event event(port_);
    sessions_.set_tls(tls->clients);
    links_.set_tls(tls->members);
  });
}

// ---- start ----

Status Reactor::bind() {
  if (plan_.client) {
    if (Status bound = client_listener_.bind(*plan_.client); !bound.ok()) return bound;
    std::string& known = plan_.config.members[plan_.self].client_address;
    if (known.empty() && !is_unspecified(*plan_.client)) known = client_address();
  }
  return plan_.peer ? peer_listener_.bind(*plan_.peer) : Status();
}

std::string Reactor::client_address() const {
  return client_listener_.bound() ? to_string(client_listener_.address()) : "";
}

std::string Reactor::peer_address() const {
  return peer_listener_.bound() ? to_string(peer_listener_.address()) : "";
}

void Reactor::introduce(const std::vector<Reactor*>& reactors) {
  std::vector<CoreRouter*> crossings;
  std::vector<MemberIndex> members;
  for (Reactor* const reactor : reactors) {
    crossings.push_back(&reactor->router_);
    members.push_back(reactor->plan_.self);
  }
  const std::string clients =
      reactors.front()->plan_.config.members[members.front()].client_address;
  for (std::size_t i = 0; i < reactors.size(); ++i) {
    Reactor& reactor = *reactors[i];
    reactor.all_ = reactors;
    reactor.sessions_.kill_by(
        [&reactor](ClientId asker, std::uint64_t question, const ClientFilter& which) {
          return reactor.kill(asker, question, which);
        });
    reactor.calls_->belong_to(reactors.front());
    for (std::size_t k = 0; k < reactors.size(); ++k) {
      Member& member = reactor.plan_.config.members[members[k]];
      member.client_address = clients;
      if (k != i && reactors[k]->peer_listener_.bound())
        member.peer_address = to_string(dialed_here(reactors[k]->peer_listener_.address()));
    }
    reactor.links_.set_siblings(members);
    reactor.sessions_.share_numbers(i, reactors.size());
    reactor.router_.meet(crossings, members, reactor.plan_.config, i);
  }
}

// Each reactor ends its own connections, and says how many.
std::size_t Reactor::kill(ClientId asker, std::uint64_t question, const ClientFilter& which) {
  for (Reactor* const other : all_) {
    asio::post(other->io_, [this, other, asker, question, which] {
      const CorePort::Event event(other->port_);
      const KeyCount killed{.id = question, .counters = other->sessions_.kill(which)};
      asio::post(io_, [this, asker, killed] {
        const CorePort::Event answered(port_);
        sessions_.reply(asker, killed);
      });
    });
  }
  return all_.size();
}

// The next client goes to the serving reactor that has the fewest, and room for it.
asio::io_context& Reactor::choose() {
  accepting_ = *std::ranges::min_element(all_, {}, [](const Reactor* reactor) {
    const ClientSessions& clients = reactor->sessions_;
    const bool full = clients.taken() >= reactor->most_clients_ && clients.strangers() == 0;
    return std::tuple(!reactor->router_.serving(), full, clients.taken());
  });
  return accepting_->client_sockets_;
}

void Reactor::accept(asio::ip::tcp::socket socket) {
  Reactor* const to = accepting_;
  if (to != this && to->mail_is_full()) return;
  to->sessions_.expect();
  if (to == this) return sessions_.accept(Channel(std::move(socket)));
  to->accept_later(std::move(socket));
}

// It will reject all clients that wait in its mail, so one more gets no answer.
bool Reactor::mail_is_full() const {
  return mailed_clients_ >= kMaxRejected && sessions_.taken() >= most_clients_;
}

void Reactor::accept_later(asio::ip::tcp::socket socket) {
  ++mailed_clients_;
  asio::post(io_, [this, socket = std::move(socket)]() mutable {
    --mailed_clients_;
    sessions_.accept(Channel(std::move(socket)));
  });
}

// On the thread of the handshakes. A reactor sees most TLS connections when their handshake is
// done. Those that need an error, or room, or have sent nothing yet, it sees before.
void Reactor::accept_beside(asio::ip::tcp::socket socket) {
  asio::io_context& sockets = choose();
  Reactor* const to = accepting_;
  if (to->mail_is_full()) return;
  const bool has_room = to->sessions_.taken() < to->most_clients_ && to->router_.serving();
  to->sessions_.expect();
  if (has_room && to->sessions_.take_tls(socket)) return;
  to->accept_later(moved_to(sockets, std::move(socket)));
}

Status Reactor::listen() {
  if (client_listener_.bound()) {
    if (Status listens = listen_to_clients(); !listens.ok()) return listens;
  }
  if (!peer_listener_.bound()) return {};
  return peer_listener_.start(
      [this](asio::ip::tcp::socket socket) { links_.accept(std::move(socket)); });
}

Status Reactor::listen_to_clients() {
  using asio::ip::tcp;
  if (accepts_ == nullptr) {
    return client_listener_.start([this](tcp::socket socket) { accept(std::move(socket)); },
                                  [this]() -> asio::io_context& { return choose(); });
  }
  if (Status moved = client_listener_.accept_in(accepts_->loop()); !moved.ok()) return moved;
  return client_listener_.start([this](tcp::socket socket) { accept_beside(std::move(socket)); });
}

void Reactor::start(RecoveredStore store, std::filesystem::path data) {
  data_ = std::move(data);
  storage_ = std::make_unique<StorageThread>(std::move(store.store), storage_events());
  begin(std::move(store.recovered));
  tell_health();
  thread_ = start_thread("quipu-reactor", [this] { run(); });
}

StorageThread::Events Reactor::storage_events() {
  return {
      .durable = [this](Commit commit) { asio::post(io_, [this, commit] { on_durable(commit); }); },
      .full =
          [this](const Status& status) { asio::post(io_, [this, status] { on_full(status); }); },
      .loaded =
          [this](Loaded loaded) {
            asio::post(io_, [this, loaded = std::move(loaded)] { on_loaded(loaded); });
          },
      .failed =
          [this](const Status& status) { asio::post(io_, [this, status] { fail(status); }); }};
}

void Reactor::run() {
  calls_->run_here(true);
  pulse();
  io_.run();
  calls_->run_here(false);
}

void Reactor::begin(Recovered recovered) {
  const bool waits = !recovered.room.ok();
  phase_ = waits ? Phase::waiting : Phase::serving;
  // Told here, since little may be filled before anybody looks.
  const Meta& meta = recovered.executor->meta();
  filling_ = !waits && meta.marked && meta.filled_from.empty();
  if (filling_) log_.info(kBeingFilled);
  const CorePort::Event begun(port_);
  auto core = std::make_unique<NodeCore>(NodeClock::now(), wall_now(), plan_.config, plan_.self,
                                         plan_.settings, std::move(recovered.executor),
                                         random_.split(), waits ? Service::reads : Service::all);
  core->decide_by(decider_);
  port_.set(std::move(core));
  publish_figures();
  if (waits) {
    log_.error("the disk is full: the node serves local reads, and waits for room to join",
               {{"why", recovered.room.detail()}});
    look_for_room();
  } else {
    links_.start();
  }
}

// Behind what is read.
void Reactor::look_for_room() {
  storage_->run(
      [this](Store& store) { asio::post(io_, [this, room = store.write({})] { on_room(room); }); });
}

void Reactor::on_room(const Status& room) {
  if (phase_ != Phase::waiting) return;
  if (room.code() == Code::storage_full) {
    retry_.expires_after(kLookForRoom);
    retry_.async_wait([this](const asio::error_code& error) {
      if (!error && phase_ == Phase::waiting) look_for_room();
    });
  } else if (!room.ok()) {
    fail(room);
  } else {
    log_.info("the disk has room again: the node joins");
    const Status joins(Code::unavailable, "the node joins the cluster");
    give_up_core(joins, joins);
    phase_ = Phase::recovering;
    recover_anew();
  }
}

// ---- events and effects ----

// What is done may bring new events (a link that broke while it was written to), so
// it goes on until nothing is left.
void Reactor::finish() {
  if (finishing_) return;
  finishing_ = true;
  do {
    const Instant now = NodeClock::now();
    perform(now, port_.finish_batch(now));
  } while (any(port_.effects()) || (port_.core() != nullptr && port_.core()->in_batch()));
  finishing_ = false;
  after_batch();
}

// When posted, it runs after the handlers of all sockets that are readable now.
void Reactor::finish_later() {
  if (std::exchange(finish_posted_, true)) return;
  asio::post(io_, [this] {
    finish_posted_ = false;
    const CorePort::Event last(port_);
  });
}

void Reactor::perform(Instant now, Effects effects) {
  if (!effects.writes.empty()) storage_->write(std::move(effects.writes));
  if (effects.load)
    storage_->load(port_.core()->executor().map().placement_key(), std::move(*effects.load));
  for (Effects::Send& send : effects.sends) links_.send(send.link, std::move(send.frame));
  for (const Effects::Close& close : effects.closes) links_.close(close.link, close.reason);
  for (const Effects::Reply& told : effects.replies) reply(now, told.client, told.answer);
  if (effects.released != Commit{}) {
    sessions_.on_released(now, effects.released);
    router_.on_released(effects.released);
  }
  router_.flush();  // first: a client's next question may use a link, and must come later
  links_.flush();
  sessions_.flush(now);
  if (effects.restart) restart();
}

void Reactor::reply(Instant now, ClientId client, const Answer& answer) {
  if (client == LocalCalls::kClient) return calls_->reply(now, answer);
  if (client == CoreRouter::kPendingCalls) return router_.on_pending_answer(answer);
  if (client == CoreRouter::kPartialReads) return router_.on_part(answer);
  sessions_.reply(client, answer);
}

void Reactor::after_batch() {
  tell_ready();
  if (calls_->waiting() && !sweeping_) sweep_calls();
  if (port_.core() != nullptr) {
    const bool paused = port_.core()->paused();
    if (std::exchange(paused_, paused) != paused) {
      calls_->set_paused(paused);
      router_.set_paused(paused);
    }
    links_.tell_changes();
    if (!paused && !router_.busy()) sessions_.resume();
    arm_timer();
  }
  check_stopped();
}

// A timer that fires too early is cheaper than one that is set at every batch.
void Reactor::arm_timer() {
  const Instant deadline = port_.core()->deadline();
  if (armed_ <= deadline) return;
  armed_ = deadline;
  timer_.expires_at(deadline);
  timer_.async_wait([this](const asio::error_code& error) {
    if (!error) on_timer();
  });
}

void Reactor::on_timer() {
  armed_ = kNever;
  if (port_.core() == nullptr) return;
  {
    const CorePort::Event event(port_);
    const Instant now = NodeClock::now();
    if (now >= port_.core()->deadline()) event->on_tick(now, wall_now(), event.effects());
    sessions_.on_tick(now);
    if (!router_.alone()) publish_figures();  // its clients may ask another reactor
  }
  tell_filled();
  log_clock();
}

void Reactor::publish_figures() {
  if (port_.core() == nullptr) return;
  Figures all = sessions_.figures();
  const Instant now = NodeClock::now();
  all.core = port_.core()->figures(now);
  all.requests = sessions_.requests();
  all.requests.add(calls_->requests());
  all.requests.memory_reads += router_.memory_reads();
  all.syncs = storage_->syncs();
  const Member& own = plan_.config.members[plan_.self];
  // A full disk is not measured: the storage thread waits for room.
  const bool full = all.core.store_full || phase_ == Phase::waiting;
  all.host = {.at = wall_now(),
              .client_address = own.client_address,
              .weight = own.weight,
              .memory_limit = plan_.settings.memory_limit,
              .disk_free = full ? 0 : disk_free_,
              .disk_under_way = storage_->under_way(now),
              .peer_connections = links_.size(),
              .peers_refused = links_.refused(),
              .peer_handshakes = links_.handshakes().done,
              .peer_handshakes_failed = links_.handshakes().failed};
  router_.publish(std::move(all));
}

// On the storage thread: a disk that hangs does not stop a reactor, nor the threads that look at
// figures. One measurement waits at a time.
void Reactor::measure_disk() {
  if (measuring_disk_) disk_free_.reset();  // it has not ended since the last time
  if (phase_ != Phase::serving || std::exchange(measuring_disk_, true)) return;
  storage_->run([this](Store&) {
    std::error_code failed;
    const std::filesystem::space_info space = std::filesystem::space(data_, failed);
    asio::post(io_, [this, free = failed ? std::nullopt : std::optional(space.available)] {
      measuring_disk_ = false;
      disk_free_ = free;
    });
  });
}

void Reactor::sweep_calls() {
  sweeping_ = true;
  sweep_.expires_after(kSweep);
  sweep_.async_wait([this](const asio::error_code& error) {
    sweeping_ = false;
    if (error) return;
    calls_->expire(NodeClock::now());
    if (calls_->waiting()) sweep_calls();
  });
}

// Not that it waits to be compared after a start. And the first reactor for all, since they have
// one clock.
void Reactor::log_clock() {
  if (port_.core() == nullptr || plan_.reactor != 0) return;
  const WallClock& clock = port_.core()->clock();
  const bool doubted = !clock.trusted();
  if (doubted && !clock.ahead() && port_.core()->cluster().members.size() > plan_.reactors) return;
  const Instant now = NodeClock::now();
  if (doubted == clock_doubted_ || now < log_clock_from_) return;
  clock_doubted_ = doubted;
  log_clock_from_ = now + kClockLogInterval;
  if (doubted) {
    log_.error("the clock is not trusted: nothing is done that needs a date",
               {{"why", clock.doubt()}});
  } else {
    log_.info("the clock is trusted again");
  }
}

void Reactor::tell_ready() {
  router_.set_serving(port_.core() != nullptr && port_.core()->serves_reads());
  const bool ready =
      port_.core() != nullptr && port_.core()->ready() && (ready_ || router_.acquainted());
  if (std::exchange(ready_, ready) == ready) return;
  if (ready) {
    log_.info("ready");
  } else if (port_.core() != nullptr) {
    log_.error("not ready any more", {{"why", port_.core()->state()}});
  }
  tell_health();
  events_.ready(ready);
}

// The timer of the core is no pulse: it may be 10 s apart, and rests while a store is recovered.
void Reactor::pulse() {
  tell_health();
  publish_figures();
  if (pulses_++ % kMeasureDisk == 0) measure_disk();
  pulse_.expires_after(kPulse);
  pulse_.async_wait([this](const asio::error_code& error) {
    if (!error) pulse();
  });
}

void Reactor::tell_health() {
  const bool filling = port_.core() != nullptr && port_.core()->being_filled();
  Health now{.ready = ready_ && !filling, .last_turn = NodeClock::now()};
  if (phase_ == Phase::failed) {
    now.waits_for = "the node has failed";
  } else if (port_.core() == nullptr) {
    now.waits_for = "the store is recovered";
  } else if (!now.ready) {
    now.waits_for = filling                 ? kBeingFilled
                    : port_.core()->ready() ? "waiting for the node's other reactors"
                                            : port_.core()->state();
  }
  const std::lock_guard lock(health_mutex_);
  health_ = std::move(now);
}

Reactor::Health Reactor::health() const {
  const std::lock_guard lock(health_mutex_);
  return health_;
}

// At a timer, since it visits every partition.
void Reactor::tell_filled() {
  if (port_.core() == nullptr || !port_.core()->ready()) return;
  const bool filling = port_.core()->being_filled();
  if (std::exchange(filling_, filling) == filling) return;
  tell_health();
  log_.info(filling ? kBeingFilled : "the new disk has been filled: it counts from now on");
}

void Reactor::on_durable(Commit commit) {
  if (port_.core() == nullptr) return;
  const CorePort::Event event(port_);
  event->on_durable(NodeClock::now(), commit, event.effects());
}

void Reactor::on_loaded(const Loaded& loaded) {
  if (port_.core() == nullptr) return;
  const CorePort::Event event(port_);
  event->on_loaded(NodeClock::now(), loaded, event.effects());
}

void Reactor::on_full(const Status& status) {
  if (status.ok()) {
    log_.info("the disk has room again");
  } else {
    log_.error("the disk is full: adds are refused until there is room",
               {{"why", status.detail()}});
  }
  if (port_.core() == nullptr) return;
  const CorePort::Event event(port_);
  event->on_storage_full(!status.ok());
}

// ---- restart ----

void Reactor::restart() {
  log_.warning("this disk came back from an older copy: the node takes a new identity");
  give_up_core({Code::in_doubt, "the node takes a new identity"},
               {Code::unavailable, "the node takes a new identity"});
  if (phase_ != Phase::serving) return;  // it stops: the next start takes it up
  phase_ = Phase::recovering;
  recover_anew();
}

// Behind all that the old core wrote.
void Reactor::recover_anew() {
  const ExecutorOptions options = executor_options(plan_.config, plan_.self, plan_.settings);
  storage_->run([this, options, random = random_.split()](Store& store) mutable {
    auto recovered = recover_or_read(store, plan_.owner(), options, random);
    asio::post(io_,
               [this, found = std::move(recovered)]() mutable { on_recovered(std::move(found)); });
  });
}

void Reactor::on_recovered(Result<Recovered> recovered) {
  if (phase_ != Phase::recovering) return;
  if (!recovered.ok()) return fail(recovered.status());
  begin(std::move(*recovered));
}

// Everybody who waits for the core is told; client connections are closed, since
// which of their requests it had is not known here.
void Reactor::give_up_core(const Status& changes, const Status& reads) {
  links_.stop();
  sessions_.close_all();
  port_.reset();
  timer_.cancel();
  armed_ = kNever;
  if (std::exchange(paused_, false)) calls_->set_paused(false);
  calls_->abandon(changes, reads);
  router_.publish({});
  router_.abandon(changes, reads);
  tell_ready();
}

// ---- the end ----

void Reactor::fail(const Status& status) {
  if (phase_ == Phase::failed || phase_ == Phase::stopped) return;
  log_.error("the node has failed", {{"why", status.message()}});
  calls_->close(status);
  client_listener_.close();
  peer_listener_.close();
  // Whatever is wrong, what the core was given may have been applied.
  const bool unknown = describe(status.code()).outcome == Outcome::unknown;
  give_up_core(unknown ? status : Status(Code::storage_failed, status.detail()), status);
  const bool stopping = std::exchange(phase_, Phase::failed) == Phase::stopping;
  tell_quiet();
  events_.failed(status);
  if (stopping) end_storage();
}

void Reactor::fail_too(const Status& why) {
  asio::post(io_, [this, why] { fail(why); });
}

void Reactor::begin_closing() {
  calls_->close({Code::unavailable, "the node is closed"});
  if (!thread_.joinable()) return;
  std::promise<void> done;
  asio::post(io_, [&] {
    {
      const CorePort::Event closing(port_);
      close_ports();
    }  // what clients have asked of other reactors is on its way
    done.set_value();
  });
  done.get_future().wait();
}

void Reactor::close_ports() {
  client_listener_.close();
  peer_listener_.close();
  sessions_.begin_closing();
}

void Reactor::begin_stop(Duration patience) {
  if (!thread_.joinable()) return tell_quiet();
  if (!std::exchange(stop_begun_, true))
    asio::post(io_, [this, patience] { finish_all(patience); });
}

void Reactor::stop() {
  calls_->close({Code::unavailable, "the node is closed"});
  if (!thread_.joinable()) return;
  QUIPU_CHECK(!calls_->on_own_thread(), "a reactor cannot wait for itself");
  begin_stop(kCloseNode);
  thread_.join();
}

void Reactor::finish_all(Duration patience) {
  {
    const CorePort::Event closing(port_);
    close_ports();
  }
  if (phase_ == Phase::failed) return end_storage();
  phase_ = Phase::stopping;
  stop_by_ = NodeClock::now() + patience;
  retry_.expires_at(stop_by_);
  retry_.async_wait([this](const asio::error_code& error) {
    if (!error) check_stopped();
  });
  const CorePort::Event event(port_);
  if (port_.core() != nullptr) event->begin_closing(NodeClock::now(), event.effects());
}

void Reactor::check_stopped() {
  if (phase_ != Phase::stopping) return;
  const bool quiet =
      router_.quiet() && (port_.core() == nullptr || port_.core()->quiet()) && !sessions_.ending();
  if (quiet) tell_quiet();
  const auto was_quiet = [](const Reactor* reactor) { return reactor->was_quiet_.load(); };
  const bool over = quiet && std::ranges::all_of(all_, was_quiet);
  if (!over && NodeClock::now() < stop_by_) return;
  phase_ = Phase::stopped;
  log_who_lacks_changes();
  // Not from within a batch: the storage thread's last events come first.
  asio::post(io_, [this] { end_storage(); });
}

void Reactor::log_who_lacks_changes() {
  std::string members;
  if (port_.core() == nullptr) return;
  for (const MemberIndex member : port_.core()->behind())
    members += (members.empty() ? "" : ", ") + plan_.config.members[member].name;
  if (members.empty()) return;
  log_.warning("stopped while members lack changes of this node: start it again with its data",
               {{"members", members}});
}

// Until all were, a reactor may still have to answer another, as a member.
void Reactor::tell_quiet() {
  if (was_quiet_.exchange(true)) return;
  for (Reactor* const other : all_) {
    if (other != this) asio::post(other->io_, [other] { other->check_stopped(); });
  }
}

void Reactor::end_storage() {
  phase_ = Phase::stopped;
  storage_->stop();
  asio::post(io_, [this] { end(); });
}

void Reactor::end() {
  give_up_core({Code::in_doubt, "the node was closed"}, {Code::unavailable, "the node was closed"});
  sweep_.cancel();
  retry_.cancel();
  pulse_.cancel();
  work_.reset();
  io_.stop();
}

}  // namespace quipu
