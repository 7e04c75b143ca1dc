// quipu::Node: opens what a node needs, in the order in which it can fail cheaply.
//
//   options ─▶ plan ─▶ directory locked ─▶ ports bound ─▶ store recovered ─▶ threads
#include "quipu/node.h"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "node/data_directory.h"
#include "node/entropy.h"
#include "node/node_plan.h"
#include "node/reactor.h"

namespace quipu {

class Node::Impl {
 public:
  Impl(NodePlan plan, DataDirectory directory, Log log, Random random);

  Status start(Rebuild rebuild);
  Status close();
  Status wait();
  bool wait_ready(std::chrono::milliseconds timeout);

  // Both filled in once, before the threads start.
  [[nodiscard]] const std::string& client_address() const { return client_address_; }
  [[nodiscard]] const std::string& peer_address() const { return peer_address_; }
  [[nodiscard]] const std::shared_ptr<LocalCalls>& calls() const { return reactor_.calls(); }

 private:
  [[nodiscard]] bool is_closed();
  void on_ready(bool ready);
  void on_failed(const Status& why);

  const StoreOwner owner_;
  const ExecutorOptions executor_options_;
  DataDirectory directory_;  // locked longer than anything uses it
  const Log log_;
  Random random_;
  std::string client_address_;
  std::string peer_address_;

  std::mutex closing_;  // one close() at a time; the second finds it done
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ready_ = false;
  bool closed_ = false;
  Status failure_;

  Reactor reactor_;  // last: its threads use the rest
};

Node::Impl::Impl(NodePlan plan, DataDirectory directory, Log log, Random random)
    : owner_(plan.owner()),
      executor_options_(executor_options(plan.config, plan.self, plan.settings)),
      directory_(std::move(directory)),
      log_(log),
      random_(random.split()),
      reactor_(std::move(plan), std::move(log), random,
               {.ready = [this](bool ready) { on_ready(ready); },
                .failed = [this](const Status& why) { on_failed(why); }}) {}

Status Node::Impl::start(Rebuild rebuild) {
  if (Status bound = reactor_.bind(); !bound.ok()) return bound;
  client_address_ = reactor_.client_address();
  peer_address_ = reactor_.peer_address();
  auto recovered = recover_directory(directory_, owner_, executor_options_, rebuild, random_, log_);
  if (!recovered.ok()) return recovered.status();
  log_.info("store recovered", {{"shards", std::to_string(recovered->executor->map().size())},
                                {"commit", std::to_string(raw(recovered->executor->sealed()))}});
  if (Status started = reactor_.start(std::move(*recovered)); !started.ok()) return started;
  log_.info("serving", {{"clients", client_address_}, {"peers", peer_address_}});
  return {};
}

bool Node::Impl::is_closed() {
  const std::lock_guard lock(mutex_);
  return closed_;
}

void Node::Impl::on_ready(bool ready) {
  {
    const std::lock_guard lock(mutex_);
    ready_ = ready;
  }
  changed_.notify_all();
}

void Node::Impl::on_failed(const Status& why) {
  {
    const std::lock_guard lock(mutex_);
    failure_ = why;
  }
  changed_.notify_all();
}

Status Node::Impl::close() {
  if (calls()->on_own_thread()) return {Code::would_deadlock, "a node closed in its own callback"};
  const std::lock_guard one_at_a_time(closing_);
  const bool already = is_closed();
  if (!already) log_.info("closing");
  reactor_.stop();
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
  if (calls()->on_own_thread())
    return {Code::would_deadlock, "a node waited for in its own callback"};
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return closed_ || !failure_.ok(); });
  return failure_;
}

bool Node::Impl::wait_ready(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  const auto decided = [this] { return ready_ || closed_ || !failure_.ok(); };
  if (!calls()->on_own_thread()) changed_.wait_for(lock, clamp_timeout(timeout), decided);
  return ready_;
}

Node::Node(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

// Its own thread cannot join itself.
Node::~Node() {
  if (!impl_->calls()->on_own_thread()) {
    static_cast<void>(close());
    return;
  }
  impl_->calls()->close({Code::unavailable, "the node is closed"});
  std::thread([impl = std::move(impl_)] { static_cast<void>(impl->close()); }).detach();
}

Result<std::unique_ptr<Node>> Node::open(NodeOptions options) {
  Result<NodePlan> plan = plan_node(options);
  if (!plan.ok()) return plan.status();
  Result<DataDirectory> directory = DataDirectory::lock(options.data_directory);
  if (!directory.ok()) return directory.status();
  const auto impl = std::make_shared<Impl>(std::move(*plan), std::move(*directory),
                                           Log(std::move(options.log)), random_from_system());
  const Rebuild rebuild = options.rebuild ? Rebuild::yes : Rebuild::no;
  if (Status started = impl->start(rebuild); !started.ok()) return started;
  return std::unique_ptr<Node>(new Node(impl));
}

Counter Node::counter(std::string key) {
  return CounterBackend::make_counter(impl_->calls(), std::move(key));
}

bool Node::wait_ready(std::chrono::milliseconds timeout) { return impl_->wait_ready(timeout); }
std::string Node::client_address() const { return impl_->client_address(); }
std::string Node::peer_address() const { return impl_->peer_address(); }
Status Node::close() { return impl_->close(); }
Status Node::wait() { return impl_->wait(); }

}  // namespace quipu
