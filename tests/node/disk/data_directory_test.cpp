#include "node/disk/data_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "tests/node/temporary_directory.h"

namespace quipu::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

const StoreOwner kOwner{ClusterId{7}, NodeId{1}};

Result<RecoveredStore> recover_at(const fs::path& path, Rebuild rebuild = Rebuild::no,
                                  const StoreOwner& owner = kOwner) {
  const Result<DataDirectory> directory = DataDirectory::lock(path);
  if (!directory.ok()) return directory.status();
  static std::uint64_t starts = 0;
  Random random(++starts);
  return recover_directory(*directory, owner, {}, rebuild, random, Log());
}

std::vector<std::string> names_in(const fs::path& path) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(path)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

// Flips one byte in the middle of every file of that kind.
void damage(const fs::path& store, const std::string& extension) {
  for (const auto& entry : fs::directory_iterator(store)) {
    if (entry.path().extension() != extension || entry.file_size() == 0) continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    const auto middle = static_cast<std::streamoff>(entry.file_size() / 2);
    file.seekg(middle);
    const char byte = static_cast<char>(file.get() ^ 0x40);
    file.seekp(middle);
    file.put(byte);
  }
}

TEST(DataDirectory, IsCreatedWithAllItsParentsAndItsStoreIsThereAgainLater) {
  const TemporaryDirectory temporary;
  const fs::path path = temporary.path() / "a" / "b";
  StoreId store{};
  {
    const auto recovered = recover_at(path);
    ASSERT_TRUE(recovered.ok()) << recovered.status().message();
    store = recovered->recovered.executor->meta().store;
    EXPECT_FALSE(recovered->recovered.executor->meta().marked);
  }
  EXPECT_THAT(names_in(path), testing::ElementsAre("held-a-store", "lock", "store"));
  const auto again = recover_at(path);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->recovered.executor->meta().store, store);
}

TEST(DataDirectory, HoldsOnlyFilesThatItsOwnerMayWriteAndAllMayRead) {
  const TemporaryDirectory temporary;
  const mode_t before = ::umask(022);
  const fs::path path = temporary.path() / "data";
  // The second start makes a table of what the first one logged.
  for (int start = 0; start < 2; ++start) ASSERT_TRUE(recover_at(path).ok());
  ::umask(before);
  EXPECT_EQ(fs::status(path).permissions(), fs::perms{0755});
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    EXPECT_EQ(entry.status().permissions(), fs::perms{entry.is_directory() ? 0755U : 0644U})
        << entry.path();
  }
}

TEST(DataDirectory, IsUsedByOneNodeAtATimeEvenInOneProcess) {
  const TemporaryDirectory temporary;
  const auto first = DataDirectory::lock(temporary.path());
  ASSERT_TRUE(first.ok());
  const auto second = DataDirectory::lock(temporary.path());
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), Code::cannot_start);
  EXPECT_THAT(second.status().detail(),
              HasSubstr("in use by process " + std::to_string(::getpid())));
  EXPECT_THAT(second.status().message(), Not(HasSubstr("\n")));
}

TEST(DataDirectory, IsFreeOnceItsProcessIsKilled) {
  const TemporaryDirectory temporary;
  const pid_t child = ::fork();
  if (child == 0) {
    const auto held = DataDirectory::lock(temporary.path());
    if (held.ok()) ::kill(::getpid(), SIGKILL);
    ::_exit(1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);  // it had the lock
  EXPECT_TRUE(DataDirectory::lock(temporary.path()).ok());
}

TEST(DataDirectory, ThatCannotBeWrittenToIsNamed) {
  const TemporaryDirectory temporary;
  std::ofstream(temporary / "file") << "in the way";
  const auto directory = DataDirectory::lock(temporary / "file/data");
  ASSERT_FALSE(directory.ok());
  EXPECT_EQ(directory.status().code(), Code::cannot_start);
  EXPECT_THAT(directory.status().detail(), HasSubstr(temporary / "file"));
}

TEST(DataDirectory, SaysOneCauseAndWhatHelpsAgainstIt) {
  const TemporaryDirectory temporary;
  std::ofstream(temporary / "file") << "in the way";
  const auto refusal = [](const fs::path& path) { return DataDirectory::lock(path).status(); };
  const Status file = refusal(temporary / "file/data");
  EXPECT_THAT(file.detail(), HasSubstr("Not a directory: name another directory"));
  const Status nowhere = refusal("/proc/quipu");
  EXPECT_THAT(nowhere.detail(), HasSubstr("No such file or directory: name another directory"));
  EXPECT_THAT(nowhere.detail(), Not(HasSubstr("rights")));
  EXPECT_THAT(refusal(temporary.path() / std::string(300, 'x')).detail(),
              HasSubstr("File name too long: name another directory"));
}

TEST(DataDirectory, CanBeCheckedWithoutBeingCreated) {
  const TemporaryDirectory temporary;
  std::ofstream(temporary / "file") << "in the way";
  EXPECT_TRUE(DataDirectory::check(temporary.path() / "a" / "b").ok());
  EXPECT_TRUE(DataDirectory::check(temporary.path()).ok());
  EXPECT_EQ(DataDirectory::check(temporary.path() / "file").code(), Code::cannot_start);
  EXPECT_EQ(DataDirectory::check(temporary.path() / "file" / "data").code(), Code::cannot_start);
  EXPECT_EQ(DataDirectory::check("/proc/quipu/data").code(), Code::cannot_start);
  EXPECT_THAT(names_in(temporary.path()), testing::ElementsAre("file"));
}

TEST(DataDirectory, OfAnotherClusterOrNodeIsRefusedAndLeftAlone) {
  const TemporaryDirectory temporary;
  ASSERT_TRUE(recover_at(temporary.path()).ok());
  for (const Rebuild rebuild : {Rebuild::no, Rebuild::yes}) {
    const auto cluster = recover_at(temporary.path(), rebuild, {ClusterId{8}, NodeId{1}});
    EXPECT_EQ(cluster.status().code(), Code::cannot_start);
    EXPECT_THAT(cluster.status().detail(), HasSubstr("another cluster"));
    const auto node = recover_at(temporary.path(), rebuild, {ClusterId{7}, NodeId{2}});
    EXPECT_EQ(node.status().code(), Code::cannot_start);
    EXPECT_THAT(node.status().detail(), HasSubstr("another node"));
  }
  EXPECT_TRUE(recover_at(temporary.path()).ok());
}

TEST(DataDirectory, ThatLostItsStoreNeverSilentlyGetsANewOne) {
  const TemporaryDirectory temporary;
  ASSERT_TRUE(recover_at(temporary.path()).ok());
  fs::remove_all(temporary.path() / "store");
  const auto lost = recover_at(temporary.path());
  ASSERT_FALSE(lost.ok());
  EXPECT_EQ(lost.status().code(), Code::corrupt);
  EXPECT_THAT(lost.status().message(), HasSubstr("--rebuild"));
  EXPECT_FALSE(fs::exists(temporary.path() / "store"));

  const auto rebuilt = recover_at(temporary.path(), Rebuild::yes);
  ASSERT_TRUE(rebuilt.ok()) << rebuilt.status().message();
  EXPECT_TRUE(rebuilt->recovered.executor->meta().marked);
}

TEST(DataDirectory, ADamagedStoreIsRefusedAndARebuildMovesItAside) {
  const TemporaryDirectory temporary;
  StoreId old{};
  {
    auto recovered = recover_at(temporary.path());
    ASSERT_TRUE(recovered.ok());
    old = recovered->recovered.executor->meta().store;
  }
  ASSERT_TRUE(recover_at(temporary.path()).ok());  // its log is now in a table
  damage(temporary.path() / "store", ".ldb");
  const auto refused = recover_at(temporary.path());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), Code::corrupt);
  EXPECT_THAT(refused.status().message(), HasSubstr(temporary / "store"));
  EXPECT_THAT(refused.status().message(), HasSubstr("--rebuild"));
  EXPECT_THAT(refused.status().message(), Not(HasSubstr("\n")));

  {
    const auto rebuilt = recover_at(temporary.path(), Rebuild::yes);
    ASSERT_TRUE(rebuilt.ok()) << rebuilt.status().message();
    EXPECT_TRUE(rebuilt->recovered.executor->meta().marked);
    EXPECT_NE(rebuilt->recovered.executor->meta().store, old);
  }
  EXPECT_THAT(names_in(temporary.path()),
              testing::ElementsAre("held-a-store", "lock", "store", "store.broken-1"));
}

TEST(DataDirectory, ARebuildReplacesASoundStoreOnceAndThenKeepsIt) {
  const TemporaryDirectory temporary;
  ASSERT_TRUE(recover_at(temporary.path()).ok());
  StoreId rebuilt{};
  {
    const auto first = recover_at(temporary.path(), Rebuild::yes);
    ASSERT_TRUE(first.ok()) << first.status().message();
    rebuilt = first->recovered.executor->meta().store;
  }
  const auto second = recover_at(temporary.path(), Rebuild::yes);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->recovered.executor->meta().store, rebuilt);
  EXPECT_THAT(names_in(temporary.path()),
              testing::ElementsAre("held-a-store", "lock", "store", "store.broken-1"));
}

TEST(DataDirectory, WhatWasBeingCreatedWhenTheProcessEndedIsBegunAnew) {
  const TemporaryDirectory temporary;
  fs::create_directories(temporary.path() / "store.new");
  std::ofstream(temporary / "store.new/CURRENT") << "half";
  EXPECT_TRUE(recover_at(temporary.path()).ok());
  EXPECT_THAT(names_in(temporary.path()), testing::ElementsAre("held-a-store", "lock", "store"));
}

}  // namespace
}  // namespace quipu::test
