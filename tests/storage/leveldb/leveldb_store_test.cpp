// What only LevelDB can do wrong: damage, torn ends, a full disk, a locked or
// mistaken directory.
#include "storage/leveldb/leveldb_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "protocol/random.h"
#include "storage/leveldb/leveldb_env.h"
#include "tests/storage/contents.h"
#include "tests/storage/leveldb/forgetting_env.h"

namespace quipu::test {
namespace {

using testing::HasSubstr;
using Open = LevelDbOptions::Open;

const std::string kDirectory = std::string(ForgettingEnv::kRoot) + "/store";

Result<std::unique_ptr<Store>> open(ForgettingEnv& env, Open how = Open::existing) {
  return open_leveldb(
      {.directory = kDirectory, .open = how, .write_buffer = 64 << 10, .env = &env});
}

std::string stored_key(int i) { return "key" + std::to_string(1000 + i); }

// A disk with a store of the keys 0 … count-1, one record each, closed.
std::unique_ptr<ForgettingEnv> make_disk(int count, std::size_t value_size) {
  auto env = std::make_unique<ForgettingEnv>();
  const auto store = open(*env, Open::create);
  for (int i = 0; i < count; ++i) {
    EXPECT_TRUE(
        (*store)
            ->write(put(stored_key(i), std::string(value_size, static_cast<char>('a' + i % 26))))
            .ok());
  }
  return env;
}

std::string newest_log(const ForgettingEnv& env) { return env.files(kDirectory, ".log").back(); }

void flip(std::string& bytes, std::size_t at) { bytes[at] = static_cast<char>(bytes[at] ^ 0x10); }

// What opening and then reading everything comes to.
Status read_all(ForgettingEnv& env, Contents* found = nullptr) {
  const auto store = open(env);
  if (!store.ok()) return store.status();
  return (*store)->scan("", "\xff", [&](std::string_view name, std::string_view value) {
    if (found != nullptr) found->emplace(name, value);
    return Status();
  });
}

void expect_corrupt(const Status& status, const std::string& file) {
  EXPECT_EQ(status.code(), Code::corrupt) << status.message();
  EXPECT_THAT(status.detail(), HasSubstr(file));
}

void expect_first_keys(ForgettingEnv& env, int count) {
  Contents found;
  const Status status = read_all(env, &found);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(found.size(), static_cast<std::size_t>(count));
  EXPECT_TRUE(found.empty() || found.rbegin()->first == stored_key(count - 1));
}

// ---- the end of the newest log ----

TEST(LevelDbStore, CutsATornLastRecordWhereverItEnds) {
  const auto whole = make_disk(5, 50);
  const std::string log = whole->read(newest_log(*whole));
  const std::size_t record = log.size() / 5;
  for (std::size_t size = log.size() - record; size < log.size(); ++size) {
    const auto env = make_disk(5, 50);
    env->damage(newest_log(*env), [&](std::string& bytes) { bytes.resize(size); });
    expect_first_keys(*env, 4);
  }
}

TEST(LevelDbStore, CutsWhateverStandsBehindTheLastRecord) {
  const std::string record = [] {
    const auto env = make_disk(1, 50);
    return env->read(newest_log(*env));
  }();
  for (const std::string& tail :
       {std::string(1, '\0'), std::string(6, '\0'), std::string(7, '\0'),
        std::string(100'000, '\0'), std::string(3, 'x'), std::string(5000, '\xff'),
        record.substr(0, 7), record.substr(0, record.size() - 1)}) {
    const auto env = make_disk(3, 50);
    env->damage(newest_log(*env), [&](std::string& bytes) { bytes += tail; });
    expect_first_keys(*env, 3);
  }
}

TEST(LevelDbStore, TakesADamagedLastRecordForTorn) {
  const auto whole = make_disk(5, 50);
  const std::size_t size = whole->read(newest_log(*whole)).size();
  for (const std::size_t zeros : {0U, 5000U}) {
    for (std::size_t at = size - size / 5; at < size; ++at) {
      const auto env = make_disk(5, 50);
      env->damage(newest_log(*env), [&](std::string& bytes) {
        bytes.append(zeros, '\0');
        flip(bytes, at);
      });
      expect_first_keys(*env, 4);
    }
  }
}

// As when a log was prepared for records that never came.
TEST(LevelDbStore, TakesZerosForTheEndOfEveryLog) {
  for (const std::size_t zeros : {1U, 6U, 7U, 100U, 32'768U, 262'144U}) {
    const auto env = make_disk(5, 50);
    leveldb::WritableFile* newer = nullptr;
    ASSERT_TRUE(env->NewWritableFile(kDirectory + "/000999.log", &newer).ok());
    delete newer;
    for (const std::string& log : env->files(kDirectory, ".log")) {
      env->damage(log, [&](std::string& bytes) { bytes.append(zeros, '\0'); });
    }
    expect_first_keys(*env, 5);
  }
}

// A power cut may keep a later block of a record and lose an earlier one. What stands behind
// continues a record, but begins none.
TEST(LevelDbStore, CutsATornRecordOfWhichALaterBlockIsIntact) {
  for (const std::size_t lost : {0U, 20'000U, 33'000U, 70'000U}) {
    const auto env = make_disk(3, 50);
    {
      const auto store = open(*env);
      ASSERT_TRUE((*store)->write(put("large", std::string(100'000, 'x'))).ok());
    }
    const std::string log = newest_log(*env);
    ASSERT_GT(env->read(log).size(), 100'000U)
        << "a log of its own, which begins with the large record";
    env->damage(log, [&](std::string& bytes) { bytes.replace(lost, 512, 512, '\0'); });
    expect_first_keys(*env, 3);
  }
}

TEST(LevelDbStore, CallsDamageBeforeALaterRecordCorrupt) {
  const auto whole = make_disk(5, 50);
  const std::size_t size = whole->read(newest_log(*whole)).size();
  for (std::size_t at = 0; at < size - size / 5; ++at) {
    const auto env = make_disk(5, 50);
    const std::string log = newest_log(*env);
    env->damage(log, [&](std::string& bytes) { flip(bytes, at); });
    expect_corrupt(read_all(*env), log);
  }
}

TEST(LevelDbStore, CallsAHoleInTheMiddleOfTheNewestLogCorrupt) {
  const auto env = make_disk(40, 1000);
  const std::string log = newest_log(*env);
  env->damage(log, [](std::string& bytes) { bytes.replace(5000, 4096, 4096, '\0'); });
  expect_corrupt(read_all(*env), log);
}

// ---- the other files ----

TEST(LevelDbStore, ReplaysAnOlderLogThatIsWhole) {
  const auto env = make_disk(5, 50);
  leveldb::WritableFile* newer = nullptr;
  ASSERT_TRUE(env->NewWritableFile(kDirectory + "/000999.log", &newer).ok());
  delete newer;
  expect_first_keys(*env, 5);
}

TEST(LevelDbStore, CallsAnyDamageOfAnOlderLogCorrupt) {
  for (const bool torn : {false, true}) {
    const auto env = make_disk(5, 50);
    const std::string older = newest_log(*env);
    leveldb::WritableFile* newer = nullptr;
    ASSERT_TRUE(env->NewWritableFile(kDirectory + "/000999.log", &newer).ok());
    delete newer;
    env->damage(older, [&](std::string& bytes) {
      if (torn) {
        bytes.pop_back();
      } else {
        flip(bytes, bytes.size() - 1);
      }
    });
    expect_corrupt(read_all(*env), older);
  }
}

TEST(LevelDbStore, IgnoresLogsThatAreNoLongerReplayed) {
  const auto env = make_disk(5, 50);
  leveldb::WritableFile* older = nullptr;
  ASSERT_TRUE(env->NewWritableFile(kDirectory + "/000001.log", &older).ok());
  ASSERT_TRUE(older->Append("not a log at all").ok());
  delete older;
  expect_first_keys(*env, 5);
}

TEST(LevelDbStore, NamesTheTableInWhichABitFlipped) {
  const auto whole = make_disk(600, 1000);
  const std::vector<std::string> tables = whole->files(kDirectory, ".ldb");
  ASSERT_GT(tables.size(), 1U);
  for (const double part : {0.0, 0.3, 0.9}) {
    const auto env = make_disk(600, 1000);
    const std::string table = env->files(kDirectory, ".ldb").front();
    env->damage(table, [&](std::string& bytes) {
      flip(bytes, static_cast<std::size_t>(static_cast<double>(bytes.size()) * part));
    });
    expect_corrupt(read_all(*env), table);
  }
}

TEST(LevelDbStore, CallsMissingFilesCorrupt) {
  for (const std::string_view ending : {"/CURRENT", ".ldb", ".log"}) {
    const auto env = make_disk(600, 1000);
    const std::string file = env->files(kDirectory, ending).front();
    ASSERT_TRUE(env->RemoveFile(file).ok());
    expect_corrupt(read_all(*env), ending == ".log" ? kDirectory : file);
  }
}

TEST(LevelDbStore, NamesADamagedCurrentOrManifest) {
  for (const std::string_view part : {"/CURRENT", "/MANIFEST-"}) {
    const auto env = make_disk(600, 1000);
    std::string file = kDirectory + "/CURRENT";
    if (part != "/CURRENT") {
      file = kDirectory + "/" + env->read(file);
      file.pop_back();
    }
    env->damage(file, [](std::string& bytes) { flip(bytes, 3); });
    expect_corrupt(read_all(*env), file);
  }
}

TEST(LevelDbStore, CutsATornEndOfTheManifest) {
  for (const std::string& tail :
       {std::string("torn"), std::string(100, '\0'), std::string(5000, '\x7f')}) {
    const auto env = make_disk(600, 1000);
    std::string manifest = kDirectory + "/" + env->read(kDirectory + "/CURRENT");
    manifest.pop_back();
    env->damage(manifest, [&](std::string& bytes) { bytes += tail; });
    expect_first_keys(*env, 600);
  }
}

// ---- a full disk ----

TEST(LevelDbStore, KeepsWhatWasAcknowledgedBeforeDuringAndAfterAFullDisk) {
  int refusals = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    ForgettingEnv env(seed);
    auto store = open(env, Open::create);
    ASSERT_TRUE(store.ok());
    Contents acknowledged;
    for (int i = 0; i < 2000; ++i) {
      const Batch batch = put(stored_key(static_cast<int>(random.below(500))),
                              std::string(random.below(3000), 'x'));
      if (random.below(30) == 0) env.set_capacity(env.used() + random.below(20'000));
      if (random.below(30) == 0) env.set_capacity(std::nullopt);
      const Status status = (*store)->write(batch);
      if (status.ok()) {
        apply_batch(batch, acknowledged);
      } else {
        ASSERT_EQ(status.code(), Code::storage_full) << status.message();
        ++refusals;
      }
    }
    env.set_capacity(std::nullopt);
    (void)(*store)->write({});  // a background error of before may still be due
    ASSERT_TRUE((*store)->write({}).ok());
    EXPECT_EQ(contents(**store), acknowledged);
    env.power_off();
    store = Status();
    env.power_on();
    store = open(env);
    ASSERT_TRUE(store.ok()) << store.status().message();
    EXPECT_EQ(contents(**store), acknowledged);
  }
  EXPECT_GT(refusals, 300);
}

TEST(LevelDbStore, CallsNoSpaceInASyncAFailedSync) {
  ForgettingEnv env;
  const auto store = open(env, Open::create);
  ASSERT_TRUE((*store)->write(put("a", "1")).ok());
  env.fail_syncs("No space left on device");
  EXPECT_EQ((*store)->write(put("b", "2")).code(), Code::storage_failed);
  env.fail_syncs("");
  EXPECT_EQ((*store)->write(put("c", "3")).code(), Code::storage_failed);
}

// As where a program that embeds a node is short of them.
TEST(LevelDbStore, TakesNoDescriptorsForNoDamage) {
  const auto env = make_disk(5, 50);
  ASSERT_TRUE(open(*env).ok());  // from the log into a table
  const auto store = open(*env);
  ASSERT_TRUE(store.ok());
  env->refuse_reads("Too many open files");
  EXPECT_EQ((*store)->read(stored_key(1)).status().code(), Code::storage_failed);
  const auto visit = [](std::string_view, std::string_view) { return Status(); };
  EXPECT_EQ((*store)->scan("", "\xff", visit).code(), Code::storage_failed);
  env->refuse_reads("Invalid argument");
  EXPECT_EQ((*store)->read(stored_key(1)).status().code(), Code::corrupt);
  env->refuse_reads("");
  EXPECT_TRUE((*store)->read(stored_key(1)).value().has_value());
}

std::map<std::string, std::string> files_of(const ForgettingEnv& env) {
  std::map<std::string, std::string> files;
  for (const std::string& name : env.files(kDirectory, "")) {
    if (!name.ends_with("/LOCK")) files[name] = env.read(name);
  }
  return files;
}

// What LevelDB writes when it opens must go somewhere.
TEST(LevelDbStore, OnAFullDiskIsReadAndLeavesTheDiskAlone) {
  const auto env = make_disk(5, 50);
  env->set_capacity(env->used());
  const auto before = files_of(*env);
  {
    const auto store = open(*env);
    ASSERT_TRUE(store.ok()) << store.status().message();
    EXPECT_EQ(contents(**store)->size(), 5u);
    EXPECT_EQ((*store)->read(stored_key(1)).value(), std::string(50, 'b'));
    EXPECT_EQ((*store)->write(put("new", "1")).code(), Code::storage_full);
    EXPECT_EQ((*store)->write({}).code(), Code::storage_full);
    EXPECT_EQ((*store)->read("new").value(), std::nullopt);
    EXPECT_EQ(files_of(*env), before);
  }
  EXPECT_EQ(files_of(*env), before);
  env->set_capacity(std::nullopt);
  expect_first_keys(*env, 5);
}

TEST(LevelDbStore, OpenedOnAFullDiskWritesDurablyOnceThereIsRoom) {
  const auto env = make_disk(5, 50);
  env->set_capacity(env->used());
  auto store = open(*env);
  ASSERT_TRUE(store.ok());
  ASSERT_EQ((*store)->write(put("lost", "1")).code(), Code::storage_full);
  env->set_capacity(std::nullopt);
  ASSERT_TRUE((*store)->write(put(stored_key(5), "6")).ok());
  env->power_off();
  store = Status();
  env->power_on();
  expect_first_keys(*env, 6);
}

// A crash on a full disk leaves such an end, which can be cut off in memory alone.
TEST(LevelDbStore, OnAFullDiskIsReadWithoutTheTornEndOfItsLog) {
  const auto env = make_disk(5, 50);
  env->damage(newest_log(*env), [](std::string& bytes) { bytes.resize(bytes.size() - 10); });
  env->set_capacity(env->used());
  const auto store = open(*env);
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_EQ(contents(**store)->size(), 4u);
}

TEST(LevelDbStore, OnAFullDiskDamageIsStillFound) {
  const auto env = make_disk(5, 50);
  const std::string log = newest_log(*env);
  env->damage(log, [](std::string& bytes) { flip(bytes, bytes.size() / 2); });
  env->set_capacity(env->used());
  expect_corrupt(open(*env).status(), log);
}

// With many tables LevelDB compacts as soon as it is open.
TEST(LevelDbStore, OnAFullDiskTakesNoMoreMemoryThanItsLogsNeed) {
  const auto env = make_disk(400, 8'000);
  env->set_capacity(env->used());
  const auto before = files_of(*env);
  const auto store = open(*env);
  ASSERT_TRUE(store.ok()) << store.status().message();
  for (int round = 0; round < 20; ++round) {
    EXPECT_EQ(contents(**store)->size(), 400u);
    EXPECT_EQ((*store)->write({}).code(), Code::storage_full);
  }
  EXPECT_EQ(files_of(*env), before);
}

// ---- directories ----

TEST(LevelDbStore, SaysSoIfTheDirectoryIsInUse) {
  ForgettingEnv env;
  const auto first = open(env, Open::create);
  ASSERT_TRUE(first.ok());
  const auto second = open(env);
  EXPECT_EQ(second.status().code(), Code::cannot_start);
  EXPECT_THAT(second.status().detail(), HasSubstr("in use by another process"));
  EXPECT_TRUE((*first)->write(put("a", "1")).ok());
}

TEST(LevelDbStore, CreatesNoStoreOverAnother) {
  const auto env = make_disk(5, 50);
  EXPECT_EQ(open(*env, Open::create).status().code(), Code::cannot_start);
  ASSERT_TRUE(env->RemoveFile(kDirectory + "/CURRENT").ok());
  EXPECT_EQ(open(*env, Open::create).status().code(), Code::cannot_start)
      << "even if it is damaged";
}

TEST(LevelDbStore, OpensNoStoreThatIsNotThere) {
  ForgettingEnv env;
  EXPECT_EQ(open(env).status().code(), Code::cannot_start);
  ASSERT_TRUE(env.CreateDir(kDirectory).ok());
  EXPECT_EQ(open(env).status().code(), Code::cannot_start);
  EXPECT_TRUE(env.files(kDirectory, "").empty()) << "and leaves nothing there";
}

TEST(LevelDbStore, NeedsTheParentDirectory) {
  ForgettingEnv env;
  const auto store =
      open_leveldb({.directory = "/nowhere/store", .open = Open::create, .env = &env});
  EXPECT_EQ(store.status().code(), Code::cannot_start);
}

// ---- the Env between LevelDB and the disk ----

TEST(LevelDbEnv, WritesNoMoreToAFileAfterItsFirstError) {
  ForgettingEnv disk;
  LevelDbEnv env(disk);
  const std::string name = std::string(ForgettingEnv::kRoot) + "/file";
  leveldb::WritableFile* opened = nullptr;
  ASSERT_TRUE(env.NewWritableFile(name, &opened).ok());
  const std::unique_ptr<leveldb::WritableFile> file(opened);
  disk.set_capacity(3);
  ASSERT_TRUE(file->Append("abcdef").ok());
  EXPECT_TRUE(is_out_of_space(file->Flush()));
  disk.set_capacity(std::nullopt);
  EXPECT_TRUE(is_out_of_space(file->Append("ghi")));
  EXPECT_TRUE(is_out_of_space(file->Flush()));
  EXPECT_TRUE(is_out_of_space(file->Sync()));
  EXPECT_TRUE(is_out_of_space(file->Close()));
  EXPECT_EQ(disk.read(name), "abc");
}

TEST(LevelDbEnv, TellsAFailedSyncFromAFailedWriteWithinIt) {
  ForgettingEnv disk;
  LevelDbEnv env(disk);
  leveldb::WritableFile* opened = nullptr;
  ASSERT_TRUE(env.NewWritableFile(std::string(ForgettingEnv::kRoot) + "/file", &opened).ok());
  std::unique_ptr<leveldb::WritableFile> file(opened);
  disk.set_capacity(3);
  ASSERT_TRUE(file->Append("abcdef").ok());
  EXPECT_FALSE(file->Sync().ok());
  EXPECT_FALSE(env.sync_failed());

  disk.set_capacity(std::nullopt);
  ASSERT_TRUE(env.NewWritableFile(std::string(ForgettingEnv::kRoot) + "/other", &opened).ok());
  file.reset(opened);
  disk.fail_syncs("No space left on device");
  EXPECT_FALSE(file->Sync().ok());
  EXPECT_TRUE(env.sync_failed());
}

}  // namespace
}  // namespace quipu::test
