// What is asked and told by mail arrives as it was, in its order; and how much memory stays.
#include "node/cores/mail.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace quipu {
namespace {

Op add(std::uint64_t id, std::string_view key, std::int64_t amount) {
  return {.id = id, .key = key, .amount = amount};
}

Read get(std::uint64_t id, std::initializer_list<std::string_view> keys) {
  Read read;
  read.id = id;
  read.keys.assign(keys.begin(), keys.end());
  return read;
}

TEST(Mail, KeysOfReadsAndOpsLieInTheOrderOfTheQuestions) {
  Mail mail;
  mail.ask(ClientId{1}, add(10, "a", 5));
  mail.ask(ClientId{2}, get(20, {"bb", "", "ccc"}));
  mail.ask(ClientId{1}, add(11, "dddd", -6));
  ASSERT_EQ(mail.questions().size(), 3u);
  EXPECT_EQ(mail.questions()[1].client, ClientId{2});
  EXPECT_EQ(mail.questions()[1].id, 20u);
  EXPECT_EQ(mail.questions()[1].keys, 3u);

  const Op first = mail.next_ops(1).front();
  EXPECT_EQ(first.key, "a");
  EXPECT_EQ(first.amount, 5);
  std::vector<std::string_view> keys;
  mail.next_keys(3, keys);
  EXPECT_EQ(keys, (std::vector<std::string_view>{"bb", "", "ccc"}));
  const Op last = mail.next_ops(1).front();
  EXPECT_EQ(last.key, "dddd");
  EXPECT_EQ(last.id, 11u);
}

TEST(Mail, AnswersOfBothKindsComeInTheirOrder) {
  Mail mail;
  mail.tell(ClientId{1}, 10, Done{.code = Code::overloaded});
  mail.tell(ClientId{2}, 20, std::vector<Value>{{.value = 7}, {.value = 8}});
  mail.tell(ClientId{1}, 11, Done{.usable = 3});
  ASSERT_EQ(mail.replies().size(), 3u);
  EXPECT_EQ(mail.replies()[1].values, 2u);
  EXPECT_EQ(mail.next_done().code, Code::overloaded);
  EXPECT_EQ(mail.next_values(2)[1].value, 8);
  const Done& last = mail.next_done();
  EXPECT_EQ(last.id, 11u);
  EXPECT_EQ(last.usable, 3u);
}

TEST(Mail, ClearedIsEmptyAndReadFromTheBeginning) {
  Mail mail;
  mail.ask(ClientId{1}, add(10, "long gone", 5));
  (void)mail.next_ops(1);
  mail.wake();
  mail.clear();
  EXPECT_TRUE(mail.empty());
  mail.ask(ClientId{1}, add(11, "now", 5));
  EXPECT_EQ(mail.next_ops(1).front().key, "now");
}

TEST(Mail, ClearedKeepsItsMemoryUnlessThatIsMuch) {
  Mail mail;
  const auto fill = [&](int questions, const std::string& key) {
    for (int i = 0; i < questions; ++i) mail.ask(ClientId{1}, add(1, key, 1));
    mail.clear();
    return mail.questions().data() != nullptr;  // room for more
  };
  EXPECT_TRUE(fill(100, "key"));
  EXPECT_FALSE(fill(100'000, "key"));
  EXPECT_FALSE(fill(2, std::string(1 << 20, 'k')));
}

}  // namespace
}  // namespace quipu
