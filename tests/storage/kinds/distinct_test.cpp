// HyperLogLog: the laws of a kind, the bytes, the sizes and the errors.
#include "storage/kinds/distinct.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/random.h"
#include "tests/storage/kinds/bodies.h"
#include "tests/storage/kinds/kind_laws.h"

namespace quipu::test {
namespace {

using Hashes = std::vector<std::uint64_t>;

// The hash of an element of this register with this rank.
std::uint64_t hash_of(unsigned precision, std::uint64_t index, unsigned rank) {
  const std::uint64_t high = index << (64 - precision);
  return rank > 64 - precision ? high : high | std::uint64_t{1} << (64 - precision - rank);
}

Hashes random_hashes(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  Hashes hashes(count);
  for (std::uint64_t& hash : hashes) hash = random.next();
  return hashes;
}

// ---- the laws of a kind ----

struct DistinctOps {
  static unsigned precision() {
    return *rc::gen::elementOf(Precisions{10, 10, 10, 11, 12, 14, 16});
  }
  // Few seeds, so that histories have elements in common. Some thousands make a body dense.
  static std::string words(unsigned precision) {
    const auto count = *rc::gen::elementOf(std::vector<std::size_t>{0, 1, 1, 2, 60, 700, 3000});
    Hashes hashes = random_hashes(count, *rc::gen::inRange<std::uint64_t>(0, 8));
    const Hashes edges = *rc::gen::container<Hashes>(rc::gen::oneOf(
        rc::gen::element<std::uint64_t>(0, 1, std::numeric_limits<std::uint64_t>::max()),
        rc::gen::map(rc::gen::inRange(0, 64), [](int bit) { return std::uint64_t{1} << bit; })));
    hashes.insert(hashes.end(), edges.begin(), edges.end());
    const std::string words = distinct::words_of(hashes);
    return *rc::gen::inRange(0, 4) > 0 ? words : distinct::words_to_merge(begun(words, precision));
  }
  static std::string question() { return std::string(distinct::kCountQuestion); }

 private:
  using Precisions = std::vector<unsigned>;
  static std::string begun(const std::string& words, unsigned precision) {
    Edit edit;
    std::string reply;
    kDistinct.apply(edit, {words, precision}, reply);
    return std::string(edit.body());
  }
};
QUIPU_KIND_LAWS(Distinct, kDistinct, DistinctOps);

// ---- bodies, by value ----

std::string added(std::string body, const Hashes& hashes, unsigned precision = 0) {
  Edit edit(body.data(), body.size());
  std::string reply;
  EXPECT_EQ(kDistinct.apply(edit, {distinct::words_of(hashes), precision}, reply), Code::ok);
  return std::string(edit.body());
}
std::string body_of(const Hashes& hashes, unsigned precision = 0) {
  return added({}, hashes, precision);
}
std::string joined(const std::string& into, const std::string& from) {
  return joined_bodies(kDistinct, into, from);
}
std::uint64_t count_of(const std::vector<std::string>& bodies) {
  const std::vector<std::string_view> views(bodies.begin(), bodies.end());
  std::string reply;
  EXPECT_EQ(kDistinct.answer(views, distinct::kCountQuestion, reply), Code::ok);
  return distinct::count(reply).value();
}

// ---- bytes ----

TEST(DistinctBytes, of_small_bodies_are_as_the_header_says) {
  const auto of = [](unsigned precision,
                     const std::vector<std::pair<std::uint64_t, unsigned>>& set) {
    Hashes hashes;
    for (const auto& [index, rank] : set) hashes.push_back(hash_of(precision, index, rank));
    return body_of(hashes, precision);
  };
  EXPECT_EQ(of(14, {}), bytes({0x0e}));
  EXPECT_EQ(of(14, {{2, 3}, {40, 9}}), bytes({0x0e, 0x62, 0x1f, 6, 9}));
  EXPECT_EQ(of(10, {{0, 1}, {1, 7}, {2, 8}}), bytes({0x0a, 0x20, 0xe0, 0x00, 8}));
  // Each edge of a gap.
  EXPECT_EQ(of(14, {{30, 1}}), bytes({0x0e, 0x3e}));
  EXPECT_EQ(of(14, {{31, 1}}), bytes({0x0e, 0x3f, 0}));
  EXPECT_EQ(of(14, {{270, 1}}), bytes({0x0e, 0x3f, 239}));
  EXPECT_EQ(of(14, {{271, 1}}), bytes({0x0e, 0x3f, 240, 0}));
  EXPECT_EQ(of(14, {{4110, 1}}), bytes({0x0e, 0x3f, 254, 255}));
  EXPECT_EQ(of(14, {{4111, 1}}), bytes({0x0e, 0x3f, 255, 0xf0, 0x0f}));
  // The last register, with the most rank.
  EXPECT_EQ(of(16, {{65535, 49}}), bytes({0x10, 0x1f, 255, 0xe0, 0xff, 49}));
  EXPECT_EQ(of(10, {{1023, 55}}), bytes({0x0a, 0x1f, 242, 0xf0, 55}));
}

TEST(DistinctBytes, of_a_dense_body_hold_four_registers_in_three_bytes) {
  Hashes hashes;
  for (std::uint64_t i = 0; i < 1024; ++i) hashes.push_back(hash_of(10, i, 1));
  hashes.push_back(hash_of(10, 0, 55));
  hashes.push_back(hash_of(10, 1, 2));
  hashes.push_back(hash_of(10, 1022, 33));
  const std::string body = body_of(hashes, 10);
  ASSERT_EQ(body.size(), 769);
  EXPECT_EQ(body.substr(0, 4), bytes({0x8a, 55 | 0x80, 1 << 4, 1 << 2}));
  EXPECT_EQ(body.substr(766), bytes({1 | 1 << 6, 0x10, 33 >> 4 | 1 << 2}));
}

TEST(DistinctBytes, of_a_body_are_those_of_its_elements_in_any_order_and_grouping) {
  for (const std::size_t size : {10U, 500U, 900U, 2500U, 4000U}) {
    Hashes hashes = random_hashes(size, size);
    const std::string at_once = body_of(hashes, 11);
    std::ranges::reverse(hashes);
    std::string one_by_one = body_of({}, 11);
    for (const std::uint64_t hash : hashes) one_by_one = added(one_by_one, {hash});
    EXPECT_EQ(one_by_one, at_once) << size;
  }
}

TEST(DistinctBytes, are_refused_if_no_writer_makes_them) {
  struct Case {
    const char* what;
    std::string bytes;
  };
  const Case cases[] = {
      {"nothing", ""},
      {"precision 9", bytes({9})},
      {"precision 17", bytes({17})},
      {"precision 0, dense", bytes({0x80})},
      {"a gap that is cut off", bytes({14, 0x3f})},
      {"a gap that is cut off after one byte of two", bytes({14, 0x3f, 240})},
      {"a gap that is cut off after two bytes of three", bytes({14, 0x3f, 255, 0xf0})},
      {"three bytes for a gap of two", bytes({14, 0x3f, 255, 0xef, 0x0f})},
      {"a rank that is cut off", bytes({14, 0x00})},
      {"a long rank of 0", bytes({14, 0x00, 0})},
      {"a long rank of 7", bytes({14, 0x00, 7})},
      {"a rank above the most", bytes({14, 0x00, 52})},
      {"a rank of a byte", bytes({14, 0x00, 255})},
      {"the register after the last", bytes({10, 0x3f, 242, 0xf1})},
      {"a gap that leads far out", bytes({10, 0x3f, 255, 0xff, 0xff})},
      {"a second register after the last", bytes({10, 0x3f, 242, 0xf0, 0x20})},
      {"a dense body without registers", bytes({0x8a})},
      {"a dense body of zeros", bytes({0x8a}) + std::string(768, '\0')},
      {"a dense body that is too short", bytes({0x8a}) + std::string(767, '\x41')},
      {"a dense body that is too long", bytes({0x8a}) + std::string(769, '\x41')},
      {"a dense body with ranks of 63", bytes({0x8a}) + std::string(768, '\xff')},
      {"a sparse body that weighs too much", bytes({10}) + std::string(737, '\x20')},
      {"a sparse body with more than all registers", bytes({10}) + std::string(100'000, '\x20')},
  };
  for (const Case& each : cases) EXPECT_FALSE(kDistinct.sound(each.bytes)) << each.what;
  EXPECT_TRUE(kDistinct.sound(bytes({14, 0x00, 51})));
  EXPECT_TRUE(kDistinct.sound(bytes({10, 0x3f, 242, 0xf0})));
  EXPECT_TRUE(kDistinct.sound(bytes({10}) + std::string(736, '\x20')));
}

// Each body that is sound can be built from its registers again, to the same bytes.
TEST(DistinctBytes, that_are_cut_or_flipped_anywhere_are_refused_or_canonical) {
  std::vector<Unit> all(1024);
  for (Unit i = 0; i < all.size(); ++i) all[i] = i << 6;  // at precision 10
  for (const std::size_t size : {50U, 3000U}) {
    const std::string body = body_of(random_hashes(size, 1), 10);
    for (std::size_t cut = 0; cut < body.size(); ++cut) {
      const std::string shorter = body.substr(0, cut);
      if (kDistinct.sound(shorter)) {
        EXPECT_EQ(kDistinct.extract(shorter, all), shorter);
      }
    }
    for (std::size_t bit = 8; bit < body.size() * 8; ++bit) {
      std::string flipped = body;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
      if (kDistinct.sound(flipped)) {
        EXPECT_EQ(kDistinct.extract(flipped, all), flipped);
      }
    }
  }
}

// ---- forms and sizes ----

TEST(DistinctForm, is_sparse_up_to_the_limit_and_dense_from_there) {
  for (unsigned precision = kLeastPrecision; precision <= kMostPrecision; ++precision) {
    const std::size_t limit = distinct::weight_limit(precision);
    Hashes hashes;
    for (std::uint64_t i = 0; i < limit - 2; ++i) hashes.push_back(hash_of(precision, i, 7));
    hashes.push_back(hash_of(precision, limit - 2, 8));  // it counts twice
    const std::string at_limit = body_of(hashes, precision);
    EXPECT_EQ(at_limit.size(), 1 + limit) << precision;
    const std::string denser = added(at_limit, {hash_of(precision, 0, 8)});
    EXPECT_EQ(denser.size(), distinct::dense_size(precision)) << precision;
    EXPECT_EQ(added(at_limit, {hash_of(precision, limit, 1)}).size(), denser.size());
    EXPECT_EQ(joined(at_limit, body_of({hash_of(precision, 0, 8)}, precision)), denser);
    EXPECT_EQ(joined(body_of({hash_of(precision, 0, 8)}, precision), at_limit), denser);
    EXPECT_TRUE(kDistinct.sound(at_limit) && kDistinct.sound(denser)) << precision;
  }
}

// As many long gaps as there is room for, and the rest of the weight without gaps.
TEST(DistinctForm, is_never_longer_than_the_dense_one_nor_than_3072_bytes) {
  for (unsigned precision = kLeastPrecision; precision <= kMostPrecision; ++precision) {
    const std::size_t count = distinct::register_count(precision);
    const std::size_t limit = distinct::weight_limit(precision);
    const std::size_t longest = std::min(distinct::kMostSparse, distinct::dense_size(precision));
    for (const std::size_t gap : {31U, 271U, 4111U}) {
      Hashes hashes;
      std::size_t index = gap;
      while (hashes.size() < limit && index < count) {
        hashes.push_back(hash_of(precision, index, 1));
        index += count - index > limit - hashes.size() + gap ? gap + 1 : 1;
      }
      const std::string body = body_of(hashes, precision);
      EXPECT_TRUE(kDistinct.sound(body)) << precision << ", gaps of " << gap;
      EXPECT_LE(body.size(), longest) << precision << ", gaps of " << gap;
    }
  }
}

TEST(DistinctForm, has_the_sizes_that_the_documents_promise) {
  constexpr int kSets = 50;
  struct Row {
    std::size_t elements, most_bytes;
  };
  for (const Row& row : {Row{1, 6}, Row{100, 215}, Row{1000, 1200}, Row{2000, 2050}}) {
    std::size_t total = 0;
    for (std::uint64_t set = 0; set < kSets; ++set)
      total += body_of(random_hashes(row.elements, set)).size();
    EXPECT_LE(total / kSets, row.most_bytes) << row.elements;
  }
  EXPECT_EQ(body_of(random_hashes(100'000, 1), 14).size(), 12'289);
  EXPECT_EQ(body_of(random_hashes(100'000, 1), 11).size(), 1'537);
}

// ---- the fold ----

TEST(DistinctFold, makes_what_the_lesser_precision_would_have_made) {
  for (const std::size_t size : {0U, 1U, 30U, 800U, 1500U, 20'000U}) {
    Hashes hashes = random_hashes(size, size);
    hashes.push_back(0);                                          // the most rank
    hashes.push_back(1);                                          // one less
    hashes.push_back(std::numeric_limits<std::uint64_t>::max());  // the last register
    for (const unsigned fine : {11U, 14U, 16U}) {
      const std::string coarse = body_of(hashes, 10);
      EXPECT_EQ(joined(body_of(hashes, fine), body_of({}, 10)), coarse) << fine << ", " << size;
      EXPECT_EQ(joined(body_of({}, 10), body_of(hashes, fine)), coarse) << fine << ", " << size;
    }
  }
}

TEST(DistinctFold, may_come_before_or_after_a_join) {
  const std::string a = body_of(random_hashes(3000, 1), 16), b = body_of(random_hashes(50, 2), 16),
                    coarse = body_of({}, 11);
  EXPECT_EQ(joined(joined(a, b), coarse), joined(joined(a, coarse), joined(b, coarse)));
}

TEST(DistinctFold, of_what_arrives_notes_only_the_registers_that_it_raises) {
  std::string body = body_of(random_hashes(20'000, 1), 12);
  const std::string finer = body_of({hash_of(16, 0x1230, 40)}, 16);
  Edit edit(body.data(), body.size());
  kDistinct.join(edit, finer);
  ASSERT_FALSE(edit.units().all());
  EXPECT_EQ(std::vector<Unit>(edit.units().some().begin(), edit.units().some().end()),
            std::vector<Unit>{0x1230})
      << "its index at precision 16";
  EXPECT_FALSE(edit.replaced());
}

// It waits for a peer while another peer's body lowers the precision.
TEST(DistinctFold, keeps_the_meaning_of_units) {
  const Hashes one{hash_of(14, 9000, 40)};
  std::string body = body_of(random_hashes(3000, 1), 14);
  Edit edit(body.data(), body.size());
  std::string reply;
  kDistinct.apply(edit, {distinct::words_of(one)}, reply);
  const std::string added(edit.body()), coarse = body_of({}, 12), folded = joined(added, coarse);
  const std::string small = kDistinct.extract(folded, edit.units().some());
  EXPECT_EQ(joined(small, body_of(one, 12)), small);
}

TEST(DistinctFold, of_what_was_there_notes_all_units_since_they_have_another_meaning) {
  std::string body = body_of(random_hashes(100, 1), 16);
  Edit edit(body.data(), body.size());
  kDistinct.join(edit, body_of({}, 12));
  EXPECT_TRUE(edit.units().all());
}

// ---- the join ----

TEST(DistinctJoin, of_two_dense_bodies_takes_and_notes_each_greater_rank) {
  const Hashes common = random_hashes(50'000, 1);
  for (const std::vector<Unit>& raised : {std::vector<Unit>{0},
                                          {7},
                                          {16'383},
                                          {8, 9, 10, 11, 12, 13, 14, 15},
                                          {3, 4, 5000, 16'376}}) {
    Hashes higher = common, lower = common;
    for (const Unit unit : raised) higher.push_back(hash_of(14, unit, 50));
    lower.push_back(hash_of(14, 6, 49));  // `from` has less here
    std::string body = body_of(lower);
    const std::string from = body_of(higher);
    Edit edit(body.data(), body.size());
    kDistinct.join(edit, from);
    EXPECT_FALSE(edit.replaced());
    std::vector<Unit> units;
    for (const Unit index : raised) units.push_back(index << 2);
    EXPECT_EQ(std::vector<Unit>(edit.units().some().begin(), edit.units().some().end()), units);
    lower.insert(lower.end(), higher.begin(), higher.end());
    EXPECT_EQ(edit.body(), body_of(lower));
  }
}

TEST(DistinctJoin, of_a_dense_body_that_has_nothing_new_leaves_the_bytes_alone) {
  const std::string body = body_of(random_hashes(50'000, 1));
  const std::string from = body_of(random_hashes(49'000, 1));
  std::string touched = body;
  const auto touch = [](void*) { ADD_FAILURE() << "nothing changes"; };
  Edit edit(touched.data(), touched.size(), touch);
  kDistinct.join(edit, from);
  EXPECT_FALSE(edit.changed());
  EXPECT_EQ(touched, body);
}

// ---- ops ----

TEST(DistinctOp, begins_a_body_of_its_namespaces_precision) {
  EXPECT_EQ(body_of({}, 0), bytes({14}));
  EXPECT_EQ(body_of({}, 10), bytes({10}));
  EXPECT_EQ(body_of({}, 16), bytes({16}));
  EXPECT_EQ(added(bytes({10}), {}, 16), bytes({10}));  // it has begun
}

TEST(DistinctOp, replies_whether_anything_changed) {
  std::string body;
  const auto change = [&](const std::string& words) {
    Edit edit(body.data(), body.size());
    std::string reply = "old";
    EXPECT_EQ(kDistinct.apply(edit, {words}, reply), Code::ok);
    body = std::string(edit.body());
    return distinct::changed(reply);
  };
  EXPECT_TRUE(change(distinct::words_of({})));
  EXPECT_FALSE(change(distinct::words_of({})));
  EXPECT_TRUE(change(distinct::words_of(Hashes{1, 2})));
  EXPECT_FALSE(change(distinct::words_of(Hashes{2, 1})));
  EXPECT_FALSE(change(distinct::words_to_merge(body_of({1}))));
  EXPECT_TRUE(change(distinct::words_to_merge(body_of({std::uint64_t{1} << 63}))));
  EXPECT_TRUE(change(distinct::words_to_merge(body_of({}, 10))));
  EXPECT_FALSE(change(distinct::words_to_merge(body_of({}, 12))));
  EXPECT_FALSE(distinct::changed(""));
  EXPECT_FALSE(distinct::changed("\1\1"));
}

TEST(DistinctOp, changes_a_dense_body_in_place_and_notes_the_register) {
  std::string body = body_of(random_hashes(50'000, 1));
  Edit edit(body.data(), body.size());
  std::string reply;
  const Hashes hash{hash_of(14, 16'383, 51)};
  ASSERT_EQ(kDistinct.apply(edit, {distinct::words_of(hash)}, reply), Code::ok);
  EXPECT_TRUE(edit.changed() && !edit.replaced());
  EXPECT_EQ(edit.body().data(), body.data());
  Units expected;
  expected.add(16'383 << 2);  // its index at precision 16
  EXPECT_EQ(edit.units(), expected);
}

TEST(DistinctOp, is_refused_if_it_is_malformed) {
  const std::string sound = distinct::words_to_merge(body_of({}));
  const std::string words[] = {"", "x", "a1234567", "a123456789", "m", "mx", sound + "\x1f"};
  for (const std::string& each : words) {
    Edit edit;
    std::string reply;
    EXPECT_EQ(kDistinct.apply(edit, {each}, reply), Code::invalid_argument) << each;
    EXPECT_FALSE(edit.changed()) << each;
  }
  for (const unsigned precision : {1U, 9U, 17U, 0x8aU}) {
    Edit edit;
    std::string reply;
    EXPECT_EQ(kDistinct.apply(edit, {"a", precision}, reply), Code::invalid_argument) << precision;
    EXPECT_FALSE(edit.changed()) << precision;
  }
}

// ---- estimates ----

TEST(DistinctEstimate, is_0_without_elements_and_refuses_other_questions) {
  EXPECT_EQ(count_of({}), 0);
  EXPECT_EQ(count_of({body_of({})}), 0);
  EXPECT_EQ(count_of({body_of({}, 10), body_of({}, 16)}), 0);
  std::string reply;
  EXPECT_EQ(kDistinct.answer({}, "?", reply), Code::invalid_argument);
}

TEST(DistinctEstimate, of_several_bodies_is_that_of_their_join) {
  const std::string a = body_of(random_hashes(100, 1)), b = body_of(random_hashes(100'000, 2)),
                    c = body_of(random_hashes(2000, 3), 12);
  EXPECT_EQ(count_of({a, b, c}), count_of({joined(joined(a, b), c)}));
  EXPECT_EQ(count_of({a, joined(b, c)}), count_of({joined(a, c), b}));
  EXPECT_EQ(count_of({a, a}), count_of({a}));
}

TEST(DistinctEstimate, does_not_depend_on_the_form) {
  // Its registers are the same; the second body is dense, since it has one more.
  const std::size_t limit = distinct::weight_limit(14);
  Hashes hashes;
  for (std::uint64_t i = 0; i < limit; ++i) hashes.push_back(hash_of(14, i, 1));
  const std::uint64_t sparse = count_of({body_of(hashes)});
  hashes.push_back(hash_of(14, limit, 1));
  const std::uint64_t dense = count_of({body_of(hashes)});
  EXPECT_GT(dense, sparse);
  EXPECT_LE(dense, sparse + 2);
}

TEST(DistinctEstimate, of_registers_that_no_set_fills_is_the_greatest_integer) {
  constexpr auto kGreatest = std::uint64_t{std::numeric_limits<std::int64_t>::max()};
  for (const unsigned below : {0U, 1U}) {
    Hashes hashes;
    for (std::uint64_t i = 0; i < 1024; ++i) hashes.push_back(hash_of(10, i, 55 - below));
    EXPECT_EQ(count_of({body_of(hashes, 10)}), kGreatest) << below;
  }
}

// Without the correction for the greatest rank, which no such set has.
double ertl(const std::string& dense, unsigned precision) {
  const auto count = static_cast<double>(distinct::register_count(precision));
  double harmonic = 0, zeros = 0;
  for (std::size_t bit = 8; bit < dense.size() * 8; bit += 6) {
    unsigned rank = 0;
    for (std::size_t i = 0; i < 6; ++i)
      rank |= (static_cast<unsigned>(dense[(bit + i) / 8]) >> (bit + i) % 8 & 1U) << i;
    rank == 0 ? zeros += 1 : harmonic += std::ldexp(1.0, -static_cast<int>(rank));
  }
  double sigma = zeros / count, x = sigma, weight = 1;
  for (int i = 0; i < 60; ++i, weight *= 2) sigma += (x *= x) * weight;
  return count * count / (2 * std::log(2.0) * (harmonic + count * sigma));
}

// All registers are of rank 1 in the first; in the last of each, one has a rank that no table has.
TEST(DistinctEstimate, of_a_dense_body_is_that_of_the_paper) {
  for (const unsigned precision : {10U, 14U, 15U, 16U}) {
    Hashes all;
    for (std::uint64_t i = 0; i < distinct::register_count(precision); ++i)
      all.push_back(hash_of(precision, i, 1));
    std::vector<std::string> bodies{body_of(all, precision)};
    for (const std::size_t size : {40'000U, 100'000U, 300'000U}) {
      Hashes hashes = random_hashes(size, size + precision);
      bodies.push_back(body_of(hashes, precision));
      hashes.push_back(hash_of(precision, 5, 45));
      bodies.push_back(body_of(hashes, precision));
    }
    for (const std::string& body : bodies) {
      ASSERT_EQ(body.size(), distinct::dense_size(precision));
      EXPECT_NEAR(static_cast<double>(count_of({body})), ertl(body, precision), 0.51);
    }
  }
}

TEST(DistinctEstimate, tells_the_precision_of_the_least_precise_body) {
  const std::string fine = body_of({1, 2}, 14), coarse = body_of({2, 3}, 11);
  const auto told = [](const std::vector<std::string_view>& bodies) {
    std::string reply;
    EXPECT_EQ(kDistinct.answer(bodies, distinct::kEstimateQuestion, reply), Code::ok);
    return distinct::estimate(reply);
  };
  EXPECT_EQ(told({}), (distinct::Estimate{0, 0}));
  EXPECT_EQ(told({fine})->precision, 14U);
  EXPECT_EQ(told({fine, coarse}), (distinct::Estimate{count_of({fine, coarse}), 11}));
  EXPECT_NEAR(told({coarse})->standard_error(), 0.023, 0.0001);
  EXPECT_EQ(distinct::estimate(bytes({1})), std::nullopt);
  EXPECT_EQ(distinct::estimate(bytes({1, 17})), std::nullopt);
  EXPECT_EQ(distinct::estimate(bytes({1, 14, 0})), std::nullopt);
}

TEST(DistinctEstimate, is_read_from_any_reply) {
  EXPECT_EQ(distinct::count(bytes({0})), 0);
  EXPECT_EQ(distinct::count(bytes({0xac, 0x02})), 300);
  EXPECT_EQ(distinct::count(""), std::nullopt);
  EXPECT_EQ(distinct::count(bytes({0x80})), std::nullopt);
  EXPECT_EQ(distinct::count(bytes({1, 1})), std::nullopt);
  EXPECT_EQ(distinct::count(std::string(11, '\xff')), std::nullopt);
}

// Two elements of one register count once. At precision 14, a set of n has n² / 2^15 such pairs: in
// 96% of sets of 100 there are 0 or 1 of them.
TEST(DistinctEstimate, of_a_small_set_is_off_by_no_more_than_elements_that_share_a_register) {
  constexpr int kSets = 2000;
  struct Row {
    std::size_t elements;
    int most_off, least_percent;
  };
  for (const Row& row :
       {Row{1, 0, 100}, Row{10, 1, 100}, Row{65, 1, 99}, Row{100, 1, 95}, Row{100, 2, 99}}) {
    int within = 0;
    for (std::uint64_t set = 0; set < kSets; ++set) {
      const auto count = static_cast<int>(count_of({body_of(random_hashes(row.elements, set))}));
      within += std::abs(count - static_cast<int>(row.elements)) <= row.most_off ? 1 : 0;
    }
    EXPECT_GE(within, kSets * row.least_percent / 100) << row.elements << " ± " << row.most_off;
  }
}

// tests/bench/distinct_error.cpp has sets of up to a million elements.
TEST(DistinctEstimate, has_the_standard_error_of_the_paper_and_no_bias) {
  constexpr int kSets = 1000;
  constexpr std::array<std::size_t, 3> kSizes{1000, 4000, 20'000};
  struct Row {
    unsigned precision;
    double most_error;
  };
  for (const Row& row : {Row{14, 0.0086}, Row{11, 0.0242}}) {
    std::array<double, kSizes.size()> sums{}, squares{};
    for (std::uint64_t set = 0; set < kSets; ++set) {
      const Hashes hashes = random_hashes(kSizes.back(), set);
      std::string body;
      for (std::size_t i = 0; i < kSizes.size(); ++i) {
        body =
            added(body, {hashes.begin(), hashes.begin() + static_cast<std::ptrdiff_t>(kSizes[i])},
                  row.precision);
        const double error =
            static_cast<double>(count_of({body})) / static_cast<double>(kSizes[i]) - 1;
        sums[i] += error;
        squares[i] += error * error;
      }
    }
    for (std::size_t i = 0; i < kSizes.size(); ++i) {
      EXPECT_LE(std::sqrt(squares[i] / kSets), row.most_error)
          << row.precision << ", " << kSizes[i];
      EXPECT_LE(std::abs(sums[i] / kSets), row.most_error / 5)
          << row.precision << ", " << kSizes[i];
    }
  }
}

}  // namespace
}  // namespace quipu::test
