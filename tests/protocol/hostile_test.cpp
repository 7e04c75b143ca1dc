// Tables that FlatBuffers' verifier lets pass and that must not reach a core:
// built by hand, as a broken or hostile peer would.
#include <gtest/gtest.h>

#include <limits>
#include <utility>

#include "protocol/message_codec.h"
#include "protocol/wire.h"
#include "tests/protocol/messages.h"

namespace quipu::test {
namespace {

constexpr ShardIndex kOfNoKind = shard_of(Kind{7});

template <class Table>
OwnPayload payload_of(Builder& builder, Offset<Table> root) {
  const auto bytes = finish(builder, root);
  return OwnPayload({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// ---- Delta ----

struct Entry {
  std::uint16_t key_length, shard, count, usable, actor, cells;
};
struct OneCell {
  std::uint64_t actor;
};

struct OneLife {
  std::uint32_t entry;
  std::uint64_t ended, at, latest;
};

// A sound Delta of two shards, to be spoilt in one place each.
struct WireDelta {
  std::vector<std::uint64_t> actors{5};
  std::string keys = "likes:42dogs";
  std::vector<Entry> entries{{8, 0, 1, 1, 0, 1}, {4, 3, 1, 1, 65535, 2}};
  std::vector<std::int64_t> sums{7};
  std::vector<OneCell> cells{{9}, {1}, {2}};
  std::size_t versions = 0;
  std::vector<OneLife> lives{{1, 5, 9, 9}};
  std::vector<std::pair<std::uint64_t, std::uint32_t>> births{{5, 1}, {6, 2}};
};

Status decoded(const WireDelta& delta) {
  Builder builder;
  const std::vector<wire::VersionEntry> versions(delta.versions, {1, 2, 3});
  const auto actors = builder.CreateVector(delta.actors);
  const auto keys = build_bytes(builder, delta.keys);
  const auto entries = build_structs<wire::DeltaEntry>(builder, delta.entries, [](const Entry& e) {
    return wire::DeltaEntry(e.key_length, e.shard, e.count, e.usable, e.actor, e.cells);
  });
  const auto sums = builder.CreateVector(delta.sums);
  const auto cells = build_structs<wire::Cell>(
      builder, delta.cells, [](const OneCell& cell) { return wire::Cell(cell.actor, 1, 1, 0, 0); });
  const auto seen = builder.CreateVectorOfStructs(versions);
  const auto lives = build_structs<wire::LifeOf>(builder, delta.lives, [](const OneLife& one) {
    return wire::LifeOf(wire::Life(one.ended, 0, one.at, one.latest, false), one.entry);
  });
  const auto births = build_structs<wire::Birth>(
      builder, delta.births, [](const auto& one) { return wire::Birth(one.first, one.second); });
  const auto root =
      wire::CreateDelta(builder, 1, actors, keys, entries, sums, cells, seen, lives, births);
  const auto payload = payload_of(builder, wire::CreateDeltaFrame(builder, 1, 2, root));
  return decode_peer(FrameType::delta, payload.get()).status();
}

struct Spoilt {
  const char* name;
  void (*spoil)(WireDelta&);
  const char* detail;
  friend void PrintTo(const Spoilt& one, std::ostream* os) { *os << one.name; }
};

class SpoiltDelta : public testing::TestWithParam<Spoilt> {};

constexpr const char* kKeysDiffer = "DeltaFrame: keys are not as long as the entries say";
constexpr const char* kSumsDiffer = "DeltaFrame: sums are not as many as the entries say";
constexpr const char* kCellsDiffer = "DeltaFrame: cells are not as many as the entries say";
constexpr const char* kUnsorted = "DeltaFrame: cells are not ascending by actor";
constexpr const char* kBadLives = "DeltaFrame: lives are not ascending lives of the entries";
constexpr const char* kNoActor = "DeltaFrame: entries name an actor that is not there";

INSTANTIATE_TEST_SUITE_P(
    Places, SpoiltDelta,
    testing::Values(
        Spoilt{"key_too_few", [](WireDelta& d) { d.keys.pop_back(); }, kKeysDiffer},
        Spoilt{"key_too_many", [](WireDelta& d) { d.keys.push_back('x'); }, kKeysDiffer},
        Spoilt{"no_keys", [](WireDelta& d) { d.keys.clear(); }, kKeysDiffer},
        Spoilt{"sum_too_few", [](WireDelta& d) { d.sums.clear(); }, kSumsDiffer},
        Spoilt{"sum_too_many", [](WireDelta& d) { d.sums.push_back(1); }, kSumsDiffer},
        Spoilt{"cell_too_few", [](WireDelta& d) { d.cells.pop_back(); }, kCellsDiffer},
        Spoilt{"cell_too_many", [](WireDelta& d) { d.cells.push_back({9}); }, kCellsDiffer},
        Spoilt{"no_entries", [](WireDelta& d) { d.entries.clear(); }, kKeysDiffer},
        Spoilt{"actor_index", [](WireDelta& d) { d.entries[0].actor = 1; }, kNoActor},
        Spoilt{"no_actors", [](WireDelta& d) { d.actors.clear(); }, kNoActor},
        Spoilt{"actor_0", [](WireDelta& d) { d.actors[0] = 0; }, kUnsorted},
        Spoilt{"actor_twice", [](WireDelta& d) { d.actors[0] = 9; }, kUnsorted},
        Spoilt{"cell_of_actor_0", [](WireDelta& d) { d.cells[0].actor = 0; }, kUnsorted},
        Spoilt{"cells_unsorted", [](WireDelta& d) { d.cells[1].actor = 3; }, kUnsorted},
        Spoilt{"cell_twice", [](WireDelta& d) { d.cells[1].actor = 2; }, kUnsorted},
        Spoilt{"empty_key",
               [](WireDelta& d) {
                 d.keys = "dogs";
                 d.entries[0].key_length = 0;
               },
               "DeltaFrame: entries name no shard that there can be"},
        Spoilt{"long_key",
               [](WireDelta& d) {
                 d.keys.insert(0, 505, 'x');
                 d.entries[0].key_length = 513;
               },
               "DeltaFrame: entries name no shard that there can be"},
        Spoilt{"shard", [](WireDelta& d) { d.entries[0].shard = kOfNoKind; },
               "DeltaFrame: parts are not as many as the entries say"},
        Spoilt{"count_0", [](WireDelta& d) { d.entries[1].count = 0; },
               "DeltaFrame: count is 0: must be 1 to 1024"},
        Spoilt{"count_over", [](WireDelta& d) { d.entries[1].count = 1025; },
               "DeltaFrame: count is 1025: must be 1 to 1024"},
        Spoilt{"usable_0", [](WireDelta& d) { d.entries[1].usable = 0; },
               "DeltaFrame: usable is 0: must be 1 to 1"},
        Spoilt{"usable_over_count", [](WireDelta& d) { d.entries[1].usable = 2; },
               "DeltaFrame: usable is 2: must be 1 to 1"},
        Spoilt{"life_of_no_entry", [](WireDelta& d) { d.lives[0].entry = 2; }, kBadLives},
        Spoilt{"life_twice", [](WireDelta& d) { d.lives.push_back(d.lives[0]); }, kBadLives},
        Spoilt{"empty_life",
               [](WireDelta& d) {
                 d.lives[0] = {1, 0, 0, 0};
               },
               kBadLives},
        Spoilt{"no_life", [](WireDelta& d) { d.lives.clear(); },
               "DeltaFrame: cells were born, though their counter has no end"},
        Spoilt{"born_before_the_end", [](WireDelta& d) { d.births[0].first = 4; },
               "DeltaFrame: cells were born before their counter's end"},
        Spoilt{"not_born", [](WireDelta& d) { d.births.clear(); },
               "DeltaFrame: cells were born before their counter's end"},
        Spoilt{"birth_of_no_cell", [](WireDelta& d) { d.births[0].second = 3; },
               "DeltaFrame: births name a cell that is not there"},
        Spoilt{"born_too_late",
               [](WireDelta& d) { d.births[0].first = std::numeric_limits<std::uint64_t>::max(); },
               "DeltaFrame: life has a time that no counter has"},
        Spoilt{
            "ends_too_late",
            [](WireDelta& d) { d.lives[0].at = d.lives[0].latest = (std::uint64_t{1} << 47) + 1; },
            "DeltaFrame: life has a time that no counter has"},
        Spoilt{"beyond_its_latest", [](WireDelta& d) { d.lives[0].latest = 8; },
               "DeltaFrame: life has a deadline beyond its latest"},
        Spoilt{"versions", [](WireDelta& d) { d.versions = 4097; },
               "DeltaFrame: versions is 4097: must be 0 to 4096"}),
    [](const auto& one) { return one.param.name; });

TEST_P(SpoiltDelta, is_refused_and_says_where) {
  WireDelta delta;
  ASSERT_TRUE(decoded(delta).ok()) << decoded(delta).message();
  GetParam().spoil(delta);
  EXPECT_EQ(decoded(delta).detail(), GetParam().detail);
  EXPECT_EQ(decoded(delta).code(), Code::protocol_error);
}

TEST(HostileDelta, of_the_longest_version_vector_passes) {
  WireDelta delta;
  delta.versions = 4096;
  EXPECT_TRUE(decoded(delta).ok());
}

// ---- other messages, one wrong field each ----

struct Hostile {
  const char* name;
  FrameType type;
  OwnPayload (*payload)();
  const char* detail;
  friend void PrintTo(const Hostile& one, std::ostream* os) { *os << one.name; }
};

template <class Make>
OwnPayload made(Make make) {
  Builder builder;
  return payload_of(builder, make(builder));
}

OwnPayload op_of(int kind, int ack, std::uint16_t shard) {
  return made([=](Builder& b) {
    return wire::CreateOp(b, 1, static_cast<wire::OpKind>(kind), 0, shard, 1,
                          static_cast<wire::Ack>(ack));
  });
}

OwnPayload shards_of_lengths(const std::string& bytes, std::vector<wire::ShardName> names) {
  return made([&](Builder& b) {
    const auto keys = build_bytes(b, bytes);
    const auto all = b.CreateVectorOfStructs(names);
    return wire::CreateCollect(b, 1, 1, wire::CreateShardList(b, keys, all));
  });
}

OwnPayload read_of_lengths(const std::string& bytes, std::vector<std::uint32_t> lengths) {
  return made([&](Builder& b) {
    const auto keys = build_bytes(b, bytes);
    const auto all = b.CreateVector(lengths);
    return wire::CreateRead(b, 1, wire::ReadLevel::local, 0, wire::CreateKeyList(b, keys, all));
  });
}

OwnPayload config_of(std::uint8_t replication, std::vector<std::uint16_t> owners) {
  return made([&](Builder& b) {
    const std::vector<Offset<wire::Member>> members{wire::CreateMember(b, 1)};
    const auto all = b.CreateVector(members);
    const auto table = b.CreateVector(owners);
    return wire::CreateConfigReply(b, 1, 1, 0, 1, 1, true, 1, all, replication, table);
  });
}

OwnPayload hello_of(std::vector<wire::Pin> founding, std::vector<std::uint64_t> retired,
                    bool founded = true) {
  return made([&](Builder& b) {
    const auto pins = b.CreateVectorOfStructs(founding);
    const auto gone = b.CreateVector(retired);
    return wire::CreateHello(b, 1, 2, 3, 4, false, false,
                             wire::CreatePins(b, founded, pins, 0, gone));
  });
}

OwnPayload ack_of(std::uint16_t partition) {
  return made([=](Builder& b) {
    const std::vector<std::uint16_t> unfilled{partition};
    return wire::CreateDeltaAck(b, 1, 0, b.CreateVector(unfilled));
  });
}

OwnPayload pull_of(int kind, std::uint16_t leaf_of) {
  return made([=](Builder& b) {
    const std::vector<wire::LeafId> leaves{{leaf_of, 0}};
    const auto all = b.CreateVectorOfStructs(leaves);
    return wire::CreatePull(b, 1, static_cast<wire::PullKind>(kind), 0, all);
  });
}

OwnPayload pulled_without_hashes() {
  return made([](Builder& b) {
    const auto keys = build_bytes(b, "k");
    const std::vector<wire::ShardName> names{{1, 0}};
    const auto all = b.CreateVectorOfStructs(names);
    const auto shards = wire::CreateShardList(b, keys, all);
    return wire::CreatePulled(b, 1, wire::PullKind::keys, 1, false, nullptr, 0, 0, shards);
  });
}

OwnPayload listed_of_lengths(const std::string& bytes, const std::vector<std::uint32_t>& lengths) {
  return made([=](Builder& b) {
    const auto keys = wire::CreateKeyList(b, build_bytes(b, bytes), b.CreateVector(lengths));
    return wire::CreateListedPart(b, 1, keys, 1);
  });
}

// One definition, as another version's node or a broken one would send it.
OwnPayload definition_of(const std::string& name) {
  return made([&](Builder& b) {
    const auto bytes = build_bytes(b, name);
    const std::vector one{wire::CreateNamespaceDefinition(b, bytes)};
    return wire::CreateNamespaces(b, b.CreateVector(one));
  });
}

OwnPayload request_with_policy(int ack, int level, std::uint16_t shards) {
  return made([=](Builder& b) {
    const auto policy = wire::CreateNamespacePolicy(b, static_cast<wire::Ack>(ack),
                                                    static_cast<wire::ReadLevel>(level), shards);
    return wire::CreateNamespaceRequest(b, 1, wire::NamespaceAction::create, 0, policy);
  });
}

OwnPayload definition_that_decides(int decide) {
  return made([=](Builder& b) {
    wire::NamespacePolicyBuilder policy(b);
    policy.add_decide(static_cast<wire::Decide>(decide));
    const std::vector one{wire::CreateNamespaceDefinition(b, 0, nullptr, policy.Finish())};
    return wire::CreateNamespaces(b, b.CreateVector(one));
  });
}

// A definition that was changed at 9, with these kinds.
OwnPayload definition_that_fixes(const std::vector<wire::FixedKind>& kinds) {
  return made([&](Builder& b) {
    const auto fixed = b.CreateVectorOfStructs(kinds);
    const wire::Stamp changed(9, 1);
    wire::NamespaceDefinitionBuilder definition(b);
    definition.add_changed(&changed);
    definition.add_fixed(fixed);
    const std::vector one{definition.Finish()};
    return wire::CreateNamespaces(b, b.CreateVector(one));
  });
}

OwnPayload definition_with_precision(int precision) {
  return made([=](Builder& b) {
    wire::NamespacePolicyBuilder policy(b);
    policy.add_kind(1);
    policy.add_precision(static_cast<std::uint8_t>(precision));
    const std::vector one{wire::CreateNamespaceDefinition(b, 0, nullptr, policy.Finish())};
    return wire::CreateNamespaces(b, b.CreateVector(one));
  });
}

class HostileMessage : public testing::TestWithParam<Hostile> {};

INSTANTIATE_TEST_SUITE_P(
    Fields, HostileMessage,
    testing::Values(
        Hostile{"op_kind", FrameType::op, [] { return op_of(7, 1, 0); },
                "Op: kind is 7: must be 0 to 6"},
        Hostile{"op_ack", FrameType::op, [] { return op_of(0, 255, 0); },
                "Op: ack is 255: must be 0 to 3"},
        Hostile{"op_shard", FrameType::op, [] { return op_of(0, 0, kOfNoKind); },
                "Op: shard is of no known kind"},
        Hostile{"op_shard_of_a_window", FrameType::op, [] { return op_of(0, 0, kWindow); },
                "Op: shard is of no known kind"},
        Hostile{"read_level", FrameType::read,
                [] {
                  return made([](Builder& b) {
                    return wire::CreateRead(b, 1, static_cast<wire::ReadLevel>(4));
                  });
                },
                "Read: level is 4: must be 0 to 3"},
        Hostile{"read_lengths_over", FrameType::read,
                [] {
                  return read_of_lengths("abc", {1, 3});
                },
                "Read: keys has fewer bytes than its lengths add up to"},
        Hostile{"read_lengths_wrap", FrameType::read,
                [] {
                  return read_of_lengths("abc", {0xffffffff, 4});
                },
                "Read: keys has fewer bytes than its lengths add up to"},
        Hostile{"read_lengths_under", FrameType::read,
                [] {
                  return read_of_lengths("abc", {1, 1});
                },
                "Read: keys has more bytes than its lengths add up to"},
        Hostile{
            "list_cursor", FrameType::list,
            [] { return made([](Builder& b) { return wire::CreateList(b, 1, 0, kListEnd + 1); }); },
            "List: cursor is 1048577: must be 0 to 1048576"},
        Hostile{"config_owners_missing", FrameType::config_reply, [] { return config_of(1, {0}); },
                "ConfigReply: owners are not as many as partitions and replication say"},
        Hostile{"config_owner_stranger", FrameType::config_reply,
                [] { return config_of(1, std::vector<std::uint16_t>(kPartitions, 1)); },
                "ConfigReply: owners name a member that is not there"},
        Hostile{"pins_unsorted", FrameType::hello,
                [] {
                  return hello_of({{2, 1, 0}, {1, 1, 0}}, {});
                },
                "Hello: pins.founding is not sorted by node"},
        Hostile{"pins_twice", FrameType::hello,
                [] {
                  return hello_of({{2, 1, 0}, {2, 1, 0}}, {});
                },
                "Hello: pins.founding is not sorted by node"},
        Hostile{"retired_unsorted", FrameType::hello,
                [] {
                  return hello_of({}, {5, 4});
                },
                "Hello: pins.retired is not sorted"},
        Hostile{"retired_unfounded", FrameType::hello,
                [] {
                  return hello_of({}, {4, 5}, false);
                },
                "Hello: pins.retired names stores, though nothing is replaced before the "
                "founding"},
        Hostile{"partition", FrameType::delta_ack, [] { return ack_of(4096); },
                "DeltaAck: unfilled is 4096: must be 0 to 4095"},
        Hostile{"pull_kind", FrameType::pull, [] { return pull_of(5, 0); },
                "Pull: kind is 5: must be 0 to 4"},
        Hostile{"pull_leaf", FrameType::pull, [] { return pull_of(3, 65535); },
                "Pull: leaf is 65535: must be 0 to 4095"},
        Hostile{"pulled_hashes", FrameType::pulled, pulled_without_hashes,
                "Pulled: shard_hashes are not as many as shards"},
        Hostile{"shards_over", FrameType::collect,
                [] {
                  return shards_of_lengths("ab", {{3, 0}});
                },
                "Collect: shards has fewer bytes than its lengths add up to"},
        Hostile{"shards_under", FrameType::collect,
                [] {
                  return shards_of_lengths("ab", {{1, 0}});
                },
                "Collect: shards has more bytes than its lengths add up to"},
        Hostile{"shards_empty_key", FrameType::collect,
                [] {
                  return shards_of_lengths("", {{0, 0}});
                },
                "Collect: shards name no shard that there can be"},
        Hostile{"shards_long_key", FrameType::collect,
                [] {
                  return shards_of_lengths(std::string(513, 'x'), {{513, 0}});
                },
                "Collect: shards name no shard that there can be"},
        Hostile{"shards_index", FrameType::collect,
                [] {
                  return shards_of_lengths("a", {{1, kOfNoKind}});
                },
                "Collect: shards name no shard that there can be"},
        Hostile{"shards_window_without_key", FrameType::collect,
                [] {
                  return shards_of_lengths(std::string("\0\0\0\x3c\0\0\0\1", 8), {{8, kWindow}});
                },
                "Collect: shards name no shard that there can be"},
        Hostile{"shards_window_of_no_length", FrameType::collect,
                [] {
                  return shards_of_lengths(std::string("a\0\0\0\0\0\0\0\1", 9), {{9, kWindow}});
                },
                "Collect: shards name no shard that there can be"},
        Hostile{"shards_window_of_an_unknown_kind", FrameType::collect,
                [] {
                  return shards_of_lengths(std::string("a\0\0\0\x3c\0\0\0\1", 9),
                                           {{9, kWindow | kOfNoKind}});
                },
                "Collect: shards name no shard that there can be"},
        Hostile{"list_part_prefix", FrameType::list_part,
                [] {
                  return made([](Builder& b) {
                    return wire::CreateListPart(b, 1, build_bytes(b, std::string(513, 'x')));
                  });
                },
                "ListPart: prefix is 513: must be 0 to 512"},
        Hostile{"list_part_cursor", FrameType::list_part,
                [] {
                  return made(
                      [](Builder& b) { return wire::CreateListPart(b, 1, 0, kListEnd + 1); });
                },
                "ListPart: cursor is 1048577: must be 0 to 1048576"},
        Hostile{"listed_next", FrameType::listed_part,
                [] {
                  return made(
                      [](Builder& b) { return wire::CreateListedPart(b, 1, 0, kListEnd + 1); });
                },
                "ListedPart: next is 1048577: must be 0 to 1048576"},
        Hostile{"listed_many", FrameType::listed_part,
                [] {
                  return listed_of_lengths(std::string(1001, 'x'),
                                           std::vector<std::uint32_t>(1001, 1));
                },
                "ListedPart: keys is 1001: must be 0 to 1000"},
        Hostile{"listed_empty_key", FrameType::listed_part,
                [] { return listed_of_lengths("", {0}); },
                "ListedPart: key_length is 0: must be 1 to 512"},
        Hostile{"listed_long_key", FrameType::listed_part,
                [] { return listed_of_lengths(std::string(513, 'x'), {513}); },
                "ListedPart: key_length is 513: must be 1 to 512"},
        Hostile{"size_part_set", FrameType::count_keys_part,
                [] {
                  return made([](Builder& b) {
                    return wire::CreateCountKeysPart(b, 1, build_bytes(b, std::string(511, 'x')));
                  });
                },
                "CountKeysPart: partitions is not 512 bytes"},
        Hostile{"sized_counters", FrameType::key_count_part,
                [] {
                  return made([](Builder& b) {
                    return wire::CreateKeyCountPart(b, 1, 0, kMaxCounters + 1);
                  });
                },
                "KeyCountPart: counters is 1099511627777: must be 0 to 1099511627776"},
        Hostile{"authenticate_secret", FrameType::authenticate,
                [] {
                  return made([](Builder& b) {
                    const std::vector<std::uint8_t> secret(kMaxUserWord + 1, 's');
                    return wire::CreateAuthenticate(b, 1, 0, b.CreateVector(secret));
                  });
                },
                "Authenticate: secret is 513: must be 0 to 512"},
        Hostile{"namespace_action", FrameType::namespaces,
                [] {
                  return made([](Builder& b) {
                    return wire::CreateNamespaceRequest(b, 1,
                                                        static_cast<wire::NamespaceAction>(4));
                  });
                },
                "NamespaceRequest: action is 4: must be 0 to 3"},
        Hostile{"namespace_ack", FrameType::namespaces, [] { return request_with_policy(4, 0, 1); },
                "NamespaceRequest: ack is 4: must be 0 to 3"},
        Hostile{"namespace_read", FrameType::namespaces,
                [] { return request_with_policy(0, 255, 1); },
                "NamespaceRequest: read is 255: must be 0 to 3"},
        Hostile{"namespace_shards", FrameType::namespaces,
                [] { return request_with_policy(0, 0, 1025); },
                "NamespaceRequest: shards is 1025: must be 0 to 1024"},
        Hostile{"definition_decide", FrameType::definitions,
                [] { return definition_that_decides(2); },
                "Namespaces: decide is 2: must be 0 to 1"},
        Hostile{"definition_decide_most", FrameType::definitions,
                [] { return definition_that_decides(255); },
                "Namespaces: decide is 255: must be 0 to 1"},
        Hostile{"definition_precision", FrameType::definitions,
                [] { return definition_with_precision(17); },
                "Namespaces: policy cannot be: a precision is 10 to 16"},
        Hostile{"definition_kind", FrameType::definitions,
                [] {
                  return definition_that_fixes({{1, 1, 31, 0}});
                },
                "Namespaces: kind is no known kind"},
        Hostile{"definition_fixed_precision", FrameType::definitions,
                [] {
                  return definition_that_fixes({{1, 1, 0, 11}});
                },
                "Namespaces: fixed cannot be: only counters of the kind distinct have a precision"},
        Hostile{"definition_fixed_order", FrameType::definitions,
                [] {
                  return definition_that_fixes({{2, 1, 0, 0}, {1, 1, 0, 0}});
                },
                "Namespaces: fixed is not ascending"},
        Hostile{"definition_fixed_late", FrameType::definitions,
                [] {
                  return definition_that_fixes({{10, 1, 0, 0}});
                },
                "Namespaces: fixed is later than the last change"},
        Hostile{"definition_fixed_many", FrameType::definitions,
                [] { return definition_that_fixes(std::vector<wire::FixedKind>(9)); },
                "Namespaces: fixed is 9: must be 0 to 8"},
        Hostile{"definition_colon", FrameType::definitions, [] { return definition_of("a:b"); },
                "Namespaces: name has a ':'"},
        Hostile{"definition_long_name", FrameType::definitions,
                [] { return definition_of(std::string(65, 'x')); },
                "Namespaces: name is 65: must be 0 to 64"}),
    [](const auto& one) { return one.param.name; });

Status decode_any(FrameType type, Payload payload) {
  switch (type) {
    case FrameType::op:
      return decode_op(payload).status();
    case FrameType::read:
      return decode_read(payload).status();
    case FrameType::list:
      return decode_list(payload).status();
    case FrameType::namespaces:
      return decode_namespace_request(payload).status();
    case FrameType::config_reply:
      return decode_config_reply(payload).status();
    case FrameType::authenticate:
      return decode_authenticate(payload).status();
    default:
      return decode_peer(type, payload).status();
  }
}

TEST_P(HostileMessage, is_refused_and_says_where) {
  const OwnPayload payload = GetParam().payload();
  EXPECT_EQ(decode_any(GetParam().type, payload.get()).detail(), GetParam().detail);
}

// ---- memory ----

// 4 bytes each buy another copy of one text: 60 MB out of a payload of 1 MB.
TEST(HostileForwarded, that_shares_one_text_a_thousand_times_is_refused) {
  Builder builder;
  const auto text = builder.CreateString(std::string(500'000, 'x'));
  const auto one = wire::CreateDone(builder, 1, 1, text);
  const std::vector<Offset<wire::Done>> many(1000, one);
  const auto root = wire::CreateForwarded(builder, builder.CreateVector(many));
  const auto payload = payload_of(builder, root);
  EXPECT_EQ(decode_peer(FrameType::forwarded, payload.get()).status().detail(),
            "Forwarded: detail shares its bytes with another field");
}

// A name may have any length in a reply, and there may be a thousand of them.
TEST(HostileNamespaceReply, that_shares_one_name_a_thousand_times_is_refused) {
  Builder builder;
  const auto name = build_bytes(builder, std::string(500'000, 'x'));
  const std::vector<Offset<wire::Namespace>> many(1000, wire::CreateNamespace(builder, name));
  const auto root = wire::CreateNamespaceReply(builder, 1, 0, 0, builder.CreateVector(many));
  const auto payload = payload_of(builder, root);
  EXPECT_EQ(decode_namespace_reply(payload.get()).status().detail(),
            "NamespaceReply: name shares its bytes with another field");
}

TEST(HostileNamespaces, that_share_one_definition_a_thousand_times_are_refused) {
  Builder builder;
  const auto name = build_bytes(builder, std::string(64, 'x'));
  const std::vector<Offset<wire::NamespaceDefinition>> many(
      1000, wire::CreateNamespaceDefinition(builder, name));
  const auto root = wire::CreateNamespaces(builder, builder.CreateVector(many));
  const auto payload = payload_of(builder, root);
  EXPECT_FALSE(decode_peer(FrameType::definitions, payload.get()).ok());
}

// It is shown, logged and passed on: 256 bytes are enough to say why.
TEST(HostileRefusal, with_an_endless_detail_is_cut) {
  Builder builder;
  const auto root = wire::CreateRefusal(builder, 1, builder.CreateString(std::string(400'000, 'x')),
                                        builder.CreateString(std::string(400'000, 'y')), 1, 1);
  const auto payload = payload_of(builder, root);
  EXPECT_EQ(decode_refusal(payload.get())->detail, std::string(256, 'x'));
  EXPECT_EQ(decode_refusal(payload.get())->by.release, std::string(256, 'y'));
}

TEST(HostileRefusal, that_speaks_no_version_is_refused) {
  for (const auto& [from, to] : {std::pair(0, 2), std::pair(3, 2)}) {
    Builder builder;
    const auto root = wire::CreateRefusal(builder, 1, 0, 0, static_cast<std::uint8_t>(from),
                                          static_cast<std::uint8_t>(to));
    const auto payload = payload_of(builder, root);
    EXPECT_EQ(decode_refusal(payload.get()).status().detail(), "Refusal: frames are no versions");
  }
}

TEST(HostileOp, that_wants_us_to_wait_for_weeks_waits_a_minute) {
  Builder builder;
  const auto root =
      wire::CreateOp(builder, 1, wire::OpKind::add, 0, 0, 0, wire::Ack::disk, 4'000'000'000);
  const auto payload = payload_of(builder, root);
  EXPECT_EQ(decode_op(payload.get())->timeout_ms, 60'000u);
}

TEST(HostileForward, that_names_one_op_a_hundred_thousand_times_is_refused) {
  Builder builder;
  const auto one = wire::CreateOp(builder, 1);
  const std::vector<Offset<wire::Op>> many(200'000, one);
  const auto root = wire::CreateForward(builder, builder.CreateVector(many));
  const auto payload = payload_of(builder, root);
  EXPECT_EQ(decode_peer(FrameType::forward, payload.get()).status().detail(),
            "Forward: message is malformed");
}

// The verifier checks the alignment of a vector's length, not of its elements.
TEST(HostileAck, with_numbers_at_a_misaligned_place_is_refused) {
  const std::string frame = encoded(PeerMessage(DeltaAck{Code{1}, {2, 3}, {Partition{1}}}));
  const std::string payload = frame.substr(kFrameHeader);
  // The numbers' vector comes last: its length, then 16 bytes. Move it down by 4,
  // and with it the offset that leads to it.
  const std::size_t length_at = payload.size() - 20;
  std::string moved =
      payload.substr(0, length_at - 4) + payload.substr(length_at) + std::string(4, '\0');
  for (std::size_t at = 0; at + 4 <= length_at - 4; at += 4) {
    std::uint32_t offset = 0;
    std::memcpy(&offset, moved.data() + at, 4);
    if (at + offset != length_at) continue;
    offset -= 4;
    std::memcpy(moved.data() + at, &offset, 4);
  }
  const OwnPayload hostile(moved);
  EXPECT_EQ(decode_peer(FrameType::delta_ack, hostile.get()).status().detail(),
            "DeltaAck: numbers is misaligned");
}

TEST(AbsentFields, are_read_as_empty_ones) {
  const auto frame = made([](Builder& b) { return wire::CreateDeltaFrame(b, 3); });
  const auto decoded_frame = decode_peer(FrameType::delta, frame.get());
  ASSERT_TRUE(decoded_frame.ok());
  EXPECT_TRUE(std::get<DeltaFrame>(*decoded_frame) == (DeltaFrame{3, Fence{}, Delta{}}));
  const auto read = made([](Builder& b) { return wire::CreateRead(b, 3); });
  EXPECT_TRUE(decode_read(read.get())->keys.empty());
  const auto request = made([](Builder& b) { return wire::CreateNamespaceRequest(b, 3); });
  EXPECT_TRUE(*decode_namespace_request(request.get()) == NamespaceRequest{.id = 3});
  const auto definitions = made([](Builder& b) {
    const std::vector one{wire::CreateNamespaceDefinition(b)};
    return wire::CreateNamespaces(b, b.CreateVector(one));
  });
  const auto decoded = decode_peer(FrameType::definitions, definitions.get());
  ASSERT_TRUE(decoded.ok());
  EXPECT_TRUE(std::get<Namespaces>(*decoded) == Namespaces{{NamespaceDefinition{}}});
}

TEST(HostileHeartbeat, says_no_time_that_a_clock_cannot_show) {
  const auto latest = static_cast<std::uint64_t>(kLatestWall.time_since_epoch().count());
  for (const std::uint64_t ms : {latest, latest + 1, ~std::uint64_t{0}}) {
    const auto beat = made([ms](Builder& b) {
      wire::HeartbeatBuilder heartbeat(b);
      heartbeat.add_wall_ms(ms);
      return heartbeat.Finish();
    });
    EXPECT_EQ(decode_peer(FrameType::beat, beat.get()).ok(), ms == latest) << ms;
  }
}

// As a member of a version without namespaces and clocks sends it.
TEST(AbsentFields, of_a_heartbeat_say_that_no_namespace_is_defined_and_no_time_is_known) {
  const auto beat = made([](Builder& b) { return wire::CreateHeartbeat(b, 1, 2, 3, 4, true); });
  const auto decoded = decode_peer(FrameType::beat, beat.get());
  ASSERT_TRUE(decoded.ok());
  EXPECT_TRUE(std::get<Heartbeat>(*decoded) == (Heartbeat{1, 2, 3, 4, true, Hash128{}}));
}

}  // namespace
}  // namespace quipu::test
