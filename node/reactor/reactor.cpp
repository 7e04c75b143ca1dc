// Events and effects. The start and stop of a reactor are in reactor_life.cpp.
#include "node/reactor/reactor.h"

#include <asio/post.hpp>
#include <utility>

namespace quipu {
namespace {

constexpr std::chrono::milliseconds kSweep{100};

bool any(const Effects& effects) {
  return !effects.writes.empty() || effects.load || !effects.sends.empty() ||
         !effects.closes.empty() || !effects.replies.empty() || effects.released != Commit{} ||
         effects.restart;
}

}  // namespace

// Effects may bring new events (a link that broke during a write), so this goes on until
// nothing is left.
void Reactor::finish() {
  if (finishing_) return;
  finishing_ = true;
  do {
    perform(port_.finish_batch(NodeClock::now()));
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

void Reactor::perform(Effects effects) {
  if (!effects.writes.empty()) storage_->write(std::move(effects.writes));
  if (effects.load)
    storage_->load(port_.core()->executor().map().placement_key(), std::move(*effects.load));
  for (Effects::Send& send : effects.sends) links_.send(send.link, std::move(send.frame));
  for (const Effects::Close& close : effects.closes) links_.close(close.link, close.reason);
  for (const Effects::Reply& told : effects.replies) reply(told.client, told.answer);
  if (effects.released != Commit{}) {
    sessions_.on_released(effects.released);
    crossing_.on_released(effects.released);
  }
  crossing_.flush();  // first: a client's next question may use a link, and must come later
  links_.flush();
  sessions_.flush();
  if (effects.restart) restart();
}

void Reactor::reply(ClientId client, const Answer& answer) {
  if (client == LocalCalls::kClient) return calls_->reply(answer);
  if (client == Crossing::kGuests) return crossing_.on_guest_answer(answer);
  if (client == Crossing::kParts) return crossing_.on_part(answer);
  sessions_.reply(client, answer);
}

void Reactor::after_batch() {
  tell_ready();
  if (calls_->waiting() && !sweeping_) sweep_calls();
  if (port_.core() != nullptr) {
    const bool paused = port_.core()->paused();
    if (std::exchange(paused_, paused) != paused) {
      calls_->set_paused(paused);
      crossing_.set_paused(paused);
    }
    links_.tell_changes();
    if (!paused && !crossing_.busy()) sessions_.resume();
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
    if (now >= port_.core()->deadline()) event->on_tick(now, event.effects());
    sessions_.on_tick(now);
    publish_figures();
  }
  tell_filled();
}

void Reactor::publish_figures() {
  if (!crossing_.alone()) crossing_.publish(sessions_.figures());
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

void Reactor::tell_ready() {
  crossing_.set_serving(port_.core() != nullptr && port_.core()->serves_reads());
  const bool ready =
      port_.core() != nullptr && port_.core()->ready() && (ready_ || crossing_.acquainted());
  if (std::exchange(ready_, ready) == ready) return;
  if (ready) {
    log_.info("ready");
  } else if (port_.core() != nullptr) {
    log_.error("not ready any more", {{"why", port_.core()->state()}});
  }
  events_.ready(ready);
}

// At a timer, since it visits every partition.
void Reactor::tell_filled() {
  if (port_.core() == nullptr || !port_.core()->ready()) return;
  const bool filling = port_.core()->being_filled();
  if (std::exchange(filling_, filling) == filling) return;
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

}  // namespace quipu
