// leveldb_recovery.h: checks a directory before LevelDB may open it.
//
//   CURRENT ─names─▶ MANIFEST ─names─▶ the oldest log to replay, … the newest log
//
// Invariants if LevelDB synced every write, no matter when it died:
//   1. The end of the MANIFEST and of the newest log may be torn: it is cut off.
//   2. Every older log to replay is whole.
//   3. The log that the MANIFEST names exists. LevelDB does not check that, but without it
//      a MANIFEST that lost its last edit would drop a log's records.
// Anything else is corrupt. Cutting writes the good part anew, since an Env cannot truncate.
#pragma once

#include <leveldb/env.h>

#include <cstdint>
#include <string>

#include "quipu/status.h"
#include "storage/leveldb/leveldb_store_env.h"

namespace quipu {

// Whether the directory holds a database, or a damaged one.
[[nodiscard]] Result<bool> holds_database(leveldb::Env& env, const std::string& directory);

// corrupt names the file. REQUIRES: the database's lock is held.
Status mend(StoreEnv& env, const std::string& directory);

// How many bytes opening a database may write: a mended log, and the tables of all logs.
[[nodiscard]] Result<std::uint64_t> room_to_open(leveldb::Env& env, const std::string& directory);

// storage_full if there is no room to replay the logs. A database that is still open should
// then stay open. REQUIRES: as mend.
Status probe_room(leveldb::Env& env, const std::string& directory);

// The first damaged table, since LevelDB's own status does not name it. Empty if all are
// good.
[[nodiscard]] std::string find_damaged_table(leveldb::Env& env, const std::string& directory);

}  // namespace quipu
