// kind_laws.h: what every kind must keep (storage/kinds/kind.h), as properties of random histories.
//
//   struct DistinctOps {                     // what the laws draw, by rapidcheck
//     static unsigned precision();           // one that a namespace may define
//     static std::string words(unsigned);    // of an op on a counter with this precision
//     static std::string question();
//   };
//   QUIPU_KIND_LAWS(Distinct, kDistinct, DistinctOps);
//
// A history is a few actors that apply ops and join each other's copies:
//
//   actor 1   ── op ─────────────── op ──▶ copy        each arrow's end after each step is a
//                  ╲                                   snapshot; a law draws joins of snapshots
//   actor 2   ── op ── join ── op ───────▶ copy
#pragma once

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/kinds/kind.h"

namespace quipu::test {

struct KindUnderTest {
  const KindRules& rules;
  unsigned (*precision)();
  std::string (*words)(unsigned precision);
  std::string (*question)();
};

namespace kind_laws {

// ---- edits, by value ----

struct Edited {
  std::string body;
  Code code = Code::ok;
  std::string reply{};
  Units units{};
  Units rests_on{};
  bool changed = false;
};

// Checks what holds for each edit: the touch comes once, before the first change, or never.
template <class Change>
Edited edit(const std::string& before, Change change) {
  struct Touched {
    std::string bytes;
    std::string at_touch{};
    int times = 0;
  } touched{before};
  const Edit::Touch touch = [](void* context) {
    auto& seen = *static_cast<Touched*>(context);
    seen.at_touch = seen.bytes;
    ++seen.times;
  };
  Edit into(touched.bytes.data(), touched.bytes.size(), touch, &touched);
  Edited result;
  into.tell_rests_on(&result.rests_on);
  change(into, result);
  result.body = into.body();
  result.units = into.units();
  result.changed = into.changed();
  RC_ASSERT(touched.times == (result.changed ? 1 : 0));
  if (result.changed) RC_ASSERT(touched.at_touch == before);
  RC_ASSERT(result.changed == (result.body != before));
  RC_ASSERT(result.changed == !result.units.none());
  return result;
}

inline Edited apply(const KindUnderTest& kind, const std::string& before, const KindOp& op) {
  const Edited result = edit(before, [&](Edit& into, Edited& edited) {
    edited.code = kind.rules.apply(into, op, edited.reply);
  });
  RC_ASSERT(result.code == Code::ok || !result.changed);
  return result;
}

inline Edited join_edited(const KindUnderTest& kind, const std::string& into,
                          const std::string& from) {
  if (from.empty()) return {into};
  return edit(into, [&](Edit& to, Edited&) { kind.rules.join(to, from); });
}

inline std::string join(const KindUnderTest& kind, const std::string& into,
                        const std::string& from) {
  return join_edited(kind, into, from).body;
}

inline std::string extract(const KindUnderTest& kind, const std::string& body,
                           std::span<const Unit> units) {
  if (body.empty()) return {};
  std::string extracted = kind.rules.extract(body, units);
  RC_ASSERT(kind.rules.sound(extracted));
  return extracted;
}

struct Answered {
  Code code = Code::ok;
  std::string reply{};
  bool operator==(const Answered&) const = default;
};
inline Answered answer(const KindUnderTest& kind, const std::vector<std::string>& bodies,
                       const std::string& question) {
  std::vector<std::string_view> views;
  for (const std::string& body : bodies)
    if (!body.empty()) views.emplace_back(body);
  Answered answered;
  answered.code = kind.rules.answer(views, question, answered.reply);
  return answered;
}

// ---- histories ----

struct Step {
  std::size_t actor = 0;
  std::size_t joined = 0;  // whose copy is joined, if it is another's; else the op is applied
  std::string words{};     // of the op
  unsigned precision = 0;
};

inline constexpr std::size_t kActors = 3;

// The copies after the steps so far.
class History {
 public:
  explicit History(const KindUnderTest& kind) : kind_(kind), snapshots_(1) {}

  // What the step is joined into or applied to.
  [[nodiscard]] const std::string& copy(const Step& step) const { return copies_[step.actor]; }
  [[nodiscard]] KindOp op(const Step& step) const {
    return {step.words, step.precision, ActorId{step.actor + 1}};
  }
  Edited take(const Step& step) {
    const bool joins = step.joined != step.actor;
    Edited edited = joins ? join_edited(kind_, copy(step), copies_[step.joined])
                          : apply(kind_, copy(step), op(step));
    copies_[step.actor] = edited.body;
    snapshots_.push_back(edited.body);
    return edited;
  }
  // The first one is empty.
  [[nodiscard]] const std::vector<std::string>& snapshots() const { return snapshots_; }

 private:
  const KindUnderTest& kind_;
  std::array<std::string, kActors> copies_;
  std::vector<std::string> snapshots_;
};

// Whether all ops of a history have one precision, or each has its own (which happens when a
// namespace is defined anew).
enum class Precisions { equal, any };

inline std::vector<Step> any_steps(const KindUnderTest& kind,
                                   Precisions precisions = Precisions::any) {
  std::vector<Step> steps(*rc::gen::inRange<std::size_t>(kActors, 10));
  unsigned precision = kind.precision();
  for (Step& step : steps) {
    if (precisions == Precisions::any) precision = kind.precision();
    step.actor = *rc::gen::inRange<std::size_t>(0, kActors);
    const bool joins = *rc::gen::inRange(0, 3) == 0;
    step.joined = joins ? *rc::gen::inRange<std::size_t>(0, kActors) : step.actor;
    step.precision = precision;
    step.words = kind.words(precision);
  }
  // In half of the histories, all copies begin with one state. So later they differ by little.
  if (*rc::gen::inRange(0, 2) == 0) {
    for (std::size_t actor = 0; actor < kActors; ++actor) {
      steps[actor].actor = actor;
      steps[actor].joined = 0;
    }
  }
  return steps;
}

inline History any_history(const KindUnderTest& kind, Precisions precisions = Precisions::any) {
  History history(kind);
  for (const Step& step : any_steps(kind, precisions)) history.take(step);
  return history;
}

// The join of some snapshots; may be empty.
inline std::string any_body(const KindUnderTest& kind, const History& history) {
  std::string body;
  const int count = *rc::gen::inRange(1, 4);
  for (int i = 0; i < count; ++i) body = join(kind, body, *rc::gen::elementOf(history.snapshots()));
  return body;
}

// Units that changed last, and some that may not exist.
inline std::vector<Unit> any_units(const Units& noted) {
  std::vector<Unit> units = *rc::gen::container<std::vector<Unit>>(
      rc::gen::oneOf(rc::gen::inRange<Unit>(0, 20), rc::gen::inRange<Unit>(0, 70'000),
                     rc::gen::arbitrary<Unit>()));
  if (!noted.all()) units.insert(units.end(), noted.some().begin(), noted.some().end());
  std::ranges::sort(units);
  units.erase(std::unique(units.begin(), units.end()), units.end());
  return units;
}

// ---- the join ----

inline void join_is_commutative(const KindUnderTest& kind) {
  const History history = any_history(kind);
  const std::string a = any_body(kind, history), b = any_body(kind, history);
  RC_ASSERT(join(kind, a, b) == join(kind, b, a));
}

inline void join_is_associative(const KindUnderTest& kind) {
  const History history = any_history(kind);
  const std::string a = any_body(kind, history), b = any_body(kind, history),
                    c = any_body(kind, history);
  RC_ASSERT(join(kind, join(kind, a, b), c) == join(kind, a, join(kind, b, c)));
}

inline void join_is_idempotent_and_absorbs(const KindUnderTest& kind) {
  const History history = any_history(kind);
  const std::string a = any_body(kind, history), b = any_body(kind, history);
  RC_ASSERT(join(kind, a, a) == a);
  RC_ASSERT(join(kind, join(kind, a, b), b) == join(kind, a, b));
}

inline void an_empty_body_is_neutral(const KindUnderTest& kind) {
  const History history = any_history(kind);
  const std::string a = any_body(kind, history);
  const Edited filled = join_edited(kind, "", a);
  RC_ASSERT(filled.body == a);
  RC_ASSERT(filled.units.all() == !a.empty());
}

inline void copies_that_are_joined_in_any_order_have_the_same_bytes(const KindUnderTest& kind) {
  const History history = any_history(kind);
  std::vector<std::string> bodies = history.snapshots();
  const auto join_all = [&] {
    std::string all;
    for (const std::string& body : bodies) all = join(kind, all, body);
    return all;
  };
  const std::string once = join_all();
  for (std::size_t i = bodies.size(); i > 1; --i)
    std::swap(bodies[i - 1], bodies[*rc::gen::inRange<std::size_t>(0, i)]);
  RC_ASSERT(join_all() == once);
}

inline void every_state_is_sound(const KindUnderTest& kind) {
  const History history = any_history(kind);
  for (const std::string& body : history.snapshots())
    RC_ASSERT(body.empty() || kind.rules.sound(body));
  const std::string joined = any_body(kind, history);
  RC_ASSERT(joined.empty() || kind.rules.sound(joined));
}

// ---- units ----

// The bodies have one precision. Otherwise a unit of one is not a unit of another.
inline void an_extract_does_to_its_units_what_the_whole_body_does(const KindUnderTest& kind) {
  const History history = any_history(kind, Precisions::equal);
  const std::string a = any_body(kind, history), b = any_body(kind, history);
  const std::vector<Unit> units = any_units(join_edited(kind, a, b).units);
  const std::string small = extract(kind, b, units);
  RC_ASSERT(extract(kind, join(kind, a, small), units) == extract(kind, join(kind, a, b), units));
}

inline void an_extract_is_no_more_than_its_body(const KindUnderTest& kind) {
  const History history = any_history(kind);
  const std::string a = any_body(kind, history);
  const std::vector<Unit> units = any_units({});
  const std::string small = extract(kind, a, units);
  RC_ASSERT(join(kind, a, small) == a);
  RC_ASSERT(extract(kind, small, units) == small);
}

inline void a_delta_of_the_noted_units_makes_the_new_state_of_the_old(const KindUnderTest& kind) {
  History history(kind);
  for (const Step& step : any_steps(kind)) {
    const std::string before = history.copy(step);
    const Edited after = history.take(step);
    if (after.units.all() || after.units.none()) continue;
    const std::string delta = extract(kind, after.body, after.units.some());
    RC_ASSERT(join(kind, before, delta) == after.body);
  }
}

// ---- ops ----

inline void apply_moves_up(const KindUnderTest& kind) {
  History history(kind);
  for (const Step& step : any_steps(kind)) {
    const std::string before = history.copy(step);
    const Edited after = history.take(step);
    RC_ASSERT(after.code == Code::ok);
    RC_ASSERT(join(kind, before, after.body) == after.body);
    RC_ASSERT(join(kind, after.body, before) == after.body);
  }
}

// Who has these units of the body after it, has all of the op.
inline void an_op_rests_on_what_it_changed_and_on_what_it_found(const KindUnderTest& kind) {
  const History history = any_history(kind, Precisions::equal);
  const std::string before = any_body(kind, history), words = kind.words(kind.precision());
  if (before.empty()) return;
  const KindOp op{words, 0, ActorId{1}};
  const Edited after = apply(kind, before, op);
  if (after.rests_on.all()) return;
  const auto rests_on = after.rests_on.some();
  RC_ASSERT(!after.units.all() && std::ranges::includes(rests_on, after.units.some()));
  const std::string held = extract(kind, after.body, rests_on);
  // In kinds with shares, the same op again is another op.
  if (kind.rules.share == nullptr) RC_ASSERT(!apply(kind, held, op).changed);
}

inline void the_same_steps_make_the_same_states(const KindUnderTest& kind) {
  const std::vector<Step> steps = any_steps(kind);
  History once(kind), again(kind);
  for (const Step& step : steps) {
    RC_ASSERT(once.take(step).reply == again.take(step).reply);
    RC_ASSERT(once.snapshots().back() == again.snapshots().back());
  }
}

// An edit of bytes elsewhere, and one of a body that the edit has replaced already.
inline void edits_in_place_and_of_an_own_copy_are_equal(const KindUnderTest& kind) {
  History history(kind);
  for (const Step& step : any_steps(kind)) {
    const std::string before = history.copy(step);
    const KindOp op = history.op(step);
    Edit own;
    if (!before.empty()) own.replace(before);
    std::string reply;
    const bool joins = step.joined != step.actor;
    const std::string& other = history.copy({step.joined});
    if (!joins) RC_ASSERT(kind.rules.apply(own, op, reply) == Code::ok);
    if (joins && !other.empty()) kind.rules.join(own, other);
    const Edited in_place = history.take(step);
    RC_ASSERT(own.body() == in_place.body);
    RC_ASSERT(own.units() == in_place.units);
    RC_ASSERT(reply == in_place.reply);
  }
}

// ---- answers ----

inline void answers_do_not_depend_on_the_order(const KindUnderTest& kind) {
  const History history = any_history(kind);
  const std::string a = any_body(kind, history), b = any_body(kind, history),
                    c = any_body(kind, history);
  const std::string question = kind.question();
  const Answered first = answer(kind, {a, b, c}, question);
  RC_ASSERT(first.code == Code::ok);
  RC_ASSERT(answer(kind, {c, a, b}, question) == first);
  RC_ASSERT(answer(kind, {b, a, c}, question) == first);
  RC_ASSERT(answer(kind, {join(kind, a, b), c}, question) ==
            answer(kind, {c, join(kind, b, a)}, question));
}

// Whether a change keeps it up, forgets it or replaces the body. What nobody derived is derived.
inline void what_is_derived_is_that_of_the_body(const KindUnderTest& kind) {
  if (kind.rules.derivation == nullptr) return;
  const auto check = [&](const std::string& body, DerivedPlace place) {
    Answered told;
    told.code = answer_alone(kind.rules, body, place, {}, told.reply);
    RC_ASSERT(told == answer(kind, {body}, {}));
  };
  History history(kind);
  for (const Step& step : any_steps(kind)) {
    std::string body = history.copy(step);
    std::array<char, DerivedPlace::kBytes> beside{};
    const DerivedPlace place(beside.data());
    place.forget();
    if (!body.empty()) check(body, place);
    Edit into(body.data(), body.size());
    into.tell_derived(place);
    std::string reply;
    const std::string& other = history.copy({step.joined});
    if (step.joined == step.actor) {
      RC_ASSERT(kind.rules.apply(into, history.op(step), reply) == Code::ok);
    } else if (!other.empty()) {
      kind.rules.join(into, other);
    }
    const bool replaced = into.replaced().has_value();
    const std::string after = history.take(step).body;
    if (replaced) RC_ASSERT(!place.get());
    if (!after.empty()) check(after, place);
  }
}

// ---- bytes from anywhere ----

// Either refused, or as good as any body.
inline void check_hostile(const KindUnderTest& kind, const std::string& bytes,
                          const std::string& body) {
  if (!kind.rules.sound(bytes)) return;
  RC_ASSERT(!bytes.empty());
  RC_ASSERT(join(kind, "", bytes) == bytes);
  RC_ASSERT(join(kind, bytes, bytes) == bytes);
  const std::string joined = join(kind, body, bytes);
  RC_ASSERT(joined == join(kind, bytes, body));
  RC_ASSERT(kind.rules.sound(joined));
  extract(kind, bytes, std::array<Unit, 3>{0, 1, 70'000});
  static_cast<void>(answer(kind, {bytes, body}, kind.question()));
}

inline std::string any_bytes() {
  return *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
}

inline void any_bytes_are_refused_or_a_body(const KindUnderTest& kind) {
  const History history = any_history(kind);
  const std::string body = any_body(kind, history);
  check_hostile(kind, any_bytes(), body);
  if (!body.empty()) check_hostile(kind, body.substr(0, 1) + any_bytes(), body);
}

// Every one of a small body's. Of a large one's, some that are evenly spread.
inline std::size_t stride_of(std::size_t count) {
  constexpr std::size_t kMost = 400;
  return count / kMost + 1;
}

inline void a_truncated_body_is_refused_or_a_body(const KindUnderTest& kind) {
  const History history = any_history(kind);
  const std::string body = any_body(kind, history), other = any_body(kind, history);
  const std::size_t stride = stride_of(body.size());
  for (std::size_t size = *rc::gen::inRange<std::size_t>(0, stride); size < body.size();
       size += stride)
    check_hostile(kind, body.substr(0, size), other);
}

inline void a_body_with_a_flipped_bit_is_refused_or_a_body(const KindUnderTest& kind) {
  const History history = any_history(kind);
  const std::string body = any_body(kind, history), other = any_body(kind, history);
  const std::size_t stride = stride_of(body.size() * 8);
  for (std::size_t bit = *rc::gen::inRange<std::size_t>(0, stride); bit < body.size() * 8;
       bit += stride) {
    std::string flipped = body;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
    check_hostile(kind, flipped, other);
  }
}

// What is not ok has changed nothing: apply() above checks it.
inline void any_words_are_refused_or_an_op(const KindUnderTest& kind) {
  const History history = any_history(kind);
  const std::string body = any_body(kind, history);
  const auto check = [&](const std::string& words, unsigned precision) {
    const Edited after = apply(kind, body, {words, precision, ActorId{9}});
    RC_ASSERT(after.body.empty() || kind.rules.sound(after.body));
  };
  const unsigned precision = kind.precision();
  check("", precision);
  check(any_bytes(), precision);
  check(any_bytes(), *rc::gen::arbitrary<unsigned>());
  const std::string words = kind.words(precision);
  check(words, *rc::gen::arbitrary<unsigned>());
  check(words.substr(0, *rc::gen::inRange<std::size_t>(0, words.size() + 1)), precision);
  if (words.empty()) return;
  std::string flipped = words;
  char& at = flipped[*rc::gen::inRange<std::size_t>(0, words.size())];
  at = static_cast<char>(at ^ 1 << *rc::gen::inRange(0, 8));
  check(flipped, precision);
}

inline void any_question_is_refused_or_answered(const KindUnderTest& kind) {
  const History history = any_history(kind);
  const std::string a = any_body(kind, history), b = any_body(kind, history);
  const std::string question = any_bytes();
  RC_ASSERT(answer(kind, {a, b}, question) == answer(kind, {b, a}, question));
  RC_ASSERT(answer(kind, {}, kind.question()).code == Code::ok);
}

// ---- the list ----

struct Law {
  const char* name;
  void (*check)(const KindUnderTest& kind);
};
inline std::ostream& operator<<(std::ostream& out, const Law& law) { return out << law.name; }

#define QUIPU_LAW(name) \
  Law { #name, name }
inline constexpr Law kAll[] = {
    QUIPU_LAW(join_is_commutative),
    QUIPU_LAW(join_is_associative),
    QUIPU_LAW(join_is_idempotent_and_absorbs),
    QUIPU_LAW(an_empty_body_is_neutral),
    QUIPU_LAW(copies_that_are_joined_in_any_order_have_the_same_bytes),
    QUIPU_LAW(every_state_is_sound),
    QUIPU_LAW(an_extract_does_to_its_units_what_the_whole_body_does),
    QUIPU_LAW(an_extract_is_no_more_than_its_body),
    QUIPU_LAW(a_delta_of_the_noted_units_makes_the_new_state_of_the_old),
    QUIPU_LAW(apply_moves_up),
    QUIPU_LAW(an_op_rests_on_what_it_changed_and_on_what_it_found),
    QUIPU_LAW(the_same_steps_make_the_same_states),
    QUIPU_LAW(edits_in_place_and_of_an_own_copy_are_equal),
    QUIPU_LAW(answers_do_not_depend_on_the_order),
    QUIPU_LAW(what_is_derived_is_that_of_the_body),
    QUIPU_LAW(any_bytes_are_refused_or_a_body),
    QUIPU_LAW(a_truncated_body_is_refused_or_a_body),
    QUIPU_LAW(a_body_with_a_flipped_bit_is_refused_or_a_body),
    QUIPU_LAW(any_words_are_refused_or_an_op),
    QUIPU_LAW(any_question_is_refused_or_answered),
};
#undef QUIPU_LAW

}  // namespace kind_laws
}  // namespace quipu::test

// One test for each law, such as Kinds/DistinctLaws.holds/join_is_commutative.
#define QUIPU_KIND_LAWS(Name, rules, Ops)                                                        \
  class Name##Laws : public testing::TestWithParam<::quipu::test::kind_laws::Law> {};            \
  TEST_P(Name##Laws, holds) {                                                                    \
    const ::quipu::test::KindUnderTest kind{rules, Ops::precision, Ops::words, Ops::question};   \
    EXPECT_TRUE(rc::check(GetParam().name, [&] { GetParam().check(kind); }));                    \
  }                                                                                              \
  INSTANTIATE_TEST_SUITE_P(Kinds, Name##Laws, testing::ValuesIn(::quipu::test::kind_laws::kAll), \
                           [](const auto& law) { return std::string(law.param.name); })
