#include "node/daemon/serve.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "node/admin/admin_port.h"
#include "node/base/clock.h"
#include "node/base/start_thread.h"
#include "node/base/stderr_log.h"
#include "node/daemon/lifecycle.h"
#include "node/daemon/service_manager.h"
#include "node/settings/changed_settings.h"
#include "node/settings/variables.h"

namespace quipu {
namespace {

// A descriptor per client. The usual soft limit of 1,024 is far too low.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  static_cast<void>(::setrlimit(RLIMIT_NOFILE, &limit));
}

class Daemon {
 public:
  Daemon(Serving serving, Signals& signals)
      : serving_(std::move(serving)),
        signals_(signals),
        lines_(serving_.settings.log_format, serving_.settings.log_level),
        log_(lines_.sink()),
        lifecycle_(NodeClock::now(), {.drain_delay = serving_.settings.drain_delay,
                                      .watchdog = manager_.watchdog()}) {}

  int run();

 private:
  Status open_admin();
  [[nodiscard]] std::optional<AdminPage> page(std::string_view path);
  void open();
  [[nodiscard]] Observed look();
  void publish();
  [[nodiscard]] int complain(const Status& why) const;
  void perform(const LifecycleSteps& steps);
  void reload();
  void close(std::chrono::milliseconds patience);

  Serving serving_;
  Signals& signals_;
  const StderrLog lines_;
  const Log log_;
  const ServiceManager manager_{read_variable};
  Lifecycle lifecycle_;
  Node* running_ = nullptr;  // node_, once this thread has seen it
  bool greeted_ = false;

  std::mutex mutex_;  // for what follows
  std::unique_ptr<Node> node_;
  Status failure_;
  bool closed_ = false;
  bool has_turns_ = false;  // of lifecycle_, for the admin port's thread
  std::string not_ready_ = lifecycle_.not_ready();

  std::unique_ptr<AdminPort> admin_;  // last: its thread uses the rest
};

int Daemon::run() {
  if (Status opened = open_admin(); !opened.ok()) return complain(opened);
  std::thread opener = start_thread("quipu-open", [this] { open(); });
  std::thread closer;
  for (;;) {
    const Observed observed = look();
    const LifecycleSteps steps = lifecycle_.look(NodeClock::now(), observed);
    publish();
    perform(steps);
    if (steps.close)
      closer = start_thread("quipu-close", [this, patience = *steps.close] { close(patience); });
    if (steps.end) break;
  }
  opener.join();
  if (closer.joinable()) closer.join();
  return failure_.ok() ? 0 : complain(failure_);
}

int Daemon::complain(const Status& why) const {
  lines_.say("quipud: " + why.message() + '\n');
  return 1;
}

Status Daemon::open_admin() {
  const std::string& text = serving_.settings.admin_address;
  if (text.empty()) return {};
  auto port = AdminPort::open(*parse_address(text),  // load_settings() found it sound
                              [this](std::string_view path) { return page(path); });
  if (!port.ok()) return port.status();
  admin_ = std::move(*port);
  log_.info("serving the admin port", {{"address", to_string(admin_->address())}});
  return {};
}

// On the admin port's thread. A stuck reactor does not block it.
std::optional<AdminPage> Daemon::page(std::string_view path) {
  const std::lock_guard lock(mutex_);
  if (path == "/livez") {
    const auto silent = has_turns_ ? node_->health().since_turn : std::chrono::milliseconds(0);
    if (silent <= kStuck) return AdminPage{200, "ok\n"};
    return AdminPage{503, "a reactor has had no turn for " + std::to_string(silent.count()) +
                              " ms: restart the node\n"};
  }
  if (path != "/readyz") return {};
  return not_ready_.empty() ? AdminPage{200, "ready\n"} : AdminPage{503, not_ready_ + '\n'};
}

void Daemon::open() {
  NodeOptions options = serving_.settings.node;
  options.log = lines_.sink();
  auto opened = Node::open(std::move(options));
  Node* const node = opened.ok() ? opened->get() : nullptr;
  const auto tell = [this](const Status& failure, std::unique_ptr<Node> opened_node) {
    {
      const std::lock_guard lock(mutex_);
      if (opened_node != nullptr) node_ = std::move(opened_node);
      failure_ = failure;
    }
    signals_.wake();
  };
  tell(opened.status(), opened.ok() ? std::move(*opened) : nullptr);
  if (node != nullptr) tell(node->wait(), nullptr);
}

// Waits until there is something to look at.
Observed Daemon::look() {
  const Instant now = NodeClock::now();
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(
      std::max(lifecycle_.next_look(now) - now, Duration{}));
  Observed observed{.wish = signals_.wait(wait)};
  const std::lock_guard lock(mutex_);
  observed.opened = node_ != nullptr;
  observed.failed = !failure_.ok();
  observed.closed = closed_;
  running_ = node_.get();
  if (running_ != nullptr) observed.health = running_->health();
  return observed;
}

void Daemon::publish() {
  {
    const std::lock_guard lock(mutex_);
    has_turns_ = lifecycle_.has_turns();
    not_ready_ = lifecycle_.not_ready();
  }
  if (admin_ != nullptr) admin_->sweep(NodeClock::now());
}

void Daemon::perform(const LifecycleSteps& steps) {
  for (const std::string& message : steps.notify) manager_.tell(message);
  if (steps.reload) reload();
  for (const std::string& message : steps.after_reload) manager_.tell(message);
  if (steps.drain)
    log_.info("draining", {{"delay_ms", std::to_string(serving_.settings.drain_delay.count())}});
  if (running_ != nullptr && serving_.greet && !std::exchange(greeted_, true))
    lines_.say(serving_.greet(*running_));
}

// Applies what a reload may change, and names what needs a restart. Settings with an error change
// nothing.
void Daemon::reload() {
  if (!serving_.read_again) return;
  const LoadedSettings loaded = serving_.read_again();
  for (const std::string& error : loaded.errors)
    log_.error("the settings were not reloaded", {{"why", error}});
  if (!loaded.errors.empty()) return;
  const auto changed = changed_settings(serving_.settings, loaded.settings);
  if (changed.empty()) log_.info("the settings were reloaded, and none has changed");
  for (const ChangedSetting& one : changed) {
    if (one.reloads) {
      log_.info("a setting was reloaded", {{"setting", one.key}, {"value", one.value}});
    } else {
      log_.warning("a changed setting needs a restart", {{"setting", one.key}});
    }
  }
  take_reloaded(serving_.settings, loaded.settings);
  lines_.set_least(serving_.settings.log_level);
  const Status set = running_->set_client_limits(serving_.settings.node.client_port);
  if (!set.ok()) log_.error("the settings were not reloaded", {{"why", set.message()}});
}

void Daemon::close(std::chrono::milliseconds patience) {
  const Status ended = running_->close(patience);
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    failure_ = ended;
  }
  signals_.wake();
}

}  // namespace

int serve(Serving serving, Signals& signals) {
  raise_descriptor_limit();
  return Daemon(std::move(serving), signals).run();
}

}  // namespace quipu
