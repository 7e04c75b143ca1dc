#include "node/users/users.h"

#include <gtest/gtest.h>

#include <string>

namespace quipu::test {
namespace {

// The hash of `secret`, with a salt made of `salt`.
std::string hash_of(std::string_view secret, std::uint8_t salt = 1) {
  RandomBytes random{};
  random.fill(salt);
  return to_text(hash_secret(secret, random));
}

std::string user(const std::string& name, const std::string& rest) {
  return "[[user]]\nname = \"" + name + "\"\n" + rest + '\n';
}

std::string secrets(const std::string& first) { return "secrets = [\"" + hash_of(first) + "\"]\n"; }

std::shared_ptr<const Users> parsed(const std::string& text) {
  const auto users = Users::parse(text, "users.toml");
  EXPECT_TRUE(users.ok()) << users.status().message();
  return users.ok() ? *users : nullptr;
}

Permit with(std::vector<std::string> prefixes) {
  return {"u", kAuthenticated | kMayRead, std::move(prefixes)};
}

struct Covered {
  std::string name;
  std::vector<std::string> prefixes;
  std::string key;
  bool covered;
};

class Prefixes : public testing::TestWithParam<Covered> {};

TEST_P(Prefixes, CoverTheKeysThatBeginWithThem) {
  EXPECT_EQ(with(GetParam().prefixes).covers(GetParam().key), GetParam().covered);
}

INSTANTIATE_TEST_SUITE_P(
    Permit, Prefixes,
    testing::Values(Covered{"inside", {"likes:"}, "likes:42", true},
                    Covered{"exactly", {"likes:"}, "likes:", true},
                    Covered{"one_byte_short", {"likes:"}, "likes", false},
                    Covered{"just_above", {"likes:"}, "likes;", false},
                    Covered{"just_below", {"likes:"}, "likes9", false},
                    Covered{"below_all", {"likes:"}, "a", false},
                    Covered{"above_all", {"likes:"}, "z", false},
                    Covered{"second", {"a:", "likes:", "z:"}, "likes:1", true},
                    Covered{"between", {"a:", "z:"}, "likes:1", false},
                    // "a" begins "ab:", which would otherwise hide it from "az".
                    Covered{"within_a_longer_one", {"ab:", "a"}, "az", true},
                    Covered{"high_bytes", {"\xff"}, "\xff\xff", true},
                    Covered{"none", {}, "a", false}),
    [](const auto& param) { return param.param.name; });

TEST(Permit, WithoutPrefixesCoversEveryKey) {
  EXPECT_TRUE(permit_for_everything()->covers(""));
  EXPECT_TRUE(permit_for_everything()->covers_namespace(""));
  EXPECT_FALSE(permit_for_nothing()->covers("a"));
}

TEST(Permit, CoversANamespaceOnlyAsAWhole) {
  const Permit permit = with({"likes:", "views:2026:"});
  EXPECT_TRUE(permit.covers_namespace("likes"));
  EXPECT_FALSE(permit.covers_namespace("like"));
  EXPECT_FALSE(permit.covers_namespace("views"));
  EXPECT_FALSE(permit.covers_namespace(""));
  EXPECT_TRUE(permit.touches_namespace("likes"));
  EXPECT_TRUE(permit.touches_namespace("views"));
  EXPECT_TRUE(permit.touches_namespace(""));
  EXPECT_FALSE(permit.touches_namespace("sales"));
}

TEST(Users, LogInWithEitherOfTwoSecrets) {
  const auto users = parsed(user("web", "secrets = [\"" + hash_of("old") + "\", \"" +
                                            hash_of("new", 2) + "\"]\nmay = [\"read\"]"));
  ASSERT_NE(users, nullptr);
  EXPECT_TRUE(users->log_in("web", "old"));
  EXPECT_TRUE(users->log_in("web", "new"));
  EXPECT_FALSE(users->log_in("web", "ol"));
  EXPECT_FALSE(users->log_in("web", ""));
  EXPECT_FALSE(users->log_in("we", "old"));
  EXPECT_FALSE(users->log_in("", ""));
  EXPECT_FALSE(users->log_in("web", std::string(100'000, 'x')));
}

TEST(Users, HaveThePermissionsOfTheFile) {
  const auto users = parsed(user("web", secrets("s") + "may = [\"count\", \"reset\"]"));
  const Rights rights = users->log_in("web", "s")->permit->rights();
  EXPECT_TRUE(rights.has(kAuthenticated | kMayCount | kMayReset | kMayChange | kEveryKey));
  EXPECT_FALSE(rights.has(kMayRead));
  EXPECT_FALSE(rights.has(kMayObserve));
  EXPECT_FALSE(rights.has(kMayAdminister));
}

TEST(Users, AreLookedUpAgainBySecret) {
  const std::string before = user("web", secrets("s") + "may = [\"read\"]");
  const Login login = *parsed(before)->log_in("web", "s");
  EXPECT_TRUE(parsed(before)->again(login));
  const auto more = parsed(user("web", secrets("s") + "may = [\"read\", \"count\"]"));
  EXPECT_TRUE(more->again(login)->permit->rights().has(kMayCount));
  EXPECT_FALSE(parsed(user("web", secrets("other") + "may = [\"read\"]"))->again(login));
  EXPECT_FALSE(parsed(user("web2", secrets("s") + "may = [\"read\"]"))->again(login));
}

TEST(Users, HaveEqualDigestsIfTheyAreEqual) {
  const std::string web =
      user("web", secrets("s") + "may = [\"read\", \"count\"]\nkeys = [\"a:\", \"b:\"]");
  const std::string same =
      user("web", "keys = [\"b:\", \"a:\", \"a:1\"]\nmay = [\"count\", \"read\"]\n" + secrets("s"));
  const std::string ops = user("ops", secrets("t") + "may = []");
  EXPECT_EQ(parsed(web + ops)->digest(), parsed(ops + "# a comment\n" + same)->digest());
  EXPECT_NE(parsed(web)->digest(), parsed(web + ops)->digest());
  EXPECT_NE(parsed(web)->digest(),
            parsed(user("web", secrets("s") + "may = [\"read\", \"count\"]"))->digest());
  EXPECT_NE(parsed(user("u", secrets("s") + "may = []"))->digest(),
            parsed(user("u", secrets("t") + "may = []"))->digest());
}

struct Wrong {
  std::string name;
  std::string text;
  std::string why;
};

class WrongUsers : public testing::TestWithParam<Wrong> {};

TEST_P(WrongUsers, AreRefusedWithTheLineAndWhatToDo) {
  const auto users = Users::parse(GetParam().text, "u.toml");
  ASSERT_FALSE(users.ok());
  EXPECT_EQ(users.status().code(), Code::invalid_argument);
  EXPECT_NE(users.status().detail().find(GetParam().why), std::string::npos)
      << users.status().detail();
}

const std::string kMay = "may = [\"read\"]\n";

INSTANTIATE_TEST_SUITE_P(
    Users, WrongUsers,
    testing::Values(
        Wrong{"no_toml", "[[user]\n", "u.toml:1: this is not TOML: fix"},
        Wrong{"empty", "", "u.toml: there is no [[user]] in it"},
        Wrong{"no_name", "[[user]]\n" + secrets("s") + kMay, "u.toml:1: a user has no name"},
        Wrong{"empty_name", user("", secrets("s") + kMay), "u.toml:2: name must be"},
        Wrong{"name_with_space", user("a b", secrets("s") + kMay), "u.toml:2: name must be"},
        Wrong{"name_with_colon", user("a:b", secrets("s") + kMay), "without space"},
        Wrong{"long_name", user(std::string(129, 'a'), secrets("s") + kMay), "1 to 128"},
        Wrong{"no_secrets", user("a", kMay), "the user \"a\" has no secrets"},
        Wrong{"empty_secrets", user("a", "secrets = []\n" + kMay), "a list of one or two"},
        Wrong{"three_secrets",
              user("a", "secrets = [\"" + hash_of("s") + "\", \"" + hash_of("t") + "\", \"" +
                            hash_of("u") + "\"]\n" + kMay),
              "a list of one or two"},
        Wrong{"secret_no_hash", user("a", "secrets = [\"hunter2\"]\n" + kMay),
              "u.toml:3: a secret must be \"sha256:SALT:HASH\""},
        Wrong{"secret_short", user("a", "secrets = [\"sha256:00:00\"]\n" + kMay), "sha256:SALT"},
        Wrong{"secret_number", user("a", "secrets = [1]\n" + kMay), "a list of one or two"},
        Wrong{"no_may", user("a", secrets("s")), "the user \"a\" has no may"},
        Wrong{"may_unknown", user("a", secrets("s") + "may = [\"write\"]"),
              "no permission \"write\": there are read, count, reset, observe and admin"},
        Wrong{"may_text", user("a", secrets("s") + "may = \"read\""), "may must be a list"},
        Wrong{"keys_text", user("a", secrets("s") + kMay + "keys = \"a\""), "a list of prefixes"},
        Wrong{"keys_none", user("a", secrets("s") + kMay + "keys = []"), "keys has no prefix"},
        Wrong{"keys_empty", user("a", secrets("s") + kMay + "keys = [\"\"]"), "1 to 512 bytes"},
        Wrong{"keys_long",
              user("a", secrets("s") + kMay + "keys = [\"" + std::string(513, 'k') + "\"]"),
              "1 to 512 bytes"},
        Wrong{"unknown_field", user("a", secrets("s") + kMay + "key = [\"a\"]"),
              "unknown key \"key\""},
        Wrong{"twice", user("a", secrets("s") + kMay) + user("a", secrets("t") + kMay),
              "the user \"a\" is defined twice"},
        Wrong{"other_table", "[users]\n", "only tables [[user]], not \"users\""},
        Wrong{"single_table", "[user]\nname = \"a\"\n", "only tables [[user]]"}),
    [](const auto& param) { return param.param.name; });

TEST(WrongUsers, DoNotShowWhatMayBeASecret) {
  for (const std::string& text :
       {user("a", "secrets = [\"hunter2\"]\n" + kMay), std::string("hunter2"),
        std::string("secret = \"hunter2\n"), user("a", "secrets = \"hunter2\"\n" + kMay)}) {
    const auto users = Users::parse(text, "u.toml");
    ASSERT_FALSE(users.ok()) << text;
    EXPECT_EQ(users.status().message().find("hunter2"), std::string::npos)
        << users.status().message();
  }
}

TEST(Secret, HasAPrefixAnd43Characters) {
  RandomBytes random{};
  random.fill(0xff);
  EXPECT_EQ(make_secret({}), "quipu_" + std::string(43, 'A'));
  // 256 bits are 42 digits of 6 bits, and 4 bits more.
  EXPECT_EQ(make_secret(random), "quipu_" + std::string(42, '_') + '8');
  EXPECT_NE(make_secret(random_bytes()), make_secret(random_bytes()));
}

TEST(Secret, IsHashedBehindItsSalt) {
  const std::string text = hash_of("secret");
  EXPECT_EQ(text,
            "sha256:01010101010101010101010101010101:"
            "a65192f8d645bc4d19765b8ea61bfbb896dc999cb88a4be419518c5493f92c9d");
  const auto hash = parse_secret_hash(text);
  ASSERT_TRUE(hash);
  EXPECT_TRUE(matches(*hash, "secret"));
  EXPECT_FALSE(matches(*hash, "secreT"));
  EXPECT_EQ(to_text(*hash), text);
}

}  // namespace
}  // namespace quipu::test
