#include "storage/leveldb/leveldb_recovery.h"

#include <leveldb/iterator.h>
#include <leveldb/options.h>
#include <leveldb/table.h>

#include <charconv>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "protocol/check.h"
#include "storage/leveldb/leveldb_env.h"
#include "storage/leveldb/leveldb_log.h"
#include "storage/leveldb/leveldb_manifest.h"

namespace quipu {
namespace {

// LevelDB removes files with this ending when it opens.
constexpr std::string_view kTemporary = "/000000.dbtmp";

// A numbered file of the database: a log, or a table.
using Numbered = std::map<std::uint64_t, std::string>;

Result<Numbered> list(leveldb::Env& env, const std::string& directory, std::string_view ending) {
  std::vector<std::string> names;
  const leveldb::Status listed = env.GetChildren(directory, &names);
  if (!listed.ok() && !listed.IsNotFound()) return to_status(listed, Code::cannot_start);
  Numbered files;
  for (const std::string& name : names) {
    std::uint64_t number = 0;
    const char* end = name.data() + name.size();
    const auto [rest, error] = std::from_chars(name.data(), end, number);
    if (error == std::errc{} && std::string_view(rest, end) == ending) {
      files[number] = directory + "/" + name;
    }
  }
  return files;
}

Status corrupt(const std::string& file, const std::string& how) {
  return {Code::corrupt, file + " " + how};
}

// Writes `bytes` `times` times, so that a large file needs little memory.
leveldb::Status write_durably(leveldb::Env& env, const std::string& name, std::string_view bytes,
                              std::uint64_t times = 1) {
  leveldb::WritableFile* opened = nullptr;
  leveldb::Status status = env.NewWritableFile(name, &opened);
  if (!status.ok()) return status;
  const std::unique_ptr<leveldb::WritableFile> file(opened);
  while (status.ok() && times-- > 0) status = file->Append({bytes.data(), bytes.size()});
  if (status.ok()) status = file->Sync();
  if (status.ok()) status = file->Close();
  return status;
}

// One run over a directory. Logs and the MANIFEST have the same format.
class Mender {
 public:
  Mender(StoreEnv& env, const std::string& directory) : env_(env), directory_(directory) {}

  Status run();

 private:
  using Visit = std::function<Status(std::string_view record)>;
  enum class Tear { allowed, refused };

  Result<std::string> read(const std::string& file);
  Status check(const std::string& file, Tear tear, const Visit& visit);
  Status replace(const std::string& file, std::string_view bytes);
  Result<std::string> manifest();
  Result<std::uint64_t> oldest_log();

  StoreEnv& env_;
  const std::string& directory_;
};

Result<std::string> Mender::read(const std::string& file) {
  std::string bytes;
  const leveldb::Status status = leveldb::ReadFileToString(&env_, file, &bytes);
  if (status.IsNotFound()) return corrupt(file, "is missing");
  if (!status.ok()) return to_status(status, Code::cannot_start);
  return bytes;
}

Status Mender::check(const std::string& file, Tear tear, const Visit& visit) {
  const Result<std::string> bytes = read(file);
  if (!bytes.ok()) return bytes.status();
  LevelDbLog log(*bytes);
  while (const std::optional<std::string> record = log.next()) {
    if (Status status = visit(*record); !status.ok()) return status;
  }
  const std::string where = "is damaged at byte " + std::to_string(log.good());
  switch (log.end()) {
    case LevelDbLog::End::whole:
      return {};
    case LevelDbLog::End::damaged:
      return corrupt(file, where + ", before records that are intact");
    case LevelDbLog::End::torn:
      break;
  }
  if (tear == Tear::refused) return corrupt(file, where + ", although a newer log exists");
  QUIPU_CHECK(log.good() < bytes->size(), "only a torn end is cut off", log.good(), bytes->size());
  return replace(file, std::string_view(*bytes).substr(0, log.good()));
}

Status Mender::replace(const std::string& file, std::string_view bytes) {
  const std::string fresh = directory_ + std::string(kTemporary);
  leveldb::Status status = write_durably(env_, fresh, bytes);
  if (status.ok()) status = env_.RenameFile(fresh, file);
  if (status.ok()) status = env_.sync_directory(directory_);
  return to_status(status, Code::cannot_start);
}

Result<std::string> Mender::manifest() {
  const std::string current = directory_ + "/CURRENT";
  Result<std::string> name = read(current);
  if (!name.ok()) return name;
  if (!name->starts_with("MANIFEST-") || !name->ends_with('\n') || name->find('/') != name->npos) {
    return corrupt(current, "names no MANIFEST");
  }
  name->pop_back();
  return directory_ + "/" + *name;
}

Result<std::uint64_t> Mender::oldest_log() {
  const Result<std::string> file = manifest();
  if (!file.ok()) return file.status();
  std::optional<std::uint64_t> oldest;
  Status status = check(*file, Tear::allowed, [&](std::string_view record) {
    const std::optional<VersionEdit> edit = parse_version_edit(record);
    if (!edit) return corrupt(*file, "holds an edit of an unknown form");
    if (edit->log_number) oldest = edit->log_number;
    return Status();
  });
  if (!status.ok()) return status;
  if (!oldest) return corrupt(*file, "names no log");
  return *oldest;
}

Status Mender::run() {
  const Result<std::uint64_t> oldest = oldest_log();
  if (!oldest.ok()) return oldest.status();
  Result<Numbered> logs = list(env_, directory_, ".log");
  if (!logs.ok()) return logs.status();
  logs->erase(logs->begin(), logs->lower_bound(*oldest));
  // 0: nothing was ever logged.
  if (*oldest != 0 && !logs->contains(*oldest)) {
    return corrupt(directory_, "lacks the log of number " + std::to_string(*oldest));
  }
  for (const auto& [number, file] : *logs) {
    const Tear tear = number == logs->rbegin()->first ? Tear::allowed : Tear::refused;
    Status status = check(file, tear, [](std::string_view) { return Status(); });
    if (!status.ok()) return status;
  }
  return {};
}

bool is_damaged(leveldb::Env& env, const std::string& file) {
  leveldb::Options options;
  options.env = &env;
  options.paranoid_checks = true;
  std::uint64_t size = 0;
  leveldb::RandomAccessFile* opened = nullptr;
  if (!env.GetFileSize(file, &size).ok() || !env.NewRandomAccessFile(file, &opened).ok())
    return true;
  const std::unique_ptr<leveldb::RandomAccessFile> bytes(opened);
  leveldb::Table* parsed = nullptr;
  if (!leveldb::Table::Open(options, opened, size, &parsed).ok()) return true;
  const std::unique_ptr<leveldb::Table> table(parsed);
  leveldb::ReadOptions read;
  read.verify_checksums = true;
  const std::unique_ptr<leveldb::Iterator> at(table->NewIterator(read));
  for (at->SeekToFirst(); at->Valid();) at->Next();
  return !at->status().ok();
}

}  // namespace

Result<bool> holds_database(leveldb::Env& env, const std::string& directory) {
  if (env.FileExists(directory + "/CURRENT")) return true;
  for (const std::string_view ending : {".log", ".ldb"}) {
    const Result<Numbered> files = list(env, directory, ending);
    if (!files.ok()) return files.status();
    if (!files->empty()) return true;
  }
  return false;
}

Status mend(StoreEnv& env, const std::string& directory) { return Mender(env, directory).run(); }

Result<std::uint64_t> room_to_open(leveldb::Env& env, const std::string& directory) {
  const Result<Numbered> logs = list(env, directory, ".log");
  if (!logs.ok()) return logs.status();
  std::uint64_t wanted = std::uint64_t{1} << 20;  // MANIFEST, CURRENT and the first writes
  for (const auto& [number, file] : *logs) {
    std::uint64_t size = 0;
    if (env.GetFileSize(file, &size).ok()) wanted += 2 * size;  // a mended copy, and its table
  }
  return wanted;
}

Status probe_room(leveldb::Env& env, const std::string& directory) {
  const Result<std::uint64_t> wanted = room_to_open(env, directory);
  if (!wanted.ok()) return wanted.status();
  const std::string probe = directory + std::string(kTemporary);
  const std::string piece(std::size_t{64} << 10, '\0');
  const leveldb::Status written = write_durably(env, probe, piece, *wanted / piece.size() + 1);
  env.RemoveFile(probe);
  return to_status(written, Code::storage_failed);
}

std::string find_damaged_table(leveldb::Env& env, const std::string& directory) {
  const Result<Numbered> files = list(env, directory, ".ldb");
  if (!files.ok()) return {};
  for (const auto& [number, file] : *files) {
    if (is_damaged(env, file)) return file;
  }
  return {};
}

}  // namespace quipu
