// storage_thread.h: the only thread that uses the disk.
//
//   write(sealed…) ─▶ queue ─all at once, one batch, one sync─▶ store ─▶ durable(last commit)
//
//   load(shards) ──▶ store ──▶ loaded(states)
//
//   writing ──no space──▶ full ──the same batch, every 200 ms──▶ writing
//      └──── failed sync ────▶ failed, for ever
//
// Invariants: batches are written in the order of their commits, each once. After a failed
// write nothing is written again, since the content of the disk is unknown. The core limits
// the queue: it pauses its clients (NodeCore::paused).
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "protocol/duration_histogram.h"
#include "storage/executor.h"
#include "storage/store.h"

namespace quipu {

class StorageThread {
 public:
  // Called on the storage thread. Each must only post.
  struct Events {
    std::function<void(Commit)> durable;
    std::function<void(Status)> full;  // storage_full: none left; ok: there is room again
    std::function<void(Loaded)> loaded;
    std::function<void(Status)> failed;  // the last event
  };
  using Task = std::function<void(Store&)>;

  StorageThread(std::unique_ptr<Store> store, Events events);
  ~StorageThread();  // stops
  StorageThread(const StorageThread&) = delete;
  StorageThread& operator=(const StorageThread&) = delete;

  // Any thread; never waits for the disk.
  void write(std::vector<Sealed> sealed);
  // Reads a few shards at a time, with the writes in between, also while the disk is full. It
  // replaces an earlier request without an answer, such as that of a core that is gone.
  void load(HashKey placement, LoadRequest request);
  // Runs `task` once everything written before it is durable; never after a failure.
  void run(Task task);

  // How long the writes took that were made durable, each with its sync. Any thread.
  [[nodiscard]] DurationHistogram syncs() const;
  // How long the disk has taken already for the reads, writes and tasks that it took up together.
  // Zero: there are none. Any thread.
  [[nodiscard]] Duration under_way(Instant now) const;

  // Any thread but this one, once or more. Queued records are written first, unless the disk is
  // full. Returns when the thread has ended and the store is closed.
  void stop();

 private:
  struct Work {
    std::optional<Load> load;
    std::vector<Sealed> writes;
    std::vector<Task> tasks;
  };

  void loop();
  [[nodiscard]] bool take(Work& work);
  [[nodiscard]] bool load_some();
  [[nodiscard]] bool fail(const Status& status);
  [[nodiscard]] bool write_all(std::vector<Sealed>& writes);
  [[nodiscard]] bool write_one(const Batch& batch, Commit last);
  [[nodiscard]] Status write_with_retries(const Batch& batch);
  void set_under_way(std::optional<Instant> since);
  [[nodiscard]] bool wait_to_retry();

  std::unique_ptr<Store> store_;  // used by the thread alone, like the next
  std::optional<Load> loading_;
  Commit durable_{};  // the last that was written
  const Events events_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  Work queued_;
  bool stopping_ = false;
  bool failed_ = false;
  DurationHistogram syncs_;
  std::optional<Instant> under_way_since_;

  std::thread thread_;  // last: starts when all other members exist
};

}  // namespace quipu
