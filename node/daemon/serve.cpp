#include "node/daemon/serve.h"

#include <sys/resource.h>

#include <thread>

#include "node/base/start_thread.h"
#include "node/base/stderr_log.h"

namespace quipu {
namespace {

int complain(const StderrLog& log, const Status& status) {
  log.say("quipud: " + status.message() + '\n');
  return 1;
}

// A descriptor per client. The usual soft limit of 1,024 is far too low.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  static_cast<void>(::setrlimit(RLIMIT_NOFILE, &limit));
}

void wait_for_signal_or_failure(Node& node, const StopSignals& signals) {
  std::thread watcher = start_thread("quipu-watch", [&] {
    static_cast<void>(node.wait());
    signals.wake();
  });
  signals.wait();
  static_cast<void>(node.close());  // wait() returns, if it has not yet
  watcher.join();
}

}  // namespace

int serve(const Settings& settings, const StopSignals& signals,
          const std::function<std::string(Node&)>& greet) {
  raise_descriptor_limit();
  const StderrLog log(settings.log_format, settings.log_level);
  NodeOptions options = settings.node;
  options.log = log.sink();
  const auto node = Node::open(std::move(options));
  if (!node.ok()) return complain(log, node.status());
  log.say(greet(**node));
  wait_for_signal_or_failure(**node, signals);
  const Status ended = (*node)->close();
  return ended.ok() ? 0 : complain(log, ended);
}

}  // namespace quipu
