#include "node/cores/request_meter.h"

#include <algorithm>
#include <variant>

namespace quipu {
namespace {

// The first that is not ok: a read of many counters is as good as the worst of them.
Code code_of(const Values& values) {
  const auto worse = [](const Value& value) { return value.code != Code::ok; };
  const auto at = std::ranges::find_if(values.values, worse);
  return at == values.values.end() ? Code::ok : at->code;
}

template <class Single>
Code code_of(const Single& answer) {
  return answer.code;
}

template <class Any>
Asked asked_of(const Any& answer) {
  if constexpr (requires { answer.asked; }) return answer.asked;
  return {};
}

}  // namespace

void RequestFigures::add(const RequestFigures& other) {
  for (std::size_t protocol = 0; protocol < kProtocols; ++protocol) {
    for (std::size_t operation = 0; operation < kOperations; ++operation) {
      for (std::size_t code = 0; code < kCodes; ++code)
        requests[protocol][operation][code] += other.requests[protocol][operation][code];
    }
  }
  for (std::size_t i = 0; i < kOperations; ++i) durations[i].add(other.durations[i]);
  memory_reads += other.memory_reads;
}

void RequestMeter::count(Protocol protocol, Operation operation, Code code,
                         std::uint64_t requests) {
  const auto number = std::min(static_cast<std::size_t>(code), kCodes - 1);
  figures_
      .requests[static_cast<std::size_t>(protocol)][static_cast<std::size_t>(operation)][number] +=
      requests;
}

// Most batches are plain adds alone, which all wait for a commit or none does: then no answer is
// looked at but the last, whose commit is the latest.
void RequestMeter::on_known(Protocol protocol, Instant since, const Coordinator::PlainAdds& plain,
                            std::span<const AtOnce> known) {
  if (known.empty()) return;
  Batch batch{since, known.back().after};
  const auto add = [&](Operation operation, Code code, std::uint64_t requests) {
    if (requests == 0) return;
    count(protocol, operation, code, requests);
    batch.weights[static_cast<std::size_t>(operation)] += static_cast<std::uint32_t>(requests);
  };
  std::uint64_t plain_ones = 0;
  for (std::size_t ack = 0; ack < plain.size(); ++ack) {
    add(add_at(static_cast<Ack>(ack)), Code::ok, plain[ack]);
    plain_ones += plain[ack];
  }
  const std::uint64_t at_memory = plain[static_cast<std::size_t>(Ack::memory)];
  if (plain_ones < known.size() || (at_memory > 0 && at_memory < plain_ones)) {
    for (const AtOnce& one : known) {
      batch.after = std::max(batch.after, one.after);
      if (one.done.asked.since != Instant{}) add(one.done.asked.operation, one.done.code, 1);
    }
  }
  wait(batch);
}

void RequestMeter::on_read(Protocol protocol, Instant since, std::uint64_t reads) {
  if (reads == 0) return;
  count(protocol, Operation::read_local, Code::ok, reads);
  figures_.memory_reads += reads;
  Batch batch{since};
  batch.weights[static_cast<std::size_t>(Operation::read_local)] =
      static_cast<std::uint32_t>(reads);
  wait(batch);
}

void RequestMeter::on_answer(Protocol protocol, Instant now, const Answer& answer, Asked plain) {
  std::visit(
      [&](const auto& one) {
        Asked asked = asked_of(one);
        if (asked.since == Instant{}) asked = plain;
        count(protocol, asked.operation, code_of(one), 1);
        if (asked.since != Instant{})
          figures_.durations[static_cast<std::size_t>(asked.operation)].observe(now - asked.since);
      },
      answer);
}

void RequestMeter::wait(const Batch& batch) {
  if (batch.after <= released_) {
    known_.push_back(batch);
    return;
  }
  const bool joins = !waiting_.empty() &&
                     (waiting_.size() >= kMaxWaiting || (waiting_.back().since == batch.since &&
                                                         waiting_.back().after == batch.after));
  if (!joins) {
    waiting_.push_back(batch);
    return;
  }
  Batch& last = waiting_.back();
  last.after = std::max(last.after, batch.after);
  for (std::size_t i = 0; i < kOperations; ++i) last.weights[i] += batch.weights[i];
}

void RequestMeter::observe(Instant now, const Batch& batch) {
  for (std::size_t i = 0; i < kOperations; ++i) {
    if (batch.weights[i] > 0) figures_.durations[i].observe(now - batch.since, batch.weights[i]);
  }
}

void RequestMeter::forget_waiting() {
  known_.clear();
  waiting_.clear();
  released_ = {};
}

void RequestMeter::on_batch_end(Instant now) {
  for (const Batch& batch : known_) observe(now, batch);
  known_.clear();
}

void RequestMeter::on_released(Instant now, Commit durable) {
  released_ = std::max(released_, durable);
  for (; !waiting_.empty() && waiting_.front().after <= released_; waiting_.pop_front())
    observe(now, waiting_.front());
}

}  // namespace quipu
