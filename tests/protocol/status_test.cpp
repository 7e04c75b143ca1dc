#include "quipu/status.h"

#include <gtest/gtest.h>

#include <set>

namespace quipu {
namespace {

// One past the last code: the first number without a row.
int code_count() {
  int n = 0;
  while (describe(Code{static_cast<std::uint16_t>(n)}).name != "unknown_code") ++n;
  return n;
}

TEST(Status, has_a_row_for_every_code) {
  EXPECT_EQ(code_count(), static_cast<int>(Code::not_permitted) + 1);
  for (int n = 0; n < code_count(); ++n) {
    const Code code{static_cast<std::uint16_t>(n)};
    EXPECT_EQ(describe(code).code, code);
  }
}

TEST(Status, names_every_code_differently) {
  std::set<std::string_view> names;
  for (int n = 0; n < code_count(); ++n)
    names.insert(describe(Code{static_cast<std::uint16_t>(n)}).name);
  EXPECT_EQ(names.size(), static_cast<std::size_t>(code_count()));
}

TEST(Status, advises_on_every_code_but_ok) {
  for (int n = 1; n < code_count(); ++n) {
    EXPECT_FALSE(describe(Code{static_cast<std::uint16_t>(n)}).advice.empty()) << n;
  }
  EXPECT_TRUE(describe(Code::ok).advice.empty());
}

TEST(Status, calls_only_ok_applied) {
  EXPECT_EQ(describe(Code::ok).outcome, Outcome::applied);
  for (int n = 1; n < code_count(); ++n) {
    EXPECT_NE(describe(Code{static_cast<std::uint16_t>(n)}).outcome, Outcome::applied) << n;
  }
}

// To call one of these "not applied" would invite a second add.
TEST(Status, calls_unknown_whatever_may_have_happened) {
  for (const Code code : {Code::in_doubt, Code::token_expired, Code::executor_gone,
                          Code::storage_failed, Code::protocol_error}) {
    EXPECT_EQ(describe(code).outcome, Outcome::unknown) << describe(code).name;
  }
}

TEST(Status, reads_a_code_of_a_newer_server_carefully) {
  const Status status(Code{999}, "from the future");
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.code(), Code{999});
  EXPECT_EQ(status.outcome(), Outcome::unknown);
}

TEST(Status, tells_a_person_what_happened_and_what_to_do) {
  EXPECT_EQ(Status(Code::overloaded, "queue full").message(),
            "overloaded: queue full (slow down and retry)");
  EXPECT_EQ(Status(Code::overloaded, "").message(), "overloaded (slow down and retry)");
  EXPECT_EQ(Status().message(), "ok");
}

TEST(Result, holds_a_value_or_says_why_not) {
  const Result<int> value(7);
  EXPECT_TRUE(value.ok());
  EXPECT_TRUE(value.status().ok());
  EXPECT_EQ(*value, 7);
  const Result<int> none(Code::unavailable, "no");
  EXPECT_FALSE(none.ok());
  EXPECT_EQ(none.status().code(), Code::unavailable);
}

}  // namespace
}  // namespace quipu
