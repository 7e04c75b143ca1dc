// core_port.h: the place where events enter the core.
//
//   CorePort::Event event(port);       opens a scope; scopes nest
//   event->on_…(…, event.effects());   as often as needed
//                                      the end of the outermost scope finishes the batch
//
// Everybody else only looks: `port.core()` is const. Sockets and calls share one port; the
// reactor owns it, as a CoreHolder. Its thread only.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "cluster/gates/effects.h"
#include "cluster/node_core.h"
#include "protocol/check.h"

namespace quipu {

class CoreRouter;

class CorePort {
 public:
  struct Finish {
    // Does the effects, in order, and arms the core's timer. Within a finish it does
    // nothing: the outer one goes on until no effects are left.
    std::function<void()> now;
    // The same, when all sockets that are readable now had their turn: so they share a
    // record, a sync, and this.
    std::function<void()> later;
  };
  enum class End { now, later };

  // A scope in which events reach the core. The outermost one says how it ends.
  class [[nodiscard]] Event {
   public:
    explicit Event(CorePort& port, End end = End::now) : port_(port), end_(end) { ++port_.depth_; }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    ~Event() {
      if (--port_.depth_ == 0) (end_ == End::now ? port_.finish_.now : port_.finish_.later)();
    }

    // REQUIRES: port.core().
    NodeCore* operator->() const {
      QUIPU_CHECK(port_.core_ != nullptr, "an event needs a core");
      return port_.core_.get();
    }
    // The effects of the events since the last finish.
    [[nodiscard]] Effects& effects() const { return port_.effects_; }

   private:
    CorePort& port_;
    const End end_;
  };

  CorePort(const CorePort&) = delete;
  CorePort& operator=(const CorePort&) = delete;

  // Null: not recovered yet, or given up. Client sessions exist only while it is not.
  [[nodiscard]] const NodeCore* core() const { return core_.get(); }
  // Where ops and reads enter, since another reactor's core may be the one to answer.
  [[nodiscard]] CoreRouter& router() const { return router_; }

 protected:
  CorePort(CoreRouter& router, Finish finish) : router_(router), finish_(std::move(finish)) {}
  ~CorePort() = default;

  std::unique_ptr<NodeCore> core_;
  Effects effects_;

 private:
  CoreRouter& router_;
  const Finish finish_;
  int depth_ = 0;  // open scopes
};

// The port as its reactor has it: it sets the core, and does what the core wants done.
class CoreHolder : public CorePort {
 public:
  CoreHolder(CoreRouter& router, Finish finish) : CorePort(router, std::move(finish)) {}

  void set(std::unique_ptr<NodeCore> core) { core_ = std::move(core); }
  // Forgets its effects, too.
  void reset() {
    core_.reset();
    effects_.clear();
  }
  // Ends the batch, and hands over what is to be done for it.
  [[nodiscard]] Effects finish_batch(Instant now) {
    if (core_ != nullptr) core_->finish_batch(now, effects_);
    return std::exchange(effects_, {});
  }
  // What came since then.
  [[nodiscard]] const Effects& effects() const { return effects_; }
};

}  // namespace quipu
