// core_port.h: where events enter the core.
//
//   if (port.core) port.core->on_…(NodeClock::now(), …, port.effects);   once or more
//   port.finish();                                                       then once,
//   or port.finish_later();                                    once for all who are ready
//
// Sockets and calls share one port; the reactor owns it. Its thread only.
#pragma once

#include <functional>
#include <memory>

#include "cluster/gates/effects.h"
#include "cluster/node_core.h"

namespace quipu {

class Crossing;

struct CorePort {
  // Null: not recovered yet, or given up. Client sessions exist only while it is not.
  std::unique_ptr<NodeCore> core;
  // Where ops and reads enter, since another reactor's core may be the one to answer.
  Crossing* crossing = nullptr;
  // Of the events since the last finish.
  Effects effects;
  // Does the effects, in order, and arms the core's timer. Within a finish it does
  // nothing: the outer one goes on until no effects are left.
  std::function<void()> finish;
  // The same, when all sockets that are readable now had their turn: so they share a
  // record, a sync, and this.
  std::function<void()> finish_later;
};

}  // namespace quipu
