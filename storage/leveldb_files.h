// leveldb_files.h: the operating system's files, as an Env that maps none of them.
//
// LevelDB's own maps its tables. Then a disk that fails, or a table that was cut,
// ends the process by a signal instead of a status; and what was read counts as the
// process's memory, however much the tables are.
#pragma once

#include <leveldb/env.h>

namespace quipu {

[[nodiscard]] leveldb::Env& leveldb_files();

}  // namespace quipu
