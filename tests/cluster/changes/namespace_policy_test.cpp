// What a namespace says holds for the counters that have its prefix, and for no others.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "protocol/shard_number.h"
#include "storage/kinds/distinct.h"
#include "tests/cluster/hand_driven.h"

namespace quipu::test {
namespace {

using Action = NamespaceAction;
using Request = NamespaceRequest;

constexpr Ask kByDefault{.ack = Ack::by_default};

// Carries it out everywhere.
void change(HandDriven& nodes, const Request& request) {
  const std::uint64_t id = nodes.namespaces(0, request);
  nodes.pass(1s);
  ASSERT_TRUE(nodes.namespaces_reply(id));
  ASSERT_EQ(nodes.namespaces_reply(id)->code, Code::ok) << nodes.namespaces_reply(id)->detail;
}

void create(HandDriven& nodes, std::string_view name, NamespacePolicy policy = {}) {
  change(nodes, {.action = Action::create, .name = name, .policy = policy});
}

void make_strict(HandDriven& nodes, bool strict = true) {
  change(nodes, {.action = Action::set, .policy = {.strict = strict}, .fields = Request::kStrict});
}

ShardIndex usable(const HandDriven& nodes, MemberIndex node, std::string_view key) {
  return nodes.state(node, key).usable_shards;
}

// ---- levels of adds ----

TEST(NamespacePolicy, of_quorum_holds_for_adds_that_name_no_level) {
  HandDriven nodes;
  create(nodes, "likes", {.ack = Ack::quorum});
  nodes.stall(1), nodes.stall(2);
  const std::uint64_t there = nodes.add(0, "likes:1", 1, kByDefault);
  EXPECT_FALSE(nodes.done(there));
  for (const char* elsewhere : {"views:1", "likes", "like:1", ":likes:1"})
    EXPECT_EQ(nodes.code(nodes.add(0, elsewhere, 1, kByDefault)), Code::ok) << elsewhere;
  EXPECT_EQ(nodes.code(nodes.add(0, "likes:1", 1, {.ack = Ack::disk})), Code::ok)
      << "one that names its level has that";
  nodes.resume(1);
  EXPECT_EQ(nodes.code(there), Code::ok);
}

TEST(NamespacePolicy, of_quorum_holds_for_resets_that_name_no_level) {
  HandDriven nodes;
  create(nodes, "likes", {.ack = Ack::quorum});
  ASSERT_EQ(nodes.code(nodes.add(0, "likes:1", 1)), Code::ok);
  nodes.cut_off(0);
  const std::uint64_t reset = nodes.reset(0, "likes:1", {.ack = Ack::by_default, .shard = 0});
  nodes.pass(6s);
  EXPECT_EQ(nodes.code(reset), Code::no_quorum);
  EXPECT_EQ(nodes.code(nodes.reset(0, "views:1", {.ack = Ack::by_default, .shard = 0})), Code::ok);
}

TEST(NamespacePolicy, of_memory_needs_no_disk) {
  HandDriven nodes;
  create(nodes, "likes", {.ack = Ack::memory});
  nodes.stall(0);
  EXPECT_EQ(nodes.code(nodes.add(0, "likes:1", 1, kByDefault)), Code::ok);
  EXPECT_FALSE(nodes.done(nodes.add(0, "views:1", 1, kByDefault))) << "it waits for the disk";
}

TEST(NamespacePolicy, that_is_not_defined_is_disk_and_local) {
  HandDriven nodes;
  nodes.stall(0);
  const std::uint64_t add = nodes.add(0, "likes:1", 1, kByDefault);
  EXPECT_FALSE(nodes.done(add));
  nodes.resume(0);
  EXPECT_EQ(nodes.code(add), Code::ok);
  nodes.cut_off(0);
  EXPECT_EQ(nodes.value(nodes.read(0, "likes:1", ReadLevel::by_default))->code, Code::ok);
}

TEST(NamespacePolicy, of_the_default_namespace_holds_for_undefined_ones_only) {
  HandDriven nodes;
  change(nodes, {.action = Action::set, .policy = {.ack = Ack::quorum}, .fields = Request::kAck});
  create(nodes, "likes");
  nodes.cut_off(0);
  EXPECT_EQ(nodes.code(nodes.add(0, "views:1", 1, kByDefault)), Code::no_quorum);
  EXPECT_EQ(nodes.code(nodes.add(0, "views", 1, kByDefault)), Code::no_quorum);
  EXPECT_EQ(nodes.code(nodes.add(0, "likes:1", 1, kByDefault)), Code::ok);
}

// The node that the client asked has decided the level.
TEST(NamespacePolicy, goes_with_an_add_that_is_forwarded) {
  HandDriven nodes(five());
  create(nodes, "likes", {.ack = Ack::quorum});
  const std::string key = nodes.key_not_of(0);
  const auto owners = nodes.owners(key);
  for (const MemberIndex owner : owners) nodes.stall(owner);
  const std::uint64_t add = nodes.add(0, key, 1, kByDefault);
  nodes.resume(owners[0]);
  nodes.run();
  EXPECT_FALSE(nodes.done(add));
  nodes.resume(owners[1]);
  EXPECT_EQ(nodes.code(add), Code::ok);
}

TEST(NamespacePolicy, ends_with_the_namespace) {
  HandDriven nodes;
  create(nodes, "likes", {.ack = Ack::quorum});
  change(nodes, {.action = Action::drop, .name = "likes"});
  nodes.cut_off(0);
  EXPECT_EQ(nodes.code(nodes.add(0, "likes:1", 1, kByDefault)), Code::ok);
}

// ---- levels of reads ----

TEST(NamespacePolicy, of_strong_holds_for_reads_that_name_no_level) {
  HandDriven nodes;
  create(nodes, "likes", {.read = ReadLevel::strong});
  (void)nodes.add(0, "likes:1", 1), (void)nodes.add(0, "views:1", 1);
  nodes.pass(1s);
  const auto asks_others = [&](std::string_view key, ReadLevel level) {
    (void)nodes.take_traffic();
    const auto value = nodes.value(nodes.read(0, key, level));
    EXPECT_EQ(value->value, 1) << key;
    return nodes.take_traffic()[FrameType::collect] > 0;
  };
  EXPECT_TRUE(asks_others("likes:1", ReadLevel::by_default));
  EXPECT_FALSE(asks_others("views:1", ReadLevel::by_default));
  EXPECT_FALSE(asks_others("likes:1", ReadLevel::local)) << "one that names its level has that";
}

TEST(NamespacePolicy, of_strong_refuses_reads_without_a_quorum) {
  HandDriven nodes;
  create(nodes, "likes", {.read = ReadLevel::strong});
  nodes.cut_off(0);
  const std::uint64_t strong = nodes.read(0, "likes:1", ReadLevel::by_default, 500);
  nodes.pass(1s);
  EXPECT_EQ(nodes.value(strong)->code, Code::no_quorum);
  EXPECT_EQ(nodes.value(nodes.read(0, "views:1", ReadLevel::by_default))->code, Code::ok);
}

// ---- kinds ----

// PFADD with one element.
std::uint64_t add_element(HandDriven& nodes, MemberIndex node, std::string_view key) {
  const std::uint64_t hash = 42;
  const std::string words = distinct::words_of({&hash, 1});
  return nodes.op(
      node, {.key = key, .words = words, .shard = shard_of(Kind::distinct), .kind = OpKind::apply});
}

TEST(NamespaceKind, creates_no_counter_of_another_kind_and_names_its_own) {
  HandDriven nodes;
  create(nodes, "visitors", {.kind = Kind::distinct, .precision = 11});
  create(nodes, "likes", {.kind = Kind::sum});
  for (const MemberIndex node : nodes.all()) {
    const auto refused = nodes.done(nodes.add(node, "visitors:1", 1));
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->code, Code::wrong_type);
    EXPECT_EQ(refused->detail,
              "the namespace 'visitors' has counters of the kind distinct: its kind was fixed when "
              "it was created");
    EXPECT_EQ(nodes.code(add_element(nodes, node, "visitors:1")), Code::ok);
    const auto of_sums = nodes.done(add_element(nodes, node, "likes:1"));
    EXPECT_EQ(of_sums->code, Code::wrong_type);
    EXPECT_NE(of_sums->detail.find("of the kind sum"), std::string::npos) << of_sums->detail;
    EXPECT_EQ(nodes.code(nodes.add(node, "likes:1", 1)), Code::ok);
    EXPECT_EQ(nodes.code(nodes.add(node, "visitors", 1)), Code::ok) << "a key without ':'";
  }
  EXPECT_EQ(nodes.done(nodes.add(0, "visitors:1", 1))->detail,
            "the key has a counter of another kind, distinct");
}

TEST(NamespaceKind, holds_for_adds_that_are_forwarded_and_for_those_with_tokens) {
  HandDriven nodes(five());
  create(nodes, "visitors", {.kind = Kind::distinct});
  std::string key = "visitors:1";
  for (int i = 2; std::ranges::count(nodes.owners(key), MemberIndex{0}) > 0; ++i)
    key = "visitors:" + std::to_string(i);
  const std::uint64_t forwarded = nodes.add(0, key, 1);
  nodes.pass(100ms);
  EXPECT_EQ(nodes.code(forwarded), Code::wrong_type);
  EXPECT_NE(nodes.done(forwarded)->detail.find("of the kind distinct"), std::string::npos);
  const Token token = nodes.session(0, 0);
  const std::uint64_t tokened = nodes.add(0, key, 1, {.shard = 0, .token = token});
  nodes.pass(100ms);
  EXPECT_EQ(nodes.code(tokened), Code::wrong_type);
}

TEST(NamespaceKind, leaves_counters_alone_that_existed_before) {
  HandDriven nodes;
  ASSERT_EQ(nodes.code(nodes.add(0, "visitors:1", 3)), Code::ok);
  create(nodes, "visitors", {.kind = Kind::distinct});
  EXPECT_EQ(nodes.code(nodes.add(0, "visitors:1", 1)), Code::ok);
  EXPECT_EQ(nodes.total(0, "visitors:1", ReadLevel::local), 4);
  EXPECT_EQ(nodes.code(add_element(nodes, 0, "visitors:1")), Code::wrong_type);
  EXPECT_EQ(nodes.code(nodes.reset(0, "visitors:1")), Code::ok);
  EXPECT_EQ(nodes.code(nodes.add(0, "visitors:1", 1)), Code::wrong_type);
  EXPECT_EQ(nodes.code(add_element(nodes, 0, "visitors:1")), Code::ok);
}

// Else an add to one of its shards would not see that the counter is new.
TEST(NamespaceKind, lets_no_counter_be_spread_unless_it_is_the_sum) {
  HandDriven nodes;
  create(nodes, "visitors", {.kind = Kind::distinct});
  create(nodes, "likes", {.kind = Kind::sum});
  const auto raise = [&](std::string_view key) {
    const std::uint64_t id = nodes.op(0, {.key = key, .amount = 4, .kind = OpKind::raise});
    nodes.pass(1s);
    return nodes.code(id);
  };
  EXPECT_EQ(raise("visitors:1"), Code::wrong_type);
  EXPECT_EQ(raise("likes:1"), Code::ok);
}

// ---- strict ----

TEST(StrictNamespaces, refuse_adds_to_undefined_ones_and_say_what_to_do) {
  HandDriven nodes;
  create(nodes, "likes");
  make_strict(nodes);
  const auto refused = nodes.done(nodes.add(1, "views:1", 1));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code, Code::undefined_namespace);
  EXPECT_NE(refused->detail.find("quipu namespace create 'views'"), std::string::npos)
      << refused->detail;
  EXPECT_EQ(nodes.held(1, "views:1"), 0);
  for (const char* allowed : {"likes:1", "views", ":1"})
    EXPECT_EQ(nodes.code(nodes.add(1, allowed, 1)), Code::ok) << allowed;
  create(nodes, "views");
  EXPECT_EQ(nodes.code(nodes.add(1, "views:1", 1)), Code::ok);
}

TEST(StrictNamespaces, let_counters_be_read_and_reset_that_existed_before) {
  HandDriven nodes;
  ASSERT_EQ(nodes.code(nodes.add(0, "views:1", 3)), Code::ok);
  make_strict(nodes);
  EXPECT_EQ(nodes.code(nodes.add(0, "views:1", 1)), Code::undefined_namespace);
  EXPECT_EQ(nodes.total(0, "views:1", ReadLevel::local), 3);
  EXPECT_EQ(nodes.code(nodes.reset(0, "views:1")), Code::ok);
  EXPECT_EQ(nodes.total(0, "views:1", ReadLevel::local), 0);
  make_strict(nodes, false);
  EXPECT_EQ(nodes.code(nodes.add(0, "views:1", 1)), Code::ok);
}

TEST(StrictNamespaces, are_no_reason_where_the_key_is_invalid_or_can_have_no_namespace) {
  HandDriven nodes;
  make_strict(nodes);
  const auto long_key = nodes.done(nodes.add(0, "views:" + std::string(kMaxKey, 'k'), 1));
  EXPECT_EQ(long_key->code, Code::invalid_argument);
  EXPECT_EQ(long_key->detail, "a key has 1 to 512 bytes");
  const auto long_name = nodes.done(nodes.add(0, std::string(65, 'n') + ":1", 1));
  EXPECT_EQ(long_name->code, Code::undefined_namespace);
  EXPECT_NE(long_name->detail.find("cannot be defined"), std::string::npos) << long_name->detail;
  const auto quoted = nodes.done(nodes.add(0, "it's:1", 1));
  EXPECT_NE(quoted->detail.find(R"(quipu namespace create 'it'"'"'s')"), std::string::npos)
      << quoted->detail;
}

// The refusal would say that it was not applied.
TEST(StrictNamespaces, answer_the_retry_of_an_add_that_was_applied_before) {
  HandDriven nodes;
  const Token token = nodes.session(0, 0);
  const Ask first{.shard = 0, .token = token};
  ASSERT_EQ(nodes.code(nodes.add(0, "views:1", 3, first)), Code::ok);
  make_strict(nodes);
  EXPECT_EQ(nodes.code(nodes.add(0, "views:1", 3, first)), Code::ok);
  EXPECT_EQ(nodes.code(nodes.add(1, "views:1", 3, first)), Code::ok) << "through another node";
  EXPECT_EQ(nodes.held(0, "views:1"), 3);
  Ask next = first;
  next.token.number = 2;
  const auto refused = nodes.done(nodes.add(0, "views:1", 3, next));
  EXPECT_EQ(refused->code, Code::undefined_namespace);
  EXPECT_NE(refused->detail.find("quipu namespace create 'views'"), std::string::npos)
      << refused->detail;
  EXPECT_EQ(nodes.held(0, "views:1"), 3);
}

// ---- shards of new counters ----

TEST(SpreadNamespaces, spread_a_counter_soon_after_it_was_created) {
  HandDriven nodes;
  ASSERT_EQ(nodes.code(nodes.add(0, "likes:old", 1)), Code::ok);
  create(nodes, "likes", {.shards = 4});
  ASSERT_EQ(nodes.code(nodes.add(0, "likes:new", 1)), Code::ok);
  ASSERT_EQ(nodes.code(nodes.add(0, "likes:old", 1)), Code::ok);
  ASSERT_EQ(nodes.code(nodes.add(0, "views:new", 1)), Code::ok);
  nodes.pass(1s);
  for (const MemberIndex node : nodes.all()) {
    EXPECT_EQ(usable(nodes, node, "likes:new"), 4) << node;
    EXPECT_EQ(usable(nodes, node, "likes:old"), 1) << "it existed before";
    EXPECT_EQ(usable(nodes, node, "views:new"), 1) << "another namespace";
  }
  const auto added = nodes.done(nodes.add(1, "likes:new", 1, {.ack = Ack::quorum}));
  ASSERT_TRUE(added);
  EXPECT_EQ(added->code, Code::ok) << added->detail;
  EXPECT_EQ(nodes.total(2, "likes:new", ReadLevel::strong), 2);
}

TEST(SpreadNamespaces, spread_counters_that_another_node_was_asked_to_create) {
  HandDriven nodes(five());
  create(nodes, "likes", {.shards = 4});
  const std::string key = nodes.key_not_of(0);
  ASSERT_EQ(nodes.code(nodes.add(0, key, 1)), Code::ok);
  nodes.pass(1s);
  for (const MemberIndex owner : nodes.owners(key)) EXPECT_EQ(usable(nodes, owner, key), 4);
}

TEST(SpreadNamespaces, spread_a_counter_once_a_majority_is_back) {
  HandDriven nodes;
  create(nodes, "likes", {.shards = 4});
  nodes.cut_off(0);
  ASSERT_EQ(nodes.code(nodes.add(0, "likes:new", 1)), Code::ok);
  nodes.pass(20s);
  EXPECT_EQ(usable(nodes, 0, "likes:new"), 1);
  nodes.connect(0);
  nodes.pass(1s);
  for (const MemberIndex node : nodes.all()) EXPECT_EQ(usable(nodes, node, "likes:new"), 4) << node;
}

TEST(SpreadNamespaces, spread_counters_of_the_default_namespace_too) {
  HandDriven nodes;
  change(nodes, {.action = Action::set, .policy = {.shards = 2}, .fields = Request::kShards});
  create(nodes, "plain");
  ASSERT_EQ(nodes.code(nodes.add(0, "views:1", 1)), Code::ok);
  ASSERT_EQ(nodes.code(nodes.add(0, "plain:1", 1)), Code::ok);
  nodes.pass(1s);
  EXPECT_EQ(usable(nodes, 0, "views:1"), 2);
  EXPECT_EQ(usable(nodes, 0, "plain:1"), 1);
}

TEST(SpreadNamespaces, spread_all_of_many_new_counters) {
  HandDriven nodes;
  create(nodes, "likes", {.shards = 2});
  std::vector<std::string> keys;
  for (int i = 0; i < 200; ++i) keys.push_back("likes:" + std::to_string(i));
  nodes.add_all(0, keys);
  nodes.pass(2s);
  for (const std::string& key : keys) EXPECT_EQ(usable(nodes, 1, key), 2) << key;
}

TEST(SpreadNamespaces, do_not_wait_for_counters_whose_owners_have_no_majority) {
  HandDriven nodes(five());
  create(nodes, "likes", {.shards = 2});
  nodes.cut_off(3), nodes.cut_off(4);
  std::vector<std::string> stuck, healthy;
  for (int i = 0; stuck.size() < 500 || healthy.size() < 20; ++i) {
    const std::string key = "likes:" + std::to_string(i);
    const std::vector<MemberIndex> owners = nodes.owners(key);
    const auto lost = std::ranges::count_if(owners, [](MemberIndex owner) { return owner > 2; });
    if (lost == 2 && stuck.size() < 500) stuck.push_back(key);
    if (lost == 0 && owners[0] == 0 && healthy.size() < 20) healthy.push_back(key);
  }
  nodes.add_all(0, stuck);
  nodes.pass(200ms);
  nodes.add_all(0, healthy);
  nodes.pass(2s);
  for (const std::string& key : healthy) EXPECT_EQ(usable(nodes, 0, key), 2) << key;
}

// Without a majority, the raises of new counters neither fill the node nor count as refused.
TEST(SpreadNamespaces, leave_room_for_what_clients_ask) {
  HandDriven::Options options;
  options.settings.pending_operations = 150;  // a raise takes two: itself, and its round
  HandDriven nodes(options);
  create(nodes, "likes", {.shards = 2});
  nodes.cut_off(0);
  std::vector<std::string> keys;
  for (int i = 0; i < 140; ++i) keys.push_back("likes:" + std::to_string(i));
  nodes.add_all(0, keys);
  nodes.pass(20s);
  const auto stats = nodes.core(0).status(nodes.now(), 1).stats;
  for (const auto& [name, value] : stats) {
    if (name == "ops_refused") {
      EXPECT_EQ(value, 0U);
    }
  }
  const std::uint64_t raise =
      nodes.op(0, {.key = "views", .amount = 2, .timeout_ms = 500, .kind = OpKind::raise});
  nodes.pass(1s);
  EXPECT_EQ(nodes.code(raise), Code::in_doubt) << "it was not refused for want of room";
  nodes.connect(0);
  nodes.pass(3s);
  for (const std::string& key : keys) EXPECT_EQ(usable(nodes, 1, key), 2) << key;
}

TEST(SpreadNamespaces, do_not_spread_a_counter_that_is_only_in_the_store) {
  HandDriven::Options options;
  options.settings.memory_limit = 1000;
  options.settings.checkpoint = {.journal_bytes = 1000, .slice_states = 10, .cut_records = 10};
  HandDriven nodes(options);
  ASSERT_EQ(nodes.code(nodes.add(0, "likes:old", 1)), Code::ok);
  for (int i = 0; i < 100; ++i) {
    (void)nodes.add(0, "views:" + std::to_string(i), 1);
    nodes.pass(50ms);
  }
  const ShardMap& map = nodes.core(0).executor().map();
  ASSERT_FALSE(map.resident(map.place({"likes:old", 0}), {"likes:old", 0}));
  create(nodes, "likes", {.shards = 4});
  nodes.cut_off(0);
  const Ask refused{.ack = Ack::quorum, .shard = 0, .token = nodes.session(0, 0)};
  EXPECT_EQ(nodes.code(nodes.add(0, "likes:old", 1, refused)), Code::no_quorum)
      << "a refusal needs nothing of the store";
  nodes.connect(0);
  ASSERT_FALSE(map.resident(map.place({"likes:old", 0}), {"likes:old", 0}));
  ASSERT_EQ(nodes.code(nodes.add(0, "likes:old", 1)), Code::ok);
  nodes.pass(1s);
  EXPECT_EQ(nodes.done(nodes.add(0, "likes:old", 1))->usable, 1);
}

}  // namespace
}  // namespace quipu::test
