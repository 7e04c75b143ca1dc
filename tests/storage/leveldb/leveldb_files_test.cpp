// The store on the files of the operating system: tables that are read, logs that
// are written ahead of their records.
#include "storage/leveldb/leveldb_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "protocol/random.h"
#include "storage/leveldb/leveldb_store.h"
#include "tests/storage/contents.h"

namespace quipu::test {
namespace {

using Open = LevelDbOptions::Open;

class LevelDbFiles : public testing::Test {
 protected:
  LevelDbFiles()
      : directory_(std::filesystem::path(testing::TempDir()) /
                   ("quipu_leveldb_files_" + std::to_string(::getpid()))) {}
  ~LevelDbFiles() override { std::filesystem::remove_all(directory_); }

  const std::filesystem::path directory_;
};

TEST_F(LevelDbFiles, KeepsWhatWasWritten) {
  EXPECT_FALSE(leveldb_exists(directory_));
  {
    const auto store = open_leveldb({.directory = directory_, .open = Open::create});
    ASSERT_TRUE(store.ok()) << store.status().message();
    ASSERT_TRUE((*store)->write(put("a", "1")).ok());
    EXPECT_EQ(open_leveldb({.directory = directory_}).status().code(), Code::cannot_start)
        << "in use";
  }
  EXPECT_TRUE(leveldb_exists(directory_));
  const auto store = open_leveldb({.directory = directory_});
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_EQ(contents(**store), (Contents{{"a", "1"}}));
}

// A store that another program has opened with LevelDB's own Env is in use, and the other way
// round. Both kinds of lock exclude each other within one process, too.
TEST_F(LevelDbFiles, ALockExcludesLevelDbsOwn) {
  std::filesystem::create_directories(directory_);
  const std::string file = (directory_ / "LOCK").string();
  leveldb::Env& other = *leveldb::Env::Default();
  leveldb::FileLock* ours = nullptr;
  leveldb::FileLock* theirs = nullptr;
  ASSERT_EQ(leveldb_files().lock(file, &ours), std::error_code());
  EXPECT_FALSE(other.LockFile(file, &theirs).ok());
  ASSERT_TRUE(leveldb_files().UnlockFile(ours).ok());
  ASSERT_TRUE(other.LockFile(file, &theirs).ok());
  EXPECT_EQ(leveldb_files().lock(file, &ours), std::errc::resource_unavailable_try_again);
  ASSERT_TRUE(other.UnlockFile(theirs).ok());
  ASSERT_EQ(leveldb_files().lock(file, &ours), std::error_code());
  EXPECT_TRUE(leveldb_files().UnlockFile(ours).ok());
}

TEST_F(LevelDbFiles, ALockTellsByItsCodeWhyItFailed) {
  const std::string file = (directory_ / "LOCK").string();
  leveldb::FileLock* lock = nullptr;
  EXPECT_EQ(leveldb_files().lock(file, &lock), std::errc::no_such_file_or_directory);
  EXPECT_EQ(lock, nullptr);
}

TEST_F(LevelDbFiles, ADirectoryIsSyncedByItself) {
  EXPECT_TRUE(leveldb_files().sync_directory(directory_.string()).IsNotFound());
  std::filesystem::create_directories(directory_);
  EXPECT_TRUE(leveldb_files().sync_directory(directory_.string()).ok());
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

TEST_F(LevelDbFiles, CutsATornEnd) {
  {
    const auto store = open_leveldb({.directory = directory_, .open = Open::create});
    ASSERT_TRUE((*store)->write(put("a", "1")).ok());
  }
  for (const auto& file : std::filesystem::directory_iterator(directory_)) {
    if (file.path().extension() == ".log")
      std::ofstream(file.path(), std::ios::app) << "torn by a power cut";
  }
  const auto store = open_leveldb({.directory = directory_});
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_EQ(contents(**store), (Contents{{"a", "1"}}));
}

// ---- its logs ----

class Log {
 public:
  explicit Log(const std::filesystem::path& file) : file_(file) {
    leveldb::WritableFile* opened = nullptr;
    EXPECT_TRUE(leveldb_files().NewWritableFile(file.string(), &opened).ok());
    log_.reset(opened);
  }

  // As LevelDB writes one: each piece of it is flushed.
  leveldb::Status write(std::size_t size) {
    leveldb::Status status;
    for (; status.ok() && size > 0; size -= std::min<std::size_t>(size, 32'768)) {
      const std::string piece(std::min<std::size_t>(size, 32'768), 'x');
      status = log_->Append(piece);
      if (status.ok()) status = log_->Flush();
      if (status.ok()) written_ += piece;
    }
    return status.ok() ? log_->Sync() : status;
  }

  [[nodiscard]] std::size_t size() const { return std::filesystem::file_size(file_); }

  // The records, then zeros.
  void expect_holds_what_was_written() const {
    std::string found;
    ASSERT_TRUE(leveldb::ReadFileToString(&leveldb_files(), file_.string(), &found).ok());
    EXPECT_TRUE(found.starts_with(written_));
    EXPECT_EQ(found.find_first_not_of('\0', written_.size()), found.npos);
  }

 private:
  const std::filesystem::path file_;
  std::unique_ptr<leveldb::WritableFile> log_;
  std::string written_;
};

TEST_F(LevelDbFiles, RecordsOfALogSeldomChangeItsSize) {
  std::filesystem::create_directory(directory_);
  Log log(directory_ / "000001.log");
  std::set<std::size_t> sizes;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(log.write(1000).ok());
    sizes.insert(log.size());
  }
  EXPECT_LE(sizes.size(), 5U);
  log.expect_holds_what_was_written();
}

TEST_F(LevelDbFiles, NoZerosAreWrittenForLargeRecords) {
  std::filesystem::create_directory(directory_);
  Log log(directory_ / "000001.log");
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(log.write(300'000).ok());
  EXPECT_EQ(log.size(), 3'000'000U);
  ASSERT_TRUE(log.write(1).ok());
  EXPECT_GT(log.size(), 3'000'001U);
  log.expect_holds_what_was_written();
}

// Stands for a full disk while it lives: what fits into a file is written, as far as it fits.
class SmallFiles {
 public:
  explicit SmallFiles(rlim_t bytes) : old_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &old_limit_), 0);
    rlimit limit = old_limit_;
    limit.rlim_cur = bytes;
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  ~SmallFiles() {
    ::setrlimit(RLIMIT_FSIZE, &old_limit_);
    std::signal(SIGXFSZ, old_handler_);
  }
  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;

 private:
  void (*const old_handler_)(int);
  rlimit old_limit_{};
};

TEST_F(LevelDbFiles, RecordsNeedNoRoomForZeros) {
  std::filesystem::create_directory(directory_);
  const SmallFiles full(100'000);
  Log log(directory_ / "000001.log");
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(log.write(1000).ok()) << i;
  EXPECT_TRUE(log.write(1).IsIOError());
  log.expect_holds_what_was_written();
}

// Else each sync near a full disk would write them anew.
TEST_F(LevelDbFiles, ZerosThatFoundNoRoomAreNotTriedAgainAtOnce) {
  std::filesystem::create_directory(directory_);
  Log log(directory_ / "000001.log");
  {
    const SmallFiles full(100'000);
    EXPECT_TRUE(log.write(1000).ok());
  }
  EXPECT_EQ(log.size(), 100'000U);
  EXPECT_TRUE(log.write(1000).ok());
  EXPECT_EQ(log.size(), 100'000U);
  log.expect_holds_what_was_written();
}

// Were tables mapped, reading behind the end of one would end the process.
TEST_F(LevelDbFiles, NamesATableThatWasCutWhileItWasOpen) {
  {
    const auto store =
        open_leveldb({.directory = directory_, .open = Open::create, .write_buffer = 64 << 10});
    ASSERT_TRUE(store.ok()) << store.status().message();
    Random random(1);  // so that nothing is compressed
    for (int i = 0; i < 100; ++i) {
      std::string value(1000, '?');
      for (char& c : value) c = static_cast<char>(random.below(256));
      ASSERT_TRUE((*store)->write(put("key" + std::to_string(i), value)).ok());
    }
  }
  // It has two tables now, which are too few to be merged meanwhile.
  const auto store = open_leveldb({.directory = directory_});
  ASSERT_TRUE(store.ok()) << store.status().message();
  const auto read_all = [&store] {
    return (*store)->scan("", "\xff", [](std::string_view, std::string_view) { return Status(); });
  };
  ASSERT_TRUE(read_all().ok());
  std::vector<std::filesystem::path> tables;
  for (const auto& file : std::filesystem::directory_iterator(directory_)) {
    if (file.path().extension() == ".ldb") tables.push_back(file.path());
  }
  ASSERT_FALSE(tables.empty());
  for (const auto& table : tables) std::filesystem::resize_file(table, 10);
  const Status status = read_all();
  EXPECT_EQ(status.code(), Code::corrupt);
  EXPECT_THAT(status.detail(), testing::HasSubstr(".ldb"));
}

}  // namespace
}  // namespace quipu::test
