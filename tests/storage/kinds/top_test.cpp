// SpaceSaving: the laws of a kind, the bytes, the list, and the bounds against exact counts.
#include "storage/kinds/top.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/random.h"
#include "protocol/state.h"
#include "tests/storage/kinds/bodies.h"
#include "tests/storage/kinds/kind_laws.h"

namespace quipu::test::of_top {
// Other tests have such helpers, too, and a unity build compiles them together.
namespace top_kind {
namespace {

using top::Increment;
using top::Listed;
using top::Shape;
using top::Standing;
using Items = std::vector<std::string>;

constexpr auto kMostTotal = std::uint64_t{std::numeric_limits<std::int64_t>::max()};
constexpr std::uint64_t kNarrow = 0xffff'ffff;  // the most of a count of 4 bytes

// ---- the laws of a kind ----

struct TopOps {
  static unsigned precision() { return 0; }
  // Few items, so that actors count the same ones; or so many that slots are given up. No total of
  // a history comes near its limit.
  static std::string words(unsigned) {
    if (*rc::gen::inRange(0, 6) == 0) return top::words_to_begin(*rc::gen::elementOf(kShapes));
    const auto count = *rc::gen::elementOf(std::vector<std::size_t>{0, 1, 1, 2, 30, 400});
    const auto seed = *rc::gen::inRange<std::uint64_t>(0, 8);
    Random random(seed);
    Items items;
    std::vector<std::uint64_t> counts;
    for (std::size_t i = 0; i < count; ++i) {
      items.push_back(std::to_string(random.below(2 * count)));
      counts.push_back(1 + random.below(5));
    }
    const auto edges =
        *rc::gen::container<std::vector<std::uint64_t>>(rc::gen::element<std::uint64_t>(
            0, 1, 127, kNarrow - 1, kNarrow, kNarrow + 1, std::uint64_t{1} << 40));
    for (const std::uint64_t edge : edges) {
      items.push_back(*rc::gen::elementOf(kEdges));
      counts.push_back(edge);
    }
    std::vector<Increment> increments;
    for (std::size_t i = 0; i < items.size(); ++i) increments.push_back({items[i], counts[i]});
    return top::words_to_add(increments);
  }
  static std::string question() { return std::string(top::kListQuestion); }

 private:
  static inline const std::vector<Shape> kShapes{{1, 0, 0, 0},  {1, 8, 7, 0.9}, {3, 8, 7, 0.9},
                                                 {10, 8, 7, 1}, {17, 1, 1, 0},  {100, ~0U, 1, 0.5}};
  static inline const Items kEdges{
      "", "a", "1", "2", std::string(top::kMaxItem, 'z'), std::string(1, '\0')};
};
QUIPU_KIND_LAWS(Top, kTop, TopOps);

// The laws ask one question; these are the others.
RC_GTEST_PROP(TopAnswer, does_not_depend_on_the_order, ()) {
  const auto asking = [](std::string (*question)()) {
    return KindUnderTest{kTop, TopOps::precision, TopOps::words, question};
  };
  const KindUnderTest total = asking([] { return std::string(); });
  kind_laws::answers_do_not_depend_on_the_order(total);
  kind_laws::any_question_is_refused_or_answered(total);
  kind_laws::answers_do_not_depend_on_the_order(
      asking([] { return std::string(top::kInfoQuestion); }));
  kind_laws::answers_do_not_depend_on_the_order(asking([] {
    return top::question_about(Items{"1", "a", "none"});
  }));
}

// ---- bodies, by value ----

std::string joined_copies(const std::string& into, const std::string& from) {
  return joined_bodies(kTop, into, from);
}

struct Applied {
  Code code = Code::ok;
  std::string reply{};
  Units units{};
  bool in_place = false;
};

Applied change(std::string& body, const std::string& words, std::uint64_t actor = 7,
               const std::vector<std::string_view>& others = {}) {
  Edit edit(body.data(), body.size());
  Applied applied;
  const std::string before = body;
  const KindOp op{.words = words, .actor = ActorId{actor}, .others = others};
  applied.code = kTop.apply(edit, op, applied.reply);
  applied.units = edit.units();
  applied.in_place = !edit.replaced();
  if (edit.replaced()) body = std::move(*edit.replaced());
  EXPECT_TRUE(applied.code == Code::ok || body == before);
  return applied;
}
using Expelled = std::vector<std::optional<std::string>>;
Expelled add(std::string& body, const std::vector<Increment>& increments, std::uint64_t actor = 7) {
  const Applied applied = change(body, top::words_to_add(increments), actor);
  EXPECT_EQ(applied.code, Code::ok);
  return top::expelled(applied.reply).value();
}
std::string begun(const Shape& shape) {
  std::string body;
  EXPECT_EQ(change(body, top::words_to_begin(shape)).code, Code::ok);
  return body;
}
std::string begun(std::uint32_t k) { return begun({.k = k}); }
std::string counted(std::uint32_t k, const std::vector<Increment>& increments,
                    std::uint64_t actor = 7) {
  std::string body = begun(k);
  add(body, increments, actor);
  return body;
}
std::string answer(const std::vector<std::string>& bodies, std::string_view question) {
  const std::vector<std::string_view> views(bodies.begin(), bodies.end());
  std::string reply = "old";
  EXPECT_EQ(kTop.answer(views, question, reply), Code::ok);
  return reply;
}
std::uint64_t total_of(const std::vector<std::string>& bodies) {
  return top::total(answer(bodies, top::kTotalQuestion)).value();
}
Shape info_of(const std::vector<std::string>& bodies) {
  return top::info(answer(bodies, top::kInfoQuestion)).value();
}
std::vector<Listed> list_of(const std::vector<std::string>& bodies) {
  return top::list(answer(bodies, top::kListQuestion)).value();
}
std::vector<Standing> standings_of(const std::vector<std::string>& bodies, const Items& items) {
  return top::standings(answer(bodies, top::question_about(items))).value();
}
Items items_of(const std::vector<Listed>& list) {
  Items items;
  for (const Listed& each : list) items.push_back(each.item);
  return items;
}
// As many items with a slot each. The counts are 1.
std::string filled(std::string body, std::size_t items, std::uint64_t actor = 7) {
  for (std::size_t i = 0; i < items; ++i) add(body, {{"full" + std::to_string(i), 1}}, actor);
  return body;
}

// ---- bytes ----

const std::string kHead =
    bytes({1, 10, 8, 0, 0, 0, 7, 0, 0, 0, 0xcd, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xec, 0x3f});
std::string summary(int actor, int total, const std::string& slots) {
  return bytes({actor,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                total,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                static_cast<int>(slots.size()),
                0,
                0,
                0}) +
         slots;
}
std::string slot(int index, int count, int error, const std::string& item) {
  return bytes({index, 0, count, 0, 0, 0, error, 0, 0, 0, static_cast<int>(item.size())}) + item;
}

// The head of a counter that began with an add.
const std::string kNotReserved = bytes({1}) + std::string(17, '\0');

TEST(TopBytes, of_small_bodies_are_as_the_header_says) {
  EXPECT_EQ(begun(top::kUsualShape), kHead);
  std::string body = begun(top::kUsualShape);
  add(body, {{"ann", 3}});
  EXPECT_EQ(body, kHead + summary(7, 3, slot(0, 3, 0, "ann")));
  add(body, {{"", 1}, {"ann", 1}}, 5);
  EXPECT_EQ(body, kHead + summary(5, 2, slot(0, 1, 0, "") + slot(1, 1, 0, "ann")) +
                      summary(7, 3, slot(0, 3, 0, "ann")));
  std::string wide;
  add(wide, {{"ann", kNarrow + 2}});
  EXPECT_EQ(wide,
            kNotReserved + bytes({7, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 22, 0, 0, 0}) +
                bytes({0, 0, 1, 0, 0, 0, 1, 0, 0, 0}) + bytes({0, 0, 0, 0, 0, 0, 0, 0, 3}) + "ann");
}

TEST(TopBytes, are_refused_if_no_writer_makes_them) {
  const std::string good = slot(0, 3, 2, "ann");
  struct Case {
    const char* what;
    std::string bytes;
  };
  const std::string no_number = bytes({0, 0, 0, 0, 0, 0, 0xf8, 0x7f});
  const Case cases[] = {
      {"nothing", ""},
      {"another format", bytes({2}) + kHead.substr(1)},
      {"a head that is cut off", kHead.substr(0, 17)},
      {"k 0", std::string(kHead).replace(1, 1, 1, '\0')},
      {"nothing reserved, but a decay of −0", std::string(kNotReserved).replace(17, 1, "\x80")},
      {"k 101", std::string(kHead).replace(1, 1, 1, 'e')},
      {"decay above 1", std::string(kHead).replace(10, 8, bytes({1, 0, 0, 0, 0, 0, 0xf0, 0x3f}))},
      {"decay −0", std::string(kHead).replace(10, 8, bytes({0, 0, 0, 0, 0, 0, 0, 0x80}))},
      {"decay that is no number", std::string(kHead).replace(10, 8, no_number)},
      {"a summary that is cut off", kHead + summary(7, 3, good).substr(0, 19)},
      {"a length beyond the end", kHead + summary(7, 3, good).substr(0, 33)},
      {"a byte behind the end", kHead + summary(7, 3, good) + "1"},
      {"no actor", kHead + summary(0, 3, good)},
      {"one actor twice", kHead + summary(7, 3, good) + summary(7, 3, good)},
      {"actors that descend", kHead + summary(7, 3, good) + summary(6, 3, good)},
      {"a total of 0", kHead + summary(7, 0, "")},
      {"a total above the most", kHead + summary(7, 3, good).replace(15, 1, "\x80")},
      {"a count above the total", kHead + summary(7, 2, good)},
      {"a count of 0", kHead + summary(7, 3, slot(0, 0, 0, "ann"))},
      {"an error that is the count", kHead + summary(7, 3, slot(0, 3, 3, "ann"))},
      {"one index twice", kHead + summary(7, 3, slot(1, 1, 0, "a") + slot(1, 1, 0, "b"))},
      {"indexes that descend", kHead + summary(7, 3, slot(1, 1, 0, "a") + slot(0, 1, 0, "b"))},
      {"an index after the last", kHead + summary(7, 3, slot(0, 1, 0, "a").replace(1, 1, "\1"))},
      {"an item that is too long", kHead + summary(7, 3, slot(0, 1, 0, std::string(129, 'a')))},
      {"an item that is cut off", kHead + summary(7, 3, slot(0, 1, 0, "ann").substr(0, 13))},
      {"half a slot", kHead + summary(7, 3, good + good.substr(0, 10))},
  };
  for (const Case& each : cases) EXPECT_FALSE(kTop.sound(each.bytes)) << each.what;
  EXPECT_TRUE(kTop.sound(kHead));
  EXPECT_TRUE(kTop.sound(kNotReserved));
  EXPECT_TRUE(kTop.sound(kHead + summary(7, 3, good)));
  EXPECT_TRUE(kTop.sound(kHead + summary(7, 3, ""))) << "an extract may have no slot";
  EXPECT_TRUE(kTop.sound(kHead + summary(7, 3, slot(255, 1, 0, std::string(128, 'a')))));
}

TEST(TopBytes, have_the_sizes_that_the_documents_promise) {
  for (const std::uint32_t k : {10U, 100U}) {
    std::string body = begun(k);
    for (std::size_t i = 0; i < 2000; ++i)
      add(body, {{"an item of 20 b " + std::to_string(1000 + i), 1}});
    EXPECT_EQ(body.size(), 18 + 20 + top::most_slots(k) * (11 + 20));
  }
}

TEST(TopBytes, become_wider_instead_of_wrapping) {
  std::string body = counted(3, {{"b", 5}, {"ann", kNarrow - 10}});
  for (std::uint64_t i = 0; i < 10; ++i) {
    add(body, {{"ann", 1}});
    EXPECT_TRUE(kTop.sound(body));
    EXPECT_EQ(standings_of({body}, {"ann", "b"}),
              (std::vector<Standing>{{true, kNarrow - 9 + i, kNarrow - 9 + i}, {true, 5, 5}}));
  }
  EXPECT_EQ(total_of({body}), kNarrow + 5);
  const std::string narrow = counted(3, {{"b", 7}});
  EXPECT_EQ(joined_copies(narrow, body), joined_copies(body, narrow));
  EXPECT_TRUE(kTop.sound(joined_copies(narrow, body)));
}

// ---- ops ----

TEST(TopOp, begins_a_counter_that_does_not_exist) {
  const Shape shape{.k = 5, .width = 100, .depth = 3, .decay = 0.5};
  std::string body;
  EXPECT_TRUE(top::began(change(body, top::words_to_begin(shape)).reply));
  EXPECT_EQ(info_of({body}), shape);
  const std::string before = body;
  for (const Shape& other : {shape, top::kUsualShape}) {
    const Applied applied = change(body, top::words_to_begin(other), 8);
    EXPECT_EQ(applied.code, Code::ok);
    EXPECT_FALSE(top::began(applied.reply));
    EXPECT_TRUE(applied.units.none());
    EXPECT_EQ(body, before);
  }
  std::string usual;
  EXPECT_EQ(add(usual, {}), Expelled{});
  EXPECT_EQ(info_of({usual}), top::kUsualShape);
}

// An add may come to a node that has not heard of the reservation.
TEST(TopOp, that_only_adds_reserves_nothing_so_that_any_reservation_wins) {
  std::string added;
  add(added, {{"ann", 1}});
  EXPECT_EQ(info_of({added}), top::kUsualShape);
  for (const std::uint32_t k : {1U, 10U, 50U}) {
    const Shape reserved{.k = k, .width = 3};
    EXPECT_EQ(info_of({joined_copies(added, begun(reserved))}), reserved);
    EXPECT_EQ(info_of({joined_copies(begun(reserved), added)}), reserved);
    EXPECT_EQ(info_of({begun(reserved), added}), reserved) << "as bodies of two births";
  }
}

TEST(TopOp, of_a_window_that_begins_has_the_shape_of_its_counter) {
  const Shape shape{.k = 50, .width = 3};
  const std::string counter = begun(shape);
  Edit window;
  std::string reply;
  const std::string words = top::words_to_add(std::vector<Increment>{{"ann", 2}});
  ASSERT_EQ(kTop.apply(window, {.words = words, .actor = ActorId{7}, .like = counter}, reply),
            Code::ok);
  EXPECT_EQ(info_of({std::string(window.body())}), shape);
  EXPECT_EQ(total_of({std::string(window.body())}), 2);
}

TEST(TopOp, that_begins_another_life_has_the_shape_of_the_bodies_beside_it) {
  const std::string beside = counted(1, {{"ann", 5}});
  std::string body;
  const Applied applied =
      change(body, top::words_to_add(std::vector<Increment>{{"bob", 1}, {"bob", 5}}), 7, {beside});
  EXPECT_EQ(info_of({body}).k, 1);
  EXPECT_EQ(top::expelled(applied.reply), (Expelled{{}, "ann"}));
}

TEST(TopOp, with_counts_of_0_changes_nothing) {
  std::string body = counted(2, {{"ann", 1}});
  const std::string before = body;
  for (const std::uint64_t actor : {7U, 8U}) {
    const std::vector<Increment> nothing{{"ann", 0}, {"bob", 0}};
    const Applied applied = change(body, top::words_to_add(nothing), actor);
    EXPECT_EQ(top::expelled(applied.reply), (Expelled{{}, {}}));
    EXPECT_TRUE(applied.units.none());
    EXPECT_EQ(body, before);
  }
}

TEST(TopOp, is_refused_if_it_is_malformed) {
  const auto add_ann = top::words_to_add(std::vector<Increment>{{"ann", 1}});
  const auto begin = top::words_to_begin(top::kUsualShape);
  for (const std::string& words :
       {std::string(), std::string("x"), std::string("b"), begin.substr(0, begin.size() - 1),
        begin + "1", add_ann.substr(0, 3), add_ann.substr(0, add_ann.size() - 1), add_ann + "\x01",
        top::words_to_add(std::vector<Increment>{{std::string(129, 'a'), 1}})}) {
    for (std::string body : {std::string(), begun(3)})
      EXPECT_EQ(change(body, words).code, Code::invalid_argument) << words;
  }
}

TEST(TopOp, is_refused_if_there_is_no_such_shape) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  for (const Shape& shape : {Shape{0, 8, 7, 0.9},
                             {101, 8, 7, 0.9},
                             {~0U, 8, 7, 0.9},
                             {10, 8, 7, 1.1},
                             {10, 8, 7, -0.0},
                             {10, 8, 7, -1},
                             {10, 8, 7, none}}) {
    std::string body;
    EXPECT_EQ(change(body, top::words_to_begin(shape)).code, Code::out_of_range);
  }
  for (const Shape& shape : {Shape{1, 0, 0, 0}, {100, ~0U, ~0U, 1}})
    EXPECT_EQ(info_of({begun(shape)}), shape);
}

TEST(TopOp, is_refused_as_a_whole_if_it_is_too_much) {
  std::string body = counted(2, {{"ann", kMostTotal - 10}});
  for (const std::vector<Increment>& much : {std::vector<Increment>{{"b", 11}},
                                             {{"ann", 5}, {"b", 6}},
                                             {{"b", ~0ULL}},
                                             std::vector<Increment>(top::kMaxItems + 1, {"b", 0})})
    EXPECT_EQ(change(body, top::words_to_add(much)).code, Code::out_of_range);
  add(body, std::vector<Increment>(top::kMaxItems, {"b", 0}));
  add(body, {{"ann", 10}});
  EXPECT_EQ(total_of({body}), kMostTotal);
  add(body, {{"ann", 1}}, 8);
  EXPECT_EQ(total_of({body}), kMostTotal) << "a sum of summaries is shown as the most";
  EXPECT_EQ(standings_of({body}, {"ann"}), (std::vector<Standing>{{true, kMostTotal, kMostTotal}}));
}

TEST(TopOp, changes_a_count_in_place) {
  std::string body = counted(3, {{"ann", 1}, {"bob", 1}}, 7);
  body = joined_copies(body, counted(3, {{"bob", 4}}, 9));
  const Applied applied = change(body, top::words_to_add(std::vector<Increment>{{"bob", 3}}));
  EXPECT_TRUE(applied.in_place);
  EXPECT_EQ(applied.units.some().size(), 1);
  EXPECT_EQ(standings_of({body}, {"bob"}), (std::vector<Standing>{{true, 8, 8}}));
}

TEST(TopOp, gives_the_slot_with_the_least_count_to_a_new_item) {
  std::string body = filled(begun(3), 256);
  add(body, {{"full0", 5}});
  for (std::size_t i = 1; i < 256; ++i)
    if (i != 77) add(body, {{"full" + std::to_string(i), 1}});
  add(body, {{"dan", 2}});
  EXPECT_EQ(standings_of({body}, {"dan", "full77", "full0", "full1", "never"}),
            (std::vector<Standing>{
                {true, 3, 2}, {false, 1, 0}, {true, 6, 6}, {true, 2, 2}, {false, 1, 0}}));
  EXPECT_EQ(total_of({body}), 256 + 5 + 254 + 2);
}

// ---- the list ----

TEST(TopList, has_the_greatest_counts_and_then_the_least_items) {
  const std::string body = counted(3, {{"d", 2}, {"b", 2}, {"a", 1}, {"c", 2}, {"e", 9}, {"b", 0}});
  EXPECT_EQ(list_of({body}),
            (std::vector<Listed>{{"e", 9, 9, true}, {"b", 2, 2, true}, {"c", 2, 2, true}}));
  EXPECT_EQ(list_of({counted(3, {{"x", 1}})}), (std::vector<Listed>{{"x", 1, 1, true}}));
  EXPECT_EQ(list_of({begun(3)}), std::vector<Listed>{});
  EXPECT_EQ(list_of({}), std::vector<Listed>{});
}

TEST(TopList, adds_up_actors_and_bodies) {
  const std::string a = counted(2, {{"ann", 3}, {"bob", 1}}, 1), b = counted(3, {{"bob", 5}}, 2),
                    c = counted(1, {{"cat", 4}}, 1);
  for (const std::vector<std::string>& bodies :
       {std::vector<std::string>{a, b, c}, {joined_copies(a, b), c}, {c, joined_copies(b, a)}}) {
    EXPECT_EQ(list_of(bodies),
              (std::vector<Listed>{{"bob", 6, 6, true}, {"cat", 4, 4, true}, {"ann", 3, 3, true}}));
    EXPECT_EQ(total_of(bodies), 13);
    EXPECT_EQ(info_of(bodies).k, 3);
  }
}

TEST(TopList, counts_the_floor_of_each_actor_without_the_item) {
  // Actor 1 has given up a slot with the count 1, so it may have seen "bob" once.
  std::string body = filled(begun(2), 257, 1);
  add(body, {{"ann", 10}}, 1);
  body = joined_copies(body, counted(2, {{"ann", 1}, {"bob", 10}}, 2));
  EXPECT_EQ(list_of({body}), (std::vector<Listed>{{"ann", 12, 11, true}, {"bob", 11, 10, true}}));
  EXPECT_EQ(standings_of({body}, {"never"}), (std::vector<Standing>{{false, 1, 0}}));
}

TEST(TopList, is_certain_only_of_what_no_other_item_can_exceed) {
  std::string body = filled(begun(1), 257);  // one of them has come 1 to 2 times
  ASSERT_EQ(list_of({body}).size(), 1);
  EXPECT_EQ(list_of({body})[0].upper, 2);
  EXPECT_EQ(list_of({body})[0].lower, 1);
  EXPECT_TRUE(list_of({body})[0].certain) << "the others came once at most";
  add(body, {{"full5", 1}});
  const Listed first = list_of({body})[0];
  EXPECT_EQ(first.upper, 2);
  EXPECT_EQ(first.certain, first.lower == 2);
}

TEST(TopList, of_a_longer_one_goes_on_from_what_a_shorter_one_gave_up) {
  std::string body = filled(begun(10), 257);  // 256 slots, and a floor of 1
  body = joined_copies(body, begun(100));
  add(body, {{"new", 3}});
  EXPECT_EQ(standings_of({body}, {"new"}), (std::vector<Standing>{{true, 4, 3}}))
      << "it may have lost its slot before";
  EXPECT_EQ(info_of({body}).k, 100);
  for (std::size_t i = 0; i < 2000; ++i) add(body, {{"more" + std::to_string(i), 1}});
  EXPECT_TRUE(kTop.sound(body));
}

TEST(TopShape, of_a_join_is_the_greatest) {
  const std::string a = begun({3, 9, 9, 0.9}), b = begun({4, 1, 1, 0}), c = begun({4, 1, 1, 0.5});
  EXPECT_EQ(joined_copies(a, b), b);
  EXPECT_EQ(joined_copies(b, a), b);
  EXPECT_EQ(joined_copies(c, b), c);
  EXPECT_EQ(joined_copies(b, c), c);
}

// ---- what is pushed off the list ----

// SpaceSaving with a map, and whole lists before and after.
class Model {
 public:
  explicit Model(std::uint32_t k) : k_(k) {}
  std::optional<std::string> add(const std::string& item, std::uint64_t count) {
    const Items before = list();
    if (!counts_.contains(item) && counts_.size() == top::most_slots(k_)) {
      auto last = counts_.begin();
      for (auto each = counts_.begin(); each != counts_.end(); ++each)
        if (each->second <= last->second) last = each;
      count += last->second;
      counts_.erase(last);
    }
    counts_[item] += count;
    const Items after = list();
    for (const std::string& was : before)
      if (std::ranges::find(after, was) == after.end()) return was;
    return std::nullopt;
  }
  [[nodiscard]] Items list() const {
    std::vector<std::pair<std::uint64_t, std::string>> all;
    for (const auto& [item, count] : counts_) all.emplace_back(~count, item);
    std::ranges::sort(all);
    all.resize(std::min<std::size_t>(all.size(), k_));
    Items items;
    for (const auto& each : all) items.push_back(each.second);
    return items;
  }

 private:
  std::uint32_t k_;
  std::map<std::string, std::uint64_t> counts_;
};

TEST(TopExpelled, is_what_a_plain_model_says) {
  for (const std::uint32_t k : {1U, 3U, 10U}) {
    std::string body = begun(k);
    Model model(k);
    Random random(k);
    std::size_t expelled = 0;
    for (int op = 0; op < 1500; ++op) {
      Items items;
      std::vector<Increment> increments;
      Expelled expected;
      for (std::uint64_t i = random.below(3); i < 3; ++i)
        items.push_back(std::to_string(random.below(random.below(2) == 0 ? 20 : 800)));
      for (const std::string& item : items) {
        increments.push_back({item, 1 + random.below(3)});
        expected.push_back(model.add(item, increments.back().count));
        expelled += expected.back() ? 1 : 0;
      }
      ASSERT_EQ(add(body, increments), expected) << "k " << k << ", op " << op;
      ASSERT_EQ(items_of(list_of({body})), model.list());
    }
    EXPECT_GT(expelled, k < 3 ? 5 : 20);
  }
}

TEST(TopExpelled, counts_what_other_actors_have) {
  std::string body = counted(1, {{"ann", 5}}, 1);
  EXPECT_EQ(add(body, {{"bob", 3}}, 2), Expelled{{}});
  EXPECT_EQ(add(body, {{"ann", 1}}, 2), Expelled{{}}) << "it is on the list already";
  EXPECT_EQ(add(body, {{"bob", 4}}, 3), Expelled{"ann"});
  EXPECT_EQ(add(body, {{"ann", 1}}, 2), Expelled{"bob"}) << "equal counts: by item";
  EXPECT_EQ(list_of({body})[0].item, "ann");
}

// ---- units ----

TEST(TopUnits, of_an_op_are_enough_for_a_copy) {
  std::string body = filled(begun(3), 300), copy = body;
  Random random(1);
  for (int i = 0; i < 300; ++i) {
    const std::string item = std::to_string(random.below(200));
    const Applied applied = change(body, top::words_to_add(std::vector<Increment>{{item, 1}}));
    ASSERT_EQ(applied.units.some().size(), 1);
    const std::string delta = kTop.extract(body, applied.units.some());
    EXPECT_EQ(delta.size(), 18 + 20 + 11 + item.size());
    copy = joined_copies(copy, delta);
    ASSERT_EQ(copy, body);
  }
}

TEST(TopUnits, carry_the_shape_and_the_total) {
  const std::string before = counted(3, {{"ann", 1}, {"bob", 1}});
  std::string after = joined_copies(before, begun(9));
  const Units units = change(after, top::words_to_add(std::vector<Increment>{{"ann", 1}})).units;
  add(after, {{"bob", 5}});
  const std::string delta = kTop.extract(after, units.some());
  const std::string copy = joined_copies(before, delta);
  EXPECT_EQ(info_of({copy}).k, 9);
  EXPECT_EQ(total_of({copy}), 8);
  EXPECT_EQ(standings_of({copy}, {"ann", "bob"}),
            (std::vector<Standing>{{true, 2, 2}, {true, 1, 1}}));
}

// A copy may know an item in the slot that it lost, and in the one that it got later.
TEST(TopUnits, may_make_a_copy_that_has_an_item_twice) {
  const std::string old = filled(begun(1), 256);
  std::string body = old;
  add(body, {{"new", 1}});  // takes the slot of full99
  const Units again = change(body, top::words_to_add(std::vector<Increment>{{"full99", 4}})).units;
  const std::string copy = joined_copies(old, kTop.extract(body, again.some()));
  EXPECT_TRUE(kTop.sound(copy));
  EXPECT_EQ(standings_of({copy}, {"full99"}), (std::vector<Standing>{{true, 5, 4}}));
  EXPECT_EQ(joined_copies(copy, body), body);
}

TEST(TopShare, is_no_more_than_the_body_whatever_its_shape) {
  std::string body = joined_copies(counted(2, {{"ann", 1}}, 1), filled(begun(20), 300, 2));
  EXPECT_EQ(kTop.share(body, ActorId{3}), "");
  EXPECT_EQ(kTop.share(begun(3), ActorId{3}), "");
  const std::string share = kTop.share(joined_copies(body, begun(90)), ActorId{2});
  EXPECT_TRUE(kTop.sound(share));
  EXPECT_EQ(joined_copies(body, share), body);
  EXPECT_EQ(total_of({share}), 300);
  add(body, {{"ann", 1}}, 2);
  EXPECT_NE(joined_copies(share, body), share);
}

// ---- answers ----

TEST(TopAnswer, of_nothing_is_0_and_other_questions_are_refused) {
  EXPECT_EQ(total_of({}), 0);
  EXPECT_EQ(info_of({}), Shape{});
  for (const std::vector<std::string>& bodies : {std::vector<std::string>{}, {begun(3)}})
    EXPECT_EQ(standings_of(bodies, {"ann"}), std::vector<Standing>{{}});
  std::string reply;
  for (const std::string& question : {std::string("?"), std::string("ll"), std::string("q\3an"),
                                      top::question_about(Items{std::string(129, 'a')})})
    EXPECT_EQ(kTop.answer({}, question, reply), Code::invalid_argument) << question;
}

// ---- bounds ----

std::string name_of_item(std::uint64_t item) { return "item" + std::to_string(item); }

// A stream of items 0 … items − 1, where item i comes (i + 1)^−skew as often as the first.
std::vector<std::uint64_t> zipf_items(double skew, std::size_t length, std::uint64_t items,
                                      std::uint64_t seed) {
  std::vector<double> sums;
  double sum = 0;
  for (std::uint64_t i = 1; i <= items; ++i)
    sums.push_back(sum += std::pow(static_cast<double>(i), -skew));
  Random random(seed);
  std::vector<std::uint64_t> stream(length);
  for (std::uint64_t& item : stream) {
    const double at = sum * static_cast<double>(random.next() >> 11) * 0x1p-53;
    item = static_cast<std::uint64_t>(std::ranges::upper_bound(sums, at) - sums.begin());
    item = std::min(item, items - 1);
  }
  return stream;
}

// Writers take turns at random. Now and then, one sends another what has changed since the last
// time, as an extract.
class Writers {
 public:
  Writers(std::uint32_t k, std::size_t count, std::uint64_t seed) : random_(seed) {
    for (std::size_t i = 0; i < count; ++i) {
      bodies_.push_back(begun(k));
      unsent_.emplace_back(count);
    }
  }
  // In ops of some items each.
  void add(const std::vector<std::uint64_t>& stream) {
    for (std::size_t i = 0; i < stream.size();) {
      const std::size_t end = std::min(stream.size(), i + 1 + random_.below(50));
      Items items;
      for (; i < end; ++i) items.push_back(name_of_item(stream[i]));
      add(items);
    }
  }
  // What all have counted, on its way to all by extracts alone.
  std::string joined() {
    for (std::size_t from = 0; from < bodies_.size(); ++from) send(from, 0);
    return bodies_[0];
  }

 private:
  void add(const Items& items) {
    const std::size_t writer = random_.below(bodies_.size());
    std::vector<Increment> increments;
    for (const std::string& item : items) increments.push_back({item});
    note(writer, change(bodies_[writer], top::words_to_add(increments), writer + 1).units);
    if (random_.below(3) == 0) send(writer, random_.below(bodies_.size()));
  }
  void note(std::size_t writer, const Units& units) {
    for (Units& unsent : unsent_[writer]) unsent.add(units);
  }
  void send(std::size_t from, std::size_t to) {
    Units& units = unsent_[from][to];
    if (from == to || units.none()) return;
    const std::string delta =
        units.all() ? bodies_[from] : kTop.extract(bodies_[from], units.some());
    units = {};
    Edit edit(bodies_[to].data(), bodies_[to].size());
    kTop.join(edit, delta);
    if (edit.replaced()) bodies_[to] = std::move(*edit.replaced());
    note(to, edit.units());
  }

  Random random_;
  std::vector<std::string> bodies_;
  std::vector<std::vector<Units>> unsent_;  // by writer and receiver
};

struct Truth {
  std::vector<std::uint64_t> counts;
  // The items that come most often, the first ones of equal counts.
  [[nodiscard]] std::vector<std::uint64_t> first(std::size_t k) const {
    std::vector<std::uint64_t> items(counts.size());
    for (std::size_t i = 0; i < items.size(); ++i) items[i] = i;
    std::ranges::stable_sort(items, [&](auto a, auto b) { return counts[a] > counts[b]; });
    items.resize(k);
    return items;
  }
};

void expect_true_bounds(const std::string& body, const Truth& truth, std::uint32_t k) {
  Items items;
  for (std::uint64_t i = 0; i < truth.counts.size(); ++i) items.push_back(name_of_item(i));
  const std::vector<Standing> standings = standings_of({body}, items);
  for (std::size_t i = 0; i < items.size(); ++i) {
    ASSERT_LE(standings[i].lower, truth.counts[i]) << items[i];
    ASSERT_GE(standings[i].upper, truth.counts[i]) << items[i];
  }
  const std::uint64_t least = truth.counts[truth.first(k).back()];
  for (const Listed& each : list_of({body})) {
    const auto item = std::stoull(each.item.substr(4));
    EXPECT_TRUE(!each.certain || truth.counts[item] >= least) << each.item;
  }
}

TEST(TopBounds, hold_for_each_item_of_a_random_stream) {
  for (const std::size_t writers : {1U, 3U}) {
    for (const double skew : {0.0, 0.8, 1.3}) {
      constexpr std::uint64_t kItems = 3000;
      constexpr std::uint32_t kK = 10;
      Writers all(kK, writers, 5);
      Truth truth{std::vector<std::uint64_t>(kItems)};
      const std::vector<std::uint64_t> stream = zipf_items(skew, 20'000, kItems, 3);
      all.add(stream);
      for (const std::uint64_t item : stream) ++truth.counts[item];
      const std::string body = all.joined();
      EXPECT_EQ(total_of({body}), 20'000);
      expect_true_bounds(body, truth, kK);
    }
  }
}

TEST(TopBounds, are_close_enough_to_find_the_most_frequent_items_of_zipf_streams) {
  constexpr std::uint64_t kItems = 100'000;
  constexpr std::uint32_t kK = 50;
  for (const std::size_t writers : {1U, 3U}) {
    for (const double skew : {0.9, 1.0, 1.2}) {
      Writers all(kK, writers, 5);
      Truth truth{std::vector<std::uint64_t>(kItems)};
      const std::vector<std::uint64_t> stream = zipf_items(skew, 200'000, kItems, 9);
      all.add(stream);
      for (const std::uint64_t item : stream) ++truth.counts[item];
      const std::string body = all.joined();
      expect_true_bounds(body, truth, kK);
      const Items listed = items_of(list_of({body}));
      const std::uint64_t least = truth.counts[truth.first(kK).back()];
      std::size_t found = 0;
      for (const std::string& item : listed)
        found += truth.counts[std::stoull(item.substr(4))] >= least ? 1 : 0;
      RecordProperty("found_" + std::to_string(skew) + "_" + std::to_string(writers),
                     static_cast<int>(found));
      EXPECT_GE(found, 49) << "skew " << skew << ", " << writers << " writers";
      Items first;
      for (const std::uint64_t item : truth.first(10)) first.push_back(name_of_item(item));
      EXPECT_EQ(Items(listed.begin(), listed.begin() + 10), first);
    }
  }
}

}  // namespace
}  // namespace top_kind
}  // namespace quipu::test::of_top
