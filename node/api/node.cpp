// quipu::Node: opens the parts of a node, those that fail cheaply first.
//
//   options ─▶ plan ─▶ directory locked ─▶ ports bound ─▶ store recovered ─▶ threads
//
// All reactors finish a step before the next step begins.
#include "quipu/node.h"

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "node/api/figure_families.h"
#include "node/base/entropy.h"
#include "node/base/file_stamp.h"
#include "node/base/start_thread.h"
#include "node/base/ticker.h"
#include "node/disk/data_directory.h"
#include "node/reactor/node_plan.h"
#include "node/reactor/reactor.h"
#include "node/reactor/store_settings.h"
#include "node/remote/cluster_survey.h"
#include "node/tls/client_tls_files.h"
#include "node/tls/handshakes.h"
#include "node/tls/tls_files.h"
#include "node/users/users_file.h"

namespace quipu {
namespace {

// Reactors that reject each other would wait for each other for ever.
Status check_room(const NodePlan& plan) {
  if (plan.reactors == 1) return {};
  const std::size_t members = plan.config.members.size();
  const ConnectionLimits limits =
      connection_limits(descriptor_limit(), plan.client_port.connections, plan.reactors, members);
  const bool room_for_clients = limits.clients > 0 || !plan.client;
  if (room_for_clients && limits.inbound_peers + 1 >= members) return {};
  return {Code::cannot_start, "this process may open " + std::to_string(descriptor_limit()) +
                                  " files, too few for " + std::to_string(plan.reactors) +
                                  " reactors: raise the limit (ulimit -n), or have fewer"};
}

// Nothing: the node has no such file.
template <class File>
std::optional<Wall> read_at(const File* file) {
  return file == nullptr ? std::nullopt : std::optional(file->read_at());
}

}  // namespace

class Node::Impl {
 public:
  explicit Impl(Log log) : log_(std::move(log)) {}
  ~Impl() { stop(kCloseNode); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Status start(const NodeOptions& options);
  Status set_client_limits(const ClientPortOptions& limits);
  Status reload();
  [[nodiscard]] Status may_observe(std::string_view user, std::string_view secret) const;
  Status close(std::chrono::milliseconds patience);
  Status wait();
  bool wait_ready(std::chrono::milliseconds timeout);

  [[nodiscard]] NodeHealth health() const;
  [[nodiscard]] std::vector<FigureFamily> figures() const;
  [[nodiscard]] std::vector<MemberStatus> own_status() const;

  // Both filled in once, before the threads start.
  [[nodiscard]] const std::string& client_address() const { return client_address_; }
  [[nodiscard]] const std::string& peer_address() const { return peer_address_; }
  [[nodiscard]] std::vector<std::shared_ptr<CounterBackend>> backends() const;
  [[nodiscard]] bool on_own_thread() const;
  void close_calls();

 private:
  // A reactor with its resources and its last reports.
  struct Unit {
    Unit(NodePlan plan, std::shared_ptr<const TlsContext> client_tls, std::string settings_in_words,
         DataDirectory locked, const Log& log, Random random, Reactor::Events events)
        : owner(plan.owner()),
          settings(std::move(settings_in_words)),
          executor_options(quipu::executor_options(plan.config, plan.self, plan.settings)),
          directory(std::move(locked)),
          reactor(std::move(plan), log, random, std::move(events), std::move(client_tls)) {}

    // Reports that other settings made the store, rather than that hashes differ.
    [[nodiscard]] Status explain(const Status& why) const;

    const StoreOwner owner;
    const std::string settings;  // in words
    const ExecutorOptions executor_options;
    const DataDirectory directory;  // locked longer than any user of it
    bool ready = false;
    Reactor reactor;  // last: its threads use the rest
  };

  Status plan(const NodeOptions& options);
  Status bind();
  Status read_users(const std::string& path);
  Status read_tls(const NodeOptions& options);
  void look_at_files();
  void stop(std::chrono::milliseconds patience);
  [[nodiscard]] bool is_closed();
  void on_ready(std::size_t reactor, bool ready);
  void on_failed(const Status& why);

  const Log log_;
  Random random_ = random_from_system();
  std::string client_address_;
  std::string peer_address_;
  std::string settings_digest_;

  std::mutex closing_;  // one close() at a time; the second finds nothing to do
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool closed_ = false;
  Status failure_;

  std::unique_ptr<Handshakes> handshakes_;    // null: no TLS. The ports of units_ may be its
  std::vector<std::unique_ptr<Unit>> units_;  // their threads use the rest
  // Null: there is none. They call the reactors.
  std::unique_ptr<UsersFile> users_;
  std::unique_ptr<TlsFiles> tls_;
  std::unique_ptr<Ticker> files_;  // looks at them
};

Status Node::Impl::plan(const NodeOptions& options) {
  settings_digest_ = settings_digest(options);
  const auto client_tls = read_client_tls(options.client_tls);
  if (!client_tls.ok()) return client_tls.status();
  const auto of_reactor = [&](std::size_t i) {
    return options.reactors == 1 ? log_ : log_.with({"reactor", std::to_string(i)});
  };
  for (std::size_t i = 0; i < std::max<std::size_t>(options.reactors, 1); ++i) {
    Result<NodePlan> plan = plan_node(options, i);
    if (!plan.ok()) return plan.status();
    if (Status room = check_room(*plan); !room.ok()) return room;
    std::filesystem::path path = options.data_directory;
    if (i > 0) path /= "reactor-" + std::to_string(i);
    Result<DataDirectory> directory = DataDirectory::lock(path);
    if (!directory.ok()) return directory.status();
    units_.push_back(std::make_unique<Unit>(
        *plan, *client_tls, store_settings(options, *plan), std::move(*directory), of_reactor(i),
        random_.split(),
        Reactor::Events{.ready = [this, i](bool ready) { on_ready(i, ready); },
                        .failed = [this](const Status& why) { on_failed(why); }}));
  }
  return {};
}

Status Node::Impl::Unit::explain(const Status& why) const {
  const std::string foreign = why_foreign(directory.path(), settings);
  if (why.code() != Code::cannot_start || foreign.empty()) return why;
  return {Code::cannot_start, foreign};
}

Status Node::Impl::bind() {
  std::vector<Reactor*> reactors;
  for (const auto& unit : units_) {
    if (Status bound = unit->reactor.bind(); !bound.ok()) return bound;
    reactors.push_back(&unit->reactor);
  }
  Reactor::introduce(reactors);
  client_address_ = reactors.front()->client_address();
  peer_address_ = reactors.front()->peer_address();
  return {};
}

Status Node::Impl::read_users(const std::string& path) {
  if (path.empty()) return {};
  auto file = UsersFile::open(path, log_, [this](const std::shared_ptr<const Users>& users) {
    for (const auto& unit : units_) unit->reactor.set_users(users);
  });
  if (!file.ok()) return file.status();
  users_ = std::move(*file);
  for (const auto& unit : units_) unit->reactor.start_with(users_->users());
  return {};
}

Status Node::Impl::read_tls(const NodeOptions& options) {
  const TlsPaths paths = tls_paths(options);
  if (!paths.any()) return {};
  auto files = TlsFiles::open(paths, log_);
  if (!files.ok()) return files.status();
  tls_ = std::move(*files);
  tls_->on_change([this](const TlsFiles::Material& tls) {
    for (const auto& unit : units_) unit->reactor.set_tls(tls);
  });
  handshakes_ = std::make_unique<Handshakes>();
  for (const auto& unit : units_) unit->reactor.start_with(*tls_->material(), *handshakes_);
  return {};
}

void Node::Impl::look_at_files() {
  if (users_ != nullptr) users_->look();
  if (tls_ != nullptr) tls_->look(NodeClock::now());
}

// All files, whatever the others are.
Status Node::Impl::reload() {
  const Status users = users_ == nullptr ? Status() : users_->read_again();
  const Status tls = tls_ == nullptr ? Status() : tls_->read_again(NodeClock::now());
  return users.ok() ? tls : users;
}

Status Node::Impl::may_observe(std::string_view user, std::string_view secret) const {
  return users_ == nullptr ? Status() : users_->users()->may_observe(user, secret);
}

// Recovers all stores before any reactor serves.
Status Node::Impl::start(const NodeOptions& options) {
  if (Status planned = plan(options); !planned.ok()) return planned;
  if (Status read = read_users(options.users_file); !read.ok()) return read;
  if (Status read = read_tls(options); !read.ok()) return read;
  if (Status bound = bind(); !bound.ok()) return bound;
  const Rebuild asked = units_.size() == 1 ? Rebuild::yes : Rebuild::what_is_lost;
  const Rebuild rebuild = options.rebuild ? asked : Rebuild::no;
  std::vector<RecoveredStore> stores;
  for (const auto& unit : units_) {
    auto recovered = recover_directory(unit->directory, unit->owner, unit->executor_options,
                                       rebuild, random_, log_);
    if (!recovered.ok()) return unit->explain(recovered.status());
    // Only for people, so it may fail.
    if (recovered->recovered.room.ok()) (void)unit->directory.remember(unit->settings);
    const Executor& executor = *recovered->recovered.executor;
    log_.info("store recovered", {{"store", unit->directory.store().string()},
                                  {"shards", std::to_string(executor.map().ledger().size())},
                                  {"commit", std::to_string(raw(executor.sealed()))}});
    stores.push_back(std::move(*recovered));
  }
  for (const auto& unit : units_) {
    if (Status listens = unit->reactor.listen(); !listens.ok()) return listens;
  }
  for (std::size_t i = 0; i < units_.size(); ++i) {
    units_[i]->reactor.start(std::move(stores[i]), units_[i]->directory.path());
  }
  if (users_ != nullptr || tls_ != nullptr)
    files_ = std::make_unique<Ticker>("quipu-files", kLookAtFiles, [this] { look_at_files(); });
  log_.info("serving", {{"clients", client_address_}, {"peers", peer_address_}});
  return {};
}

std::vector<std::shared_ptr<CounterBackend>> Node::Impl::backends() const {
  std::vector<std::shared_ptr<CounterBackend>> all;
  for (const auto& unit : units_) all.push_back(unit->reactor.calls());
  return all;
}

bool Node::Impl::on_own_thread() const {
  return std::ranges::any_of(
      units_, [](const auto& unit) { return unit->reactor.calls()->on_own_thread(); });
}

void Node::Impl::close_calls() {
  for (const auto& unit : units_)
    unit->reactor.calls()->close({Code::unavailable, "the node is closed"});
}

bool Node::Impl::is_closed() {
  const std::lock_guard lock(mutex_);
  return closed_;
}

void Node::Impl::on_ready(std::size_t reactor, bool ready) {
  {
    const std::lock_guard lock(mutex_);
    units_[reactor]->ready = ready;
  }
  changed_.notify_all();
}

// A node with only some of its reactors would answer for only some of its counters.
void Node::Impl::on_failed(const Status& why) {
  {
    const std::lock_guard lock(mutex_);
    if (!failure_.ok()) return;
    failure_ = why;
  }
  for (const auto& unit : units_) unit->reactor.fail_too(why);
  changed_.notify_all();
}

// In steps, since a reactor answers clients of the others.
void Node::Impl::stop(std::chrono::milliseconds patience) {
  for (const auto& unit : units_) unit->reactor.begin_closing();
  for (const auto& unit : units_) unit->reactor.begin_stop(patience);
  for (const auto& unit : units_) unit->reactor.stop();
  if (handshakes_ != nullptr) handshakes_->stop();
}

NodeHealth Node::Impl::health() const {
  NodeHealth all{.ready = true};
  Instant oldest = NodeClock::now();
  for (const auto& unit : units_) {
    Reactor::Health one = unit->reactor.health();
    if (!one.ready && all.ready) all.waits_for = std::move(one.waits_for);
    all.ready = all.ready && one.ready;
    oldest = std::min(oldest, one.last_turn);
  }
  all.since_turn = std::chrono::floor<std::chrono::milliseconds>(NodeClock::now() - oldest);
  return all;
}

std::vector<MemberStatus> Node::Impl::own_status() const {
  std::vector<MemberStatus> members;
  for (const auto& unit : units_) {
    const Figures one = unit->reactor.figures();
    if (one.status.node == NodeId{}) continue;
    MemberStatus& member = members.emplace_back();
    member.name = one.status.name;
    member.client_address = one.host.client_address;
    member.weight = one.host.weight;
    take_status(member, one.status);
  }
  return members;
}

std::vector<FigureFamily> Node::Impl::figures() const {
  std::vector<Figures> reactors;
  for (const auto& unit : units_) {
    Figures one = unit->reactor.figures();
    if (one.status.node != NodeId{}) reactors.push_back(std::move(one));
  }
  // While one has no core, totals of the others would look as if the node had started anew.
  if (reactors.size() < units_.size()) reactors.clear();
  bool failed = false;
  {
    const std::lock_guard lock(mutex_);
    failed = !failure_.ok();
  }
  return figure_families({.ready = health().ready,
                          .failed = failed,
                          .settings = settings_digest_,
                          .users = users_ == nullptr ? "" : users_->users()->digest(),
                          .users_refused = users_ == nullptr ? 0 : users_->refused(),
                          .tls_refused = tls_ == nullptr ? 0 : tls_->refused(),
                          .users_read = read_at(users_.get()),
                          .tls_read = read_at(tls_.get()),
                          .expiries = tls_ == nullptr ? std::vector<TlsMaterial::Expiry>()
                                                      : tls_->material()->expiries},
                         reactors);
}

Status Node::Impl::set_client_limits(const ClientPortOptions& limits) {
  if (Status checked = check_client_port(limits); !checked.ok()) return checked;
  for (const auto& unit : units_) unit->reactor.set_client_limits(limits);
  return {};
}

Status Node::Impl::close(std::chrono::milliseconds patience) {
  if (on_own_thread())
    return {Code::would_deadlock, "close() was called in the node's own callback"};
  const std::lock_guard one_at_a_time(closing_);
  const bool already = is_closed();
  if (!already) log_.info("closing");
  stop(patience);
  if (!already) log_.info("closed");
  Status failure;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    failure = failure_;
  }
  changed_.notify_all();
  return failure;
}

Status Node::Impl::wait() {
  if (on_own_thread())
    return {Code::would_deadlock, "wait() was called in the node's own callback"};
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return closed_ || !failure_.ok(); });
  return failure_;
}

bool Node::Impl::wait_ready(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  const auto ready = [this] {
    return std::ranges::all_of(units_, [](const auto& unit) { return unit->ready; });
  };
  const auto decided = [&] { return ready() || closed_ || !failure_.ok(); };
  if (!on_own_thread()) changed_.wait_for(lock, clamp_timeout(timeout), decided);
  return ready();
}

Node::Node(std::shared_ptr<Impl> impl) : Counters(impl->backends()), impl_(std::move(impl)) {}

// The node's own thread cannot join itself.
Node::~Node() {
  if (!impl_->on_own_thread()) {
    static_cast<void>(close());
    return;
  }
  impl_->close_calls();
  start_thread("quipu-close", [impl = std::move(impl_)] {
    static_cast<void>(impl->close(kCloseNode));
  }).detach();
}

Result<std::unique_ptr<Node>> Node::open(NodeOptions options) {
  const auto impl = std::make_shared<Impl>(Log(std::move(options.log)));
  if (Status started = impl->start(options); !started.ok()) return started;
  return std::unique_ptr<Node>(new Node(impl));
}

bool Node::wait_ready(std::chrono::milliseconds timeout) { return impl_->wait_ready(timeout); }
NodeHealth Node::health() const { return impl_->health(); }
std::vector<MemberStatus> Node::own_status() const { return impl_->own_status(); }
std::vector<FigureFamily> Node::figures() const { return impl_->figures(); }
std::string Node::client_address() const { return impl_->client_address(); }
std::string Node::peer_address() const { return impl_->peer_address(); }
Status Node::reload() { return impl_->reload(); }

Status Node::may_observe(std::string_view user, std::string_view secret) const {
  return impl_->may_observe(user, secret);
}

Status Node::set_client_limits(const ClientPortOptions& limits) {
  return impl_->set_client_limits(limits);
}
Status Node::close(std::chrono::milliseconds patience) {
  return impl_->close(clamp_timeout(patience));
}
Status Node::wait() { return impl_->wait(); }

}  // namespace quipu
