// lifecycle.h: what quipud does from its start to its end.
//
//   starting ──opened──▶ serving ──SIGTERM──▶ draining ──delay──▶ closing ──closed──▶ ended
//                           │                                        ▲
//                           └── another stop signal, or a failure ───┘
//
// While it drains, the node serves as before, so that clients and load balancers have time to go
// elsewhere. Then it refuses requests, and ends once the peers that are up have all changes. A
// signal that comes while the node starts is obeyed once it is open.
//
// It tells systemd, by sd_notify(3) and for Type=notify:
//   READY=1              the node is ready, or was opened a minute ago: the founding of a cluster
//                        may wait for people
//   EXTEND_TIMEOUT_USEC  the node still starts or stops
//   WATCHDOG=1           every reactor has its turns. A restart mends no hanging disk and no lost
//                        quorum, so these do not matter
//
// Pure: what is observed and the time come in, and the steps to do come out.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "node/daemon/signals.h"
#include "protocol/instant.h"
#include "quipu/node.h"

namespace quipu {

struct Observed {
  std::optional<Signals::Wish> wish{};
  bool opened = false;  // the node has been opened
  bool failed = false;  // it could not be opened, or has failed since
  bool closed = false;  // close() has returned
  NodeHealth health{};  // once it was opened
};

// To do in this order.
struct LifecycleSteps {
  std::vector<std::string> notify{};  // messages to the service manager
  bool reload = false;
  std::vector<std::string> after_reload{};           // more messages
  bool drain = false;                                // has begun: say so
  std::optional<std::chrono::milliseconds> close{};  // the node, with this patience
  bool end = false;
};

class Lifecycle {
 public:
  struct Options {
    std::chrono::milliseconds drain_delay{};
    Duration watchdog{};  // how often the service manager wants to hear WATCHDOG=1; 0: never
  };
  Lifecycle(Instant now, Options options);

  [[nodiscard]] LifecycleSteps look(Instant now, const Observed& observed);
  // When to look at the latest, if nothing happens.
  [[nodiscard]] Instant next_look(Instant now) const;

  // Why this process should be restarted. Empty: it should not.
  [[nodiscard]] const std::string& stuck() const { return stuck_; }
  // A signal asked to drain or stop the node, or it has failed and is closed.
  [[nodiscard]] bool stopping() const { return stop_asked_ || phase_ == Phase::closing; }
  // Why no traffic should come. Empty: it should.
  [[nodiscard]] const std::string& not_ready() const { return not_ready_; }

 private:
  enum class Phase { starting, serving, draining, closing };

  void take_wish(Instant now, Signals::Wish wish, LifecycleSteps& steps);
  void go_on(Instant now, const Observed& observed, LifecycleSteps& steps);
  void serve(Instant now, const NodeHealth& health, LifecycleSteps& steps);
  void close(Instant now, std::chrono::milliseconds patience, LifecycleSteps& steps);
  void look_whether_stuck(Instant now, const NodeHealth& health);
  void say_status(std::string status, LifecycleSteps& steps);
  void feed(Instant now, LifecycleSteps& steps);

  const Options options_;
  Phase phase_ = Phase::starting;
  bool reload_asked_ = false;
  std::optional<Signals::Wish> stop_asked_;  // drain or stop
  Instant drained_at_ = kNever;
  Instant closed_by_ = kNever;
  bool ready_told_ = false;
  Instant ready_by_ = kNever;  // when READY=1 is said in any case
  Instant next_extend_;
  Instant next_watchdog_;
  std::string status_;  // as told
  std::string stuck_;
  std::string not_ready_ = "the store is recovered";
};

}  // namespace quipu
