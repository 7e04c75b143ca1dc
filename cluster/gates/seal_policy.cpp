#include "cluster/gates/seal_policy.h"

#include <algorithm>

#include "protocol/check.h"

namespace quipu {
namespace {

// The size of an open record that no answer waits for. Beyond this, a seal would take too long.
constexpr std::size_t kPatientBytes = std::size_t{64} << 10;

}  // namespace

bool SealPolicy::may_wait(bool waited_for) const {
  return !hurried_ && !closing_ && !waited_for && executor_.open_bytes() < kPatientBytes;
}

void SealPolicy::seal_if_due(bool waited_for) {
  if (!store_is_idle()) return;
  const bool due = executor_.has_open() && !may_wait(waited_for);
  const bool checkpoint_goes_on = executor_.checkpointing() && !closing_;
  if (due || checkpoint_goes_on) executor_.seal();
}

void SealPolicy::on_record(const Sealed& sealed) {
  const std::size_t bytes = sealed.batch.bytes();
  QUIPU_CHECK(
      sealed.commit > durable_ &&
          (unsynced_.empty() || raw(sealed.commit) == raw(unsynced_.back().first) + sealed.records),
      "records go to the store in order, without a gap", sealed.commit, durable_);
  unsynced_.emplace_back(sealed.commit, bytes);
  unsynced_bytes_ += bytes;
  records_ += sealed.records;
  record_bytes_ += bytes;
}

void SealPolicy::on_durable(Commit commit) {
  durable_ = std::max(durable_, commit);
  while (!unsynced_.empty() && unsynced_.front().first <= durable_) {
    QUIPU_CHECK(unsynced_.front().second <= unsynced_bytes_, "what is durable now was counted",
                unsynced_.front().first, unsynced_bytes_);
    unsynced_bytes_ -= unsynced_.front().second;
    unsynced_.pop_front();
  }
  QUIPU_CHECK(durable_ <= executor_.sealed() && (!unsynced_.empty() || unsynced_bytes_ == 0),
              "only what was sealed can be durable", durable_, executor_.sealed(), unsynced_bytes_);
}

}  // namespace quipu
