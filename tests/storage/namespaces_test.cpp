// Definitions are joined in any order, a key finds its policy, and a definition is on the disk
// once it is sealed.
#include "storage/namespaces.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/storage/executors.h"
#include "tests/storage/lives.h"

namespace quipu {

// Found by rapidcheck when it prints a counterexample.
static void showValue(const Stamp& stamp, std::ostream& out) {
  out << stamp.at << "@" << raw(stamp.node);
}

static void showValue(const NamespaceDefinition& definition, std::ostream& out) {
  out << "{'" << definition.name << "'";
  showValue(definition.changed, out << ", changed ");
  out << " (shards " << definition.policy.shards.value_or(0) << ")";
  showValue(definition.dropped, out << ", dropped ");
  for (const FixedKind& one : definition.fixed)
    showValue(one.since, out << ", " << name_of(one.kind) << +one.precision << " since ");
  out << "}";
}

namespace test {
namespace {

using namespace std::chrono_literals;

using Definition = NamespaceDefinition;

Stamp at(std::uint64_t ms, std::uint64_t node = 1) { return {ms, NodeId{node}}; }

Definition defined(std::string name, Stamp when, NamespacePolicy policy = {}, Stamp dropped = {}) {
  return {.name = std::move(name), .changed = when, .policy = policy, .dropped = dropped};
}

Definition join(Definition a, const Definition& b) {
  merge(a, b);
  return a;
}

// ---- the join ----

// Few times and nodes, so that they collide.
rc::Gen<Stamp> any_stamp() {
  return rc::gen::oneOf(
      rc::gen::just(Stamp{}),
      rc::gen::apply([](std::uint64_t ms, std::uint64_t node) { return at(ms, node); },
                     rc::gen::inRange<std::uint64_t>(1, 6), rc::gen::inRange<std::uint64_t>(1, 3)));
}

template <class Value>
rc::Gen<std::optional<Value>> maybe(rc::Gen<Value> value) {
  return rc::gen::mapcat(rc::gen::inRange(0, 2), [value](int set) {
    if (set == 0) return rc::gen::just(std::optional<Value>());
    return rc::gen::map(value, [](Value one) { return std::optional<Value>(one); });
  });
}

rc::Gen<NamespacePolicy> any_policy() {
  return rc::gen::build<NamespacePolicy>(
      rc::gen::set(&NamespacePolicy::ack,
                   maybe(rc::gen::element(Ack::memory, Ack::disk, Ack::quorum))),
      rc::gen::set(&NamespacePolicy::read,
                   maybe(rc::gen::element(ReadLevel::local, ReadLevel::fresh, ReadLevel::strong))),
      rc::gen::set(&NamespacePolicy::shards, maybe(rc::gen::element<std::uint16_t>(1, 2, 1024))),
      rc::gen::set(&NamespacePolicy::decide, maybe(rc::gen::element(Decide::local, Decide::home))),
      rc::gen::set(&NamespacePolicy::strict, maybe(rc::gen::element(false, true))),
      rc::gen::set(&NamespacePolicy::kind, maybe(rc::gen::element(Kind::sum, Kind::distinct))));
}

rc::Gen<FixedKind> any_fixed() {
  return rc::gen::build<FixedKind>(
      rc::gen::set(&FixedKind::since, any_stamp()),
      rc::gen::set(&FixedKind::kind, rc::gen::element(Kind::sum, Kind::distinct)),
      rc::gen::set(&FixedKind::precision, rc::gen::element<std::uint8_t>(0, 10, 11, 14)));
}

// Ascending, and as many as there may be.
rc::Gen<std::vector<FixedKind>> any_creates() {
  return rc::gen::map(
      rc::gen::container<std::set<FixedKind>>(any_fixed()), [](const std::set<FixedKind>& drawn) {
        const std::size_t extra = drawn.size() - std::min(drawn.size(), kMostFixed);
        return std::vector<FixedKind>(std::next(drawn.begin(), static_cast<std::ptrdiff_t>(extra)),
                                      drawn.end());
      });
}

// Bytes from outside may be anything: a drop that the policy is older than, too.
rc::Gen<Definition> any_definition() {
  return rc::gen::build<Definition>(
      rc::gen::set(&Definition::name, rc::gen::just(std::string("likes"))),
      rc::gen::set(&Definition::changed, any_stamp()),
      rc::gen::set(&Definition::policy, any_policy()),
      rc::gen::set(&Definition::fixed, any_creates()),
      rc::gen::set(&Definition::dropped, any_stamp()));
}

// As a table holds it: what its own drop makes void is left out.
rc::Gen<Definition> any_held() {
  return rc::gen::map(any_definition(), [](const Definition& drawn) {
    return join(Definition{.name = drawn.name}, drawn);
  });
}

RC_GTEST_PROP(Namespaces, join_is_commutative, ()) {
  const Definition a = *any_held(), b = *any_held();
  RC_ASSERT(join(a, b) == join(b, a));
}

RC_GTEST_PROP(Namespaces, join_is_associative, ()) {
  const Definition a = *any_held(), b = *any_held(), c = *any_held();
  RC_ASSERT(join(join(a, b), c) == join(a, join(b, c)));
}

RC_GTEST_PROP(Namespaces, join_is_idempotent_and_absorbs, ()) {
  const Definition a = *any_held(), b = *any_held();
  RC_ASSERT(join(a, a) == a);
  RC_ASSERT(join(join(a, b), b) == join(a, b));
}

RC_GTEST_PROP(Namespaces, join_says_whether_anything_changed, ()) {
  const Definition a = *any_held(), b = *any_definition();
  Definition into = a;
  const bool changed = merge(into, b);
  RC_ASSERT(changed == (into != a));
  RC_ASSERT(!merge(into, b));
}

// Messages come in any order and more than once.
RC_GTEST_PROP(Namespaces, are_the_same_whatever_order_their_versions_come_in, ()) {
  const auto versions = *rc::gen::container<std::vector<Definition>>(any_definition());
  Definition once{.name = "likes"}, again{.name = "likes"};
  for (const Definition& one : versions) merge(once, one);
  for (int round = 0; round < 2; ++round) {
    for (auto one = versions.rbegin(); one != versions.rend(); ++one) merge(again, *one);
  }
  RC_ASSERT(once == again);
}

RC_GTEST_PROP(Namespaces, are_defined_if_the_last_change_is_later_than_the_last_drop, ()) {
  const Definition a = *any_definition(), b = *any_definition();
  const Stamp changed = std::max(a.changed, b.changed), dropped = std::max(a.dropped, b.dropped);
  const Definition both = join(join({.name = a.name}, a), b);
  RC_ASSERT(is_defined(both) == (changed > dropped));
  RC_ASSERT(both.dropped == dropped);
  RC_ASSERT(both.changed == changed);
  if (!is_defined(both)) RC_ASSERT(policy_in_force(both) == NamespacePolicy{});
}

// The latest ones of the creates that no drop voids.
RC_GTEST_PROP(Namespaces, have_the_kind_of_their_least_create, ()) {
  const auto versions = *rc::gen::container<std::vector<Definition>>(any_definition());
  Definition all{.name = "likes"};
  std::set<FixedKind> creates;
  for (const Definition& one : versions) {
    merge(all, one);
    creates.insert(one.fixed.begin(), one.fixed.end());
  }
  std::erase_if(creates, [&](const FixedKind& one) { return one.since <= all.dropped; });
  while (creates.size() > kMostFixed) creates.erase(creates.begin());
  if (all.changed <= all.dropped) {
    RC_ASSERT(fixed_kind(all) == std::nullopt);
  } else if (!creates.empty()) {
    RC_ASSERT(fixed_kind(all) == *creates.begin());
  } else if (all.policy.kind) {
    RC_ASSERT(fixed_kind(all)->kind == *all.policy.kind);
    RC_ASSERT(fixed_kind(all)->since == all.changed);
  } else {
    RC_ASSERT(fixed_kind(all) == std::nullopt);
  }
}

Definition created(std::string name, Stamp when, Kind kind, std::uint8_t precision = 0) {
  return {.name = std::move(name),
          .changed = when,
          .policy = {.kind = kind},
          .fixed = {{when, kind, precision}}};
}

TEST(Namespaces, keep_the_kind_that_was_fixed_first_and_the_policy_that_was_set_last) {
  const Definition first = created("likes", at(1, 2), Kind::distinct, 11);
  Definition second = created("likes", at(2, 1), Kind::sum);
  second.policy.ack = Ack::quorum;
  for (const Definition& held : {join(first, second), join(second, first)}) {
    EXPECT_EQ(fixed_kind(held), (FixedKind{at(1, 2), Kind::distinct, 11}));
    EXPECT_EQ(held.policy.ack, Ack::quorum);
  }
}

TEST(Namespaces, have_the_kind_of_the_lesser_node_if_the_time_is_the_same) {
  const Definition one = created("likes", at(1, 1), Kind::distinct);
  const Definition other = created("likes", at(1, 2), Kind::sum);
  EXPECT_EQ(fixed_kind(join(one, other))->kind, Kind::distinct);
  EXPECT_EQ(fixed_kind(join(other, one))->kind, Kind::distinct);
}

// The drop voids the first create and not the second, in whatever order they are heard of.
TEST(Namespaces, have_the_kind_of_the_next_create_if_a_drop_voids_the_first_one_alone) {
  const Definition first = created("likes", at(1), Kind::sum);
  const Definition next = created("likes", at(3), Kind::distinct, 12);
  const Definition dropped{.name = "likes", .dropped = at(2)};
  for (const Definition& held : {join(join(first, next), dropped), join(join(next, dropped), first),
                                 join(join(first, dropped), next)})
    EXPECT_EQ(fixed_kind(held), (FixedKind{at(3), Kind::distinct, 12}));
}

TEST(Namespaces, have_no_kind_after_a_drop) {
  const Definition before = created("likes", at(1), Kind::distinct, 11);
  const Definition dropped = join(before, {.name = "likes", .dropped = at(2)});
  EXPECT_EQ(fixed_kind(dropped), std::nullopt);
  EXPECT_TRUE(dropped.fixed.empty());
  const Definition again = join(dropped, defined("likes", at(3)));
  EXPECT_EQ(fixed_kind(again), std::nullopt) << "it may be created without one";
  EXPECT_EQ(join(again, before), again);
}

TEST(Namespaces, take_the_policy_that_was_set_last) {
  const Definition first = defined("likes", at(1, 2), {.shards = 2});
  const Definition second = defined("likes", at(2, 1), {.shards = 4});
  for (const Definition& held : {join(first, second), join(second, first)}) {
    EXPECT_EQ(held.policy.shards, 4);
    EXPECT_EQ(held.changed, at(2, 1));
  }
}

TEST(Namespaces, take_the_policy_of_the_greater_node_if_the_time_is_the_same) {
  const Definition one = defined("likes", at(1, 1), {.shards = 2});
  const Definition other = defined("likes", at(1, 2), {.shards = 4});
  EXPECT_EQ(join(one, other).policy.shards, 4);
  EXPECT_EQ(join(other, one).policy.shards, 4);
}

TEST(Namespaces, are_not_defined_after_a_drop_and_are_again_after_a_new_definition) {
  const Definition before = defined("likes", at(1), {.shards = 2});
  const Definition dropped = join(before, {.name = "likes", .dropped = at(2)});
  EXPECT_FALSE(is_defined(dropped));
  EXPECT_EQ(policy_in_force(dropped), NamespacePolicy{});
  EXPECT_FALSE(is_defined(join(dropped, before))) << "a late copy does not revive it";
  const Definition again = join(dropped, defined("likes", at(3), {.shards = 8}, at(2)));
  EXPECT_TRUE(is_defined(again));
  EXPECT_EQ(again.policy.shards, 8);
  EXPECT_EQ(join(again, before), again);
}

TEST(Namespaces, are_not_defined_if_the_drop_has_the_stamp_of_the_policy) {
  const Definition held = join(defined("likes", at(2)), {.name = "likes", .dropped = at(2)});
  EXPECT_FALSE(is_defined(held));
}

// Whether its node had heard of the drop does not matter.
TEST(Namespaces, are_defined_by_a_change_that_is_later_than_a_drop) {
  const Definition dropped{.name = "likes", .dropped = at(2)};
  const Definition set = defined("likes", at(3), {.shards = 4});
  for (const Definition& held : {join(dropped, set), join(set, dropped)}) {
    EXPECT_TRUE(is_defined(held));
    EXPECT_EQ(held.policy.shards, 4);
    EXPECT_EQ(held.dropped, at(2));
  }
}

// ---- policies ----

TEST(NamespaceTable, gives_a_key_the_policy_of_its_namespace_or_of_the_default_one) {
  NamespaceTable table;
  EXPECT_EQ(table.policy_of("likes:1"), NamespacePolicy{});
  table.merge({.name = "", .changed = at(1), .policy = {.shards = 2}});
  table.merge(defined("likes", at(1), {.shards = 4}));
  table.merge(defined("plain", at(1)));
  EXPECT_EQ(table.policy_of("likes:1").shards, 4);
  EXPECT_EQ(table.policy_of("likes").shards, 2) << "a key without ':'";
  EXPECT_EQ(table.policy_of("other:1").shards, 2);
  EXPECT_EQ(table.policy_of("plain:1").shards, std::nullopt) << "it has a policy of its own";
  table.merge({.name = "likes", .dropped = at(2)});
  EXPECT_EQ(table.policy_of("likes:1").shards, 2);
}

TEST(NamespaceTable, forbids_undefined_namespaces_if_the_default_one_is_strict) {
  NamespaceTable table;
  table.merge(defined("likes", at(1)));
  EXPECT_FALSE(table.forbids("other:1"));
  table.merge({.name = "", .changed = at(1), .policy = {.strict = true}});
  EXPECT_TRUE(table.forbids("other:1"));
  EXPECT_FALSE(table.forbids("likes:1"));
  EXPECT_FALSE(table.forbids("other")) << "a key without ':' is in the default namespace";
  EXPECT_FALSE(table.forbids(":1"));
  table.merge({.name = "likes", .dropped = at(2)});
  EXPECT_TRUE(table.forbids("likes:1"));
  table.merge({.name = "", .changed = at(2), .policy = {.strict = false}});
  EXPECT_FALSE(table.forbids("likes:1"));
}

TEST(NamespaceTable, decides_about_a_key_where_its_namespace_or_the_default_one_says) {
  NamespaceTable table;
  EXPECT_FALSE(table.decides_at_home("otp:1"));
  table.merge(defined("otp", at(1), {.decide = Decide::home}));
  EXPECT_TRUE(table.decides_at_home("otp:1"));
  EXPECT_FALSE(table.decides_at_home("otp")) << "a key without ':'";
  EXPECT_FALSE(table.decides_at_home("other:1"));
  table.merge({.name = "", .changed = at(1), .policy = {.decide = Decide::home}});
  EXPECT_TRUE(table.decides_at_home("otp"));
  EXPECT_TRUE(table.decides_at_home("other:1"));
  table.merge(defined("otp", at(2)));
  EXPECT_FALSE(table.decides_at_home("otp:1")) << "it is not taken from the default namespace";
  table.merge(defined("otp", at(3), {.decide = Decide::local}));
  EXPECT_FALSE(table.decides_at_home("otp:1"));
  table.merge({.name = "otp", .dropped = at(4)});
  EXPECT_TRUE(table.decides_at_home("otp:1"));
}

TEST(NamespaceTable, knows_whether_any_policy_matters_to_an_operation_or_a_creation) {
  const struct {
    const char* name;
    NamespacePolicy policy;
    bool by_operation, by_creation;
  } cases[] = {
      {"", {}, false, false},
      {"a", {}, false, false},
      {"a", {.ack = Ack::disk}, true, false},
      {"a", {.read = ReadLevel::local}, true, false},
      {"", {.strict = true}, true, false},
      {"", {.strict = false}, false, false},
      {"a", {.shards = 1}, false, false},
      {"a", {.shards = 2}, false, true},
      {"a", {.decide = Decide::local}, false, false},
      {"a", {.decide = Decide::home}, true, false},
      {"", {.decide = Decide::home}, true, false},
  };
  for (const auto& row : cases) {
    NamespaceTable table;
    table.merge(defined("another", at(1)));
    table.merge(defined(row.name, at(1), row.policy));
    EXPECT_EQ(table.by_operation(), row.by_operation) << row.name;
    EXPECT_EQ(table.by_creation(), row.by_creation) << row.name;
    table.merge({.name = row.name, .dropped = at(2)});
    EXPECT_FALSE(table.by_operation()) << "nothing is left of its policy";
    EXPECT_FALSE(table.by_creation());
  }
}

TEST(NamespaceTable, knows_the_kind_of_a_keys_new_counters) {
  NamespaceTable table;
  EXPECT_EQ(table.fixed_kind("visitors:1"), std::nullopt);
  table.merge(created("visitors", at(1), Kind::distinct, 11));
  EXPECT_EQ(table.fixed_kind("visitors:1"), (FixedKind{at(1), Kind::distinct, 11}));
  EXPECT_EQ(table.fixed_kind("visitors"), std::nullopt) << "a key without ':'";
  EXPECT_EQ(table.fixed_kind("likes:1"), std::nullopt);
  EXPECT_FALSE(table.matter()) << "only an executor that creates a counter looks for it";
  table.merge({.name = "visitors", .dropped = at(2)});
  EXPECT_EQ(table.fixed_kind("visitors:1"), std::nullopt);
  NamespaceTable loaded;
  loaded.load(created("visitors", at(1), Kind::sum));
  EXPECT_EQ(loaded.fixed_kind("visitors:1")->kind, Kind::sum);
}

// ---- the sum ----

TEST(NamespaceTable, has_a_sum_of_its_definitions_in_whatever_order_they_came) {
  std::vector<Definition> versions{
      defined("", at(1), {.strict = true}),   defined("likes", at(1)),
      defined("likes", at(2), {.shards = 2}), {.name = "likes", .dropped = at(3)},
      defined("likes", at(4), {}, at(3)),     defined("views", at(1, 2)),
  };
  NamespaceTable first;
  EXPECT_EQ(first.sum(), Hash128{});
  for (const Definition& one : versions) first.merge(one);
  Hash128 of_all;
  for (const auto& [name, definition] : first.all()) of_all += hash_of(definition);
  EXPECT_EQ(first.sum(), of_all);
  std::sort(versions.begin(), versions.end(),
            [](const Definition& a, const Definition& b) { return hash_of(a) < hash_of(b); });
  do {
    NamespaceTable other;
    for (const Definition& one : versions) other.merge(one);
    ASSERT_EQ(other.sum(), first.sum());
    ASSERT_EQ(other.all(), first.all());
  } while (std::next_permutation(
      versions.begin(), versions.end(),
      [](const Definition& a, const Definition& b) { return hash_of(a) < hash_of(b); }));
}

// ---- windows ----

Wall over(const NamespaceTable& table, std::string_view key, std::chrono::seconds tier) {
  return table.forgettable_from(window_of(window_at({key, 0}, tier, Wall{1'000'000s})));
}

TEST(NamespaceTable, says_from_when_on_a_window_may_be_forgotten) {
  const Wall end = Wall{1'000'020s};  // of the minute
  NamespaceTable table;
  EXPECT_EQ(over(table, "likes:1", 60s), Wall::max());
  table.merge(defined("", at(1), {.tiers = {{60s, 60s}}}));
  EXPECT_EQ(over(table, "likes:1", 60s), end + 60s + kLifeGrace) << "the default namespace";
  EXPECT_EQ(over(table, "likes:1", 30s), Wall::max()) << "a tier that nobody knows";
  table.merge(defined("likes", at(1), {.tiers = {{60s, 3600s}, {3600s, {}}}}));
  EXPECT_EQ(over(table, "likes:1", 60s), end + 3600s + kLifeGrace);
  EXPECT_EQ(over(table, "likes:1", 3600s), Wall::max()) << "for ever";
  table.merge({.name = "likes", .dropped = at(2)});
  EXPECT_EQ(over(table, "likes:1", 60s), end + 3600s + kLifeGrace)
      << "the longer time: both may have made it";
  EXPECT_FALSE(table.policy_of("likes:1").tiers.empty()) << "new ones are the default's";
}

TEST(NamespaceTable, has_another_sum_for_each_content) {
  const Definition one = defined("likes", at(2), {.shards = 2});
  std::vector<Definition> others(7, one);
  others[0].name = "like";
  others[1].changed = at(3);
  others[2].changed = at(2, 2);
  others[3].policy.shards.reset();
  others[4].policy.ack = Ack::memory;
  others[5].policy.read = ReadLevel::local;
  others[6].dropped = at(1);
  for (std::size_t i = 0; i < others.size(); ++i) EXPECT_NE(hash_of(others[i]), hash_of(one)) << i;
  Definition relaxed = one, unset = one;
  relaxed.policy.strict = false;
  EXPECT_NE(hash_of(relaxed), hash_of(unset)) << "false is set, and nothing is not";
  Definition local = one, home = one;
  local.policy.decide = Decide::local;
  home.policy.decide = Decide::home;
  EXPECT_NE(hash_of(local), hash_of(unset)) << "local is set, and nothing is not";
  EXPECT_NE(hash_of(home), hash_of(unset));
  EXPECT_NE(hash_of(home), hash_of(local));
  std::vector<Definition> timed(4, one);
  timed[0].policy.tiers = {{60s, {}}};
  timed[1].policy.tiers = {{60s, 3600s}};
  timed[2].policy.tiers = {{60s, {}}, {3600s, {}}};
  timed[3].policy.tiers = {{60s, {}}};
  timed[3].policy.late = 1s;
  std::set<Hash128> hashes{hash_of(one)};
  for (const Definition& other : timed) EXPECT_TRUE(hashes.insert(hash_of(other)).second);
  std::vector<Definition> kinds(6, one);
  kinds[0].policy.kind = Kind::sum;
  kinds[1].policy.kind = Kind::distinct;
  kinds[2].policy.precision = 11;
  kinds[3].fixed = {{at(2), Kind::distinct, 0}};
  kinds[4].fixed = {{at(2), Kind::distinct, 11}};
  kinds[5].fixed = {{at(2), Kind::sum, 0}, {at(2), Kind::distinct, 11}};
  for (const Definition& other : kinds) EXPECT_TRUE(hashes.insert(hash_of(other)).second);
}

// A name may contain the byte that ends a field. Here, the name takes the place of a field more.
TEST(NamespaceTable, has_another_sum_for_a_longer_name_than_for_a_setting_more) {
  const std::string longer("likes\0002", 7);
  const Definition set =
      defined("likes", at(2, 3), {.ack = Ack::disk, .decide = Decide::home}, at(1));
  const Definition unset = defined(longer, at(3, 1), {.ttl = 1ms}, at(1));
  EXPECT_NE(hash_of(set), hash_of(unset));
}

// So that members of different versions agree about what both know.
TEST(NamespaceTable, has_the_sum_of_earlier_versions_where_nothing_newer_is_set) {
  std::string form = "likes|2|1|2||4||1000|0|0|";
  std::ranges::replace(form, '|', '\0');
  EXPECT_EQ(hash_of(defined("likes", at(2), {.ack = Ack::quorum, .shards = 4, .ttl = 1s})),
            hash128(HashKey{}, form));
}

TEST(NamespaceTable, holds_dropped_definitions_in_its_sum) {
  NamespaceTable table;
  table.merge(defined("likes", at(1)));
  table.merge({.name = "likes", .dropped = at(2)});
  EXPECT_EQ(table.sum(), hash_of(defined("likes", at(1), {}, at(2))));
  ASSERT_NE(table.find("likes"), nullptr);
  EXPECT_EQ(table.find("other"), nullptr);
}

// Bytes of a peer may define any number.
TEST(NamespaceTable, holds_a_bounded_number_of_names_and_still_the_default_one) {
  NamespaceTable table;
  for (std::size_t i = 0; i < NamespaceTable::kMostHeld; ++i)
    ASSERT_TRUE(table.merge(defined("n" + std::to_string(i), at(1))));
  const Hash128 sum = table.sum();
  EXPECT_FALSE(table.merge(defined("one more", at(1))));
  EXPECT_EQ(table.find("one more"), nullptr);
  EXPECT_EQ(table.sum(), sum);
  EXPECT_TRUE(table.merge(defined("n7", at(2), {.shards = 2}))) << "a name that is known";
  EXPECT_TRUE(table.merge({.name = "", .changed = at(1), .policy = {.strict = true}}));
  EXPECT_EQ(table.named(), NamespaceTable::kMostHeld);
}

TEST(NamespaceTable, is_open_only_after_a_change) {
  NamespaceTable table;
  EXPECT_FALSE(table.has_open());
  EXPECT_TRUE(table.merge(defined("likes", at(2))));
  EXPECT_TRUE(table.has_open());
  Batch batch;
  table.put_open(batch);
  EXPECT_EQ(batch.puts.size(), 1U);
  EXPECT_FALSE(table.has_open());
  EXPECT_FALSE(table.merge(defined("likes", at(2))));
  EXPECT_FALSE(table.has_open());
}

// ---- at rest ----

std::map<std::string, NamespaceDefinition, std::less<>> held(const MemoryDisk& disk) {
  MemoryDisk copy = disk;
  return (*start(copy))->namespaces().all();
}

TEST(StoredNamespaces, survive_a_restart_once_they_are_sealed) {
  MemoryDisk disk = new_disk();
  auto executor = std::move(*start(disk));
  Definition likes = defined("likes", at(1), {.ack = Ack::quorum, .shards = 4});
  const Definition everything = defined("", at(1), {.decide = Decide::home, .strict = true});
  EXPECT_TRUE(executor->merge_namespace(likes));
  EXPECT_TRUE(executor->merge_namespace(everything));
  EXPECT_TRUE(executor->has_open());
  EXPECT_TRUE(held(disk).empty()) << "not before they are sealed";
  test::write(disk, seal(*executor));
  EXPECT_EQ(held(disk), executor->namespaces().all());

  executor = std::move(*start(disk, {}, /*seed=*/8));
  EXPECT_FALSE(executor->namespaces().has_open()) << "it is in the store already";
  EXPECT_EQ(*executor->namespaces().find("likes"), likes);
  EXPECT_TRUE(executor->namespaces().forbids("other:1"));
  EXPECT_TRUE(executor->namespaces().decides_at_home("other"));
  EXPECT_TRUE(executor->namespaces().by_operation());
  EXPECT_TRUE(executor->namespaces().by_creation());
  Hash128 sum = hash_of(likes);
  sum += hash_of(everything);
  EXPECT_EQ(executor->namespaces().sum(), sum);

  EXPECT_FALSE(executor->merge_namespace(likes));
  EXPECT_TRUE(executor->merge_namespace({.name = "likes", .dropped = at(2)}));
  test::write(disk, seal(*executor));
  EXPECT_EQ(held(disk).at("likes").dropped, at(2));
  EXPECT_EQ(held(disk).at("likes").policy, likes.policy) << "its tiers still matter";
}

TEST(StoredNamespaces, have_their_kind_after_a_restart) {
  MemoryDisk disk = new_disk();
  const auto executor = std::move(*start(disk));
  executor->merge_namespace(created("visitors", at(1), Kind::distinct, 11));
  test::write(disk, seal(*executor));
  const auto again = std::move(*start(disk, {}, /*seed=*/8));
  EXPECT_EQ(again->namespaces().fixed_kind("visitors:1"), (FixedKind{at(1), Kind::distinct, 11}));
  EXPECT_EQ(again->namespaces().sum(), executor->namespaces().sum());
}

TEST(StoredNamespaces, outlive_checkpoints_that_cut_the_journal) {
  MemoryDisk disk = new_disk();
  auto executor = std::move(*start(disk, kTiny));
  executor->merge_namespace(defined("likes", at(1)));
  for (int i = 0; i < 50; ++i) {
    add(*executor, {"k" + std::to_string(i % 4), 0}, 1);
    test::write(disk, seal(*executor));
  }
  ASSERT_GT(executor->meta().journal_first, Commit{10});
  EXPECT_EQ(held(disk).at("likes"), defined("likes", at(1)));
}

// A disk with two definitions at rest.
MemoryDisk two_namespaces() {
  MemoryDisk disk = new_disk();
  const auto executor = std::move(*start(disk));
  executor->merge_namespace(defined("likes", at(1), {.ack = Ack::quorum}));
  executor->merge_namespace(defined("views", at(1), {.shards = 4}));
  test::write(disk, seal(*executor));
  return disk;
}

Code started(MemoryDisk disk) { return start(disk).status().code(); }

const std::string kLikesKey = stored::namespace_definition("likes");
const std::string kViewsKey = stored::namespace_definition("views");

TEST(StoredNamespaces, with_a_flipped_byte_are_corrupt) {
  const MemoryDisk disk = two_namespaces();
  ASSERT_EQ(started(disk), Code::ok);
  for (const std::string& key : {kLikesKey, kViewsKey}) {
    for (std::size_t i = 0; i < disk.durable.at(key).size(); ++i) {
      MemoryDisk damaged = disk;
      damaged.durable[key][i] ^= 0x10;
      ASSERT_EQ(started(damaged), Code::corrupt) << key << ", byte " << i;
    }
  }
}

TEST(StoredNamespaces, under_another_key_are_corrupt) {
  MemoryDisk swapped = two_namespaces();
  std::swap(swapped.durable[kLikesKey], swapped.durable[kViewsKey]);
  EXPECT_EQ(started(swapped), Code::corrupt);
  MemoryDisk moved = two_namespaces();
  moved.durable["nother"] = moved.durable[kLikesKey];
  EXPECT_EQ(started(moved), Code::corrupt);
}

// Its checksum is right, so a bug wrote it.
TEST(StoredNamespaces, that_name_another_namespace_than_their_key_are_corrupt) {
  MemoryDisk disk = two_namespaces();
  disk.durable[kLikesKey] = encode_namespace(kLikesKey, defined("liked", at(1)));
  EXPECT_EQ(started(disk), Code::corrupt);
  disk.durable[kLikesKey] = encode_namespace(kLikesKey, defined("likes", at(1)));
  EXPECT_EQ(started(disk), Code::ok);
}

}  // namespace
}  // namespace test
}  // namespace quipu
