// Counters of the most frequent items, through a Node and through a Client.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "tests/node/api/node_and_client.h"

namespace quipu::test {
namespace {

class TopTest : public NodeAndClientTest {};

INSTANTIATE_TEST_SUITE_P(, TopTest, kThroughBoth, name_of);

std::vector<std::string> shown(const Result<TopReading>& reading) {
  EXPECT_TRUE(reading.ok()) << reading.status().message();
  std::vector<std::string> lines;
  for (const TopItem& one : reading.ok() ? reading->items : std::vector<TopItem>())
    lines.push_back(one.item + " " + std::to_string(one.lower) + "-" + std::to_string(one.upper) +
                    (one.certain ? " certain" : ""));
  return lines;
}

using Lines = std::vector<std::string>;

TEST_P(TopTest, ListsTheMostFrequentItemsWithTheirBounds) {
  Top pages = counters().top("pages");
  ASSERT_TRUE(pages.begin(2).ok());
  ASSERT_TRUE(pages.begin(7).ok()) << "it exists";
  ASSERT_TRUE(pages.add("/home").ok());
  ASSERT_TRUE(pages.add_async("/news", 3).get().ok());
  const std::vector<ItemCount> many{{"/home"}, {"/news", 4}, {"", 1}};
  ASSERT_TRUE(pages.add_many(many).ok());
  const Lines expected{"/news 7-7 certain", "/home 2-2 certain"};
  for (const ReadLevel level : {ReadLevel::local, ReadLevel::fresh, ReadLevel::strong})
    EXPECT_EQ(shown(pages.list({.level = level})), expected);
  const Result<TopReading> reading = pages.list_async().get();
  EXPECT_TRUE(reading->exists && reading->complete);
}

TEST_P(TopTest, ACounterThatWasNeverAddedToHasNoList) {
  const Result<TopReading> reading = counters().top("pages").list();
  EXPECT_EQ(shown(reading), Lines{});
  EXPECT_FALSE(reading->exists);
}

TEST_P(TopTest, WhatIsWrongChangesNothing) {
  Top pages = counters().top("pages");
  EXPECT_EQ(pages.begin(101).code(), Code::out_of_range);
  EXPECT_EQ(pages.begin(0).code(), Code::out_of_range);
  const std::string longest(128, 'x');
  const std::string too_long = longest + "x";
  const std::vector<ItemCount> one_too_long{{"a"}, {too_long}};
  EXPECT_EQ(pages.add_many(one_too_long).code(), Code::invalid_argument);
  const std::vector<ItemCount> too_many(kMaxItems + 1, ItemCount{"a"});
  EXPECT_EQ(pages.add_many(too_many).code(), Code::invalid_argument);
  EXPECT_FALSE(pages.list()->exists);
  ASSERT_TRUE(pages.add(longest).ok());
  ASSERT_TRUE(counters().counter("likes").add(1).ok());
  EXPECT_EQ(counters().top("likes").add("a").code(), Code::wrong_type);
  EXPECT_EQ(counters().top("likes").list().status().code(), Code::wrong_type);
}

}  // namespace
}  // namespace quipu::test
