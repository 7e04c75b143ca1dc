#include "node/disk/storage_thread.h"

#include <chrono>
#include <utility>

#include "node/base/clock.h"
#include "node/base/start_thread.h"
#include "protocol/check.h"

namespace quipu {
namespace {

constexpr std::chrono::milliseconds kRetryFull{200};
// The reads between two writes, which wait for them: some 30 ms if each takes 1 ms.
constexpr std::size_t kReadsAtATime = 32;

template <class T>
void move_behind(std::vector<T>& to, std::vector<T>&& from) {
  if (to.empty()) {
    to = std::move(from);
  } else {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  }
}

}  // namespace

StorageThread::StorageThread(std::unique_ptr<Store> store, Events events)
    : store_(std::move(store)),
      events_(std::move(events)),
      thread_(start_thread("quipu-storage", [this] { loop(); })) {}

StorageThread::~StorageThread() { stop(); }

void StorageThread::write(std::vector<Sealed> sealed) {
  {
    const std::lock_guard lock(mutex_);
    if (failed_) return;
    move_behind(queued_.writes, std::move(sealed));
  }
  wake_.notify_one();
}

void StorageThread::load(HashKey placement, LoadRequest request) {
  {
    const std::lock_guard lock(mutex_);
    if (failed_) return;
    queued_.load.emplace(placement, std::move(request));
  }
  wake_.notify_one();
}

void StorageThread::run(Task task) {
  {
    const std::lock_guard lock(mutex_);
    if (failed_) return;
    queued_.tasks.push_back(std::move(task));
  }
  wake_.notify_one();
}

DurationHistogram StorageThread::syncs() const {
  const std::lock_guard lock(mutex_);
  return syncs_;
}

Duration StorageThread::under_way(Instant now) const {
  const std::lock_guard lock(mutex_);
  return under_way_since_ ? now - *under_way_since_ : Duration::zero();
}

void StorageThread::set_under_way(std::optional<Instant> since) {
  const std::lock_guard lock(mutex_);
  under_way_since_ = since;
}

void StorageThread::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void StorageThread::loop() {
  for (Work work; take(work);) {
    set_under_way(NodeClock::now());
    if (!load_some() || !write_all(work.writes)) break;
    for (const Task& task : work.tasks) task(*store_);
    set_under_way(std::nullopt);
  }
  store_.reset();
}

// Waits for work. False: there is none, and there will be none.
bool StorageThread::take(Work& work) {
  std::unique_lock lock(mutex_);
  const auto any = [](const Work& of) {
    return of.load || !of.writes.empty() || !of.tasks.empty();
  };
  wake_.wait(lock, [&] { return stopping_ || loading_ || any(queued_); });
  work = std::exchange(queued_, {});
  if (work.load) loading_ = std::move(work.load);
  return loading_ || any(work);
}

// Reads a part of the load, if there is one. False: the store is damaged, and stops serving.
bool StorageThread::load_some() {
  if (!loading_) return true;
  const Status read = loading_->step(*store_, kReadsAtATime);
  if (read.code() == Code::storage_full) {  // the store is closed until there is room
    std::unique_lock lock(mutex_);
    if (wake_.wait_for(lock, kRetryFull, [this] { return stopping_; })) loading_.reset();
    return true;
  }
  if (!read.ok()) return fail(read);
  if (!loading_->finished()) return true;
  Loaded loaded = loading_->take();
  loading_.reset();
  events_.loaded(std::move(loaded));
  return true;
}

bool StorageThread::fail(const Status& status) {
  {
    const std::lock_guard lock(mutex_);
    failed_ = true;
    queued_ = {};
  }
  events_.failed(status);
  return false;
}

// As one batch, if possible. A store puts before it deletes, so a record with deletes must come
// last. Otherwise it would delete what a later commit put.
bool StorageThread::write_all(std::vector<Sealed>& writes) {
  Batch batch;
  for (Sealed& sealed : writes) {
    const bool ends = &sealed == &writes.back() || !sealed.batch.deletes.empty();
    batch.append(std::move(sealed.batch));
    if (ends && !write_one(std::exchange(batch, {}), sealed.commit)) return false;
  }
  return true;
}

// False: nothing may be written any more.
bool StorageThread::write_one(const Batch& batch, Commit last) {
  QUIPU_CHECK(!failed_, "after a failed sync nothing is written any more", last);
  QUIPU_CHECK(last > durable_, "records become durable in the order of their commits", last,
              durable_);
  const Instant began = NodeClock::now();
  const Status written = write_with_retries(batch);
  if (written.ok()) {
    {
      const std::lock_guard lock(mutex_);
      syncs_.observe(NodeClock::now() - began);
    }
    durable_ = last;
    events_.durable(last);
    return true;
  }
  if (written.code() == Code::storage_full) return false;  // stopped or failed meanwhile
  return fail(written);
}

Status StorageThread::write_with_retries(const Batch& batch) {
  Status written = store_->write(batch);
  if (written.code() != Code::storage_full) return written;
  events_.full(written);
  while (wait_to_retry()) {
    written = store_->write(batch);
    if (written.code() == Code::storage_full) continue;
    if (written.ok()) events_.full({});
    break;
  }
  return written;
}

// False: do not retry, the node stops.
bool StorageThread::wait_to_retry() {
  const auto until = std::chrono::steady_clock::now() + kRetryFull;
  while (std::chrono::steady_clock::now() < until) {
    std::unique_lock lock(mutex_);
    wake_.wait_until(lock, until, [this] { return stopping_ || loading_ || queued_.load; });
    if (stopping_) return false;
    if (queued_.load) loading_ = std::exchange(queued_.load, std::nullopt);
    lock.unlock();
    if (!load_some()) return false;
  }
  return true;
}

}  // namespace quipu
