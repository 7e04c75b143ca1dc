#include "tests/chaos/recorder.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace quipu::chaos {
namespace {

Answer to_answer(const Status& status) {
  switch (status.outcome()) {
    case Outcome::applied:
      return Answer::ok;
    case Outcome::not_applied:
      return Answer::fail;
    default:
      return Answer::unknown;
  }
}

}  // namespace

void note(Read& read, const Result<Told>& told) {
  if (!told.ok()) {
    read.said = told.status().message();
    return;
  }
  read.value = told->value;
  read.items = told->items;
  read.complete = told->complete;
  read.age = told->age;
}

std::size_t Recorder::begin(Add add) {
  const std::lock_guard lock(mutex_);
  add.invoked = now();
  history_.adds.push_back(std::move(add));
  return history_.adds.size() - 1;
}

std::size_t Recorder::begin(Read read) {
  const std::lock_guard lock(mutex_);
  read.began = now();
  history_.reads.push_back(std::move(read));
  return history_.reads.size() - 1;
}

std::size_t Recorder::begin(Fault fault) {
  const std::lock_guard lock(mutex_);
  fault.began = now();
  history_.faults.push_back(std::move(fault));
  return history_.faults.size() - 1;
}

void Recorder::end_add(std::size_t add, const Status& status) {
  const Time ended = now();
  const std::lock_guard lock(mutex_);
  Add& at = history_.adds[add];
  at.ended = ended;
  at.answer = to_answer(status);
  if (!status.ok()) at.said = status.message();
}

void Recorder::end_read(std::size_t read, const Result<Told>& told) {
  const Time ended = now();
  const std::lock_guard lock(mutex_);
  Read& at = history_.reads[read];
  at.ended = ended;
  note(at, told);
}

void Recorder::end_fault(std::size_t fault) {
  const std::lock_guard lock(mutex_);
  history_.faults[fault].ended = now();
}

void Recorder::add(std::vector<Read> reads) {
  const std::lock_guard lock(mutex_);
  std::move(reads.begin(), reads.end(), std::back_inserter(history_.reads));
}

void Recorder::set_finals(std::vector<Read> finals) {
  const std::lock_guard lock(mutex_);
  history_.finals = std::move(finals);
}

History Recorder::copy() const {
  const std::lock_guard lock(mutex_);
  return history_;
}

}  // namespace quipu::chaos
