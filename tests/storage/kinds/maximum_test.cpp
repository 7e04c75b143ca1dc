// The high-water mark: the laws of a kind, the bytes and the answers.
#include "storage/kinds/maximum.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "tests/storage/kinds/bodies.h"
#include "tests/storage/kinds/kind_laws.h"

namespace quipu::test {
namespace {

constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();

struct MaximumOps {
  static unsigned precision() { return 0; }
  static std::string words(unsigned) {
    return maximum::words_of(
        *rc::gen::oneOf(rc::gen::inRange<std::int64_t>(-5, 5), rc::gen::arbitrary<std::int64_t>(),
                        rc::gen::elementOf(std::vector<std::int64_t>{kLowest, kHighest})));
  }
  static std::string question() { return std::string(maximum::kNumberQuestion); }
};
QUIPU_KIND_LAWS(Maximum, kMaximum, MaximumOps);

// Returns whether it was raised.
bool offer(std::string& body, std::int64_t number) {
  Edit edit(body.data(), body.size());
  std::string reply;
  EXPECT_EQ(kMaximum.apply(edit, {.words = maximum::words_of(number)}, reply), Code::ok);
  body = std::string(edit.body());
  return maximum::raised(reply);
}
std::string mark_at(std::int64_t number) {
  std::string body;
  EXPECT_TRUE(offer(body, number));
  return body;
}
std::int64_t greatest_of(const std::vector<std::string>& bodies) {
  const std::vector<std::string_view> views(bodies.begin(), bodies.end());
  std::string reply;
  EXPECT_EQ(kMaximum.answer(views, maximum::kNumberQuestion, reply), Code::ok);
  return maximum::number(reply).value();
}

TEST(Maximum, has_golden_bytes) {
  EXPECT_EQ(mark_at(kLowest), bytes({0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(mark_at(-1), bytes({0x7f, 255, 255, 255, 255, 255, 255, 255}));
  EXPECT_EQ(mark_at(0), bytes({0x80, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(mark_at(0x0102), bytes({0x80, 0, 0, 0, 0, 0, 1, 2}));
  EXPECT_EQ(mark_at(kHighest), bytes({255, 255, 255, 255, 255, 255, 255, 255}));
  EXPECT_EQ(maximum::words_of(0x0102), bytes({'m', 2, 1, 0, 0, 0, 0, 0, 0}));
}

TEST(Maximum, keeps_the_greatest_number_and_says_whether_it_was_raised) {
  const std::int64_t ascending[] = {kLowest, -256, -2, -1, 0, 1, 127, 128, 256, kHighest};
  std::string body = mark_at(kLowest);
  for (const std::int64_t number : ascending) {
    EXPECT_EQ(offer(body, number), number != kLowest) << number;
    EXPECT_FALSE(offer(body, number)) << number;
    EXPECT_EQ(greatest_of({body}), number);
  }
  for (const std::int64_t number : ascending) EXPECT_FALSE(offer(body, number)) << number;
  EXPECT_FALSE(maximum::raised("")) << "malformed";
}

TEST(Maximum, of_several_counters_is_the_greatest_and_of_none_0) {
  EXPECT_EQ(greatest_of({}), 0);
  EXPECT_EQ(greatest_of({mark_at(-5), mark_at(-7)}), -5);
  EXPECT_EQ(greatest_of({mark_at(-7), mark_at(3), mark_at(-5)}), 3);
}

TEST(Maximum, refuses_what_is_malformed) {
  for (const std::string& words : {std::string(), std::string("m1234567"),
                                   std::string("m123456789"), std::string("x12345678")}) {
    Edit edit;
    std::string reply;
    EXPECT_EQ(kMaximum.apply(edit, {.words = words}, reply), Code::invalid_argument) << words;
    EXPECT_FALSE(edit.changed());
  }
  std::string reply;
  EXPECT_EQ(kMaximum.answer({}, "?", reply), Code::invalid_argument);
  for (const char* body : {"", "1234567", "123456789"}) EXPECT_FALSE(kMaximum.sound(body));
  EXPECT_EQ(maximum::number(bytes({3})), 3);
  for (const std::string& answer : {bytes({}), bytes({0x80}), bytes({1, 1})})
    EXPECT_EQ(maximum::number(answer), std::nullopt);
}

}  // namespace
}  // namespace quipu::test
