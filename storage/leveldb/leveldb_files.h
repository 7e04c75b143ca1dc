// leveldb_files.h: the operating system's files, as LevelDB's Env, with three changes.
//
// Tables are read, not mapped. With mapped tables, a failing disk or a truncated table ends
// the process by a signal instead of a status. And the pages that were read count as the
// process's memory, up to the size of all tables.
//
// Logs are filled with zeros ahead of their records, as etcd's and PostgreSQL's are.
// A record then changes neither the file's size nor its blocks, so that its sync
// needs no commit of the file system's own journal: 95 µs instead of 177, and half
// of the CPU, for 1.5 KB on ext4. To a reader, LevelDB's or ours, zeros are the end.
//
// A lock belongs to an open file, not to the process (F_OFD_SETLK). It excludes other
// stores of this process without a table of its own, and conflicts with the lock of
// LevelDB's own Env in any process.
#pragma once

#include "storage/leveldb/leveldb_store_env.h"

namespace quipu {

[[nodiscard]] StoreEnv& leveldb_files();

}  // namespace quipu
