#include "storage/leveldb/leveldb_store.h"

#include <leveldb/db.h>
#include <leveldb/filter_policy.h>
#include <leveldb/write_batch.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include "protocol/check.h"
#include "storage/leveldb/leveldb_env.h"
#include "storage/leveldb/leveldb_files.h"
#include "storage/leveldb/leveldb_recovery.h"
#include "storage/leveldb/leveldb_scratch.h"

namespace quipu {
namespace {

std::string_view view(const leveldb::Slice& slice) { return {slice.data(), slice.size()}; }
leveldb::Slice slice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }

// LevelDB's own info log would grow for as long as the process lives.
class Silence final : public leveldb::Logger {
 public:
  void Logv(const char*, std::va_list) override {}
};

//   open ──no space──▶ full ──next write, space again──▶ open
//    └──────── failed sync, damage ────────▶ failed, for ever
//
// If it was opened without space, it begins as full, over a scratch (leveldb_scratch.h).
class LevelDbStore final : public Store {
 public:
  explicit LevelDbStore(const LevelDbOptions& options)
      : base_(options.env != nullptr ? *options.env : leveldb_files()),
        directory_((options.directory / "").parent_path().string()),  // no slash at the end
        write_buffer_(options.write_buffer),
        filter_(options.filter ? leveldb::NewBloomFilterPolicy(10) : nullptr) {}

  Status create();
  // storage_full, and is_readable(): for reads only.
  Status open_existing();
  [[nodiscard]] bool is_readable() const { return db_ != nullptr; }
  // The state of writes: what the next write() answers, or does.
  void refuse(const Status& why) {
    QUIPU_CHECK(!why.ok(), "a store refuses writes for a reason");
    refusal_ = why;
  }

  Status write(const Batch& batch) override;
  Result<std::optional<std::string>> read(std::string_view key) override;
  Status scan(std::string_view from, std::string_view to, const Visit& visit) override;

 private:
  Status make_directory();
  void close();
  Status lock(StoreEnv& files);
  Status open(bool create);
  Status open_existing(StoreEnv& files);
  Status reopen();
  Status check_open();
  Status explain(const leveldb::Status& status, Code otherwise);
  Status explain_read(const leveldb::Status& status);

  StoreEnv& base_;
  const std::string directory_;
  const std::size_t write_buffer_;
  const std::unique_ptr<const leveldb::FilterPolicy> filter_;  // outlives db_
  Silence silence_;
  std::unique_ptr<ScratchEnv> scratch_;  // if the database is open over it, for reads only
  std::unique_ptr<LevelDbEnv> env_;
  std::unique_ptr<leveldb::DB> db_;  // null: a reopening failed
  Status refusal_;                   // why writing is impossible now; ok: it is possible
};

Status LevelDbStore::create() {
  if (Status status = make_directory(); !status.ok()) return status;
  const Result<bool> held = holds_database(base_, directory_);
  if (!held.ok()) return held.status();
  if (*held) {
    return {Code::cannot_start, directory_ +
                                    " holds a store already: open it as an existing one, " +
                                    "or name an empty directory"};
  }
  if (Status status = lock(base_); !status.ok()) return status;
  return open(true);
}

Status LevelDbStore::open_existing() {
  const Status opened = open_existing(base_);
  if (opened.code() != Code::storage_full) return opened;
  close();
  const Result<std::uint64_t> room = room_to_open(base_, directory_);
  if (!room.ok()) return room.status();
  scratch_ = std::make_unique<ScratchEnv>(base_, *room);
  const Status readable = open_existing(*scratch_);
  if (readable.ok()) return opened;
  close();
  return readable;
}

void LevelDbStore::close() {
  db_.reset();
  env_.reset();
  scratch_.reset();
}

Status LevelDbStore::open_existing(StoreEnv& files) {
  const Result<bool> held = holds_database(base_, directory_);
  if (!held.ok()) return held.status();
  if (!*held) {
    return {Code::cannot_start, directory_ + " holds no store: name the directory that does, or " +
                                    "have a new store created"};
  }
  if (Status status = lock(files); !status.ok()) return status;
  if (Status status = mend(*env_, directory_); !status.ok()) {
    return env_->sync_failed() ? Status(Code::storage_failed, status.detail()) : status;
  }
  return open(false);
}

Status LevelDbStore::make_directory() {
  if (base_.FileExists(directory_)) return {};
  leveldb::Status status = base_.CreateDir(directory_);
  const std::filesystem::path parent = std::filesystem::path(directory_).parent_path();
  if (status.ok()) status = base_.sync_directory(parent.empty() ? "." : parent.string());
  return to_status(status, Code::cannot_start);
}

Status LevelDbStore::lock(StoreEnv& files) {
  QUIPU_CHECK(db_ == nullptr, "a database is closed before its lock is given up");
  env_ = std::make_unique<LevelDbEnv>(files);
  const std::string file = directory_ + "/LOCK";
  const std::error_code error = env_->lock(file);
  if (!error) return {};
  if (error == std::errc::resource_unavailable_try_again) {
    return {Code::cannot_start, directory_ +
                                    " is in use by another process: stop that one, or name " +
                                    "another directory"};
  }
  const bool full = error == std::errc::no_space_on_device || error.value() == EDQUOT;
  return {full ? Code::storage_full : Code::cannot_start, file + ": " + error.message()};
}

Status LevelDbStore::open(bool create) {
  QUIPU_CHECK(env_ != nullptr && db_ == nullptr, "a database is opened once, under its lock");
  leveldb::Options options;
  options.env = env_.get();
  options.info_log = &silence_;
  options.create_if_missing = create;
  options.error_if_exists = create;
  options.paranoid_checks = true;
  // Syncs what was replayed before it is visible, and prevents writes behind the zeros at a log's
  // end.
  options.reuse_logs = false;
  options.write_buffer_size = write_buffer_;
  options.max_open_files = kMaxStoreFiles;
  options.compression = leveldb::kSnappyCompression;
  options.filter_policy = filter_.get();
  leveldb::DB* opened = nullptr;
  const leveldb::Status status = leveldb::DB::Open(options, directory_, &opened);
  db_.reset(opened);
  return explain(status, Code::cannot_start);
}

// The open database stays for reads until there is room to replay its logs.
Status LevelDbStore::reopen() {
  if (db_ != nullptr) {
    if (Status status = probe_room(base_, directory_); !status.ok()) return status;
  }
  close();
  Status status = open_existing();
  if (status.code() != Code::cannot_start) return status;
  return {Code::storage_failed, status.detail()};
}

Status LevelDbStore::write(const Batch& batch) {
  if (refusal_.code() == Code::storage_full) refusal_ = reopen();
  if (!refusal_.ok()) return refusal_;
  QUIPU_CHECK(scratch_ == nullptr, "what is written to a scratch directory is not durable");
  QUIPU_CHECK(db_ != nullptr, "a store that takes writes has its database open");
  leveldb::WriteBatch updates;
  for (const auto& [key, value] : batch.puts) updates.Put(key, value);
  for (const std::string& key : batch.deletes) updates.Delete(key);
  leveldb::WriteOptions options;
  options.sync = true;
  refusal_ = explain(db_->Write(options, &updates), Code::storage_failed);
  return refusal_;
}

// If a reopening found no room, it is tried again, as before a write.
Status LevelDbStore::check_open() {
  if (db_ == nullptr && refusal_.code() == Code::storage_full) refusal_ = reopen();
  QUIPU_CHECK(db_ != nullptr || !refusal_.ok(), "a store without a database says why");
  return db_ == nullptr ? refusal_ : Status();
}

Result<std::optional<std::string>> LevelDbStore::read(std::string_view key) {
  if (Status open = check_open(); !open.ok()) return open;
  leveldb::ReadOptions options;
  options.verify_checksums = true;
  std::string value;
  const leveldb::Status status = db_->Get(options, slice(key), &value);
  if (status.IsNotFound()) return std::optional<std::string>();
  if (!status.ok()) return explain_read(status);
  return std::optional(std::move(value));
}

Status LevelDbStore::scan(std::string_view from, std::string_view to, const Visit& visit) {
  if (Status open = check_open(); !open.ok()) return open;
  leveldb::ReadOptions options;
  options.verify_checksums = true;
  options.fill_cache = false;
  const std::unique_ptr<leveldb::Iterator> at(db_->NewIterator(options));
  for (at->Seek(slice(from)); at->Valid() && view(at->key()) < to; at->Next()) {
    if (Status status = visit(view(at->key()), view(at->value())); !status.ok()) return status;
  }
  return explain_read(at->status());
}

// To LevelDB, a table that ends too early is an error of the file system.
Status LevelDbStore::explain_read(const leveldb::Status& status) {
  return explain(status, is_refused(status) ? Code::storage_failed : Code::corrupt);
}

// LevelDB does not name a damaged table.
Status LevelDbStore::explain(const leveldb::Status& status, Code otherwise) {
  if (!status.ok() && env_->sync_failed()) return {Code::storage_failed, status.ToString()};
  const Status plain = to_status(status, otherwise);
  if (plain.code() != Code::corrupt) return plain;
  const std::string table = find_damaged_table(*env_, directory_);
  return {Code::corrupt, plain.detail() + (table.empty() ? " in " + directory_ : " in " + table)};
}

}  // namespace

Result<std::unique_ptr<Store>> open_leveldb(const LevelDbOptions& options) {
  auto store = std::make_unique<LevelDbStore>(options);
  Status status =
      options.open == LevelDbOptions::Open::create ? store->create() : store->open_existing();
  if (status.code() == Code::storage_full && store->is_readable()) {
    store->refuse(status);
  } else if (!status.ok()) {
    return status;
  }
  return std::unique_ptr<Store>(std::move(store));
}

bool leveldb_exists(const std::filesystem::path& directory) {
  const Result<bool> held = holds_database(*leveldb::Env::Default(), directory.string());
  return held.ok() && *held;
}

}  // namespace quipu
