// leveldb_store.h: the store on LevelDB, with its two traps closed.
//
//   * After ENOSPC LevelDB goes on accepting writes over a damaged log, and loses them at
//     the next open. Here the first error of a file stays, and the database is closed and
//     opened again before the next write.
//   * By default, LevelDB's open drops the damaged part of a log without an error. Here the
//     newest log's damaged *end*, with nothing valid behind it, is cut off: a power cut
//     leaves such ends, and they were never acked. All other damage is `corrupt`.
//
// Threads: all calls from one thread; LevelDB starts one of its own.
#pragma once

#include <filesystem>
#include <memory>

#include "storage/store.h"

namespace quipu {

class StoreEnv;

struct LevelDbOptions {
  std::filesystem::path directory;
  // false: the directory must hold a store already; true: it must not.
  enum class Open { existing, create } open = Open::existing;
  // LevelDB allocates at most two of them: one fills while the other is written out. Buffers of
  // 16 MiB cost 12 bytes more for each of a million counters, and stall no less once checkpoints
  // keep their pace.
  std::size_t write_buffer = std::size_t{4} << 20;
  // 10 bits for each key. The filter shows that a key was never stored without reading the disk.
  // LevelDB silently ignores a filter with a wrong checksum (paranoid_checks).
  bool filter = false;
  StoreEnv* env = nullptr;  // null: the operating system's; must outlive the store
};

// cannot_start: locked by another process, missing, or not writable. corrupt: damage; the
// status names the file. storage_failed: a sync failed, so the content is unknown. If there is
// no room to mend and replay its logs, a store still opens for reading, and write() answers
// storage_full until there is room. storage_full: no room to create one.
[[nodiscard]] Result<std::unique_ptr<Store>> open_leveldb(const LevelDbOptions& options);

// Whether `directory` holds a store, or a damaged one.
[[nodiscard]] bool leveldb_exists(const std::filesystem::path& directory);

}  // namespace quipu
