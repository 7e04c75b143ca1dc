// core_port.h: the place where events enter the core.
//
//   if (port.core) port.core->on_…(NodeClock::now(), …, port.effects);   once or more
//   port.finish();                                                       then once,
//   or port.finish_later();                              once for all sockets that are ready
//
// Sockets and calls share one port. The reactor owns it. Its thread only.
#pragma once

#include <functional>
#include <memory>

#include "cluster/gates/effects.h"
#include "cluster/node_core.h"

namespace quipu {

class Crossing;

struct CorePort {
  // Null: not recovered yet, or dropped. Client sessions exist only while it is set.
  std::unique_ptr<NodeCore> core;
  // Ops and reads enter here, since another reactor's core may have to answer them.
  Crossing* crossing = nullptr;
  // The effects of the events since the last finish.
  Effects effects;
  // Does the effects, in order, and arms the core's timer. Within another finish it does
  // nothing: the outer one continues until no effects are left.
  std::function<void()> finish;
  // The same, after all sockets that are readable now had their turn. So they share a record, a
  // sync, and this.
  std::function<void()> finish_later;
};

}  // namespace quipu
