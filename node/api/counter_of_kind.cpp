#include "quipu/counter_of_kind.h"

#include "node/api/call_forms.h"
#include "node/api/call_parts.h"

namespace quipu {

using StatusDone = ChangeCall::Done;

Status CounterOfKind::reset(ChangeOptions options) {
  return change_and_wait(backend_, change_of(kind_, OpKind::reset, key_, 0, options));
}

void CounterOfKind::reset(ChangeOptions options, StatusDone done) {
  backend_->submit(change_of(kind_, OpKind::reset, key_, 0, options), callable(std::move(done)));
}

std::future<Status> CounterOfKind::reset_async(ChangeOptions options) {
  return change_async(*backend_, change_of(kind_, OpKind::reset, key_, 0, options));
}

Status CounterOfKind::expire_at(std::chrono::system_clock::time_point when, ChangeOptions options) {
  return change_and_wait(backend_, change_of(kind_, OpKind::expire, key_, end_of(when), options));
}

void CounterOfKind::expire_at(std::chrono::system_clock::time_point when, ChangeOptions options,
                              StatusDone done) {
  backend_->submit(change_of(kind_, OpKind::expire, key_, end_of(when), options),
                   callable(std::move(done)));
}

std::future<Status> CounterOfKind::expire_at_async(std::chrono::system_clock::time_point when,
                                                   ChangeOptions options) {
  return change_async(*backend_, change_of(kind_, OpKind::expire, key_, end_of(when), options));
}

Status CounterOfKind::persist(ChangeOptions options) {
  return change_and_wait(backend_, change_of(kind_, OpKind::expire, key_, 0, options));
}

void CounterOfKind::persist(ChangeOptions options, StatusDone done) {
  backend_->submit(change_of(kind_, OpKind::expire, key_, 0, options), callable(std::move(done)));
}

std::future<Status> CounterOfKind::persist_async(ChangeOptions options) {
  return change_async(*backend_, change_of(kind_, OpKind::expire, key_, 0, options));
}

}  // namespace quipu
