#include "node/users/users_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <mutex>

#include "tests/node/temporary_directory.h"

namespace quipu::test {
namespace {

std::string user(const std::string& name) {
  return "[[user]]\nname = \"" + name + "\"\nsecrets = [\"" + to_text(hash_secret("s", {})) +
         "\"]\nmay = []\n";
}

void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

TEST(UsersFile, KeepsItsUsersWhileTheFileIsWrong) {
  const TemporaryDirectory directory;
  const std::string path = directory / "users.toml";
  write(path, user("a"));
  std::size_t told = 0;
  auto file = UsersFile::open(path, Log(), [&](const auto&) { ++told; });
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(told, 1u);

  write(path, "[[user]]\n");
  EXPECT_EQ((*file)->read_again().code(), Code::invalid_argument);
  EXPECT_EQ((*file)->refused(), 1u);
  EXPECT_EQ((*file)->users()->size(), 1u);

  EXPECT_EQ(std::remove(path.c_str()), 0);
  EXPECT_EQ((*file)->read_again().code(), Code::invalid_argument);
  EXPECT_TRUE((*file)->users()->log_in("a", "s"));
  EXPECT_EQ(told, 1u);

  write(path, user("a") + user("b"));
  EXPECT_TRUE((*file)->read_again().ok());
  EXPECT_EQ((*file)->users()->size(), 2u);
  EXPECT_EQ(told, 2u);
  EXPECT_TRUE((*file)->read_again().ok());
  EXPECT_EQ(told, 2u) << "the users are the same";
}

TEST(UsersFile, ThatIsMissingNamesItselfAndWhatToDo) {
  const auto file = UsersFile::open("/nowhere/users.toml", Log(), [](const auto&) {});
  ASSERT_FALSE(file.ok());
  EXPECT_NE(file.status().detail().find("/nowhere/users.toml"), std::string::npos);
  EXPECT_NE(file.status().detail().find("quipu user new"), std::string::npos);
}

}  // namespace
}  // namespace quipu::test
