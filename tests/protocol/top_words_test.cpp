#include "protocol/top_words.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace quipu::test {
namespace {

using namespace std::string_literals;

TEST(TopWords, have_the_bytes_that_the_header_says) {
  EXPECT_EQ(top::words_to_begin({.k = 50, .width = 300, .depth = 7, .decay = 1}),
            "b\x32\xac\x02\x07\0\0\0\0\0\0\xf0\x3f"s);
  EXPECT_EQ(top::words_to_add(std::vector<top::Increment>{{"ann", 300}, {"", 0}, {"b"}}),
            "a\3ann\xac\x02\0\0\1b\1"s);
  EXPECT_EQ(top::question_about(std::vector<std::string>{"ann", ""}), "q\3ann\0"s);
}

TEST(TopWords, are_read_from_any_reply) {
  EXPECT_TRUE(top::began("\1"));
  for (const std::string& none : {""s, "\0"s, "\2"s, "\1\1"s}) EXPECT_FALSE(top::began(none));

  using Expelled = std::vector<std::optional<std::string>>;
  EXPECT_EQ(top::expelled("\0\1\3ann\1\0"s), (Expelled{{}, "ann", ""}));
  EXPECT_EQ(top::expelled(""), Expelled{});
  for (const std::string& malformed :
       {"\2"s, "\1"s, "\1\3an"s, "\1\x81\1"s + std::string(129, 'a')})
    EXPECT_EQ(top::expelled(malformed), std::nullopt);

  EXPECT_EQ(top::list("\3ann\xac\2\5\1\0\1\1\0"s),
            (std::vector<top::Listed>{{"ann", 300, 5, true}, {"", 1, 1, false}}));
  for (const std::string& malformed : {"\3an"s, "\3ann\1"s, "\3ann\1\1"s, "\3ann\1\1\2"s})
    EXPECT_EQ(top::list(malformed), std::nullopt);

  EXPECT_EQ(top::standings("\1\xac\2\5\0\1\0"s),
            (std::vector<top::Standing>{{true, 300, 5}, {false, 1, 0}}));
  for (const std::string& malformed : {"\2\1\1"s, "\1\1"s, "\1\x80"s})
    EXPECT_EQ(top::standings(malformed), std::nullopt);

  EXPECT_EQ(top::total("\xac\2"), 300);
  for (const std::string& malformed : {""s, "\x80"s, "\1\1"s})
    EXPECT_EQ(top::total(malformed), std::nullopt);
}

TEST(TopWords, tell_a_shape_or_that_there_is_none) {
  const std::string one = "\x0a\x08\x07\0\0\0\0\0\0\xf0\x3f"s;
  EXPECT_EQ(top::info(one), (top::Shape{.k = 10, .width = 8, .depth = 7, .decay = 1}));
  EXPECT_EQ(top::info(std::string(11, '\0')), top::Shape{});
  for (std::size_t cut = 0; cut < one.size(); ++cut)
    EXPECT_EQ(top::info(one.substr(0, cut)), std::nullopt) << cut;
  EXPECT_EQ(top::info(one + "1"), std::nullopt);
  EXPECT_EQ(top::info("\x65" + one.substr(1)), std::nullopt) << "k is 101";
  EXPECT_EQ(top::info("\x0a\x80\x80\x80\x80\x10" + one.substr(2)), std::nullopt) << "2^32";
}

}  // namespace
}  // namespace quipu::test
