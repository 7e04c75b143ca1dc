// leveldb_store_env.h: the files under a store: a LevelDB Env, and the two calls that it
// lacks.
#pragma once

#include <leveldb/env.h>

#include <string>
#include <system_error>

namespace quipu {

class StoreEnv : public leveldb::EnvWrapper {
 public:
  using EnvWrapper::EnvWrapper;

  // Makes the names in `directory` durable.
  virtual leveldb::Status sync_directory(const std::string& directory) = 0;

  // Takes a lock, as LockFile does, and tells by a code why it could not:
  // resource_unavailable_try_again if another process or another store holds it.
  virtual std::error_code lock(const std::string& file, leveldb::FileLock** held) = 0;
};

}  // namespace quipu
