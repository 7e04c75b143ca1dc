#include "storage/token_table.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "protocol/state_codec.h"

namespace quipu::test {
namespace {

constexpr bool kConfirmed = true;
constexpr bool kUnconfirmed = false;
constexpr std::uint32_t kPrint = 77;  // of some change's arguments

// Start 0 issues 1, 2, … first. Start 1 issues 10'001, 10'002, … first.
Serial serial(std::uint64_t which) {
  Serials of_start(which / 10'000);
  Serial last{};
  for (std::uint64_t i = 0; i < which % 10'000; ++i) last = of_start.issue();
  return last;
}

Token token(std::uint64_t of, std::uint64_t number, std::uint64_t floor = 0) {
  return {StoreId{1}, serial(of), number, floor};
}

TokenEntry entry(std::uint64_t number, std::uint8_t lane = 0, Code code = Code::ok) {
  return {number, kPrint, code, lane};
}

TokenStatus check(TokenTable& tokens, const Token& asked, std::uint32_t print = kPrint,
                  bool confirmed = kConfirmed) {
  return tokens.check(asked, print, confirmed).status;
}

// Counts a number that must be new.
void use(TokenTable& tokens, const Token& asked, std::uint8_t lane = 0, Commit open = Commit{1}) {
  ASSERT_EQ(check(tokens, asked), TokenStatus::fresh) << "number " << asked.number;
  tokens.note(asked, entry(asked.number, lane), open);
}

// What stands on the disk: lanes at rest, and the records not cut yet.
struct Disk {
  std::map<std::string, std::string> lanes;
  std::vector<TokenRecord> journal;

  // As much as a whole checkpoint writes.
  void checkpoint(TokenTable& tokens, Commit sealing) {
    seal(tokens, sealing);
    for (bool done = false; !done;) {
      Batch batch;
      done = tokens.checkpoint(batch, 1000);
      for (const auto& [key, value] : batch.puts) lanes[key] = value;
      for (const std::string& key : batch.deletes) lanes.erase(key);
    }
  }
  void seal(TokenTable& tokens, Commit sealing) {
    for (TokenRecord& record : tokens.take_open(sealing)) journal.push_back(std::move(record));
  }
  void load_into(TokenTable& tokens) const {
    for (const auto& [key, value] : lanes) {
      const Result<TokenRecord> record = decode_token_record(key, value);
      ASSERT_TRUE(record.ok());
      tokens.load(*record);
    }
    for (const TokenRecord& record : journal) tokens.replay(record);
  }
};

// ---- what a retry meets ----

TEST(TokenTable, answers_a_retry_with_the_first_outcome_and_its_record) {
  TokenTable tokens({}, 0);
  (void)tokens.issue();
  use(tokens, token(1, 5), 0, Commit{42});
  const TokenTable::Found again = tokens.check(token(1, 5), kPrint, kConfirmed);
  EXPECT_EQ(again.status, TokenStatus::duplicate);
  EXPECT_EQ(again.code, Code::ok);
  EXPECT_EQ(again.commit, Commit{42});
}

TEST(TokenTable, replays_a_final_refusal) {
  TokenTable tokens({}, 0);
  (void)tokens.issue();
  ASSERT_EQ(check(tokens, token(1, 1)), TokenStatus::fresh);
  tokens.note(token(1, 1), entry(1, 0, Code::out_of_range), Commit{1});
  const TokenTable::Found again = tokens.check(token(1, 1), kPrint, kConfirmed);
  EXPECT_EQ(again.status, TokenStatus::duplicate);
  EXPECT_EQ(again.code, Code::out_of_range);
}

TEST(TokenTable, refuses_a_number_used_with_other_arguments) {
  TokenTable tokens({}, 0);
  (void)tokens.issue();
  use(tokens, token(1, 1));
  EXPECT_EQ(check(tokens, token(1, 1), kPrint + 1), TokenStatus::reused);
  EXPECT_EQ(check(tokens, token(1, 1), kPrint), TokenStatus::duplicate);
}

TEST(TokenTable, knows_nothing_below_the_floor) {
  TokenTable tokens({}, 0);
  (void)tokens.issue();
  use(tokens, token(1, 1));
  use(tokens, token(1, 2));
  use(tokens, token(1, 3, /*floor=*/3));
  EXPECT_EQ(check(tokens, token(1, 1)), TokenStatus::expired) << "was applied, and is forgotten";
  EXPECT_EQ(check(tokens, token(1, 2)), TokenStatus::expired);
  EXPECT_EQ(check(tokens, token(1, 3)), TokenStatus::duplicate) << "the floor itself is held";
}

TEST(TokenTable, never_applies_what_lies_below_the_floor_even_if_it_never_came) {
  TokenTable tokens({}, 0);
  (void)tokens.issue();
  use(tokens, token(1, 9, /*floor=*/9));
  EXPECT_EQ(check(tokens, token(1, 4)), TokenStatus::expired);
  EXPECT_EQ(check(tokens, token(1, 4), kPrint, kUnconfirmed), TokenStatus::expired);
}

TEST(TokenTable, takes_a_floor_above_the_number_as_that_number) {
  TokenTable tokens({}, 0);
  (void)tokens.issue();
  use(tokens, token(1, 5, /*floor=*/1000));
  EXPECT_EQ(check(tokens, token(1, 5, 1000)), TokenStatus::duplicate);
  EXPECT_EQ(check(tokens, token(1, 6)), TokenStatus::fresh);
}

TEST(TokenTable, never_lowers_a_floor) {
  TokenTable tokens({}, 0);
  (void)tokens.issue();
  use(tokens, token(1, 5, /*floor=*/5));
  use(tokens, token(1, 6, /*floor=*/2));
  EXPECT_EQ(check(tokens, token(1, 4)), TokenStatus::expired);
}

TEST(TokenTable, does_not_know_a_serial_that_it_never_issued) {
  TokenTable tokens({}, 0);
  EXPECT_EQ(check(tokens, token(1, 1)), TokenStatus::expired);
}

TEST(TokenTable, takes_as_many_numbers_above_the_floor_as_its_window) {
  TokenTable tokens({.window = 4, .sessions = 8}, 0);
  (void)tokens.issue();
  const struct {
    Token asked;
    TokenStatus expected;
  } cases[] = {
      {token(1, 10, 10), TokenStatus::fresh},
      {token(1, 13, 10), TokenStatus::fresh},
      {token(1, 14, 10), TokenStatus::window_full},
      {token(1, ~std::uint64_t{0}, 10), TokenStatus::window_full},
      {token(1, 13, 10), TokenStatus::duplicate},
      {token(1, 14, 11), TokenStatus::fresh},
      {token(1, 10, 11), TokenStatus::expired},
  };
  for (const auto& row : cases) {
    const TokenStatus status = check(tokens, row.asked);
    EXPECT_EQ(status, row.expected)
        << "number " << row.asked.number << ", floor " << row.asked.floor;
    if (status == TokenStatus::fresh) tokens.note(row.asked, entry(row.asked.number), Commit{1});
  }
}

TEST(TokenTable, takes_numbers_in_any_order) {
  TokenTable tokens({}, 0);
  (void)tokens.issue();
  for (const std::uint64_t number : {7, 3, 9, 1, 8}) use(tokens, token(1, number));
  for (const std::uint64_t number : {1, 3, 7, 8, 9}) {
    EXPECT_EQ(check(tokens, token(1, number)), TokenStatus::duplicate) << number;
  }
  const std::vector<TokenRecord> records = tokens.take_open(Commit{1});
  ASSERT_EQ(records.size(), 1u);
  std::vector<std::uint64_t> numbers;
  for (const TokenEntry& noted : records[0].entries) numbers.push_back(noted.number);
  EXPECT_EQ(numbers, (std::vector<std::uint64_t>{1, 3, 7, 8, 9}));
}

TEST(TokenTable, doubts_after_a_start_what_it_does_not_hold_until_the_store_is_confirmed) {
  Disk disk;
  {
    TokenTable before({}, 0);
    (void)before.issue();
    use(before, token(1, 3, /*floor=*/2));
    disk.seal(before, Commit{1});
  }
  TokenTable after({}, 1);
  disk.load_into(after);
  EXPECT_EQ(check(after, token(1, 4), kPrint, kUnconfirmed), TokenStatus::doubtful);
  EXPECT_EQ(check(after, token(9, 1), kPrint, kUnconfirmed), TokenStatus::doubtful)
      << "a lost session?";
  // What it holds, it knows.
  EXPECT_EQ(check(after, token(1, 3), kPrint, kUnconfirmed), TokenStatus::duplicate);
  EXPECT_EQ(check(after, token(1, 3), kPrint + 1, kUnconfirmed), TokenStatus::reused);
  EXPECT_EQ(check(after, token(1, 1), kPrint, kUnconfirmed), TokenStatus::expired);
  // And so it does with a session of this start.
  EXPECT_EQ(after.issue(), serial(10'001));
  EXPECT_EQ(check(after, token(10'001, 1), kPrint, kUnconfirmed), TokenStatus::fresh);
  // Once confirmed, what it does not hold was never applied.
  EXPECT_EQ(check(after, token(1, 4), kPrint, kConfirmed), TokenStatus::fresh);
  EXPECT_EQ(check(after, token(9, 1), kPrint, kConfirmed), TokenStatus::expired);
}

// Both lives start from one copy of the disk; a token of one must not meet a
// session of the other.
TEST(TokenTable, never_takes_a_serial_of_its_other_life_for_its_own) {
  Disk copy;
  {
    TokenTable before({}, 0);
    (void)before.issue();
    use(before, token(1, 1));
    copy.seal(before, Commit{1});
  }
  TokenTable lost({}, 1);
  copy.load_into(lost);
  const Serial theirs = lost.issue();
  use(lost, token(10'001, 1));

  TokenTable restored({}, 5);
  copy.load_into(restored);
  EXPECT_NE(restored.issue(), theirs);
  EXPECT_EQ(check(restored, token(10'001, 1), kPrint, kUnconfirmed), TokenStatus::doubtful);
  EXPECT_EQ(check(restored, token(10'001, 2), kPrint, kUnconfirmed), TokenStatus::doubtful);
  EXPECT_EQ(check(restored, token(10'001, 1), kPrint, kConfirmed), TokenStatus::expired);
}

TEST(TokenTable, knows_what_became_of_each_serial_of_this_start_though_unconfirmed) {
  TokenTable tokens({.window = 16, .sessions = 1}, 0);
  EXPECT_EQ(tokens.issue(), serial(1));
  (void)tokens.take_open(Commit{1});
  EXPECT_EQ(tokens.issue(), serial(2));  // drops 1
  EXPECT_EQ(check(tokens, token(1, 1), kPrint, kUnconfirmed), TokenStatus::expired);
  EXPECT_EQ(check(tokens, token(2, 1), kPrint, kUnconfirmed), TokenStatus::fresh);
  for (const std::uint64_t never : {0, 3, 10'001}) {  // as far as this start knows
    EXPECT_EQ(check(tokens, token(never, 1), kPrint, kUnconfirmed), TokenStatus::doubtful) << never;
    EXPECT_EQ(check(tokens, token(never, 1), kPrint, kConfirmed), TokenStatus::expired) << never;
  }
}

// ---- sessions are bounded ----

TEST(TokenTable, drops_the_session_least_recently_used) {
  TokenTable tokens({.window = 16, .sessions = 3}, 0);
  for (const std::uint64_t serial : {1, 2, 3}) {
    (void)tokens.issue();
    use(tokens, token(serial, 1));
  }
  (void)tokens.take_open(Commit{1});
  EXPECT_EQ(check(tokens, token(1, 1)), TokenStatus::duplicate);  // so it was used
  (void)tokens.issue();

  EXPECT_EQ(tokens.sessions(), 3u);
  EXPECT_EQ(check(tokens, token(2, 1)), TokenStatus::expired);
  EXPECT_EQ(check(tokens, token(1, 1)), TokenStatus::duplicate);
  EXPECT_EQ(check(tokens, token(3, 1)), TokenStatus::duplicate);
}

TEST(TokenTable, drops_no_session_whose_note_is_not_sealed_and_catches_up_later) {
  TokenTable tokens({.window = 16, .sessions = 2}, 0);
  for (std::uint64_t serial = 1; serial <= 10; ++serial) {
    (void)tokens.issue();
    use(tokens, token(serial, 1));
  }
  EXPECT_EQ(tokens.take_open(Commit{1}).size(), 10u);
  (void)tokens.issue();
  EXPECT_EQ(tokens.sessions(), 2u);
  EXPECT_EQ(check(tokens, token(10, 1)), TokenStatus::duplicate);
  EXPECT_EQ(check(tokens, token(9, 1)), TokenStatus::expired);
}

// A session that came back with a part of its numbers would take the others for
// new ones: it must stay gone, whatever of it is still on the disk.
TEST(TokenTable, never_brings_a_dropped_session_back_by_a_restart) {
  const struct {
    const char* story;
    bool put_before;  // its first number is at rest when it is dropped
    bool put_after;   // a checkpoint runs after that
    bool cut;         // … and the journal that it covers is cut
  } cases[] = {
      {"all of it in the journal", false, false, false},
      {"some at rest, some in the journal", true, false, false},
      {"deleted at rest, some in the journal", true, true, false},
      {"the journal was cut", true, true, true},
      {"never at rest, the journal was cut", false, true, true},
  };
  for (const auto& row : cases) {
    Disk disk;
    {
      TokenTable before({.window = 16, .sessions = 1}, 0);
      (void)before.issue();
      use(before, token(1, 1), /*lane=*/5, Commit{1});
      disk.seal(before, Commit{1});
      if (row.put_before) {
        disk.checkpoint(before, Commit{2});
        disk.journal.clear();
      }
      use(before, token(1, 2), /*lane=*/6, Commit{3});
      disk.seal(before, Commit{3});
      (void)before.issue();  // drops serial 1
      disk.seal(before, Commit{4});
      if (row.put_after) disk.checkpoint(before, Commit{5});
      if (row.cut) disk.journal.clear();
      EXPECT_EQ(check(before, token(1, 1)), TokenStatus::expired) << row.story;
    }
    TokenTable after({.window = 16, .sessions = 8}, 1);
    disk.load_into(after);
    for (const std::uint64_t number : {1, 2, 3}) {
      EXPECT_EQ(check(after, token(1, number)), TokenStatus::expired)
          << row.story << ", " << number;
    }
    EXPECT_EQ(check(after, token(2, 1)), TokenStatus::fresh) << row.story;
  }
}

TEST(TokenTable, drops_a_session_of_an_earlier_start_from_the_disk_too) {
  Disk disk;
  {
    TokenTable first({.window = 16, .sessions = 1}, 0);
    (void)first.issue();
    use(first, token(1, 1), /*lane=*/5, Commit{1});
    disk.checkpoint(first, Commit{1});
    disk.journal.clear();
  }
  {
    TokenTable second({.window = 16, .sessions = 1}, 1);
    disk.load_into(second);
    use(second, token(1, 2), /*lane=*/6, Commit{2});
    disk.seal(second, Commit{2});
    (void)second.issue();
    disk.checkpoint(second, Commit{3});
    disk.journal.clear();
  }
  TokenTable third({.window = 16, .sessions = 8}, 2);
  disk.load_into(third);
  EXPECT_EQ(third.sessions(), 1u);
  EXPECT_EQ(check(third, token(1, 2)), TokenStatus::expired);
}

TEST(TokenTable, loads_more_sessions_than_it_may_hold_whole_and_sheds_them_with_the_next) {
  Disk disk;
  {
    TokenTable before({.window = 16, .sessions = 10}, 0);
    for (std::uint64_t serial = 1; serial <= 5; ++serial) {
      (void)before.issue();
      use(before, token(serial, 1));
    }
    disk.checkpoint(before, Commit{1});
    for (std::uint64_t serial = 1; serial <= 5; ++serial)
      use(before, token(serial, 2), 1, Commit{2});
    disk.seal(before, Commit{2});
  }
  TokenTable after({.window = 16, .sessions = 2}, 1);  // the setting was lowered
  disk.load_into(after);
  for (std::uint64_t serial = 1; serial <= 5; ++serial) {
    EXPECT_EQ(check(after, token(serial, 1)), TokenStatus::duplicate) << serial;
    EXPECT_EQ(check(after, token(serial, 2)), TokenStatus::duplicate) << serial;
  }
  (void)after.issue();
  EXPECT_EQ(after.sessions(), 2u);
}

// ---- records and rest ----

TEST(TokenTable, records_only_what_was_noted_since_the_last_seal) {
  TokenTable tokens({}, 0);
  EXPECT_FALSE(tokens.has_open());
  (void)tokens.issue();
  EXPECT_TRUE(tokens.has_open());
  EXPECT_EQ(tokens.take_open(Commit{1}), (std::vector<TokenRecord>{{serial(1), 0, {}}}));
  EXPECT_FALSE(tokens.has_open());

  use(tokens, token(1, 1), 3, Commit{2});
  use(tokens, token(1, 2), 4, Commit{2});
  EXPECT_EQ(tokens.take_open(Commit{2}),
            (std::vector<TokenRecord>{{serial(1), 0, {entry(1, 3), entry(2, 4)}}}));
  use(tokens, token(1, 3, /*floor=*/2), 3, Commit{3});
  EXPECT_EQ(tokens.take_open(Commit{3}), (std::vector<TokenRecord>{{serial(1), 2, {entry(3, 3)}}}));
  EXPECT_EQ(tokens.take_open(Commit{4}), std::vector<TokenRecord>{});
}

TEST(TokenTable, keeps_a_number_in_the_lane_where_it_was_applied) {
  TokenTable tokens({}, 0);
  Disk disk;
  (void)tokens.issue();
  use(tokens, token(1, 1), 3);
  use(tokens, token(1, 2), 63);
  use(tokens, token(1, 3), 3);
  disk.checkpoint(tokens, Commit{1});

  std::vector<TokenRecord> at_rest;
  for (const auto& [key, value] : disk.lanes) at_rest.push_back(*decode_token_record(key, value));
  EXPECT_EQ(at_rest, (std::vector<TokenRecord>{{serial(1), 0, {}},  // lane 0: that it was issued
                                               {serial(1), 0, {entry(1, 3), entry(3, 3)}},
                                               {serial(1), 0, {entry(2, 63)}}}));
}

TEST(TokenTable, survives_a_restart_at_rest_alone) {
  Disk disk;
  {
    TokenTable before({}, 0);
    (void)before.issue();
    (void)before.issue();
    use(before, token(1, 1), 3);
    use(before, token(1, 2), 4);
    disk.checkpoint(before, Commit{1});
    use(before, token(1, 3, /*floor=*/3), 5, Commit{2});
    disk.checkpoint(before, Commit{2});
    disk.journal.clear();
  }
  TokenTable after({}, 1);
  disk.load_into(after);
  EXPECT_EQ(check(after, token(1, 1)), TokenStatus::expired);
  EXPECT_EQ(check(after, token(1, 2)), TokenStatus::expired);
  EXPECT_EQ(check(after, token(1, 3)), TokenStatus::duplicate);
  EXPECT_EQ(check(after, token(1, 4)), TokenStatus::fresh);
  EXPECT_EQ(check(after, token(2, 1)), TokenStatus::fresh) << "an unused session is one too";
}

TEST(TokenTable, deletes_at_rest_the_lanes_that_a_floor_emptied) {
  TokenTable tokens({}, 0);
  Disk disk;
  (void)tokens.issue();
  for (std::uint8_t lane = 1; lane < kLanes; ++lane) use(tokens, token(1, lane), lane);
  disk.checkpoint(tokens, Commit{1});
  EXPECT_EQ(disk.lanes.size(), kLanes);
  use(tokens, token(1, 100, /*floor=*/100), 9, Commit{2});
  disk.checkpoint(tokens, Commit{2});
  EXPECT_EQ(disk.lanes.size(), 2u) << "lane 0 holds the floor, lane 9 the number";
}

// A refused change raises the floor, too, and leaves no entry that shows it.
TEST(TokenTable, keeps_at_rest_a_floor_that_no_entry_shows) {
  Disk disk;
  TokenTable tokens({}, 0);
  (void)tokens.issue();
  use(tokens, token(1, 1), 3);
  disk.checkpoint(tokens, Commit{1});
  ASSERT_EQ(check(tokens, token(1, 5, 5)), TokenStatus::fresh);  // and is then not noted
  disk.checkpoint(tokens, Commit{2});
  disk.journal.clear();
  TokenTable again({}, 1);
  disk.load_into(again);
  for (std::uint64_t number = 1; number < 5; ++number)
    EXPECT_EQ(check(again, token(1, number)), TokenStatus::expired) << number;
  EXPECT_EQ(check(again, token(1, 5)), TokenStatus::fresh);
}

TEST(TokenTable, puts_about_as_much_at_a_time_as_it_is_told) {
  TokenTable tokens({}, 0);
  for (std::uint64_t serial = 1; serial <= 1000; ++serial) (void)tokens.issue();
  (void)tokens.take_open(Commit{1});
  std::size_t calls = 0, puts = 0;
  for (bool done = false; !done; ++calls) {
    Batch batch;
    done = tokens.checkpoint(batch, 100);
    EXPECT_LE(batch.puts.size(), 101u) << "idle sessions cost a put too";
    puts += batch.puts.size();
  }
  EXPECT_EQ(puts, 1000u);
  EXPECT_GE(calls, 9u);
}

// Or the journal would grow for as long as there is traffic.
TEST(TokenTable, ends_a_checkpoint_although_every_session_is_in_use_meanwhile) {
  TokenTable tokens({}, 0);
  for (std::uint64_t serial = 1; serial <= 20; ++serial) (void)tokens.issue();
  std::uint64_t number = 0;
  std::size_t calls = 0;
  for (bool done = false; !done; ++calls) {
    ASSERT_LT(calls, 100u);
    ++number;
    for (std::uint64_t serial = 1; serial <= 20; ++serial) use(tokens, token(serial, number));
    (void)tokens.take_open(Commit{1});
    Batch batch;
    done = tokens.checkpoint(batch, 4);
  }
}

}  // namespace
}  // namespace quipu::test
