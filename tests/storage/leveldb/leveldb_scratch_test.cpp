// An Env that writes to memory alone.
#include "storage/leveldb/leveldb_scratch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/leveldb/leveldb_env.h"
#include "tests/storage/leveldb/forgetting_env.h"

namespace quipu::test {
namespace {

using testing::UnorderedElementsAre;

const std::string kDisk = ForgettingEnv::kRoot;

leveldb::Status write_file(leveldb::Env& env, const std::string& name, const std::string& bytes) {
  return leveldb::WriteStringToFile(&env, bytes, name);
}

std::string read(leveldb::Env& env, const std::string& name) {
  std::string bytes;
  const leveldb::Status status = leveldb::ReadFileToString(&env, name, &bytes);
  return status.ok() ? bytes : status.IsNotFound() ? "missing" : status.ToString();
}

std::vector<std::string> names(leveldb::Env& env) {
  std::vector<std::string> found;
  EXPECT_TRUE(env.GetChildren(kDisk, &found).ok());
  return found;
}

TEST(ScratchEnv, ShowsTheDiskAndWhatWasWrittenOverItAndChangesNothingThere) {
  ForgettingEnv disk;
  ASSERT_TRUE(write_file(disk, kDisk + "/a", "1").ok());
  ASSERT_TRUE(write_file(disk, kDisk + "/b", "2").ok());
  ASSERT_TRUE(write_file(disk, kDisk + "/c", "3").ok());
  ScratchEnv scratch(disk, 1000);
  ASSERT_TRUE(write_file(scratch, kDisk + "/a", "one").ok());
  ASSERT_TRUE(write_file(scratch, kDisk + "/d", "four").ok());
  ASSERT_TRUE(scratch.RemoveFile(kDisk + "/b").ok());
  ASSERT_TRUE(scratch.RenameFile(kDisk + "/d", kDisk + "/c").ok());
  EXPECT_EQ(read(scratch, kDisk + "/a"), "one");
  EXPECT_EQ(read(scratch, kDisk + "/b"), "missing");
  EXPECT_EQ(read(scratch, kDisk + "/c"), "four");
  EXPECT_EQ(read(scratch, kDisk + "/d"), "missing");
  EXPECT_FALSE(scratch.FileExists(kDisk + "/b"));
  EXPECT_TRUE(scratch.RemoveFile(kDisk + "/b").IsNotFound());
  EXPECT_THAT(names(scratch), UnorderedElementsAre("a", "c"));
  std::uint64_t size = 0;
  EXPECT_TRUE(scratch.GetFileSize(kDisk + "/c", &size).ok());
  EXPECT_EQ(size, 4u);

  EXPECT_THAT(names(disk), UnorderedElementsAre("a", "b", "c"));
  EXPECT_EQ(read(disk, kDisk + "/a") + read(disk, kDisk + "/b") + read(disk, kDisk + "/c"), "123");
}

TEST(ScratchEnv, IsFullBeyondItsRoomAndHasItBackFromWhatIsRemovedOrReplaced) {
  ForgettingEnv disk;
  ScratchEnv scratch(disk, 10);
  EXPECT_TRUE(write_file(scratch, kDisk + "/a", "12345").ok());
  EXPECT_TRUE(is_out_of_space(write_file(scratch, kDisk + "/b", "123456")));
  EXPECT_TRUE(write_file(scratch, kDisk + "/b", "12345").ok());
  EXPECT_TRUE(scratch.RemoveFile(kDisk + "/a").ok());
  EXPECT_TRUE(write_file(scratch, kDisk + "/c", "12345").ok());
  EXPECT_TRUE(scratch.RenameFile(kDisk + "/c", kDisk + "/b").ok());
  EXPECT_TRUE(write_file(scratch, kDisk + "/b", "1234567890").ok());
}

TEST(ScratchEnv, DoesNothingElseToTheDisk) {
  ForgettingEnv disk;
  ASSERT_TRUE(write_file(disk, kDisk + "/a", "1").ok());
  ScratchEnv scratch(disk, 1000);
  leveldb::WritableFile* file = nullptr;
  EXPECT_FALSE(scratch.NewAppendableFile(kDisk + "/a", &file).ok());
  EXPECT_FALSE(scratch.RenameFile(kDisk + "/a", kDisk + "/b").ok());
  EXPECT_FALSE(scratch.CreateDir(kDisk + "/directory").ok());
  EXPECT_FALSE(scratch.RemoveDir(kDisk).ok());
  EXPECT_THAT(names(disk), UnorderedElementsAre("a"));
}

}  // namespace
}  // namespace quipu::test
