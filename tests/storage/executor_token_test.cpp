// How an executor answers tokens: a change that has a name counts once.
#include <gtest/gtest.h>

#include "tests/storage/executors.h"
#include "tests/storage/samples.h"

namespace quipu::test {
namespace {

TEST(Executor, counts_a_retried_add_once_and_answers_with_its_record) {
  Executor executor = fresh_executor(1);
  const Serial serial = executor.issue_session();
  const Token token{StoreId{1}, serial, 1, 0};
  const Applied first = add(executor, kLikes, 5, token);
  const Applied again = add(executor, kLikes, 5, token);
  EXPECT_EQ(again.code, Code::ok);
  EXPECT_EQ(again.commit, first.commit);
  EXPECT_EQ(value(executor, kLikes), 5);

  const Record record = record_of(seal(executor).at(0));
  ASSERT_EQ(record.tokens.size(), 1u) << "in the record of the add itself";
  EXPECT_EQ(record.tokens[0].entries.size(), 1u);
  EXPECT_EQ(add(executor, kLikes, 5, token).commit, first.commit);
  EXPECT_FALSE(executor.has_open());
}

TEST(Executor, answers_reuse_of_a_token_for_anything_else_as_an_error) {
  Executor executor = fresh_executor(1);
  const Token token{StoreId{1}, executor.issue_session(), 1, 0};
  add(executor, kLikes, 5, token);
  EXPECT_EQ(add(executor, kLikes, 6, token).code, Code::token_reused);
  EXPECT_EQ(add(executor, kViews, 5, token).code, Code::token_reused);
  EXPECT_EQ(add(executor, {"likes", 1}, 5, token).code, Code::token_reused);
  EXPECT_EQ(reset(executor, kLikes, token).code, Code::token_reused);
  EXPECT_EQ(add(executor, kLikes, 5, token).code, Code::ok);
  EXPECT_EQ(value(executor, kLikes), 5);
  EXPECT_FALSE(exists(executor, kViews));
}

TEST(Executor, answers_each_token_that_it_cannot_judge_without_applying_it) {
  Executor executor = fresh_executor(
      1, {.placement = {}, .tokens = {.window = 4, .sessions = 8}, .checkpoint = {}});
  executor.set_confirmed(partition_of(executor, kLikes), true);
  const Serial serial = executor.issue_session();
  const auto numbered = [&](std::uint64_t number, std::uint64_t floor) {
    return Token{StoreId{1}, serial, number, floor};
  };
  add(executor, kLikes, 1, numbered(10, 10));
  EXPECT_EQ(add(executor, kLikes, 1, numbered(9, 10)).code, Code::token_expired);
  EXPECT_EQ(add(executor, kLikes, 1, numbered(14, 10)).code, Code::session_window);
  EXPECT_EQ(add(executor, kLikes, 1, {StoreId{1}, Serial{99}, 1, 0}).code, Code::token_expired);
  executor.set_confirmed(partition_of(executor, kLikes), false);
  EXPECT_EQ(add(executor, kLikes, 1, {StoreId{1}, Serial{99}, 1, 0}).code, Code::in_doubt);
  EXPECT_EQ(value(executor, kLikes), 1);
}

// Copies of the same add, which its client sent earlier, may still arrive.
TEST(Executor, refuses_for_good_what_it_was_told_to_refuse_for_good) {
  Executor executor = fresh_executor(1);
  const Token token{StoreId{1}, executor.issue_session(), 1, 0};
  Change change{.ref = kLikes, .amount = 1, .token = token, .refuse = Code::invalid_argument};
  EXPECT_EQ(apply(executor, change).code, Code::invalid_argument);
  change.refuse_for_good = true;
  EXPECT_EQ(apply(executor, change).code, Code::invalid_argument);
  EXPECT_EQ(record_of(seal(executor).at(0)).tokens.at(0).entries.size(), 1u);
  EXPECT_EQ(add(executor, kLikes, 1, token).code, Code::invalid_argument);
  EXPECT_FALSE(exists(executor, kLikes));
  change.token.number = 2;
  change.refuse = Code::ok;
  EXPECT_EQ(apply(executor, change).code, Code::ok);
  change.refuse = Code::invalid_argument;
  EXPECT_EQ(apply(executor, change).code, Code::ok) << "it was applied before";
}

TEST(Executor, refuses_for_good_what_it_refused_once_under_a_token) {
  Executor executor = fresh_executor(1);
  const Token token{StoreId{1}, executor.issue_session(), 1, 0};
  add(executor, kLikes, kMax);
  EXPECT_EQ(add(executor, kLikes, 1, token).code, Code::out_of_range);
  reset(executor, kLikes);  // now it would fit
  EXPECT_EQ(add(executor, kLikes, 1, token).code, Code::out_of_range);
  EXPECT_EQ(value(executor, kLikes), 0);
}

TEST(Executor, replays_a_retried_reset_without_clearing_what_came_since) {
  Executor executor = fresh_executor(1);
  const Token token{StoreId{1}, executor.issue_session(), 1, 0};
  add(executor, kLikes, 5);
  const Applied first = reset(executor, kLikes, token);
  add(executor, kLikes, 2);
  const Applied again = reset(executor, kLikes, token);
  EXPECT_EQ(again.code, Code::ok);
  EXPECT_EQ(again.commit, first.commit);
  EXPECT_EQ(value(executor, kLikes), 2);
}

TEST(Executor, answers_a_retry_although_new_changes_are_refused) {
  Executor executor = fresh_executor(1);
  const Serial serial = executor.issue_session();
  Change change{
      .kind = OpKind::add, .ref = kLikes, .amount = 5, .token = {StoreId{1}, serial, 1, 0}};
  apply(executor, change);
  change.refuse = Code::storage_full;
  EXPECT_EQ(apply(executor, change).code, Code::ok);
  change.token.number = 2;
  EXPECT_EQ(apply(executor, change).code, Code::storage_full);
  EXPECT_EQ(value(executor, kLikes), 5);
  change.refuse = Code::ok;
  EXPECT_EQ(apply(executor, change).code, Code::ok) << "it was not refused for good";
  EXPECT_EQ(value(executor, kLikes), 10);
}

}  // namespace
}  // namespace quipu::test
