// leveldb_recovery.h: what is looked at before LevelDB may open a directory.
//
//   CURRENT ─names─▶ MANIFEST ─names─▶ the oldest log to replay, … the newest log
//
// Invariants that a LevelDB which synced every write leaves, whenever it died:
//   1. of the MANIFEST and of the newest log, the end may be torn: it is cut off
//   2. every older log that is replayed is whole
//   3. the log that the MANIFEST names is there. LevelDB does not miss it, but
//      without it a MANIFEST that lost its last edit would drop a log's records.
// All else is corrupt. Cutting writes the good part anew: an Env cannot truncate.
#pragma once

#include <leveldb/env.h>

#include <cstdint>
#include <string>

#include "quipu/status.h"

namespace quipu {

// Whether the directory holds, or damaged held, a database.
[[nodiscard]] Result<bool> holds_database(leveldb::Env& env, const std::string& directory);

// corrupt names the file. REQUIRES: the database's lock is held.
Status mend(leveldb::Env& env, const std::string& directory);

// How many bytes opening a database may write: a mended log, and the tables of all.
[[nodiscard]] Result<std::uint64_t> room_to_open(leveldb::Env& env, const std::string& directory);

// storage_full if there is no room to replay the logs, for which a database that
// is still open had better stay open. REQUIRES: as mend.
Status probe_room(leveldb::Env& env, const std::string& directory);

// The first table with damage, of which LevelDB's own status says no name; empty
// if all are good.
[[nodiscard]] std::string find_damaged_table(leveldb::Env& env, const std::string& directory);

}  // namespace quipu
