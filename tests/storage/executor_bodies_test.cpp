// Changes of counters with bodies, at one node: what is in a record, what an answer waits for, what
// another kind's command gets, and what ends.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "protocol/element.h"
#include "protocol/shard_number.h"
#include "storage/kinds/distinct.h"
#include "storage/kinds/frequency.h"
#include "storage/kinds/parts.h"
#include "tests/storage/dated_executor.h"
#include "tests/storage/executors.h"
#include "tests/storage/kinds/bodies.h"
#include "tests/storage/lives.h"
#include "tests/storage/samples.h"

namespace quipu::test {
namespace {

using namespace std::chrono_literals;

const ShardKey kVisitors{"visitors", shard_of(Kind::distinct)};

std::uint64_t hash_of_element(std::uint64_t element) {
  return element_hash(HashKey{7}, std::to_string(element));
}

Change change_of(ShardRef ref, std::string_view words) {
  return {.kind = OpKind::apply, .ref = ref, .words = words};
}

Applied add_element(Executor& executor, std::uint64_t element, ShardRef ref = kVisitors) {
  const std::uint64_t hash = hash_of_element(element);
  const std::string words = distinct::words_of({&hash, 1});
  return apply(executor, change_of(ref, words));
}

void add_elements(Executor& executor, std::uint64_t from, std::uint64_t to,
                  ShardRef ref = kVisitors) {
  std::vector<std::uint64_t> hashes;
  for (std::uint64_t one = from; one < to; ++one) hashes.push_back(hash_of_element(one));
  const std::string words = distinct::words_of(hashes);
  ASSERT_EQ(apply(executor, change_of(ref, words)).code, Code::ok);
}

// The body of these elements alone.
std::string body_with(std::uint64_t from, std::uint64_t to) {
  Executor fresh = fresh_executor(99);
  add_elements(fresh, from, to);
  return state(fresh, kVisitors).parts.at(0).body;
}

std::uint64_t count(const Executor& executor, ShardRef ref = kVisitors) {
  std::string reply;
  const ShardState held = state(executor, ref);
  EXPECT_EQ(kDistinct.answer(bodies_of(held.parts), {}, reply), Code::ok);
  return distinct::count(reply).value();
}

std::vector<std::string> bodies_in(const Delta& delta) {
  std::vector<std::string> bodies;
  delta.for_each([&](const DeltaEntry& entry) {
    for (const Part& part : entry.parts) bodies.push_back(part.body);
  });
  return bodies;
}

class Bodies : public DatedExecutor {};

// ---- records ----

TEST_F(Bodies, a_record_has_only_the_registers_that_changed) {
  add_elements(executor_, 0, 20'000);  // a dense body
  (void)seal(executor_);
  const std::string before = state(executor_, kVisitors).parts.at(0).body;
  ASSERT_EQ(before.size(), distinct::dense_size(14));
  std::uint64_t element = 20'000;
  while (add_element(executor_, element).commit == executor_.sealed()) ++element;
  const auto bodies = bodies_in(record_of(seal(executor_).at(0)).delta);
  ASSERT_EQ(bodies.size(), 1u);
  EXPECT_LE(bodies[0].size(), 8u);
  Edit edit;
  kDistinct.join(edit, before);
  kDistinct.join(edit, bodies[0]);
  EXPECT_EQ(edit.body(), state(executor_, kVisitors).parts.at(0).body);
}

TEST_F(Bodies, an_add_that_changes_nothing_is_in_no_record_and_waits_for_what_it_rests_on) {
  const Applied first = add_element(executor_, 1);
  const Applied same = add_element(executor_, 1);
  EXPECT_EQ(same.commit, first.commit) << "the register is not durable before";
  (void)seal(executor_);
  EXPECT_EQ(add_element(executor_, 1).commit, first.commit);
  EXPECT_FALSE(executor_.has_open());
}

TEST_F(Bodies, peers_are_told_which_registers_changed) {
  add_elements(executor_, 0, 20'000);
  EXPECT_TRUE(seal(executor_).at(0).units.at(kVisitors).all()) << "it is new";
  for (std::uint64_t element = 20'000; !executor_.has_open(); ++element)
    (void)add_element(executor_, element);
  const Units units = seal(executor_).at(0).units.at(kVisitors);
  ASSERT_FALSE(units.all());
  EXPECT_EQ(units.some().size(), 1u);
}

TEST_F(Bodies, what_a_peer_brings_is_in_the_record_as_little_as_it_changes) {
  add_elements(executor_, 0, 20'000);
  (void)seal(executor_);
  Executor other = fresh_executor(2);
  add_elements(other, 20'000, 20'010);
  executor_.merge(said(kVisitors, state(other, kVisitors)));
  const Sealed sealed = seal(executor_).at(0);
  EXPECT_EQ(sealed.local, ShardList{}) << "the peers have it from where it was added";
  const auto bodies = bodies_in(record_of(sealed).delta);
  ASSERT_EQ(bodies.size(), 1u);
  EXPECT_LE(bodies[0].size(), 100u);
  EXPECT_EQ(state(executor_, kVisitors).parts.at(0).body, body_with(0, 20'010));
  executor_.merge(said(kVisitors, state(other, kVisitors)));
  EXPECT_FALSE(executor_.has_open()) << "it is known already";
}

TEST_F(Bodies, a_body_comes_back_after_restarts_from_records_and_checkpoints) {
  MemoryDisk disk = new_disk();
  for (std::uint64_t round = 0; round < 40; ++round) {
    auto executor = start(disk, kTiny, 100 + round);
    ASSERT_TRUE(executor.ok()) << executor.status().message();
    if (round > 0) {
      EXPECT_EQ(state(**executor, kVisitors).parts.at(0).body, body_with(0, round * 200));
    }
    for (std::uint64_t i = 0; i < 10; ++i) {
      add_elements(**executor, round * 200 + i * 20, round * 200 + (i + 1) * 20);
      write(disk, seal(**executor));
    }
  }
}

TEST_F(Bodies, a_stored_body_that_is_none_is_damage) {
  MemoryDisk disk = new_disk();
  auto executor = start(disk);
  ASSERT_TRUE(executor.ok());
  Record record{Delta(next((*executor)->sealed()))};
  record.delta.push(kVisitors, {{}, 1, 1, {}, {{{}, "no body"}}});
  Batch batch;
  const std::string key = stored::record(record.delta.commit());
  batch.puts.push_back({key, encode_record(key, record)});
  ASSERT_TRUE(MemoryStore(disk).write(batch).ok());
  EXPECT_EQ(start(disk).status().code(), Code::corrupt);
}

// ---- kinds of one key ----

TEST_F(Bodies, another_kinds_change_is_refused_while_the_counter_exists) {
  const ShardRef sum{"visitors", 0};
  (void)add_element(executor_, 1);
  EXPECT_EQ(add(executor_, sum, 1).code, Code::wrong_type);
  EXPECT_EQ(add(executor_, kLikes, 1).code, Code::ok);
  EXPECT_EQ(add_element(executor_, 1, {"likes", kVisitors.shard}).code, Code::wrong_type);
  EXPECT_FALSE(exists(executor_, sum));
  ASSERT_EQ(reset(executor_, kVisitors).code, Code::ok);
  EXPECT_EQ(add(executor_, sum, 1).code, Code::ok);
  EXPECT_EQ(add_element(executor_, 1).code, Code::wrong_type);
}

TEST_F(Bodies, a_sum_that_was_reset_at_zero_does_not_come_back_beside_another_kind) {
  const ShardRef sum{"visitors", 0};
  ASSERT_EQ(add(executor_, sum, 1).code, Code::ok);
  ASSERT_EQ(add(executor_, sum, -1).code, Code::ok);
  ASSERT_EQ(reset(executor_, sum).code, Code::ok);
  (void)seal(executor_);
  ASSERT_EQ(add_element(executor_, 1).code, Code::ok);
  EXPECT_EQ(add(executor_, sum, 1).code, Code::wrong_type);
}

TEST_F(Bodies, set_makes_a_sum_of_it) {
  (void)add_element(executor_, 1);
  const ShardRef sum{"visitors", 0};
  ASSERT_EQ(executor_.set(sum, {.value = 5}, executor_.map().place(sum)).code, Code::ok);
  EXPECT_EQ(value(executor_, sum), 5);
  EXPECT_TRUE(state(executor_, kVisitors).parts.empty());
}

// Ending the other kind must not touch what is known of the sum.
TEST_F(Bodies, set_beside_another_kind_keeps_an_end_of_the_sum_that_lies_ahead) {
  const ShardRef sum{"visitors", 0};
  ShardState over;
  over.life.ended = today_.wall + 500ms;  // by a clock that is ahead
  executor_.merge(said(sum, over));
  ASSERT_EQ(add_element(executor_, 1).code, Code::ok);
  ASSERT_EQ(executor_.set(sum, {.value = 5}, executor_.map().place(sum)).code, Code::ok);
  EXPECT_GE(life(sum).ended, over.life.ended);
  executor_.merge(said(sum, over));
  EXPECT_EQ(value(executor_, sum), 5) << "it counts in the life after that end";
}

TEST_F(Bodies, a_set_that_is_refused_ends_no_other_kind) {
  const ShardRef sum{"visitors", 0};
  ShardState crowded;
  for (std::uint64_t i = 1; i <= kMaxWriters; ++i)
    crowded.cells.push_back({ActorId{i}, Commit{1}, 1, {}, 0});
  executor_.merge(said(sum, crowded));
  Executor other = fresh_executor(2);
  (void)add_element(other, 1);
  executor_.merge(said(kVisitors, state(other, kVisitors)));
  EXPECT_EQ(executor_.set(sum, {.value = 5}, executor_.map().place(sum)).code, Code::out_of_range);
  EXPECT_EQ(count(executor_), 1u);
}

TEST_F(Bodies, the_key_count_has_each_counter_once) {
  (void)add_element(executor_, 1);
  (void)add_element(executor_, 2);
  const Partition partition = partition_of(executor_, kVisitors);
  EXPECT_EQ(partition, partition_of(executor_, ShardRef{"visitors", 0})) << "the same owners";
  EXPECT_EQ(executor_.map().ledger().counters(partition), 1u);
  ASSERT_EQ(reset(executor_, kVisitors).code, Code::ok);
  EXPECT_EQ(executor_.map().ledger().counters(partition), 0u);
}

// ---- namespaces that fix a kind ----

NamespaceDefinition fixes(Kind kind, std::uint8_t precision = 0, std::vector<Tier> tiers = {}) {
  const Stamp when{1, NodeId{1}};
  return {.name = "hits",
          .changed = when,
          .policy = {.tiers = std::move(tiers), .kind = kind},
          .fixed = {{when, kind, precision}}};
}

const ShardKey kHits{"hits:1", shard_of(Kind::distinct)};
const ShardRef kHitsSum{"hits:1", 0};

std::string body_of(const Executor& executor, ShardRef ref = kHits) {
  return state(executor, ref).parts.at(0).body;
}

TEST_F(Bodies, begin_with_the_precision_of_their_namespace) {
  executor_.merge_namespace(fixes(Kind::distinct, 11));
  ASSERT_EQ(add_element(executor_, 1, kHits).code, Code::ok);
  EXPECT_EQ(body_of(executor_).front(), 11) << "sparse";
  add_elements(executor_, 0, 20'000, kHits);
  EXPECT_EQ(body_of(executor_).size(), 1'537u) << "dense";
  EXPECT_NEAR(static_cast<double>(count(executor_, kHits)), 20'000, 20'000 * 0.1);
  (void)add_element(executor_, 1);
  EXPECT_EQ(body_of(executor_, kVisitors).front(), 14) << "in no namespace";
  ASSERT_EQ(reset(executor_, kHits).code, Code::ok);
  ASSERT_EQ(add_element(executor_, 1, kHits).code, Code::ok);
  EXPECT_EQ(body_of(executor_).front(), 11) << "a new life, too";
}

TEST_F(Bodies, that_exist_keep_their_precision_when_their_namespace_fixes_another) {
  ASSERT_EQ(add_element(executor_, 1, kHits).code, Code::ok);
  executor_.merge_namespace(fixes(Kind::distinct, 11));
  ASSERT_EQ(add_element(executor_, 2, kHits).code, Code::ok);
  EXPECT_EQ(body_of(executor_).front(), 14);
}

// One node had not heard of the precision when it began the counter.
TEST_F(Bodies, of_two_precisions_are_joined_at_the_lesser_one) {
  Executor other = fresh_executor(2);
  add_elements(other, 0, 15'000, kHits);
  executor_.merge_namespace(fixes(Kind::distinct, 11));
  add_elements(executor_, 10'000, 20'000, kHits);
  Executor both = fresh_executor(3);
  both.merge_namespace(fixes(Kind::distinct, 11));
  add_elements(both, 0, 20'000, kHits);
  const auto copy = [](Executor& to, const Executor& from) {
    to.merge(said(kHits, state(from, kHits)));
  };
  copy(executor_, other);
  copy(other, executor_);
  EXPECT_EQ(body_of(executor_), body_of(both));
  EXPECT_EQ(body_of(other), body_of(both));
}

TEST_F(Bodies, in_windows_have_the_precision_of_their_counters_namespace) {
  executor_.merge_namespace(fixes(Kind::distinct, 11, {{1min, {}}}));
  ASSERT_EQ(add_element(executor_, 1, kHits).code, Code::ok);
  const std::vector<ShardKey> windows = executor_.windows(kHits, {});
  ASSERT_EQ(windows.size(), 1u);
  EXPECT_EQ(body_of(executor_, windows[0]).front(), 11);
}

TEST_F(Bodies, another_kinds_change_creates_no_counter_where_the_namespace_fixes_a_kind) {
  executor_.merge_namespace(fixes(Kind::distinct));
  EXPECT_EQ(add(executor_, kHitsSum, 1).code, Code::wrong_type);
  EXPECT_EQ(add_for(kHitsSum, 1s).code, Code::wrong_type);
  const Placement place = executor_.map().place(kHitsSum);
  EXPECT_EQ(executor_.set(kHitsSum, {.value = 5}, place).code, Code::wrong_type);
  EXPECT_FALSE(executor_.map().find(place, kHitsSum)) << "nothing was changed";
  EXPECT_EQ(executor_.fixed_to_other(kHitsSum), Kind::distinct);
  EXPECT_EQ(executor_.fixed_to_other(kHits), std::nullopt);
  ASSERT_EQ(add_element(executor_, 1, kHits).code, Code::ok);
  EXPECT_EQ(executor_.set(kHitsSum, {.value = 5}, place).code, Code::wrong_type)
      << "it would make a sum of it";
  EXPECT_EQ(count(executor_, kHits), 1u);
  EXPECT_EQ(add(executor_, {"hits", 0}, 1).code, Code::ok) << "a key without ':'";
}

TEST_F(Bodies, begin_nowhere_in_a_namespace_of_sums) {
  executor_.merge_namespace(fixes(Kind::sum));
  EXPECT_EQ(add_element(executor_, 1, kHits).code, Code::wrong_type);
  EXPECT_EQ(add(executor_, kHitsSum, 1).code, Code::ok);
}

TEST_F(Bodies, a_sum_that_exists_stays_one_until_it_ends_in_a_namespace_of_another_kind) {
  ASSERT_EQ(add_for(kHitsSum, 10s, 3).code, Code::ok);
  const ShardRef plain{"hits:2", 0};
  ASSERT_EQ(add(executor_, plain, 3).code, Code::ok);
  executor_.merge_namespace(fixes(Kind::distinct));
  EXPECT_EQ(add(executor_, kHitsSum, 1).code, Code::ok);
  EXPECT_EQ(executor_.set(plain, {.value = 5}, executor_.map().place(plain)).code, Code::ok);
  EXPECT_EQ(add_element(executor_, 1, kHits).code, Code::wrong_type);
  pass(10s);
  EXPECT_EQ(add(executor_, kHitsSum, 1).code, Code::wrong_type) << "nobody has realized its end";
  ASSERT_EQ(reset(executor_, plain).code, Code::ok);
  EXPECT_EQ(add(executor_, plain, 1).code, Code::wrong_type);
  EXPECT_EQ(add_element(executor_, 1, kHits).code, Code::ok);
}

// What a peer has created before it heard of the kind.
TEST_F(Bodies, a_copy_of_another_kind_is_merged_whatever_the_namespace_fixes) {
  Executor other = fresh_executor(2);
  ASSERT_EQ(add(other, kHitsSum, 3).code, Code::ok);
  executor_.merge_namespace(fixes(Kind::distinct));
  executor_.merge(said(kHitsSum, state(other, kHitsSum)));
  EXPECT_EQ(value(executor_, kHitsSum), 3);
  EXPECT_EQ(add(executor_, kHitsSum, 1).code, Code::ok);
}

// ---- kinds in which each actor has a share ----

const ShardKey kQueries{"queries", shard_of(Kind::frequency)};

Applied count_item(Executor& executor, std::uint64_t item, std::uint64_t count = 1) {
  const frequency::Increment one{hash_of_element(item), count};
  const std::string words = frequency::words_to_add({&one, 1});
  return apply(executor, change_of(kQueries, words));
}

std::uint64_t count_of(const Executor& executor, std::uint64_t item) {
  const std::uint64_t hash = hash_of_element(item);
  const ShardState held = state(executor, kQueries);
  std::string reply;
  EXPECT_EQ(kFrequency.answer(bodies_of(held.parts), frequency::question_about({&hash, 1}), reply),
            Code::ok);
  return frequency::estimates(reply).value().counts.at(0);
}

TEST_F(Bodies, a_share_that_a_peer_has_and_this_memory_lost_ends_its_actor) {
  Executor before = fresh_executor(1);
  ASSERT_EQ(count_item(before, 1, 5).code, Code::ok);
  const ShardState early = state(before, kQueries);
  ASSERT_EQ(count_item(before, 1, 2).code, Code::ok);
  const ShardState late = state(before, kQueries);

  // The same store, from an old copy of its disk.
  Executor again = fresh_executor(1);
  ASSERT_EQ(count_item(again, 1, 5).code, Code::ok);
  ASSERT_EQ(state(again, kQueries), early);
  again.merge(said(kQueries, early));
  EXPECT_TRUE(again.has_actor(partition_of(again, kQueries))) << "it has all of that";
  again.merge(said(kQueries, late));
  EXPECT_FALSE(again.has_actor(partition_of(again, kQueries)));
  ASSERT_EQ(count_item(again, 1, 4).code, Code::ok);
  EXPECT_EQ(count_of(again, 1), 11u) << "under another actor, nothing is lost";
}

TEST_F(Bodies, a_share_of_another_actor_ends_none) {
  ASSERT_EQ(count_item(executor_, 1, 5).code, Code::ok);
  Executor other = fresh_executor(2);
  ASSERT_EQ(count_item(other, 1, 2).code, Code::ok);
  executor_.merge(said(kQueries, state(other, kQueries)));
  EXPECT_TRUE(executor_.has_actor(partition_of(executor_, kQueries)));
  EXPECT_EQ(count_of(executor_, 1), 7u);
}

// One matrix may change in place although another changes the length of the body.
TEST_F(Bodies, the_record_of_a_copy_has_all_that_it_changes) {
  const std::string begin = frequency::words_to_begin({50, 2});
  Executor dense = fresh_executor(2), sparse = fresh_executor(3);
  ASSERT_EQ(apply(dense, change_of(kQueries, begin)).code, Code::ok);
  ASSERT_EQ(apply(sparse, change_of(kQueries, begin)).code, Code::ok);
  const auto count_both = [&](std::uint64_t from) {
    for (std::uint64_t item = from; item < from + 40; ++item)
      ASSERT_EQ(count_item(dense, item, item).code, Code::ok);
    ASSERT_EQ(count_item(sparse, from).code, Code::ok);
  };
  const auto merge_both = [&](Executor& into) {
    into.merge(said(kQueries, state(dense, kQueries)));
    into.merge(said(kQueries, state(sparse, kQueries)));
  };
  count_both(1);
  merge_both(executor_);
  (void)seal(executor_);
  const std::string before = state(executor_, kQueries).parts.at(0).body;
  count_both(100);
  Executor peer = fresh_executor(4);
  merge_both(peer);
  executor_.merge(said(kQueries, state(peer, kQueries)));
  const std::vector<std::string> record = bodies_in(record_of(seal(executor_).at(0)).delta);
  const std::string after = state(executor_, kQueries).parts.at(0).body;
  ASSERT_EQ(after, state(peer, kQueries).parts.at(0).body);
  ASSERT_EQ(record.size(), 1u);
  EXPECT_EQ(joined_bodies(kFrequency, before, record[0]), after);
}

// 127 actors with matrices of the most bytes. A cluster should have at most 64.
TEST_F(Bodies, that_are_longer_than_a_state_may_be_are_refused) {
  const frequency::Size size{frequency::kMostCells, 1};
  const auto wide = [&](std::uint64_t actor) {
    Edit edit;
    std::string reply;
    const std::string begin = frequency::words_to_begin(size);
    EXPECT_EQ(kFrequency.apply(edit, {.words = begin, .actor = ActorId{actor}}, reply), Code::ok);
    std::vector<frequency::Increment> many;
    for (std::uint64_t item = 0; item < 8'000; ++item)
      many.push_back({hash_of_element(item), item == 0 ? std::uint64_t{1} << 40 : 1});
    const std::string words = frequency::words_to_add(many);
    EXPECT_EQ(kFrequency.apply(edit, {.words = words, .actor = ActorId{actor}}, reply), Code::ok);
    return std::string(edit.body());
  };
  const std::string one = wide(1);
  ShardState crowded;
  crowded.parts = {{Wall{}, one.substr(0, 2)}};
  for (std::uint64_t actor = 1; actor <= 127; ++actor) {
    std::string matrix = one.substr(2);
    std::memcpy(matrix.data(), &actor, sizeof actor);
    crowded.parts[0].body += matrix;
  }
  executor_.merge(said(kQueries, crowded));
  ASSERT_EQ(state(executor_, kQueries).parts, crowded.parts);
  EXPECT_EQ(count_item(executor_, 1).code, Code::ok) << "a sparse matrix has room";
  const ShardState before = state(executor_, kQueries);
  EXPECT_EQ(executor_.conflicts(), 0u);
  executor_.merge(said(kQueries, ShardState{{}, 1, 1, {}, {{Wall{}, wide(500)}}}));
  EXPECT_EQ(executor_.conflicts(), 1u);
  EXPECT_EQ(state(executor_, kQueries), before);
}

// A counter that began in two places has bodies of two births. A reply counts both.
TEST_F(Bodies, a_reply_tells_of_all_births) {
  ASSERT_EQ(count_item(executor_, 1, 100).code, Code::ok);
  ASSERT_EQ(reset(executor_, kQueries).code, Code::ok);
  pass(2s);
  ASSERT_EQ(count_item(executor_, 1, 5).code, Code::ok);
  ShardState theirs = state(executor_, kQueries);
  ASSERT_EQ(theirs.parts.size(), 1u);
  Executor other = fresh_executor(2);
  ASSERT_EQ(count_item(other, 1, 2).code, Code::ok);
  theirs.parts = {{theirs.parts[0].born + 2s, state(other, kQueries).parts.at(0).body}};
  pass(4s);
  executor_.merge(said(kQueries, theirs));
  ASSERT_EQ(state(executor_, kQueries).parts.size(), 2u);
  const frequency::Increment one{hash_of_element(1), 3};
  const std::string words = frequency::words_to_add({&one, 1});
  Change change = change_of(kQueries, words);
  std::string reply;
  change.reply = &reply;
  ASSERT_EQ(apply(executor_, change).code, Code::ok);
  EXPECT_EQ(frequency::added(reply), std::vector<std::uint64_t>{10});
  EXPECT_EQ(count_of(executor_, 1), 10u);
}

// ---- ends ----

TEST_F(Bodies, a_reset_ends_the_life_also_for_copies_that_did_not_hear_of_it) {
  add_elements(executor_, 0, 10);
  Executor stale = fresh_executor(2);
  stale.judge_dates_by(today_);
  (void)seal(executor_);
  stale.merge(tell(executor_, {kVisitors}));
  pass(5s);
  ASSERT_EQ(reset(executor_, kVisitors).code, Code::ok);
  EXPECT_EQ(count(executor_), 0u);
  (void)seal(executor_);
  executor_.merge(tell(stale, {kVisitors}));
  EXPECT_EQ(count(executor_), 0u) << "a stale copy revives nothing";
  pass(5s);
  add_elements(executor_, 100, 103);
  (void)seal(executor_);
  stale.merge(tell(executor_, {kVisitors}));
  EXPECT_EQ(count(stale), 3u) << "and loses its old elements";
}

TEST_F(Bodies, writers_that_begin_a_life_within_two_seconds_share_its_body) {
  Executor other = fresh_executor(2);
  other.judge_dates_by(today_);
  add_elements(executor_, 0, 1);
  ASSERT_EQ(reset(executor_, kVisitors).code, Code::ok);
  (void)seal(executor_);
  other.merge(tell(executor_, {kVisitors}));
  pass(20s);
  today_.wall =
      Wall{std::chrono::floor<std::chrono::seconds>(today_.wall.time_since_epoch()) / 2 * 2};
  add_elements(executor_, 1, 5);
  pass(1999ms);
  add_elements(other, 5, 9);
  (void)seal(other);
  executor_.merge(tell(other, {kVisitors}));
  ASSERT_EQ(state(executor_, kVisitors).parts.size(), 1u);
  EXPECT_EQ(state(executor_, kVisitors).parts[0].body, body_with(1, 9));
}

TEST_F(Bodies, a_time_to_live_ends_it) {
  const std::uint64_t hash = hash_of_element(1);
  const std::string words = distinct::words_of({&hash, 1});
  Change change = change_of(kVisitors, words);
  change.ttl = 1s;
  ASSERT_EQ(apply(executor_, change).code, Code::ok);
  (void)seal(executor_);
  pass(999ms);
  sweep();
  EXPECT_EQ(count(executor_), 1u);
  pass(1ms);
  sweep();
  EXPECT_EQ(count(executor_), 0u);
  pass(11s);
  sweep();
  EXPECT_FALSE(is_held(kVisitors)) << "nothing of it is kept";
}

// A clock that is ahead may begin it after the deadline that another clock sets.
TEST_F(Bodies, a_life_that_began_after_its_deadline_goes_on) {
  ShardState ahead;
  ahead.life.ended = today_.wall - 1h;
  ahead.parts = {{today_.wall + 400ms, body_with(0, 3)}};
  executor_.merge(said(kVisitors, ahead));
  ASSERT_EQ(apply(executor_, {.kind = OpKind::expire,
                              .ref = kVisitors,
                              .amount = (today_.wall + 15ms).time_since_epoch().count()})
                .code,
            Code::ok);
  pass(20ms);
  EXPECT_EQ(add_element(executor_, 7).code, Code::ok);
  EXPECT_EQ(count(executor_), 4u);
}

TEST_F(Bodies, what_needs_a_date_needs_a_trusted_clock) {
  (void)add_element(executor_, 1);
  today_.trusted = false;
  EXPECT_EQ(add_element(executor_, 2).code, Code::ok) << "it has no end";
  EXPECT_EQ(reset(executor_, kVisitors).code, Code::unavailable);
  EXPECT_EQ(count(executor_), 2u);
}

// ---- windows ----

TEST_F(Bodies, a_window_begins_with_the_size_of_its_counter) {
  executor_.merge_namespace({.name = "seen",
                             .changed = {1'789'000'000'000, NodeId{1}},
                             .policy = {.tiers = {{60s, 600s}}}});
  const ShardKey pages{"seen:pages", shard_of(Kind::frequency)};
  const frequency::Size size{50, 3};
  ASSERT_EQ(apply(executor_, change_of(pages, frequency::words_to_begin(size))).code, Code::ok);
  today_.wall += 60s;
  const frequency::Increment one{hash_of_element(1), 2};
  const std::string words = frequency::words_to_add({&one, 1});
  ASSERT_EQ(apply(executor_, change_of(pages, words)).code, Code::ok);
  std::string reply;
  const ShardState window = state(executor_, window_at(pages, 60s, today_.wall));
  ASSERT_EQ(kFrequency.answer(bodies_of(window.parts), frequency::kInfoQuestion, reply), Code::ok);
  EXPECT_EQ(frequency::info(reply)->size, size);
  EXPECT_EQ(frequency::info(reply)->total, 2);
}

TEST_F(Bodies, a_change_that_a_window_has_no_room_for_changes_nothing) {
  executor_.merge_namespace({.name = "seen",
                             .changed = {1'789'000'000'000, NodeId{1}},
                             .policy = {.tiers = {{60s, 600s}}}});
  const ShardKey pages{"seen:pages", shard_of(Kind::frequency)};
  const frequency::Increment one{hash_of_element(1), std::uint64_t{5} << 60};
  const std::string words = frequency::words_to_add({&one, 1});
  ASSERT_EQ(apply(executor_, change_of(pages, words)).code, Code::ok);
  ASSERT_EQ(reset(executor_, pages).code, Code::ok) << "which leaves the windows";
  EXPECT_EQ(apply(executor_, change_of(pages, words)).code, Code::out_of_range);
  EXPECT_TRUE(state(executor_, pages).parts.empty());
}

TEST_F(Bodies, an_element_counts_in_the_windows_of_its_moment) {
  executor_.merge_namespace({.name = "seen",
                             .changed = {1'789'000'000'000, NodeId{1}},
                             .policy = {.tiers = {{60s, 600s}, {3600s, {}}}}});
  const ShardRef seen{"seen:home", shard_of(Kind::distinct)};
  add_elements(executor_, 0, 10, seen);
  const Wall earlier = today_.wall;
  pass(60s);
  add_elements(executor_, 5, 25, seen);
  EXPECT_EQ(count(executor_, window_at(seen, 60s, earlier)), 10u);
  EXPECT_EQ(count(executor_, window_at(seen, 60s, today_.wall)), 20u);
  EXPECT_EQ(count(executor_, window_at(seen, 3600s, earlier)), 25u);
  EXPECT_EQ(count(executor_, seen), 25u);
}

// ---- what comes from anywhere ----

TEST_F(Bodies, words_that_are_none_change_nothing) {
  EXPECT_EQ(apply(executor_, change_of(kVisitors, "none")).code, Code::invalid_argument);
  EXPECT_FALSE(executor_.has_open());
  (void)add_element(executor_, 1);
  (void)seal(executor_);
  EXPECT_EQ(apply(executor_, change_of(kVisitors, "none")).code, Code::invalid_argument);
  EXPECT_FALSE(executor_.has_open());
}

TEST_F(Bodies, a_retry_changes_nothing_and_tells_no_reply) {
  const Token token{StoreId{1}, executor_.issue_session(), 1, 1};
  const std::uint64_t hash = hash_of_element(1);
  const std::string words = distinct::words_of({&hash, 1});
  std::string reply;
  Change change = change_of(kVisitors, words);
  change.token = token;
  change.reply = &reply;
  ASSERT_EQ(apply(executor_, change).code, Code::ok);
  EXPECT_TRUE(distinct::changed(reply));
  reply.clear();
  EXPECT_TRUE(apply(executor_, change).again);
  EXPECT_EQ(reply, "");
  const std::uint64_t another = hash_of_element(2);
  const std::string other_words = distinct::words_of({&another, 1});
  change.words = other_words;
  EXPECT_EQ(apply(executor_, change).code, Code::token_reused);
}

}  // namespace
}  // namespace quipu::test
