// Whichever node changes a definition, all members come to hold it, and the answer says who does
// not yet.
#include "cluster/replication/namespace_sync.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/cluster/hand_driven.h"

namespace quipu::test {
namespace {

using Action = NamespaceAction;
using Request = NamespaceRequest;
using MemberNames = std::vector<std::string>;

Request create(std::string_view name, NamespacePolicy policy = {}) {
  return {.action = Action::create, .name = name, .policy = policy};
}

Request set_shards(std::string_view name, std::uint16_t shards) {
  return {.action = Action::set,
          .name = name,
          .policy = {.shards = shards},
          .fields = Request::kShards};
}

Request drop(std::string_view name) { return {.action = Action::drop, .name = name}; }

std::string name_of(const HandDriven& nodes, MemberIndex node) {
  return nodes.config().members[node].name;
}

// Carries it out everywhere.
void change(HandDriven& nodes, MemberIndex node, const Request& request) {
  const std::uint64_t id = nodes.namespaces(node, request);
  nodes.pass(2s);
  const auto reply = nodes.namespaces_reply(id);
  ASSERT_TRUE(reply);
  ASSERT_EQ(reply->code, Code::ok) << reply->detail;
  ASSERT_EQ(reply->absent, MemberNames{});
}

const NamespaceDefinition* held(const HandDriven& nodes, MemberIndex node, std::string_view name) {
  return nodes.core(node).executor().namespaces().find(name);
}

bool defines(const HandDriven& nodes, MemberIndex node, std::string_view name) {
  const NamespaceDefinition* const definition = held(nodes, node, name);
  return definition != nullptr && is_defined(*definition);
}

// What a node with this disk starts with.
bool is_at_rest(HandDriven& nodes, MemberIndex node, std::string_view name) {
  return nodes.disk(node).durable.contains("n" + std::string(name));
}

std::vector<Namespace> list(HandDriven& nodes, MemberIndex node) {
  const auto reply = nodes.namespaces_reply(nodes.namespaces(node, {.action = Action::list}));
  return reply ? reply->namespaces : std::vector<Namespace>{};
}

HandDriven::Options alone() {
  HandDriven::Options options;
  options.nodes = options.replication = 1;
  return options;
}

// ---- when a change is answered ----

TEST(NamespaceChanges, are_answered_once_every_member_holds_them_durably) {
  HandDriven nodes;
  nodes.stall(1);
  const std::uint64_t id = nodes.namespaces(0, create("likes", {.shards = 4}));
  nodes.pass(2s);
  EXPECT_TRUE(is_at_rest(nodes, 0, "likes"));
  EXPECT_TRUE(is_at_rest(nodes, 2, "likes"));
  EXPECT_FALSE(is_at_rest(nodes, 1, "likes"));
  EXPECT_FALSE(nodes.namespaces_reply(id)) << "one that is up does not hold it durably";
  EXPECT_FALSE(nodes.core(0).quiet());
  nodes.resume(1);
  nodes.pass(300ms);
  ASSERT_TRUE(nodes.namespaces_reply(id));
  EXPECT_EQ(nodes.namespaces_reply(id)->code, Code::ok);
  EXPECT_EQ(nodes.namespaces_reply(id)->absent, MemberNames{});
  for (const MemberIndex node : nodes.all()) {
    EXPECT_TRUE(is_at_rest(nodes, node, "likes"));
    EXPECT_EQ(held(nodes, node, "likes")->policy.shards, 4);
    nodes.restart(node);
    EXPECT_EQ(held(nodes, node, "likes")->policy.shards, 4) << "after a restart";
  }
  nodes.pass(1s);
  EXPECT_TRUE(nodes.core(0).quiet());
}

TEST(NamespaceChanges, are_known_to_no_other_member_before_they_are_durable) {
  HandDriven nodes;
  nodes.stall(0);
  const std::uint64_t id = nodes.namespaces(0, create("likes"));
  nodes.pass(2s);
  EXPECT_FALSE(nodes.namespaces_reply(id));
  EXPECT_EQ(held(nodes, 1, "likes"), nullptr);
  nodes.resume(0);
  nodes.pass(500ms);
  EXPECT_TRUE(nodes.namespaces_reply(id));
  EXPECT_TRUE(defines(nodes, 1, "likes"));
}

TEST(NamespaceChanges, take_half_a_second_at_most_if_nothing_fails) {
  HandDriven nodes(five());
  const std::uint64_t id = nodes.namespaces(3, create("likes"));
  nodes.pass(5 * nodes.settings(0).gossip_interval);
  EXPECT_TRUE(nodes.namespaces_reply(id));
}

TEST(NamespaceChanges, name_the_members_that_are_down_which_get_them_when_they_are_back) {
  HandDriven nodes;
  nodes.crash(2);
  const std::uint64_t id = nodes.namespaces(0, create("likes"));
  nodes.pass(1s);
  ASSERT_TRUE(nodes.namespaces_reply(id));
  EXPECT_EQ(nodes.namespaces_reply(id)->code, Code::ok);
  EXPECT_EQ(nodes.namespaces_reply(id)->absent, MemberNames{name_of(nodes, 2)});
  nodes.start(2);
  EXPECT_FALSE(defines(nodes, 2, "likes"));
  nodes.connect(1, 2);  // from a node that the change was not made at
  nodes.pass(1s);
  EXPECT_TRUE(defines(nodes, 2, "likes"));
  EXPECT_TRUE(is_at_rest(nodes, 2, "likes"));
}

TEST(NamespaceChanges, are_answered_when_the_last_member_that_they_wait_for_goes_down) {
  HandDriven nodes;
  nodes.stall(1);
  const std::uint64_t id = nodes.namespaces(0, create("likes"));
  nodes.pass(1s);
  ASSERT_FALSE(nodes.namespaces_reply(id));
  nodes.crash(1);
  ASSERT_TRUE(nodes.namespaces_reply(id));
  EXPECT_EQ(nodes.namespaces_reply(id)->absent, MemberNames{name_of(nodes, 1)});
}

TEST(NamespaceChanges, name_the_members_that_do_not_hold_them_at_the_deadline) {
  HandDriven nodes;
  nodes.stall(1), nodes.stall(2);
  Request request = create("likes");
  request.timeout_ms = 700;
  const std::uint64_t id = nodes.namespaces(0, request);
  nodes.pass(600ms);
  EXPECT_FALSE(nodes.namespaces_reply(id));
  nodes.pass(200ms);
  ASSERT_TRUE(nodes.namespaces_reply(id));
  EXPECT_EQ(nodes.namespaces_reply(id)->code, Code::ok) << "it is durable here, and spreads";
  MemberNames others{name_of(nodes, 1), name_of(nodes, 2)};
  std::sort(others.begin(), others.end());
  EXPECT_EQ(nodes.namespaces_reply(id)->absent, others);
}

TEST(NamespaceChanges, are_in_doubt_if_they_are_not_durable_at_the_deadline) {
  HandDriven nodes;
  nodes.stall(0);
  Request request = create("likes");
  request.timeout_ms = 500;
  const std::uint64_t id = nodes.namespaces(0, request);
  nodes.pass(700ms);
  ASSERT_TRUE(nodes.namespaces_reply(id));
  EXPECT_EQ(nodes.namespaces_reply(id)->code, Code::in_doubt);
  nodes.resume(0);
  nodes.pass(1s);
  EXPECT_TRUE(defines(nodes, 1, "likes")) << "then they are made after all";
}

// The link was lost, so what the member said over it may be of another disk.
TEST(NamespaceChanges, count_no_member_that_has_not_said_so_since_its_link_is_up) {
  HandDriven nodes;
  nodes.hold(1, 0);
  nodes.cut(0, 1);
  nodes.connect(0, 1);  // the greetings are held, too
  const std::uint64_t id = nodes.namespaces(0, create("likes"));
  nodes.pass(1s);
  ASSERT_TRUE(nodes.namespaces_reply(id));
  EXPECT_EQ(nodes.namespaces_reply(id)->absent, MemberNames{name_of(nodes, 1)});
}

// ---- which change wins ----

TEST(NamespaceChanges, made_later_win_whichever_way_the_messages_come) {
  for (const bool later_first : {false, true}) {
    HandDriven nodes;
    change(nodes, 0, create("likes"));
    for (const MemberIndex node : nodes.all()) nodes.cut_off(node);
    const std::uint64_t now = 1'800'000'000'000;
    (void)nodes.namespaces(0, set_shards("likes", 2), now);
    (void)nodes.namespaces(1, set_shards("likes", 4), now + 1);
    nodes.pass(200ms);
    nodes.connect(later_first ? 1 : 0, 2);
    nodes.pass(500ms);
    EXPECT_EQ(held(nodes, 2, "likes")->policy.shards, later_first ? 4 : 2);
    nodes.connect_all();
    nodes.pass(1s);
    for (const MemberIndex node : nodes.all())
      EXPECT_EQ(held(nodes, node, "likes")->policy.shards, 4) << node << ", " << later_first;
  }
}

// It knows of the earlier one, so its stamp is later though its clock is behind.
TEST(NamespaceChanges, win_over_those_that_their_node_knew_whatever_its_clock_says) {
  HandDriven nodes;
  const std::uint64_t future = 4'000'000'000'000;
  (void)nodes.namespaces(0, create("likes", {.shards = 2}), future);
  nodes.pass(1s);
  (void)nodes.namespaces(1, set_shards("likes", 4), 1);
  nodes.pass(1s);
  for (const MemberIndex node : nodes.all())
    EXPECT_EQ(held(nodes, node, "likes")->policy.shards, 4) << node;
  (void)nodes.namespaces(2, drop("likes"), 1);
  nodes.pass(1s);
  for (const MemberIndex node : nodes.all()) EXPECT_FALSE(defines(nodes, node, "likes")) << node;
  (void)nodes.namespaces(0, create("likes", {.shards = 8}), 1);
  nodes.pass(1s);
  for (const MemberIndex node : nodes.all()) {
    EXPECT_TRUE(defines(nodes, node, "likes")) << node;
    EXPECT_EQ(held(nodes, node, "likes")->policy.shards, 8) << node;
  }
}

TEST(NamespaceChanges, of_different_namespaces_do_not_disturb_each_other) {
  HandDriven nodes;
  nodes.cut_off(0);
  (void)nodes.namespaces(0, create("likes"));
  (void)nodes.namespaces(1, create("views"));
  nodes.connect(0);
  nodes.pass(1s);
  for (const MemberIndex node : nodes.all()) {
    EXPECT_TRUE(defines(nodes, node, "likes")) << node;
    EXPECT_TRUE(defines(nodes, node, "views")) << node;
  }
}

TEST(NamespaceChanges, by_set_leave_alone_what_they_do_not_name) {
  HandDriven nodes;
  change(nodes, 0, create("likes", {.ack = Ack::quorum, .shards = 2}));
  change(nodes, 1, set_shards("likes", 4));
  EXPECT_EQ(held(nodes, 2, "likes")->policy, (NamespacePolicy{.ack = Ack::quorum, .shards = 4}));
  change(nodes, 2, {.action = Action::set, .name = "likes", .fields = Request::kAck});
  EXPECT_EQ(held(nodes, 0, "likes")->policy, (NamespacePolicy{.shards = 4})) << "unset";
  change(nodes, 0,
         {.action = Action::set,
          .name = "likes",
          .policy = {.ack = Ack::disk, .decide = Decide::home},
          .fields = Request::kDecide});
  EXPECT_EQ(held(nodes, 1, "likes")->policy,
            (NamespacePolicy{.shards = 4, .decide = Decide::home}));
  change(nodes, 1, {.action = Action::set, .name = "likes", .fields = Request::kDecide});
  EXPECT_EQ(held(nodes, 2, "likes")->policy, (NamespacePolicy{.shards = 4}));
}

TEST(DroppedNamespaces, stay_dropped_though_a_member_that_was_away_still_has_them) {
  HandDriven nodes;
  change(nodes, 0, create("likes", {.shards = 2}));
  nodes.crash(2);
  const std::uint64_t id = nodes.namespaces(0, drop("likes"));
  nodes.pass(1s);
  EXPECT_EQ(nodes.namespaces_reply(id)->absent, MemberNames{name_of(nodes, 2)});
  nodes.start(2);
  EXPECT_TRUE(defines(nodes, 2, "likes"));
  nodes.connect(2);
  nodes.pass(1s);
  for (const MemberIndex node : nodes.all()) EXPECT_FALSE(defines(nodes, node, "likes")) << node;
}

// A node that is cut off creates a namespace. It has not heard of the drop, which is older.
TEST(DroppedNamespaces, are_defined_by_a_later_create_whose_node_had_not_heard_of_the_drop) {
  HandDriven nodes;
  nodes.cut_off(0);
  const std::uint64_t created = nodes.namespaces(0, create("likes", {.shards = 8}), 20);
  (void)nodes.namespaces(1, create("likes", {.shards = 2}), 5);
  (void)nodes.namespaces(1, drop("likes"), 10);
  nodes.pass(1s);
  ASSERT_TRUE(nodes.namespaces_reply(created));
  EXPECT_EQ(nodes.namespaces_reply(created)->code, Code::ok);
  EXPECT_FALSE(defines(nodes, 2, "likes"));
  nodes.connect(0);
  nodes.pass(1s);
  for (const MemberIndex node : nodes.all()) {
    ASSERT_TRUE(defines(nodes, node, "likes")) << node;
    EXPECT_EQ(held(nodes, node, "likes")->policy.shards, 8) << node;
  }
}

// Node 1 does the first, and ten seconds later node 0, which has not heard of that, the second.
// For node 0 it changes nothing.
void change_apart(HandDriven& nodes, const Request& first, const Request& second) {
  nodes.cut_off(0);
  const std::uint64_t now = 1'800'000'000'000;
  (void)nodes.namespaces(1, first, now);
  nodes.pass(1s);
  const std::uint64_t later = nodes.namespaces(0, second, now + 10'000);
  nodes.pass(1s);
  ASSERT_TRUE(nodes.namespaces_reply(later));
  EXPECT_EQ(nodes.namespaces_reply(later)->code, Code::ok);
  nodes.connect(0);
  nodes.pass(1s);
}

TEST(DroppedNamespaces, are_defined_by_a_later_create_that_changes_nothing_where_it_is_made) {
  HandDriven nodes;
  const Request likes = create("likes", {.shards = 8});
  change(nodes, 0, likes);
  change_apart(nodes, drop("likes"), likes);
  for (const MemberIndex node : nodes.all()) EXPECT_TRUE(defines(nodes, node, "likes")) << node;
}

TEST(DroppedNamespaces, are_dropped_by_a_node_that_has_not_heard_that_they_were_created_again) {
  HandDriven nodes;
  change(nodes, 0, create("likes"));
  change(nodes, 0, drop("likes"));
  change_apart(nodes, create("likes"), drop("likes"));
  for (const MemberIndex node : nodes.all()) EXPECT_FALSE(defines(nodes, node, "likes")) << node;
}

TEST(DroppedNamespaces, can_be_created_again) {
  HandDriven nodes;
  change(nodes, 0, create("likes", {.shards = 2}));
  change(nodes, 1, drop("likes"));
  EXPECT_EQ(list(nodes, 2), std::vector<Namespace>{{}});
  change(nodes, 2, create("likes", {.ack = Ack::quorum}));
  const std::vector<Namespace> expected{{}, {"likes", {.ack = Ack::quorum}}};
  for (const MemberIndex node : nodes.all()) EXPECT_EQ(list(nodes, node), expected) << node;
}

// ---- kinds ----

constexpr NamespacePolicy kDistinctOf11{.kind = Kind::distinct, .precision = 11};

Request set_kind(std::string_view name, std::optional<Kind> kind) {
  return {.action = Action::set, .name = name, .policy = {.kind = kind}, .fields = Request::kKind};
}

std::optional<Kind> kind_at(const HandDriven& nodes, MemberIndex node, std::string_view name) {
  const std::optional<FixedKind> fixed = fixed_kind(*held(nodes, node, name));
  return fixed ? std::optional(fixed->kind) : std::nullopt;
}

TEST(NamespaceKinds, are_known_to_all_members_and_shown_by_each) {
  HandDriven nodes;
  change(nodes, 0, create("visitors", kDistinctOf11));
  for (const MemberIndex node : nodes.all()) {
    EXPECT_EQ(list(nodes, node).at(1), (Namespace{"visitors", kDistinctOf11})) << node;
    nodes.restart(node);
    EXPECT_EQ(shown_policy(*held(nodes, node, "visitors")), kDistinctOf11) << "after a restart";
  }
}

TEST(NamespaceKinds, are_changed_by_no_set_and_by_no_other_create) {
  HandDriven nodes;
  change(nodes, 0, create("visitors", kDistinctOf11));
  change(nodes, 0, create("likes"));
  Request precision = set_kind("visitors", Kind::distinct);
  precision.policy.precision = 12;
  precision.fields = Request::kPrecision;
  const struct {
    const char* story;
    Request request;
  } cases[] = {
      {"another kind", set_kind("visitors", Kind::sum)},
      {"unset", set_kind("visitors", std::nullopt)},
      {"another precision", precision},
      {"no precision", {.action = Action::set, .name = "visitors", .fields = Request::kPrecision}},
      {"a kind for a namespace that has none", set_kind("likes", Kind::sum)},
      {"a kind for the default namespace", set_kind("", Kind::sum)},
      {"created with another kind", create("visitors", {.kind = Kind::sum})},
      {"created without a kind", create("visitors")},
      {"created without a precision", create("visitors", {.kind = Kind::distinct})},
      {"created again with a kind", create("likes", {.kind = Kind::distinct})},
  };
  for (const auto& row : cases) {
    const auto reply = nodes.namespaces_reply(nodes.namespaces(1, row.request));
    ASSERT_TRUE(reply) << row.story;
    EXPECT_EQ(reply->code, Code::invalid_argument) << row.story;
    EXPECT_NE(reply->detail.find("are fixed when it is created"), std::string::npos)
        << row.story << ": " << reply->detail;
  }
  change(nodes, 1, create("visitors", kDistinctOf11));
  change(nodes, 2, set_kind("visitors", Kind::distinct));
  EXPECT_EQ(shown_policy(*held(nodes, 0, "visitors")), kDistinctOf11) << "it is the same one";
}

TEST(NamespaceKinds, stay_when_other_settings_change) {
  HandDriven nodes;
  change(nodes, 0, create("visitors", kDistinctOf11));
  change(nodes, 1,
         {.action = Action::set,
          .name = "visitors",
          .policy = {.ack = Ack::quorum},
          .fields = Request::kAck});
  NamespacePolicy expected = kDistinctOf11;
  expected.ack = Ack::quorum;
  for (const MemberIndex node : nodes.all())
    EXPECT_EQ(shown_policy(*held(nodes, node, "visitors")), expected) << node;
}

TEST(NamespaceKinds, are_those_of_the_first_of_two_creates_that_had_not_heard_of_each_other) {
  for (const bool first_at_0 : {false, true}) {
    HandDriven nodes;
    nodes.cut_off(0);
    const Request distinct = create("visitors", {.ack = Ack::quorum, .kind = Kind::distinct});
    const Request sums = create("visitors", {.kind = Kind::sum});
    (void)nodes.namespaces(first_at_0 ? 0 : 1, distinct, 1'800'000'000'000);
    (void)nodes.namespaces(first_at_0 ? 1 : 0, sums, 1'800'000'000'001);
    nodes.pass(1s);
    nodes.connect(0);
    nodes.pass(1s);
    for (const MemberIndex node : nodes.all()) {
      EXPECT_EQ(kind_at(nodes, node, "visitors"), Kind::distinct) << node;
      EXPECT_EQ(shown_policy(*held(nodes, node, "visitors")).ack, std::nullopt)
          << "the rest is of the last change";
    }
  }
}

TEST(NamespaceKinds, end_with_a_drop) {
  HandDriven nodes;
  change(nodes, 0, create("visitors", {.kind = Kind::distinct}));
  change(nodes, 1, drop("visitors"));
  for (const MemberIndex node : nodes.all())
    EXPECT_EQ(kind_at(nodes, node, "visitors"), std::nullopt);
  change(nodes, 2, create("visitors", {.kind = Kind::sum}));
  for (const MemberIndex node : nodes.all())
    EXPECT_EQ(kind_at(nodes, node, "visitors"), Kind::sum) << node;
}

TEST(NamespaceKinds, stay_where_a_later_change_had_not_heard_of_a_drop) {
  HandDriven nodes;
  change(nodes, 0, create("visitors", kDistinctOf11));
  change_apart(nodes, drop("visitors"), set_shards("visitors", 1));
  NamespacePolicy expected = kDistinctOf11;
  expected.shards = 1;
  for (const MemberIndex node : nodes.all())
    EXPECT_EQ(shown_policy(*held(nodes, node, "visitors")), expected) << node;
}

// ---- lists ----

TEST(NamespaceList, has_the_default_one_and_all_others_by_name) {
  HandDriven nodes;
  EXPECT_EQ(list(nodes, 0), std::vector<Namespace>{{}});
  change(nodes, 0, create("views"));
  change(nodes, 1, create("likes", {.read = ReadLevel::strong}));
  change(nodes, 2, set_shards("", 2));
  const std::vector<Namespace> expected{
      {"", {.shards = 2}}, {"likes", {.read = ReadLevel::strong}}, {"views", {}}};
  for (const MemberIndex node : nodes.all()) EXPECT_EQ(list(nodes, node), expected) << node;
}

// ---- refusals ----

TEST(NamespaceChanges, that_are_wrong_are_refused_and_change_nothing) {
  HandDriven nodes;
  change(nodes, 0, create("likes", {.shards = 2}));
  const std::string long_name(65, 'n');
  const auto policy = [](NamespacePolicy set) { return set; };
  const struct {
    const char* story;
    Request request;
    const char* detail;
  } cases[] = {
      {"exists", create("likes"), "exists"},
      {"the default one exists", create(""), "exists"},
      {"set of none", set_shards("other", 2), "there is no namespace 'other'"},
      {"drop of none", drop("other"), "there is no namespace 'other'"},
      {"drop of the default one", drop(""), "cannot be dropped"},
      {"a colon", create("a:b"), "no ':'"},
      {"65 bytes", create(long_name), "at most 64 bytes"},
      {"no shards", create("other", policy({.shards = 0})), "1 to 1024 shards"},
      {"too many shards", create("other", policy({.shards = 1025})), "1 to 1024 shards"},
      {"set to no shards", set_shards("likes", 0), "1 to 1024 shards"},
      {"no time to live", create("other", policy({.ttl = 0ms})), "lives for 1 ms to"},
      {"an end beside shards",
       {.action = Action::set, .name = "likes", .policy = {.ttl = 1s}, .fields = Request::kTtl},
       "set ttl or shards, not both"},
      {"shards of another kind than sums",
       create("other", policy({.shards = 2, .kind = Kind::distinct})),
       "set shards or another kind"},
      {"a precision of sums", create("other", policy({.kind = Kind::sum, .precision = 11})),
       "only counters of the kind distinct"},
      {"no such precision", create("other", policy({.kind = Kind::distinct, .precision = 17})),
       "10 to 16"},
      {"strict elsewhere", create("other", policy({.strict = true})), "only the default"},
  };
  const Hash128 before = nodes.core(0).executor().namespaces().sum();
  for (const auto& row : cases) {
    const auto reply = nodes.namespaces_reply(nodes.namespaces(0, row.request));
    ASSERT_TRUE(reply) << row.story;
    EXPECT_EQ(reply->code, Code::invalid_argument) << row.story;
    EXPECT_NE(reply->detail.find(row.detail), std::string::npos) << row.story << reply->detail;
  }
  EXPECT_EQ(nodes.core(0).executor().namespaces().sum(), before);
  EXPECT_TRUE(nodes.core(0).quiet());
}

TEST(NamespaceChanges, take_the_longest_name_and_the_most_shards) {
  HandDriven nodes;
  const std::string longest(kMaxNamespaceName, 'n');
  change(nodes, 0, create(longest, {.shards = kMaxShards}));
  EXPECT_EQ(held(nodes, 2, longest)->policy.shards, kMaxShards);
}

TEST(NamespaceChanges, define_no_more_than_a_cluster_may_have) {
  HandDriven nodes(alone());
  const auto code = [&](const Request& request) {
    const std::uint64_t id = nodes.namespaces(0, request);
    if (!nodes.namespaces_reply(id)) nodes.pass(200ms);
    return nodes.namespaces_reply(id)->code;
  };
  std::vector<std::uint64_t> ids;
  for (std::size_t i = 0; i < kMaxNamespaces; ++i)
    ids.push_back(nodes.namespaces(0, create("n" + std::to_string(i))));
  nodes.pass(500ms);
  for (const std::uint64_t id : ids) ASSERT_EQ(nodes.namespaces_reply(id)->code, Code::ok);
  EXPECT_EQ(code(create("one more")), Code::invalid_argument);
  EXPECT_EQ(code(set_shards("", 2)), Code::ok) << "the default one exists";
  EXPECT_EQ(code(set_shards("n7", 2)), Code::ok);
  EXPECT_EQ(code(drop("n7")), Code::ok);
  EXPECT_EQ(code(create("one more")), Code::invalid_argument) << "dropped ones are remembered";
  EXPECT_EQ(code(create("n7")), Code::ok);
  EXPECT_EQ(list(nodes, 0).size(), kMaxNamespaces + 1) << "and the default one";
}

TEST(NamespaceChanges, are_refused_while_the_disk_is_full) {
  HandDriven nodes;
  nodes.fill(0);
  const auto reply = nodes.namespaces_reply(nodes.namespaces(0, create("likes")));
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->code, Code::storage_full);
  EXPECT_EQ(held(nodes, 0, "likes"), nullptr);
  EXPECT_EQ(list(nodes, 0).size(), 1U) << "a list needs no room";
  nodes.make_room(0);
  change(nodes, 0, create("likes"));
}

TEST(NamespaceChanges, are_refused_by_a_node_that_does_not_serve_yet) {
  HandDriven nodes(HandDriven::Options{.nodes = 3, .start = false});
  nodes.start_all();
  for (const Action action : {Action::list, Action::create}) {
    const auto reply =
        nodes.namespaces_reply(nodes.namespaces(0, {.action = action, .name = "likes"}));
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->code, Code::unavailable);
  }
}

TEST(NamespaceList, is_told_by_a_node_that_only_reads) {
  HandDriven nodes;
  change(nodes, 0, create("likes"));
  nodes.crash(0);
  nodes.disk(0).fault = MemoryDisk::Fault::full;
  nodes.start(0);
  EXPECT_EQ(list(nodes, 0).size(), 2U);
  const auto reply = nodes.namespaces_reply(nodes.namespaces(0, create("views")));
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->code, Code::unavailable);
}

// ---- members ----

TEST(NamespaceMembers, that_agree_send_no_definitions) {
  HandDriven nodes;
  change(nodes, 0, create("likes"));
  (void)nodes.take_traffic();
  nodes.pass(2s);
  EXPECT_EQ(nodes.take_traffic()[FrameType::definitions], 0U);
}

TEST(NamespaceMembers, send_definitions_again_that_were_lost) {
  HandDriven nodes;
  std::size_t lost = 0;
  nodes.meddle([&](MemberIndex, MemberIndex, PeerMessage& message) {
    const bool loses = std::holds_alternative<Namespaces>(message) && lost < 20;
    lost += loses ? 1 : 0;
    return loses ? HandDriven::Fate::drop : HandDriven::Fate::deliver;
  });
  const std::uint64_t id = nodes.namespaces(0, create("likes"));
  nodes.pass(3s);
  EXPECT_EQ(lost, 20U);
  ASSERT_TRUE(nodes.namespaces_reply(id));
  EXPECT_EQ(nodes.namespaces_reply(id)->absent, MemberNames{});
}

// Acks bring many, too.
TEST(NamespaceMembers, send_definitions_once_per_interval_however_many_heartbeats_come) {
  HandDriven nodes;
  change(nodes, 0, create("likes"));
  (void)nodes.take_traffic();
  const auto answers = [&nodes] {
    for (int i = 0; i < 50; ++i) nodes.forge(1, 0, Heartbeat{.number = 1, .namespaces = {1, 2}});
    nodes.run();
    return nodes.take_traffic()[FrameType::definitions];
  };
  EXPECT_EQ(answers(), 1U);
  EXPECT_EQ(answers(), 0U);
  nodes.pass(nodes.settings(0).gossip_interval);
  EXPECT_EQ(answers(), 1U);
}

TEST(NamespaceMembers, with_a_new_disk_get_all_definitions) {
  HandDriven nodes;
  change(nodes, 0, create("likes", {.shards = 2}));
  change(nodes, 1, create("views"));
  change(nodes, 1, drop("views"));
  nodes.wipe(2, NewStore::marked);
  nodes.start(2);
  nodes.connect(2);
  nodes.pass(2s);
  EXPECT_EQ(nodes.core(2).executor().namespaces().all(),
            nodes.core(0).executor().namespaces().all());
}

// More than one message holds.
TEST(NamespaceMembers, send_thousands_of_definitions) {
  HandDriven nodes;
  nodes.cut_off(2);
  for (const MemberIndex node : {MemberIndex{0}, MemberIndex{1}}) {
    nodes.cut_off(node);
    for (std::size_t i = 0; i < kMaxNamespaces; ++i) {
      const std::string name = "n" + std::to_string(node) + "/" + std::to_string(i);
      (void)nodes.namespaces(node, create(name, kDistinctOf11));
    }
    nodes.pass(500ms);
  }
  nodes.connect_all();
  nodes.pass(3s);
  EXPECT_EQ(nodes.core(2).executor().namespaces().named(), 2 * kMaxNamespaces);
  EXPECT_EQ(nodes.core(2).executor().namespaces().all(),
            nodes.core(0).executor().namespaces().all());
}

TEST(NamespaceMembers, that_own_nothing_hold_and_change_definitions_too) {
  HandDriven::Options options;
  options.nodes = 4;
  options.edges = {3};
  HandDriven nodes(options);
  MemberIndex edge = 0;
  while (nodes.config().members[edge].weight != 0) ++edge;
  change(nodes, edge, create("likes"));
  change(nodes, edge == 0 ? 1 : 0, set_shards("likes", 4));
  EXPECT_EQ(held(nodes, edge, "likes")->policy.shards, 4);
}

// ---- those of the settings ----

HandDriven::Options with_settings(std::vector<Namespace> namespaces) {
  HandDriven::Options options;
  options.settings.namespaces = std::move(namespaces);
  return options;
}

TEST(NamespaceSettings, define_what_is_missing) {
  HandDriven nodes(with_settings({{"likes", {.shards = 4}}, {"", {.ack = Ack::quorum}}}));
  nodes.pass(1s);
  for (const MemberIndex node : nodes.all()) {
    ASSERT_TRUE(defines(nodes, node, "likes")) << node;
    EXPECT_EQ(held(nodes, node, "likes")->policy.shards, 4) << node;
    EXPECT_EQ(held(nodes, node, "")->policy.ack, Ack::quorum) << node;
    EXPECT_EQ(nodes.core(node).executor().namespaces().all(),
              nodes.core(0).executor().namespaces().all());
  }
}

TEST(NamespaceSettings, change_nothing_that_exists) {
  HandDriven nodes;
  change(nodes, 0, create("likes", {.shards = 2}));
  for (const MemberIndex node : nodes.all()) {
    nodes.settings(node).namespaces = {{"likes", {.shards = 4}}};
    nodes.restart(node);
  }
  nodes.pass(1s);
  for (const MemberIndex node : nodes.all())
    EXPECT_EQ(held(nodes, node, "likes")->policy.shards, 2) << node;
}

// The new node has never heard of the other members' definitions when it defines its own.
TEST(NamespaceSettings, lose_to_any_change_that_a_new_disk_has_not_heard_of) {
  HandDriven nodes;
  change(nodes, 0, create("likes", {.shards = 2}));
  change(nodes, 0, create("views"));
  change(nodes, 0, drop("views"));
  nodes.settings(2).namespaces = {{"likes", {.shards = 4}}, {"views", {.shards = 4}}};
  nodes.wipe(2, NewStore::marked);
  nodes.start(2);
  nodes.connect(2);
  nodes.pass(2s);
  for (const MemberIndex node : nodes.all()) {
    EXPECT_EQ(held(nodes, node, "likes")->policy.shards, 2) << node;
    EXPECT_FALSE(defines(nodes, node, "views")) << node;
  }
}

// The file was edited since, which changed nothing: its first version has the same stamp as what
// the new node would define.
TEST(NamespaceSettings, of_a_new_disk_change_nothing_that_other_settings_defined) {
  const auto id = [](const HandDriven& nodes, MemberIndex node) {
    return nodes.config().members[node].id;
  };
  HandDriven nodes;
  MemberIndex low = 0, high = 0;
  for (const MemberIndex node : nodes.all()) {
    if (id(nodes, node) < id(nodes, low)) low = node;
    if (id(nodes, node) > id(nodes, high)) high = node;
  }
  nodes.settings(low).namespaces = {{"likes", {.ack = Ack::quorum}}};
  nodes.restart(low);
  nodes.pass(2s);
  nodes.settings(high).namespaces = {{"likes", {.ack = Ack::memory}}};
  nodes.wipe(high, NewStore::marked);
  nodes.start(high);
  nodes.connect(high);
  nodes.pass(3s);
  for (const MemberIndex node : nodes.all()) {
    ASSERT_TRUE(defines(nodes, node, "likes")) << node;
    EXPECT_EQ(held(nodes, node, "likes")->policy.ack, Ack::quorum) << node;
  }
}

TEST(NamespaceSettings, do_not_revive_what_was_dropped) {
  HandDriven nodes(with_settings({{"likes", {}}}));
  nodes.pass(1s);
  change(nodes, 0, drop("likes"));
  for (const MemberIndex node : nodes.all()) nodes.restart(node);
  nodes.pass(1s);
  for (const MemberIndex node : nodes.all()) EXPECT_FALSE(defines(nodes, node, "likes")) << node;
}

}  // namespace
}  // namespace quipu::test
