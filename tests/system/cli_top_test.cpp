// quipu top, against a real node.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/system/cli_of_one_node.h"

namespace quipu::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class CliTop : public Cli {};

TEST_F(CliTop, ListsTheMostFrequentItems) {
  EXPECT_EQ(done({"top", "add", "pages", "/home"}), "");
  done({"top", "add", "pages", "/news", "3", "--ack", "quorum"});
  done({"top", "add", "--", "pages", "--ack", "2"});
  for (const char* const level : {"--local", "--fresh", "--strong"})
    EXPECT_EQ(done({"top", "list", "pages", level}),
              "ITEM   AT LEAST  AT MOST  CERTAIN\n"
              "/news  3         3        yes\n"
              "--ack  2         2        yes\n"
              "/home  1         1        yes\n");
  const json told = json::parse(done({"top", "list", "pages", "-o", "json"}));
  EXPECT_EQ(told.at("items")[0],
            json::parse(R"({"item": "/news", "lower": 3, "upper": 3, "certain": true})"));
}

TEST_F(CliTop, ACounterBeginsWithALength) {
  EXPECT_EQ(done({"top", "begin", "pages", "--length", "2"}), "");
  for (const char* const page : {"/home", "/news", "/help"}) done({"top", "add", "pages", page});
  EXPECT_EQ(json::parse(done({"top", "list", "pages", "-o", "json"})).at("items").size(), 2);
}

TEST_F(CliTop, WhatIsWrongIsSaid) {
  done({"add", "likes"});
  const struct {
    std::vector<std::string> arguments;
    int exit;
    std::string says;
  } cases[] = {
      {{"top", "add", "likes", "a"}, 1, "likes: wrong_type: "},
      {{"top", "list", "likes"}, 1, "(read a sum with quipu get,"},
      {{"top", "add", "pages", std::string(129, 'x')}, 1, "128 bytes"},
      {{"top", "add", "pages"}, 2, "ITEM is required"},
      {{"top", "list"}, 2, "KEY is required"},
      {{"top", "begin", "pages", "--length", "101"}, 2, "from 1 to 100"},
      {{"top", "list", "a", "b"}, 2, "\"b\" is not expected"},
      {{"top"}, 2, "write quipu top add, begin or list"},
  };
  for (const auto& [arguments, exit, says] : cases) {
    const CliResult result = quipu(arguments);
    EXPECT_EQ(result.exit, exit) << testing::PrintToString(arguments);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, HasSubstr(says));
  }
}

}  // namespace
}  // namespace quipu::test
