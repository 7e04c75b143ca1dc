// leveldb_store.h: the store on LevelDB, with its two traps closed.
//
//   * After ENOSPC LevelDB goes on accepting writes over a damaged log and loses
//     them at the next open. Here the first error of a file sticks, and the
//     database is closed and opened anew before the next write.
//   * Its default open drops the damaged part of a log in silence. Here the
//     newest log's damaged *end*, with nothing valid behind it, is cut off (it was
//     never acked: a power cut leaves such), and all other damage is `corrupt`.
//
// Threads: all calls from one thread; LevelDB starts one of its own.
#pragma once

#include <filesystem>
#include <memory>

#include "storage/store.h"

namespace leveldb {
class Env;
}

namespace quipu {

struct LevelDbOptions {
  std::filesystem::path directory;
  // false: the directory must hold a store already; true: it must not.
  enum class Open { existing, create } open = Open::existing;
  // Taken at most twice: while one is written out, the next fills. One of 16 MiB costs each of
  // a million counters 12 bytes more, and stalls no less once checkpoints keep their pace.
  std::size_t write_buffer = std::size_t{4} << 20;
  // 10 bits for each key: finding that one was never stored needs no look at the disk.
  // A filter whose checksum is wrong is not used (paranoid_checks), and nobody is told.
  bool filter = false;
  leveldb::Env* env = nullptr;  // null: the operating system's; must outlive the store
};

// cannot_start: locked by another process, missing, or not writable. corrupt:
// damage, named by file. storage_failed: a sync failed, so what it holds now is unknown.
// Without room to mend and replay its logs, a store opens all the same: it is read, and
// write() says storage_full until there is room. storage_full: no room to create one.
[[nodiscard]] Result<std::unique_ptr<Store>> open_leveldb(const LevelDbOptions& options);

// Whether `directory` holds (or, damaged, held) a store.
[[nodiscard]] bool leveldb_exists(const std::filesystem::path& directory);

}  // namespace quipu
