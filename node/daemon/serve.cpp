#include "node/daemon/serve.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <iterator>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "node/admin/admin_port.h"
#include "node/admin/loopback_host.h"
#include "node/admin/metrics_text.h"
#include "node/admin/status_json.h"
#include "node/api/figure_families.h"
#include "node/base/clock.h"
#include "node/base/file_stamp.h"
#include "node/base/start_thread.h"
#include "node/base/stderr_log.h"
#include "node/daemon/lifecycle.h"
#include "node/daemon/systemd_notify.h"
#include "node/settings/changed_settings.h"
#include "node/settings/variables.h"
#include "node/tls/tls_files.h"
#include "node/users/refusal_log.h"
#include "node/users/users_file.h"

namespace quipu {
namespace {

// Marks lines about what an operator has done.
const LogField kAudit{"audit", "true"};

// To the family of that name, or as a new one: a counter.
void add_sample(std::vector<FigureFamily>& families, const std::string& name, const char* help,
                FigureSample sample) {
  const auto at = std::ranges::find(families, name, &FigureFamily::name);
  if (at != families.end()) return at->samples.push_back(std::move(sample));
  families.push_back({name, help, FigureKind::counter, {std::move(sample)}});
}

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
        lines_(serving_.settings.log_format, serving_.settings.log_level,
               reader_of(STDERR_FILENO, read_variable("JOURNAL_STREAM"))),
        log_(lines_.sink()),
        lifecycle_(NodeClock::now(), {.drain_delay = serving_.settings.drain_delay,
                                      .watchdog = systemd_.watchdog()}) {}

  int run();

 private:
  Status read_users();
  Status open_admin();
  void renew_admin(const TlsMaterial& tls);
  [[nodiscard]] std::optional<AdminPage> page(const AdminRequest& request);
  [[nodiscard]] std::optional<AdminPage> refuse(const AdminRequest& request);
  [[nodiscard]] std::optional<AdminPage> refuse_user(const AdminRequest& request);
  [[nodiscard]] Node* node();
  [[nodiscard]] AdminPage status();
  [[nodiscard]] AdminPage metrics();
  [[nodiscard]] FigureFamily log_lines() const;
  void open();
  [[nodiscard]] Observed look();
  void publish();
  [[nodiscard]] int complain(const Status& why) const;
  void perform(const LifecycleSteps& steps);
  void reload();
  void close(Node& node, std::chrono::milliseconds patience);

  Serving serving_;
  Signals& signals_;
  const StderrLog lines_;
  const Log log_;
  SystemdNotify systemd_{read_variable};
  Lifecycle lifecycle_;
  const bool insecure_ = serving_.settings.node.insecure;
  const bool open_metrics_ = serving_.settings.open_metrics;
  std::shared_ptr<const Users> first_users_;  // at the start; null: there is no users file
  std::atomic<std::uint64_t> auth_failures_{0};
  RefusalLog refusals_;  // of the admin port's thread
  const std::string settings_digest_ = settings_digest(serving_.settings.node);
  Node* running_ = nullptr;  // node_, once this thread has seen it
  bool greeted_ = false;

  std::mutex mutex_;  // for what follows
  std::unique_ptr<Node> node_;
  Status failure_;
  bool closed_ = false;
  bool draining_ = false;  // as lifecycle_ says, like the next two
  std::string stuck_;      // for the admin port's thread
  std::string not_ready_ = lifecycle_.not_ready();

  std::unique_ptr<AdminPort> admin_;  // its thread uses the rest
  // The same files as the node's, for the admin port. The node logs what is wrong with them. Null:
  // plain text.
  std::unique_ptr<TlsFiles> admin_tls_;
  Instant look_at_files_{};
};

int Daemon::run() {
  if (Status read = read_users(); !read.ok()) return complain(read);
  if (Status opened = open_admin(); !opened.ok()) return complain(opened);
  std::thread opener = start_thread("quipu-open", [this] { open(); });
  std::thread closer;
  for (;;) {
    const Observed observed = look();
    const LifecycleSteps steps = lifecycle_.look(NodeClock::now(), observed);
    publish();
    perform(steps);
    if (steps.close) {
      const auto end = [this, &node = *running_, patience = *steps.close] {
        close(node, patience);
      };
      try {
        closer = start_thread("quipu-close", end);
      } catch (const std::system_error&) {  // no thread is left
        end();
      }
    }
    if (steps.end) break;
  }
  opener.join();
  if (closer.joinable()) closer.join();
  return failure_.ok() ? 0 : complain(failure_);
}

int Daemon::complain(const Status& why) const {
  // As --check-config says it: what is wrong with a file or a setting is no request.
  const bool about_settings = why.code() == Code::invalid_argument;
  lines_.complain("quipud: " + (about_settings ? why.detail() : why.message()) + '\n');
  return 1;
}

Status Daemon::read_users() {
  const std::string& path = serving_.settings.node.users_file;
  if (path.empty()) return {};
  auto users = read_users_file(path);
  if (users.ok()) first_users_ = *users;
  return users.status();
}

Status Daemon::open_admin() {
  const std::string& text = serving_.settings.admin_address;
  if (text.empty()) return {};
  std::optional<KeyPair> tls;
  if (!serving_.settings.node.tls_certificate.empty()) {
    auto files = TlsFiles::open({.certificate = serving_.settings.node.tls_certificate,
                                 .key = serving_.settings.node.tls_key},
                                Log());
    if (!files.ok()) return files.status();
    admin_tls_ = std::move(*files);
    admin_tls_->on_change([this](const TlsFiles::Material& read) { renew_admin(*read); });
    tls = admin_tls_->material()->own;
  }
  auto port = AdminPort::open(*parse_address(text), tls,  // load_settings() found it sound
                              [this](const AdminRequest& request) { return page(request); });
  if (!port.ok()) return port.status();
  admin_ = std::move(*port);
  log_.info("serving the admin port", {{"address", to_string(admin_->address())}});
  return {};
}

void Daemon::renew_admin(const TlsMaterial& tls) {
  const Status set = admin_->set_certificate(tls.own);
  if (!set.ok()) log_.error("the certificate was not reloaded", {kAudit, {"why", set.detail()}});
}

// On the admin port's thread, which waits for nobody.
std::optional<AdminPage> Daemon::page(const AdminRequest& request) {
  const std::string_view path = request.path;
  if (path == "/metrics" || path == "/api/v1/status") {
    if (std::optional<AdminPage> refused = refuse(request)) return refused;
    return path == "/metrics" ? metrics() : status();
  }
  const std::lock_guard lock(mutex_);
  const auto told = [](const std::string& trouble, const char* fine) {
    return trouble.empty() ? AdminPage{200, fine} : AdminPage{503, trouble + '\n'};
  };
  if (path == "/livez") return told(stuck_, "ok\n");
  if (path == "/readyz") return told(not_ready_, "ready\n");
  return {};
}

// It stays until admin_ has gone.
Node* Daemon::node() {
  const std::lock_guard lock(mutex_);
  return node_.get();
}

// Before the node is open, the users are those that the file had at the start.
std::optional<AdminPage> Daemon::refuse_user(const AdminRequest& request) {
  const AdminPage who{401,
                      "give a user and its secret by Basic, or the secret of the user default by "
                      "Bearer\n"};
  if (!request.credentials) return who;
  const auto& [user, secret] = *request.credentials;
  const Node* const opened = node();
  const Status may = opened != nullptr ? opened->may_observe(user, secret)
                                       : first_users_->may_observe(user, secret);
  if (may.ok()) return {};
  if (may.code() == Code::not_permitted)
    return AdminPage{403, "the permission observe is needed: add it to the user's may\n"};
  ++auth_failures_;
  if (const auto unlogged = refusals_.admit(NodeClock::now(), request.from))
    log_.warning("an authentication was refused", {kAudit,
                                                   {"port", "admin"},
                                                   {"address", std::string(request.from)},
                                                   {"unlogged", std::to_string(*unlogged)}});
  return who;
}

// loopback_host.h says against what.
std::optional<AdminPage> Daemon::refuse(const AdminRequest& request) {
  if (first_users_ != nullptr) {
    if (request.path == "/metrics" && open_metrics_) return {};
    return refuse_user(request);
  }
  if (request.on_loopback && !names_loopback(request.host))
    return AdminPage{403, "name this machine as localhost or by a loopback address\n"};
  if (request.path == "/api/v1/status" && !request.on_loopback && !insecure_)
    return AdminPage{403,
                     "the status is for this machine: ask at a loopback address, or set insecure "
                     "= true in [node]\n"};
  return {};
}

AdminPage Daemon::status() {
  const Node* const opened = node();
  return {200, status_json(opened != nullptr ? opened->own_status() : std::vector<MemberStatus>()),
          "application/json"};
}

FigureFamily Daemon::log_lines() const {
  FigureFamily family{"quipu_log_lines_total", "Log lines, by level.", FigureKind::counter, {}};
  for (const auto& [level, name] :
       {std::pair{LogLevel::debug, "debug"}, std::pair{LogLevel::info, "info"},
        std::pair{LogLevel::warning, "warning"}, std::pair{LogLevel::error, "error"}})
    family.samples.push_back(
        {.labels = {{"level", name}}, .value = static_cast<double>(lines_.lines(level))});
  return family;
}

AdminPage Daemon::metrics() {
  const Node* const opened = node();
  bool draining = false;
  {
    const std::lock_guard lock(mutex_);
    draining = draining_;
  }
  std::vector<FigureFamily> all =
      opened != nullptr
          ? opened->figures()
          : figure_families({.settings = settings_digest_,
                             .users = first_users_ == nullptr ? "" : first_users_->digest()},
                            {});
  add_sample(all, "quipu_auth_failures_total", "Refused authentications.",
             {.labels = {{"port", "admin"}}, .value = static_cast<double>(auth_failures_)});
  all.push_back({"quipu_draining",
                 "1 from a stop signal on: traffic should go elsewhere.",
                 FigureKind::gauge,
                 {{.value = draining ? 1.0 : 0.0}}});
  all.push_back(log_lines());
  std::ranges::move(process_figures(), std::back_inserter(all));
  return {200, metrics_text(all), "text/plain; version=0.0.4; charset=utf-8"};
}

void Daemon::open() {
  NodeOptions options = serving_.settings.node;
  options.log = lines_.sink();
  Status failure;
  Node* node = nullptr;
  try {
    auto opened = Node::open(std::move(options));
    failure = opened.status();
    const std::lock_guard lock(mutex_);
    if (opened.ok()) node = (node_ = std::move(*opened)).get();
    failure_ = failure;
  } catch (const std::exception& error) {  // from a library: out of memory, files or threads
    const std::lock_guard lock(mutex_);
    failure_ = {Code::cannot_start, error.what()};
  }
  signals_.wake();
  if (node == nullptr) return;
  failure = node->wait();
  {
    const std::lock_guard lock(mutex_);
    failure_ = failure;
  }
  signals_.wake();
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
  if (running_ == nullptr) running_ = node_.get();
  if (running_ != nullptr) observed.health = running_->health();
  return observed;
}

void Daemon::publish() {
  {
    const std::lock_guard lock(mutex_);
    draining_ = lifecycle_.stopping();
    stuck_ = lifecycle_.stuck();
    not_ready_ = lifecycle_.not_ready();
  }
  const Instant now = NodeClock::now();
  if (admin_ != nullptr) admin_->sweep(now);
  if (admin_tls_ != nullptr && now >= look_at_files_) {
    look_at_files_ = now + kLookAtFiles;
    admin_tls_->look(now);
  }
  systemd_.flush();
}

void Daemon::perform(const LifecycleSteps& steps) {
  for (const std::string& message : steps.notify) systemd_.tell(message);
  if (steps.reload) reload();
  for (const std::string& message : steps.after_reload) systemd_.tell(message);
  if (steps.drain)
    log_.info("draining",
              {kAudit, {"delay_ms", std::to_string(serving_.settings.drain_delay.count())}});
  if (running_ != nullptr && serving_.greet && !std::exchange(greeted_, true))
    lines_.say(serving_.greet(*running_));
}

// Applies what a reload may change, and names what needs a restart. Settings with an error change
// nothing.
void Daemon::reload() {
  if (!serving_.read_again) return;
  const LoadedSettings loaded = serving_.read_again();
  (void)running_->reload();  // whatever the settings are; it logs what is wrong
  if (admin_tls_ != nullptr) admin_tls_->look(NodeClock::now());
  for (const std::string& error : loaded.errors)
    log_.error("the settings were not reloaded", {kAudit, {"why", error}});
  if (!loaded.errors.empty()) return;
  const auto changed = changed_settings(serving_.settings, loaded.settings);
  // What is logged of a change of the level is seen at the level of either side.
  lines_.set_least(std::min(serving_.settings.log_level, loaded.settings.log_level));
  if (changed.empty()) log_.info("the settings were reloaded, and none has changed", {kAudit});
  for (const ChangedSetting& one : changed) {
    if (one.reloads) {
      log_.info("a setting was reloaded", {kAudit, {"setting", one.key}, {"value", one.value}});
    } else {
      log_.warning("a changed setting needs a restart", {kAudit, {"setting", one.key}});
    }
  }
  take_reloaded(serving_.settings, loaded.settings);
  lines_.set_least(serving_.settings.log_level);
  const Status set = running_->set_client_limits(serving_.settings.node.client_port);
  if (!set.ok()) log_.error("the settings were not reloaded", {kAudit, {"why", set.message()}});
}

void Daemon::close(Node& node, std::chrono::milliseconds patience) {
  const Status ended = node.close(patience);
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
