// Commands as bytes, from this node or from any other.
#include "node/clients/resp/resp_packed.h"

#include <gtest/gtest.h>

namespace quipu::test {
namespace {

using Words = std::vector<std::string_view>;
using Version = RespWriter::Version;

std::vector<std::vector<std::string>> read_all(std::string_view bytes, bool& sound) {
  PackedReader from(bytes);
  std::vector<std::vector<std::string>> commands;
  for (Words words; from.next(words);) commands.emplace_back(words.begin(), words.end());
  sound = from.sound();
  return commands;
}

TEST(PackedCommands, AreReadAsTheyWereAdded) {
  const std::string large(70'000, 'x');
  PackedCommands packed(PackedForm::transaction, Version::resp3);
  EXPECT_TRUE(packed.add(Words{"incr", "a"}));
  EXPECT_TRUE(packed.add(Words{"set", "", large}));
  EXPECT_TRUE(packed.add(Words{"x"}));
  EXPECT_EQ(packed.commands(), 3u);
  const PackedReader from(packed.bytes());
  EXPECT_EQ(from.form(), PackedForm::transaction);
  EXPECT_EQ(from.version(), Version::resp3);
  bool sound = false;
  const std::vector<std::vector<std::string>> expected{{"incr", "a"}, {"set", "", large}, {"x"}};
  EXPECT_EQ(read_all(packed.bytes(), sound), expected);
  EXPECT_TRUE(sound);
}

TEST(PackedCommands, HaveSoManyWordsAndNoMore) {
  PackedCommands packed(PackedForm::transaction, Version::resp2);
  EXPECT_FALSE(packed.add(Words{}));
  EXPECT_TRUE(packed.add(Words(kMaxPackedWords - 2, "a")));
  EXPECT_FALSE(packed.add(Words(3, "a")));
  EXPECT_TRUE(packed.add(Words(2, "a")));
  EXPECT_FALSE(packed.add(Words(1, "a")));
  bool sound = false;
  EXPECT_EQ(read_all(packed.bytes(), sound).size(), 2u);
  EXPECT_TRUE(sound);
}

TEST(PackedCommands, BytesThatAreCutShortAreNotSound) {
  PackedCommands packed(PackedForm::command, Version::resp2);
  EXPECT_TRUE(packed.add(Words{"incrby", "a", "5"}));
  bool sound = true;
  for (std::size_t size = 2; size < packed.bytes().size(); ++size) {
    (void)read_all(std::string_view(packed.bytes()).substr(0, size), sound);
    EXPECT_FALSE(sound) << size;
  }
}

TEST(PackedCommands, AnyBytesCanBeRead) {
  bool sound = true;
  for (const std::string& bytes :
       {std::string(), std::string("\x01"), std::string("\xff"), std::string("\x42"),
        std::string("\x02\x00\x00", 3), std::string("\x02\xff\xff", 3),
        std::string("\x12\x01\x00\xff\xff\xff\xff", 7)}) {
    (void)read_all(bytes, sound);
    EXPECT_FALSE(sound) << testing::PrintToString(bytes);
  }
}

}  // namespace
}  // namespace quipu::test
