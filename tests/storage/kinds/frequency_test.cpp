// Count-Min with conservative update: the laws of a kind, the bytes, the forms and the errors.
#include "storage/kinds/frequency.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <numbers>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/random.h"
#include "protocol/shard_number.h"
#include "protocol/state.h"
#include "storage/kinds/parts.h"
#include "tests/storage/kinds/bodies.h"
#include "tests/storage/kinds/kind_laws.h"

namespace quipu::test::of_frequency {
namespace {

using frequency::Increment;
using frequency::Size;
using Increments = std::vector<Increment>;
using Counts = std::vector<std::uint64_t>;

constexpr auto kMostTotal = std::uint64_t{std::numeric_limits<std::int64_t>::max()};
constexpr std::uint64_t kNarrow = 0xffff'ffff;  // the most of a cell of 4 bytes

Increments some_increments(std::size_t count, std::uint64_t seed, std::uint64_t most = 5) {
  Random random(seed);
  Increments increments(count);
  for (Increment& each : increments) each = {random.next(), 1 + random.below(most)};
  return increments;
}

// ---- the laws of a kind ----

struct FrequencyOps {
  static unsigned precision() { return 0; }
  // Mostly small sizes, since these are dense after a few ops. Few seeds, so that actors count the
  // same elements. No total of a history comes near its limit.
  static std::string words(unsigned) {
    if (*rc::gen::inRange(0, 6) == 0) return frequency::words_to_begin(*rc::gen::elementOf(kSizes));
    const auto count = *rc::gen::elementOf(std::vector<std::size_t>{0, 1, 1, 2, 30});
    Increments increments = some_increments(count, *rc::gen::inRange<std::uint64_t>(0, 8));
    const auto edges = *rc::gen::container<Counts>(rc::gen::element<std::uint64_t>(
        0, 1, 127, 128, 300, kNarrow - 1, kNarrow, kNarrow + 1, std::uint64_t{1} << 40));
    for (const std::uint64_t edge : edges)
      increments.push_back({*rc::gen::inRange<std::uint64_t>(0, 4), edge});
    return frequency::words_to_add(increments);
  }
  // The estimate of an element that was counted; one that was not; and the bound.
  static std::string question() { return frequency::question_about(Counts{1, 77}); }

 private:
  static inline const std::vector<Size> kSizes{{1, 1},  {3, 2},  {5, 3},    {5, 3},
                                               {20, 4}, {40, 1}, {100, 10}, {1638, 10}};
};
QUIPU_KIND_LAWS(Frequency, kFrequency, FrequencyOps);

// The laws ask one question; these are the others.
RC_GTEST_PROP(FrequencyAnswer, does_not_depend_on_the_order, ()) {
  const KindUnderTest kind{kFrequency, FrequencyOps::precision, FrequencyOps::words,
                           [] { return std::string(); }};
  kind_laws::answers_do_not_depend_on_the_order(kind);
  kind_laws::any_question_is_refused_or_answered(kind);
  kind_laws::answers_do_not_depend_on_the_order({kind.rules, kind.precision, kind.words, [] {
                                                   return std::string(frequency::kInfoQuestion);
                                                 }});
}

// ---- bodies, by value ----

std::string joined_copies(const std::string& into, const std::string& from) {
  return joined_bodies(kFrequency, into, from);
}

struct Applied {
  Code code = Code::ok;
  std::string reply{};
  Units units{};
  Units rests_on{};
  bool in_place = false;
};

Applied change(std::string& body, const std::string& words, std::uint64_t actor = 7) {
  Edit edit(body.data(), body.size());
  Applied applied;
  edit.tell_rests_on(&applied.rests_on);
  const std::string before = body;
  applied.code = kFrequency.apply(edit, {.words = words, .actor = ActorId{actor}}, applied.reply);
  applied.units = edit.units();
  applied.in_place = !edit.replaced();
  if (edit.replaced()) body = std::move(*edit.replaced());
  EXPECT_TRUE(applied.code == Code::ok || body == before);
  return applied;
}
Counts add(std::string& body, const Increments& increments, std::uint64_t actor = 7) {
  const Applied applied = change(body, frequency::words_to_add(increments), actor);
  EXPECT_EQ(applied.code, Code::ok);
  return frequency::added(applied.reply).value();
}
std::string begun(Size size, std::uint64_t actor = 7) {
  std::string body;
  EXPECT_EQ(change(body, frequency::words_to_begin(size), actor).code, Code::ok);
  return body;
}
std::string counted(Size size, const Increments& increments, std::uint64_t actor = 7) {
  std::string body = begun(size, actor);
  add(body, increments, actor);
  return body;
}
std::string answer(const std::vector<std::string>& bodies, std::string_view question) {
  const std::vector<std::string_view> views(bodies.begin(), bodies.end());
  std::string reply = "old";
  EXPECT_EQ(kFrequency.answer(views, question, reply), Code::ok);
  return reply;
}
std::uint64_t total_of(const std::vector<std::string>& bodies) {
  return frequency::total(answer(bodies, frequency::kTotalQuestion)).value();
}
frequency::Info info_of(const std::vector<std::string>& bodies) {
  return frequency::info(answer(bodies, frequency::kInfoQuestion)).value();
}
frequency::Estimates estimates_of(const std::vector<std::string>& bodies, const Counts& hashes) {
  return frequency::estimates(answer(bodies, frequency::question_about(hashes))).value();
}
// A matrix of actor 7, up to its cells.
std::string head(int width, int depth, int form, int total) {
  return bytes({7, 0, 0, 0, 0, 0, 0, 0, width, 0, 0, 0, depth, form, total, 0, 0, 0, 0, 0, 0, 0});
}

// ---- bytes ----

// Stored matrices mean nothing without the cells that a hash chooses. So these never change.
TEST(FrequencyBytes, of_small_bodies_are_as_the_header_says) {
  EXPECT_EQ(begun({5, 3}), bytes({1, 0}) + head(5, 3, 0, 0) + bytes({0, 0}));
  EXPECT_EQ(counted({5, 3}, {{0, 3}}),
            bytes({1, 0}) + head(5, 3, 0, 3) + bytes({6, 0, 4, 3, 2, 3, 2, 3}));
  EXPECT_EQ(counted({5, 3}, {{std::uint64_t{1} << 63, 3}}),
            bytes({1, 0}) + head(5, 3, 0, 3) + bytes({6, 0, 1, 3, 6, 3, 2, 3}));
  // One cell, once it does not fit 2 bytes.
  EXPECT_EQ(counted({4, 1}, {{0, 127}}),
            bytes({1, 0}) + head(4, 1, 0, 127) + bytes({2, 0, 3, 127}));
  EXPECT_EQ(counted({4, 1}, {{0, 128}}),
            bytes({1, 0}) + head(4, 1, 4, 128) + std::string(12, '\0') + bytes({128, 0, 0, 0}));
  const std::string wide = counted({4, 1}, {{0, kNarrow + 2}});
  EXPECT_EQ(wide.substr(15, 1), bytes({8}));
  EXPECT_EQ(wide.substr(24), std::string(24, '\0') + bytes({1, 0, 0, 0, 1, 0, 0, 0}));
}

TEST(FrequencyBytes, list_matrices_by_actor_and_then_by_size) {
  const std::string a = begun({5, 3}, 1), b = begun({5, 3}, 2), c = begun({5, 4}, 2),
                    d = begun({6, 1}, 2), e = begun({4, 1}, std::uint64_t{1} << 40);
  const std::string all = a + b.substr(2) + c.substr(2) + d.substr(2) + e.substr(2);
  EXPECT_EQ(joined_copies(joined_copies(joined_copies(joined_copies(e, c), a), d), b), all);
  EXPECT_EQ(joined_copies(joined_copies(joined_copies(joined_copies(b, d), a), c), e), all);
  EXPECT_TRUE(kFrequency.sound(all));
  EXPECT_FALSE(kFrequency.sound(b + a.substr(2))) << "actors descend";
  EXPECT_FALSE(kFrequency.sound(c + b.substr(2))) << "depths descend";
  EXPECT_FALSE(kFrequency.sound(d + c.substr(2))) << "widths descend";
  EXPECT_FALSE(kFrequency.sound(a + a.substr(2))) << "one comes twice";
}

TEST(FrequencyBytes, are_refused_if_no_writer_makes_them) {
  const std::string one = bytes({1, 0});
  struct Case {
    const char* what;
    std::string bytes;
  };
  const Case cases[] = {
      {"nothing", ""},
      {"another format", bytes({2})},
      {"a head that is cut off", one + head(5, 3, 0, 0)},
      {"no actor", one + std::string(8, '\0') + head(5, 3, 0, 0).substr(8) + bytes({0, 0})},
      {"width 0", one + head(0, 3, 0, 0) + bytes({0, 0})},
      {"depth 0", one + head(5, 0, 0, 0) + bytes({0, 0})},
      {"depth 11", one + head(5, 11, 0, 0) + bytes({0, 0})},
      {"form 1", one + head(5, 3, 1, 0) + bytes({0, 0})},
      {"a length beyond the end", one + head(5, 3, 0, 1) + bytes({3, 0, 0, 1})},
      {"a byte behind the end", one + head(5, 3, 0, 1) + bytes({1, 0, 0, 1})},
      {"a count that is cut off", one + head(5, 3, 0, 1) + bytes({1, 0, 0})},
      {"a count of 0", one + head(5, 3, 0, 1) + bytes({2, 0, 0, 0})},
      {"a count above the total", one + head(5, 3, 0, 1) + bytes({2, 0, 0, 2})},
      {"the cell after the last", one + head(5, 3, 0, 1) + bytes({2, 0, 15, 1})},
      {"a second cell after the last", one + head(5, 3, 0, 1) + bytes({4, 0, 14, 1, 0, 1})},
      {"a gap that is too long", one + head(5, 3, 0, 1) + bytes({3, 0, 0x80, 0, 1})},
      {"a count that is too long", one + head(5, 3, 0, 1) + bytes({3, 0, 0, 0x81, 0})},
      {"a sparse matrix that is too long", one + head(1, 1, 0, 200) + bytes({3, 0, 0, 200, 1})},
      {"a dense matrix of zeros", one + head(5, 3, 4, 0) + std::string(60, '\0')},
      {"a dense matrix that could be sparse",
       one + head(4, 1, 4, 127) + std::string(12, '\0') + bytes({127, 0, 0, 0})},
      {"a wide matrix that could be narrow",
       one + head(1, 1, 8, 200) + bytes({200, 0, 0, 0, 0, 0, 0, 0})},
      {"a dense matrix that is too short", one + head(1, 1, 4, 200) + bytes({200, 0, 0})},
      {"a dense count above the total", one + head(1, 1, 4, 199) + bytes({200, 0, 0, 0})},
      {"a total above the most", one + head(5, 3, 0, 0).replace(21, 1, "\x80") + bytes({0, 0})},
  };
  for (const Case& each : cases) EXPECT_FALSE(kFrequency.sound(each.bytes)) << each.what;
  EXPECT_TRUE(kFrequency.sound(one)) << "no matrix";
  EXPECT_TRUE(kFrequency.sound(one + head(5, 3, 0, 1) + bytes({2, 0, 14, 1})));
  EXPECT_TRUE(kFrequency.sound(one + head(1, 1, 4, 200) + bytes({200, 0, 0, 0})));
}

// Each body that is sound can be built from its cells again, to the same bytes.
TEST(FrequencyBytes, that_are_cut_or_flipped_anywhere_are_refused_or_canonical) {
  const auto is_refused_or_canonical = [](const std::string& body) {
    if (!kFrequency.sound(body)) return true;
    std::string without = bytes({1, 0});
    Edit insertions(without.data(), without.size());
    kFrequency.join(insertions, body);
    const Units& units = insertions.units();
    return !units.all() && kFrequency.extract(body, units.some()) == body;
  };
  // No more cells than Units can name.
  const Increments few = some_increments(4, 1), many = some_increments(60, 2);
  for (const std::string& body :
       {joined_copies(counted({9, 3}, few, 1), counted({9, 3}, few, 2)), counted({9, 3}, many),
        counted({9, 3}, {{1, kNarrow + 5}, {2, 1}, {3, 1}, {4, 1}, {5, 1}, {6, 1}})}) {
    ASSERT_TRUE(kFrequency.sound(body));
    for (std::size_t cut = 0; cut < body.size(); ++cut)
      EXPECT_TRUE(is_refused_or_canonical(body.substr(0, cut))) << cut;
    for (std::size_t bit = 0; bit < body.size() * 8; ++bit) {
      std::string flipped = body;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
      EXPECT_TRUE(is_refused_or_canonical(flipped)) << bit;
    }
  }
}

// ---- forms ----

// Elements of which each takes one cell: a matrix of one row.
Counts one_for_each_cell(std::uint32_t width) {
  std::map<std::string, std::uint64_t> by_body;
  for (std::uint64_t hash = 0; by_body.size() < width; ++hash)
    by_body.try_emplace(counted({width, 1}, {{hash, 1}}), hash);
  Counts hashes;
  for (const auto& [body, hash] : by_body) hashes.push_back(hash);
  return hashes;
}

// What a peer gets for the adds of an interval. More units than that are the whole body, which has
// at most 12 bytes for each of them (storage/kinds/units.h).
TEST(FrequencyForm, of_some_changed_cells_takes_at_most_12_bytes_for_each) {
  std::string body;
  std::uint64_t item = 0;
  for (int i = 0; i < 200; ++i) {
    Increments many;
    for (int j = 0; j < 1000; ++j) many.push_back({Random(item++ % 20'000).next(), 40});
    add(body, many);
  }
  for (const int adds : {1, 10, 100, 600}) {
    std::string after = body;
    Edit edit(after.data(), after.size());
    std::string reply;
    Increments some;
    for (int i = 0; i < adds; ++i)
      some.push_back({Random(static_cast<std::uint64_t>(i) * 31).next(), 1});
    ASSERT_EQ(kFrequency.apply(edit, {.words = frequency::words_to_add(some), .actor = ActorId{7}},
                               reply),
              Code::ok);
    ASSERT_FALSE(edit.units().all()) << adds;
    const auto units = edit.units().some();
    EXPECT_LE(kFrequency.extract(edit.body(), units).size(), 44 + 12 * units.size()) << adds;
  }
}

TEST(FrequencyForm, is_sparse_up_to_the_limit_and_dense_from_there) {
  constexpr Size kSize{64, 1};
  constexpr std::size_t kHead = 2 + 22, kLength = 2;
  const Counts hashes = one_for_each_cell(kSize.width);
  std::string body = begun(kSize);
  for (std::size_t i = 0; i < 16; ++i) add(body, {{hashes[i], 127}});
  ASSERT_EQ(frequency::sparse_limit(kSize), 32);
  EXPECT_EQ(body.size(), kHead + kLength + 32) << "16 entries of two bytes";
  EXPECT_TRUE(kFrequency.sound(body));
  const std::string at_limit = body, one_more = counted(kSize, {{hashes[5], 128}});
  const Applied applied = change(body, frequency::words_to_add(Increments{{hashes[5], 1}}));
  EXPECT_EQ(body.size(), kHead + 64 * 4) << "one of them would have three";
  EXPECT_FALSE(applied.units.all());
  EXPECT_TRUE(kFrequency.sound(body));
  // A join has the same edge.
  const std::string by_join = joined_copies(at_limit, one_more);
  EXPECT_EQ(by_join.substr(kHead), body.substr(kHead));
  EXPECT_EQ(joined_copies(one_more, at_limit), by_join);
  EXPECT_EQ(joined_copies(body, at_limit), body) << "it never goes back";
}

TEST(FrequencyForm, becomes_wider_instead_of_wrapping) {
  struct Case {
    const char* what;
    Size size;
    std::size_t bytes;  // when it is wide
  };
  const Case cases[] = {{"sparse", {50, 2}, 2 + 24 + 2 * 6}, {"dense", {1, 2}, 2 + 22 + 2 * 8}};
  for (const Case& each : cases) {
    std::string body = counted(each.size, {{1, kNarrow - 1}});
    for (std::uint64_t i = 0; i < 4; ++i) {
      EXPECT_EQ(add(body, {{1, 1}}), Counts{kNarrow + i}) << each.what;
      EXPECT_TRUE(kFrequency.sound(body)) << each.what;
    }
    EXPECT_EQ(body.size(), each.bytes) << each.what;
    EXPECT_EQ(estimates_of({body}, {1}).counts, Counts{kNarrow + 3}) << each.what;
    EXPECT_EQ(total_of({body}), kNarrow + 3) << each.what;
  }
}

TEST(FrequencyForm, of_the_join_of_a_narrow_and_a_wide_matrix_is_wide) {
  constexpr Size kSize{4, 2};
  const Increments some{{1, 1000}, {2, 1000}, {3, 1000}, {4, 1000}, {5, 1000}, {6, 1000}};
  const std::string narrow = counted(kSize, some);
  std::string wide = narrow;
  add(wide, {{1, kNarrow}});
  ASSERT_EQ(wide.size() - narrow.size(), 4 * 8);
  EXPECT_EQ(joined_copies(narrow, wide), wide);
  EXPECT_EQ(joined_copies(wide, narrow), wide);
}

TEST(FrequencyForm, has_the_sizes_that_the_documents_promise) {
  const std::string empty = begun(frequency::kUsualSize);
  EXPECT_EQ(empty.size(), 26);
  std::string one;
  add(one, {{1, 1}});
  EXPECT_LE(one.size(), 26 + 3 * 7);
  const std::string full = counted(frequency::kUsualSize, some_increments(20'000, 1, 1000));
  EXPECT_EQ(full.size(), 24 + 56'000);
  EXPECT_EQ(counted({16'384, 1}, some_increments(60'000, 1, 1000)).size(), 24 + 65'536);
}

// ---- ops ----

TEST(FrequencyOp, begins_a_counter_that_does_not_exist) {
  std::string body;
  EXPECT_TRUE(frequency::began(change(body, frequency::words_to_begin({20, 4})).reply));
  const std::string begun = body;
  for (const Size size : {Size{20, 4}, Size{30, 2}}) {
    for (const std::uint64_t actor : {7U, 8U}) {
      const Applied applied = change(body, frequency::words_to_begin(size), actor);
      EXPECT_EQ(applied.code, Code::ok);
      EXPECT_FALSE(frequency::began(applied.reply));
      EXPECT_TRUE(applied.units.none());
      EXPECT_EQ(body, begun);
    }
  }
  std::string without = bytes({1, 0});
  EXPECT_TRUE(frequency::began(change(without, frequency::words_to_begin({20, 4})).reply));
  EXPECT_EQ(without, begun);
  EXPECT_FALSE(frequency::began(""));
  EXPECT_FALSE(frequency::began("\1\1"));
}

TEST(FrequencyOp, of_an_actor_without_a_matrix_begins_one_of_the_largest_size) {
  std::string body;
  add(body, {{1, 1}}, 1);
  EXPECT_EQ(info_of({body}).size, frequency::kUsualSize);
  body = joined_copies(begun({20, 4}, 3), begun({9, 9}, 5));
  add(body, {{1, 2}}, 4);
  EXPECT_EQ(body.size(), 2 + 3 * 24 + 9 * 2);
  EXPECT_EQ(joined_copies(counted({9, 9}, {{1, 2}}, 4), body), body);
  add(body, {{1, 3}}, 3);
  EXPECT_EQ(joined_copies(counted({20, 4}, {{1, 3}}, 3), body), body) << "3 goes on with its own";
}

TEST(FrequencyOp, of_a_window_that_begins_has_the_size_of_its_counter) {
  const std::string counter = joined_copies(begun({5, 3}, 1), begun({50, 3}, 2));
  Edit window;
  std::string reply;
  const std::string words = frequency::words_to_add(Increments{{1, 2}});
  ASSERT_EQ(kFrequency.apply(window, {.words = words, .actor = ActorId{7}, .like = counter}, reply),
            Code::ok);
  EXPECT_EQ(info_of({std::string(window.body())}).size, (Size{50, 3}));
}

TEST(FrequencyOp, of_an_actor_with_several_matrices_goes_on_with_the_largest) {
  std::string body = joined_copies(joined_copies(begun({6, 1}), begun({5, 2})), begun({3, 3}));
  EXPECT_EQ(add(body, {{1, 2}}), Counts{2});
  EXPECT_EQ(joined_copies(joined_copies(begun({6, 1}), counted({5, 2}, {{1, 2}})), begun({3, 3})),
            body);
}

TEST(FrequencyOp, that_adds_nothing_begins_a_counter_but_no_further_matrix) {
  for (const Increments& nothing : {Increments{}, Increments{{1, 0}}}) {
    std::string body;
    EXPECT_EQ(add(body, nothing, 1), Counts(nothing.size(), 0));
    EXPECT_EQ(body, begun(frequency::kUsualSize, 1));
    const std::string before = body;
    EXPECT_TRUE(change(body, frequency::words_to_add(nothing), 1).units.none());
    EXPECT_TRUE(change(body, frequency::words_to_add(nothing), 2).units.none());
    EXPECT_EQ(body, before);
  }
}

TEST(FrequencyOp, replies_with_the_estimates_after_each_of_its_increments) {
  std::string body;
  EXPECT_EQ(add(body, {{1, 5}, {2, 1}, {1, 2}, {3, 0}}), (Counts{5, 1, 7, 0}));
  EXPECT_EQ(add(body, {{1, 10}, {3, 1}}, 8), (Counts{17, 1})) << "with the other actor's count";
  EXPECT_EQ(add(body, {{2, 1}}), Counts{2});
  EXPECT_EQ(total_of({body}), 20);
}

TEST(FrequencyOp, makes_the_same_matrix_in_one_step_and_in_many) {
  for (const std::size_t count : {3U, 50U, 2000U}) {
    const Increments all = some_increments(count, count);
    std::string one_by_one = begun({200, 5});
    for (const Increment& each : all) add(one_by_one, {each});
    EXPECT_EQ(counted({200, 5}, all), one_by_one) << count;
  }
}

TEST(FrequencyOp, raises_only_the_cells_below_the_new_estimate) {
  // Elements that share the cell of one row of two, and no other.
  constexpr Size kSize{8, 2};
  const std::string a = counted(kSize, {{1, 10}});
  for (std::uint64_t other = 2; other < 1000; ++other) {
    std::string body = a;
    const Applied applied = change(body, frequency::words_to_add(Increments{{other, 4}}));
    if (applied.units.some().size() != 1) continue;  // they share none, or both
    EXPECT_EQ(estimates_of({body}, {1, other}).counts, (Counts{10, 4}));
    EXPECT_EQ(change(body, frequency::words_to_add(Increments{{other, 6}})).units, applied.units);
    EXPECT_EQ(estimates_of({body}, {1, other}).counts, (Counts{10, 10}));
    EXPECT_EQ(change(body, frequency::words_to_add(Increments{{other, 1}})).units.some().size(), 2);
    return;
  }
  FAIL() << "there is such an element";
}

TEST(FrequencyOp, changes_a_dense_matrix_in_place) {
  std::string body = joined_copies(counted({50, 4}, some_increments(500, 1)),
                                   counted({50, 4}, some_increments(500, 2), 9));
  const Applied applied = change(body, frequency::words_to_add(Increments{{1, 1}}));
  EXPECT_TRUE(applied.in_place);
  EXPECT_GE(applied.units.some().size(), 1);
  EXPECT_LE(applied.units.some().size(), 4);
}

TEST(FrequencyOp, is_refused_if_it_is_malformed) {
  for (const std::string& words :
       {bytes({}), bytes({'x'}), bytes({'b'}), bytes({'b', 5}), bytes({'b', 5, 3, 1}),
        std::string("a1234567"), std::string("a12345678"), std::string("a12345678\x80"),
        frequency::words_to_add(Increments{{1, 1}}) + "1"}) {
    for (std::string body : {std::string(), begun({5, 3})})
      EXPECT_EQ(change(body, words).code, Code::invalid_argument) << words;
  }
}

TEST(FrequencyOp, is_refused_if_there_is_no_such_size) {
  for (const Size size :
       {Size{0, 1}, {1, 0}, {1, 11}, {1'048'577, 1}, {524'289, 2}, {104'833, 10}, {~0U, 1}}) {
    std::string body;
    EXPECT_EQ(change(body, frequency::words_to_begin(size)).code, Code::out_of_range);
  }
  for (const Size size :
       {Size{1, 1}, {1, 10}, {16'384, 1}, {16'385, 1}, {1'048'576, 1}, {104'832, 10}}) {
    EXPECT_EQ(info_of({begun(size)}), (frequency::Info{size, 0}));
  }
}

TEST(FrequencyOp, is_refused_as_a_whole_if_the_total_would_be_too_great) {
  std::string body = counted({2, 3}, {{1, kMostTotal - 10}});
  for (const Increments& much :
       {Increments{{2, 11}}, {{2, 5}, {3, 6}}, {{2, kMostTotal}}, {{2, ~0ULL}}})
    EXPECT_EQ(change(body, frequency::words_to_add(much)).code, Code::out_of_range);
  EXPECT_EQ(change(body, frequency::words_to_add(Increments{{2, ~0ULL}}), 8).code,
            Code::out_of_range);
  add(body, {{1, 10}});
  EXPECT_EQ(total_of({body}), kMostTotal);
  EXPECT_EQ(add(body, {{1, 1}}, 8), Counts{kMostTotal}) << "a sum of matrices is shown as the most";
  EXPECT_EQ(total_of({body}), kMostTotal);
  EXPECT_EQ(estimates_of({body}, {1}).counts, Counts{kMostTotal});
  EXPECT_EQ(estimates_of({body}, {1}).bound, kMostTotal);
}

// ---- units ----

TEST(FrequencyUnits, of_an_op_are_enough_for_a_copy) {
  for (const Size size : {Size{500, 5}, Size{10, 5}}) {
    std::string body = counted(size, some_increments(40, 1)), copy = body;
    for (const Increment& each : some_increments(100, 2)) {
      const Applied applied = change(body, frequency::words_to_add(Increments{each}));
      ASSERT_FALSE(applied.units.all());
      const std::string delta = kFrequency.extract(body, applied.units.some());
      EXPECT_LE(delta.size(), 1 + 22 + 5 * 9);
      copy = joined_copies(copy, delta);
      ASSERT_EQ(copy, body);
    }
  }
}

// Else a majority that has what the increment changed would tell less than was counted: the cells
// of another element, which were great enough already, may be lost with their node.
TEST(FrequencyUnits, that_an_op_rests_on_are_enough_for_its_estimate) {
  std::string body = counted({8, 2}, some_increments(100, 1));
  std::size_t untouched = 0;
  for (const Increment& each : some_increments(100, 2)) {
    const Applied applied = change(body, frequency::words_to_add(Increments{each}));
    untouched += applied.units.some().size() < applied.rests_on.some().size() ? 1 : 0;
    const std::string held = kFrequency.extract(body, applied.rests_on.some());
    EXPECT_EQ(estimates_of({held}, {each.hash}).counts, estimates_of({body}, {each.hash}).counts);
  }
  EXPECT_GT(untouched, 0u) << "else this shows nothing";
}

// What an increment leaves alone in its cells still rises in the total.
TEST(FrequencyUnits, carry_the_total) {
  const std::string before = counted({50, 2}, {{1, 5}, {2, 5}});
  std::string after = before;
  const Units units = change(after, frequency::words_to_add(Increments{{1, 1}})).units;
  add(after, {{2, 1}});
  const std::string delta = kFrequency.extract(after, units.some());
  EXPECT_EQ(total_of({joined_copies(before, delta)}), 12);
  EXPECT_EQ(estimates_of({joined_copies(before, delta)}, {1, 2}).counts, (Counts{6, 5}));
}

// ---- slices ----

// A counter as an executor keeps it: the bodies of its first shard and its slices.
class InSlices {
 public:
  explicit InSlices(Size size) { bodies_[0] = begun(size); }

  void add(const Increments& increments, std::uint64_t actor = 7) {
    const std::string words = frequency::words_to_add(increments);
    const auto split =
        kFrequency.slices->split(bodies_[0], {.words = words, .actor = ActorId{actor}});
    EXPECT_EQ(change(bodies_[0], words, actor).code, Code::ok);
    for (const SliceWords& each : split) {
      EXPECT_TRUE(std::ranges::count(asked(words), each.slice) == 1) << each.slice;
      std::string& body = bodies_[each.slice];
      Edit edit(body.data(), body.size());
      std::string reply;
      EXPECT_EQ(kFrequency.apply(edit,
                                 {.words = each.words,
                                  .actor = ActorId{actor},
                                  .like = bodies_[0],
                                  .slice = each.slice},
                                 reply),
                Code::ok);
      if (edit.replaced()) body = std::move(*edit.replaced());
    }
    for (const auto& [slice, body] : bodies_) {
      EXPECT_TRUE(kFrequency.sound(body));
      EXPECT_EQ(kFrequency.slices->slice(body), slice);
    }
  }
  [[nodiscard]] std::vector<ShardIndex> asked(const std::string& question) const {
    const std::vector<std::string_view> first{bodies_.at(0)};
    return kFrequency.slices->asked(first, question);
  }
  // Those that a question about this element reads.
  [[nodiscard]] std::vector<std::string> about(std::uint64_t hash) const {
    std::vector<std::string> bodies{bodies_.at(0)};
    for (const ShardIndex slice : asked(frequency::question_about(Counts{hash})))
      if (bodies_.contains(slice)) bodies.push_back(bodies_.at(slice));
    return bodies;
  }
  [[nodiscard]] std::map<ShardIndex, std::string>& bodies() { return bodies_; }

 private:
  std::map<ShardIndex, std::string> bodies_;
};

TEST(FrequencySlices, have_at_most_16384_cells_each) {
  const struct {
    Size size;
    std::uint32_t slices;
  } cases[] = {{{16'384, 1}, 0}, {{16'385, 1}, 2},   {{2000, 7}, 0},     {{2341, 7}, 2},
               {{20'000, 7}, 9}, {{1 << 20, 1}, 64}, {{104'832, 10}, 64}};
  for (const auto& each : cases) {
    EXPECT_EQ(frequency::slice_count(each.size), each.slices);
    EXPECT_LE(frequency::cell_count(each.size), frequency::kMostCells);
    EXPECT_GE(frequency::row_width(each.size) * std::max(1U, each.slices), each.size.width);
    const std::string first = begun(each.size);
    EXPECT_EQ(kFrequency.slices->count(std::vector<std::string_view>{first}), each.slices);
  }
}

TEST(FrequencySlices, tell_no_less_than_was_counted_and_less_error_than_one_shard) {
  constexpr std::uint32_t kItems = 20'000;
  InSlices sliced({20'000, 7});
  std::string usual = begun(frequency::kUsualSize);
  std::uint64_t over_sliced = 0, over_usual = 0;
  for (std::uint32_t i = 0; i < kItems; i += 1000) {
    Increments some;
    for (std::uint32_t j = i; j < i + 1000; ++j) some.push_back({Random(j).next(), 1 + j % 5});
    sliced.add(some, 1 + i / 1000 % 3);
    add(usual, some, 1 + i / 1000 % 3);
  }
  EXPECT_EQ(sliced.bodies().size(), 10);
  for (std::uint32_t i = 0; i < kItems; i += 7) {
    const std::uint64_t hash = Random(i).next(), counted = 1 + i % 5;
    const auto estimates = estimates_of(sliced.about(hash), {hash});
    ASSERT_GE(estimates.counts[0], counted);
    EXPECT_GT(estimates.bound, 0);
    over_sliced += estimates.counts[0] - counted;
    over_usual += estimates_of({usual}, {hash}).counts[0] - counted;
  }
  EXPECT_LT(over_sliced * 5, over_usual);
  EXPECT_EQ(info_of({sliced.bodies()[0]}), (frequency::Info{{20'000, 7}, kItems * 3}));
}

TEST(FrequencySlices, tell_after_an_add_what_a_question_tells) {
  InSlices sliced({40'000, 1});
  for (int round = 1; round < 4; ++round) {
    const Increments some = some_increments(20, 1);
    sliced.add(some, static_cast<std::uint64_t>(round));
    const std::string words = frequency::words_to_add(some);
    std::vector<std::string> bodies;
    for (const auto& [slice, body] : sliced.bodies()) bodies.push_back(body);
    const std::vector<std::string_view> views(bodies.begin(), bodies.end());
    Counts hashes;
    for (const Increment& each : some) hashes.push_back(each.hash);
    EXPECT_EQ(frequency::added(kFrequency.slices->tell(views, words)),
              estimates_of(bodies, hashes).counts);
  }
}

// Sizes that were begun at once are summed, also where only one of them is in slices.
TEST(FrequencySlices, and_a_matrix_in_one_shard_are_summed) {
  InSlices sliced({20'000, 1});
  sliced.add({{1, 5}, {2, 1}}, 1);
  sliced.bodies()[0] = joined_copies(sliced.bodies()[0], counted({100, 4}, {{1, 10}}, 2));
  sliced.add({{1, 100}}, 2);
  EXPECT_EQ(estimates_of(sliced.about(1), {1}).counts, Counts{115});
  sliced.add({{1, 1000}}, 3);
  EXPECT_EQ(estimates_of(sliced.about(1), {1}).counts, Counts{1115});
  EXPECT_EQ(estimates_of(sliced.about(2), {2}).counts, Counts{1});
  EXPECT_EQ(total_of({sliced.bodies()[0]}), 1116);
}

TEST(FrequencySlices, are_refused_where_they_do_not_belong) {
  InSlices sliced({20'000, 1});
  sliced.add({{1, 5}}, 1);
  ASSERT_EQ(sliced.bodies().size(), 2);
  const auto [slice, body] = *sliced.bodies().rbegin();
  EXPECT_TRUE(kFrequency.sound(body));
  std::string elsewhere = body;
  elsewhere[1] = 3;
  EXPECT_FALSE(kFrequency.sound(elsewhere)) << "there is no third slice";
  elsewhere[1] = 0;
  EXPECT_FALSE(kFrequency.sound(elsewhere)) << "the first shard has no cells of it";
  std::string small = begun({5, 3});
  small[1] = 1;
  EXPECT_FALSE(kFrequency.sound(small)) << "it is in one shard";
  const auto named = [&](ShardIndex index) {
    Delta one;
    one.push({"pages", shard_of(Kind::frequency, index)}, ShardState{.parts = {{Wall{}, body}}});
    return is_sound(one);
  };
  EXPECT_TRUE(named(slice));
  EXPECT_FALSE(named(static_cast<ShardIndex>(3 - slice))) << "another slice's name";
}

// ---- answers ----

TEST(FrequencyAnswer, of_nothing_is_0_and_other_questions_are_refused) {
  for (const std::vector<std::string>& bodies : {std::vector<std::string>{}, {bytes({1, 0})}}) {
    EXPECT_EQ(total_of(bodies), 0);
    EXPECT_EQ(info_of(bodies), frequency::Info{});
    EXPECT_EQ(estimates_of(bodies, {1, 2}), (frequency::Estimates{0, 0, {0, 0}}));
  }
  std::string reply;
  for (const char* question : {"?", "ii", "q1234567", "q123456789"})
    EXPECT_EQ(kFrequency.answer({}, question, reply), Code::invalid_argument) << question;
}

TEST(FrequencyAnswer, sums_actors_sizes_and_bodies) {
  const std::string a = counted({100, 4}, {{1, 3}, {2, 1}}, 1), b = counted({50, 2}, {{1, 10}}, 1),
                    c = counted({100, 4}, {{1, 100}}, 2);
  for (const std::vector<std::string>& bodies :
       {std::vector<std::string>{joined_copies(joined_copies(a, b), c)},
        {a, b, c},
        {joined_copies(b, c), a}}) {
    EXPECT_EQ(total_of(bodies), 114);
    EXPECT_EQ(info_of(bodies), (frequency::Info{{100, 4}, 114}));
    // e / 100 × 4, e / 50 × 10 and e / 100 × 100, each rounded up.
    EXPECT_EQ(estimates_of(bodies, {1, 2, 1}), (frequency::Estimates{1 + 1 + 3, 2, {113, 1, 113}}));
  }
}

TEST(FrequencyAnswer, is_read_from_any_reply) {
  EXPECT_EQ(frequency::total(bytes({0xac, 2})), 300);
  for (const std::string& malformed : {bytes({}), bytes({0x80}), bytes({1, 1})})
    EXPECT_EQ(frequency::total(malformed), std::nullopt);
  EXPECT_EQ(frequency::added(bytes({1, 0xac, 2})), (Counts{1, 300}));
  EXPECT_EQ(frequency::added(""), Counts{});
  EXPECT_EQ(frequency::added(bytes({1, 0x80})), std::nullopt);
  EXPECT_EQ(frequency::info(bytes({5, 3, 9})), (frequency::Info{{5, 3}, 9}));
  for (const std::string& malformed :
       {bytes({5, 3}), bytes({5, 3, 9, 0}), bytes({5, 11, 9}), bytes({5, 3, 0x80})})
    EXPECT_EQ(frequency::info(malformed), std::nullopt);
  EXPECT_EQ(frequency::estimates(bytes({9, 3, 1, 2})), (frequency::Estimates{9, 3, {1, 2}}));
  EXPECT_EQ(frequency::estimates(bytes({9, 3})), (frequency::Estimates{9, 3, {}}));
  for (const std::string& malformed : {bytes({}), bytes({9}), bytes({9, 11}), bytes({9, 3, 0x80})})
    EXPECT_EQ(frequency::estimates(malformed), std::nullopt);
}

// ---- errors ----

constexpr std::uint64_t kElements = 5000;

// A stream of elements 0 … kElements − 1, where element i comes (i + 1)^−skew as often as the
// first.
std::vector<std::uint64_t> zipf(double skew, std::size_t length, std::uint64_t seed) {
  std::vector<double> sums;
  double sum = 0;
  for (std::uint64_t i = 1; i <= kElements; ++i)
    sums.push_back(sum += std::pow(static_cast<double>(i), -skew));
  Random random(seed);
  std::vector<std::uint64_t> stream(length);
  for (std::uint64_t& element : stream) {
    const double at = sum * static_cast<double>(random.next() >> 11) * 0x1p-53;
    element = static_cast<std::uint64_t>(std::ranges::upper_bound(sums, at) - sums.begin());
    element = std::min(element, kElements - 1);
  }
  return stream;
}
std::uint64_t hash_of(std::uint64_t element) { return Random(element).next(); }

// The sketch without conservative update.
class PlainCountMin {
 public:
  explicit PlainCountMin(Size size) : size_(size), cells_(frequency::cell_count(size)) {}
  void add(std::uint64_t element) {
    for (const std::size_t cell : cells_of(element)) ++cells_[cell];
  }
  [[nodiscard]] std::uint64_t estimate(std::uint64_t element) const {
    std::uint64_t least = kMostTotal;
    for (const std::size_t cell : cells_of(element)) least = std::min(least, cells_[cell]);
    return least;
  }

 private:
  [[nodiscard]] std::vector<std::size_t> cells_of(std::uint64_t element) const {
    Random random(element + 1'000'000);
    std::vector<std::size_t> cells;
    for (std::size_t row = 0; row < size_.depth; ++row)
      cells.push_back(row * size_.width + random.below(size_.width));
    return cells;
  }
  Size size_;
  Counts cells_;
};

struct Counted {
  Counts truth = Counts(kElements);
  Counts estimates{};
  frequency::Estimates answer{};
};

// The writers take turns.
Counted count_stream(Size size, const std::vector<std::uint64_t>& stream, std::uint64_t writers) {
  Counted counted;
  std::vector<std::string> copies;
  for (std::uint64_t writer = 1; writer <= writers; ++writer) copies.push_back(begun(size, writer));
  Counts hashes;
  for (std::uint64_t i = 0; i < kElements; ++i) hashes.push_back(hash_of(i));
  for (std::size_t i = 0; i < stream.size(); ++i) {
    const std::uint64_t writer = i % writers;
    change(copies[writer], frequency::words_to_add(Increments{{hashes[stream[i]], 1}}), writer + 1);
    ++counted.truth[stream[i]];
  }
  std::string all = copies[0];
  for (const std::string& copy : copies) all = joined_copies(all, copy);
  counted.answer = estimates_of({all}, hashes);
  return counted;
}

double mean_overcount(const Counts& estimates, const Counts& truth) {
  double over = 0;
  for (std::size_t i = 0; i < truth.size(); ++i)
    over += static_cast<double>(estimates[i]) - static_cast<double>(truth[i]);
  return over / static_cast<double>(truth.size());
}

TEST(FrequencyEstimate, is_never_too_low_and_overcounts_much_less_than_a_plain_sketch) {
  constexpr Size kSize{400, 5};
  for (const double skew : {0.8, 1.1}) {
    const std::vector<std::uint64_t> stream = zipf(skew, 60'000, 1);
    PlainCountMin plain(kSize);
    for (const std::uint64_t element : stream) plain.add(element);
    Counts plain_estimates;
    for (std::uint64_t i = 0; i < kElements; ++i) plain_estimates.push_back(plain.estimate(i));
    for (const std::uint64_t writers : {1U, 3U}) {
      const Counted counted = count_stream(kSize, stream, writers);
      for (std::size_t i = 0; i < kElements; ++i)
        ASSERT_GE(counted.answer.counts[i], counted.truth[i]);
      const double ratio = mean_overcount(counted.answer.counts, counted.truth) /
                           mean_overcount(plain_estimates, counted.truth);
      RecordProperty("ratio_" + std::to_string(skew) + "_" + std::to_string(writers),
                     std::to_string(ratio));
      EXPECT_LE(ratio, 0.7) << "skew " << skew << ", " << writers << " writers";
    }
  }
}

TEST(FrequencyEstimate, is_within_the_bound_as_often_as_the_bound_says) {
  for (const Size size : {Size{100, 1}, Size{100, 2}, Size{100, 4}}) {
    for (const std::uint64_t writers : {1U, 3U}) {
      const Counted counted = count_stream(size, zipf(0.8, 20'000, 2), writers);
      const double bound = std::numbers::e / size.width * 20'000;
      EXPECT_NEAR(static_cast<double>(counted.answer.bound), bound, 3);
      EXPECT_EQ(counted.answer.depth, size.depth);
      std::size_t beyond = 0;
      for (std::size_t i = 0; i < kElements; ++i)
        beyond += counted.answer.counts[i] - counted.truth[i] > counted.answer.bound ? 1U : 0U;
      EXPECT_LE(static_cast<double>(beyond) / kElements, std::exp(-double(size.depth)))
          << size.depth << " rows, " << writers << " writers";
    }
  }
}

// Elements that meet in one row meet in another as rarely as any two.
TEST(FrequencyEstimate, is_exact_for_almost_all_of_few_elements) {
  std::size_t wrong = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Increments some = some_increments(400, seed + 100);
    const std::string body = counted({2000, 3}, some);
    Counts hashes;
    for (const Increment& each : some) hashes.push_back(each.hash);
    const Counts counts = estimates_of({body}, hashes).counts;
    for (std::size_t i = 0; i < some.size(); ++i) wrong += counts[i] != some[i].count ? 1U : 0U;
  }
  // (1 − (1 − 1/2000)^399)^3 of 8,000 elements meet another in each row: 48. Conservative update
  // corrects some of them.
  EXPECT_LE(wrong, 60);
}

}  // namespace
}  // namespace quipu::test::of_frequency
