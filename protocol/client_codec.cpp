#include <algorithm>
#include <cstring>

#include "protocol/message_codec.h"
#include "protocol/message_tables.h"
#include "protocol/state_tables.h"

namespace quipu {
namespace {

static_assert(kMaxReadKeys * (detail_room(kMaxReadKeys) + 64) < kMaxFrame,
              "an answer to the longest Read fits a frame");
static_assert(kMaxReadKeys * (kMaxKey + sizeof(std::uint32_t)) + 256 < kMaxFrame,
              "the longest Read fits a frame");
static_assert(kMaxListKeys * (kMaxKey + sizeof(std::uint32_t)) + kMaxDetail + 256 < kMaxFrame,
              "the longest Keys fits a frame");
static_assert(kMaxListKeys <= kMaxReadKeys);

// ---- Read, Values ----

Offset<wire::Read> build(Builder& builder, const Read& message) {
  const auto keys = build_keys(builder, message.keys);
  return wire::CreateRead(builder, message.id, static_cast<wire::ReadLevel>(message.level),
                          message.timeout_ms, keys);
}

// As with Op, the coordinator answers a bad key.
void read(Reader& in, const wire::Read& from, Read& message) {
  message.id = from.id();
  message.level = in.one_of<ReadLevel>("level", from.level());
  message.timeout_ms = std::min(from.timeout_ms(), kMaxTimeoutMs);
  read_keys(in, from.keys(), kMaxReadKeys, message.keys);
}

Offset<wire::Value> build_value(Builder& builder, const Value& value, std::size_t room) {
  const auto detail = build_detail(builder, value.detail, room);
  return wire::CreateValue(builder, static_cast<std::uint16_t>(value.code), detail, value.value,
                           value.exists, value.complete, value.age_ms, value.shards,
                           static_cast<wire::Ack>(value.ack.value_or(Ack::by_default)),
                           value.expires_in_ms, static_cast<std::uint8_t>(value.kind));
}

Value read_value(Reader& in, const wire::Value& from) {
  Value value;
  value.code = Code{from.code()};
  value.detail = read_detail(in, from.detail());
  value.value = from.value();
  value.exists = from.exists();
  value.complete = from.complete();
  value.age_ms = from.age_ms();
  value.shards = in.within<ShardIndex>("shards", from.shards(), 0, kMaxShards);
  const auto ack = in.one_of<Ack>("ack", from.ack());
  if (ack != Ack::by_default) value.ack = ack;
  value.expires_in_ms =
      in.within<std::uint64_t>("expires_in_ms", from.expires_in_ms(), 0, kLatestDateMs);
  value.kind = in.kind("kind", from.kind());
  return value;
}

Offset<wire::Values> build(Builder& builder, const Values& message) {
  const std::size_t room = detail_room(message.values.size());
  const auto values = build_tables<wire::Value>(builder, message.values, [&](const Value& value) {
    return build_value(builder, value, room);
  });
  return wire::CreateValues(builder, message.id, values);
}

void read(Reader& in, const wire::Values& from, Values& message) {
  message.id = from.id();
  if (from.values() != nullptr) {
    in.within<std::size_t>("values", from.values()->size(), 0, kMaxReadKeys);
  }
  in.copy("values", from.values(), message.values,
          [&in](const wire::Value* value) { return read_value(in, *value); });
}

// ---- Query, QueryReply ----

Offset<wire::Query> build(Builder& builder, const Query& message) {
  const auto words = build_bytes(builder, message.words);
  const auto keys = build_keys(builder, message.keys);
  return wire::CreateQuery(builder, message.id, static_cast<std::uint8_t>(message.kind),
                           static_cast<wire::ReadLevel>(message.level), message.timeout_ms, words,
                           keys);
}

// Any keys and words pass here. The node answers bad ones.
void read(Reader& in, const wire::Query& from, Query& message) {
  message.id = from.id();
  message.kind = in.kind("kind", from.kind());
  if (message.kind == Kind::sum) in.refuse("kind", "is the sum, which has no bodies");
  message.level = in.one_of<ReadLevel>("level", from.level());
  message.timeout_ms = std::min(from.timeout_ms(), kMaxTimeoutMs);
  message.words = Reader::view(from.words());
  read_keys(in, from.keys(), kMaxReadKeys, message.keys);
}

Offset<wire::QueryReply> build(Builder& builder, const QueryReply& message) {
  const auto detail = build_detail(builder, message.detail, kMaxDetail);
  const auto reply = build_bytes(builder, message.reply);
  return wire::CreateQueryReply(builder, message.id, static_cast<std::uint16_t>(message.code),
                                detail, reply, message.exists, message.complete, message.age_ms,
                                message.expires_in_ms);
}

void read(Reader& in, const wire::QueryReply& from, QueryReply& message) {
  message.id = from.id();
  message.code = Code{from.code()};
  message.detail = read_detail(in, from.detail());
  const std::string_view reply = Reader::view(from.reply());
  if (in.pay("reply", reply.size())) message.reply = reply;
  message.exists = from.exists();
  message.complete = from.complete();
  message.age_ms = from.age_ms();
  message.expires_in_ms =
      in.within<std::uint64_t>("expires_in_ms", from.expires_in_ms(), 0, kLatestDateMs);
}

// ---- List, Keys ----

Offset<wire::List> build(Builder& builder, const List& message) {
  const auto prefix = build_bytes(builder, message.prefix);
  return wire::CreateList(builder, message.id, prefix, message.cursor, message.limit,
                          message.timeout_ms);
}

void read(Reader& in, const wire::List& from, List& message) {
  message.id = from.id();
  message.prefix = Reader::view(from.prefix());
  message.cursor = in.within<std::uint32_t>("cursor", from.cursor(), 0, kListEnd);
  message.limit = std::min<std::uint32_t>(from.limit(), kMaxListKeys);
  message.timeout_ms = std::min(from.timeout_ms(), kMaxTimeoutMs);
}

Offset<wire::Keys> build(Builder& builder, const Keys& message) {
  const auto keys = build_keys(builder, message.keys);
  const auto detail = build_detail(builder, message.detail, kMaxDetail);
  return wire::CreateKeys(builder, message.id, keys, message.next,
                          static_cast<std::uint16_t>(message.code), detail,
                          build_kinds(builder, message.kinds));
}

void read(Reader& in, const wire::Keys& from, Keys& message) {
  message.id = from.id();
  read_keys(in, from.keys(), kMaxListKeys, message.keys);
  read_kinds(in, from.kinds(), message.keys.size(), message.kinds);
  message.next = in.within<std::uint32_t>("next", from.next(), 0, kListEnd);
  message.code = Code{from.code()};
  message.detail = read_detail(in, from.detail());
}

// ---- CountKeys, KeyCount ----

Offset<wire::CountKeys> build(Builder& builder, const CountKeys& message) {
  return wire::CreateCountKeys(builder, message.id, message.timeout_ms);
}

void read(Reader&, const wire::CountKeys& from, CountKeys& message) {
  message.id = from.id();
  message.timeout_ms = std::min(from.timeout_ms(), kMaxTimeoutMs);
}

Offset<wire::KeyCount> build(Builder& builder, const KeyCount& message) {
  const auto detail = build_detail(builder, message.detail, kMaxDetail);
  return wire::CreateKeyCount(builder, message.id, message.counters,
                              static_cast<std::uint16_t>(message.code), detail);
}

void read(Reader& in, const wire::KeyCount& from, KeyCount& message) {
  message.id = from.id();
  message.counters = from.counters();
  message.code = Code{from.code()};
  message.detail = read_detail(in, from.detail());
}

// ---- Authenticate, Authenticated ----

Offset<wire::Authenticate> build(Builder& builder, const Authenticate& message) {
  const auto user = build_bytes(builder, message.user);
  const auto secret = build_bytes(builder, message.secret);
  return wire::CreateAuthenticate(builder, message.id, user, secret);
}

void read(Reader& in, const wire::Authenticate& from, Authenticate& message) {
  message.id = from.id();
  message.user = Reader::view(from.user());
  message.secret = Reader::view(from.secret());
  in.within<std::size_t>("user", message.user.size(), 0, kMaxUserWord);
  in.within<std::size_t>("secret", message.secret.size(), 0, kMaxUserWord);
}

Offset<wire::Authenticated> build(Builder& builder, const Authenticated& message) {
  const auto detail = build_detail(builder, message.detail, kMaxDetail);
  return wire::CreateAuthenticated(builder, message.id, static_cast<std::uint16_t>(message.code),
                                   detail);
}

void read(Reader& in, const wire::Authenticated& from, Authenticated& message) {
  message.id = from.id();
  message.code = Code{from.code()};
  message.detail = read_detail(in, from.detail());
}

// ---- NamespaceRequest, NamespaceReply ----

Offset<wire::NamespaceRequest> build(Builder& builder, const NamespaceRequest& message) {
  const auto name = build_bytes(builder, message.name);
  const auto policy = build(builder, message.policy);
  return wire::CreateNamespaceRequest(builder, message.id,
                                      static_cast<wire::NamespaceAction>(message.action), name,
                                      policy, message.fields, message.timeout_ms);
}

// Any name passes here. The node answers a bad one.
void read(Reader& in, const wire::NamespaceRequest& from, NamespaceRequest& message) {
  message.id = from.id();
  message.action = in.one_of<NamespaceAction>("action", from.action());
  message.name = Reader::view(from.name());
  read(in, from.policy(), message.policy);
  message.fields = from.fields();
  message.timeout_ms = std::min(from.timeout_ms(), kMaxTimeoutMs);
}

Offset<wire::NamespaceReply> build(Builder& builder, const NamespaceReply& message) {
  const auto detail = build_detail(builder, message.detail, kMaxDetail);
  const auto namespaces =
      build_tables<wire::Namespace>(builder, message.namespaces, [&builder](const Namespace& one) {
        const auto name = build_bytes(builder, one.name);
        return wire::CreateNamespace(builder, name, build(builder, one.policy));
      });
  // What is empty is not left out here.
  const auto absent = build_tables<flatbuffers::String>(
      builder, message.absent,
      [&builder](const std::string& name) { return builder.CreateString(name); });
  return wire::CreateNamespaceReply(builder, message.id, static_cast<std::uint16_t>(message.code),
                                    detail, namespaces, absent);
}

void read(Reader& in, const wire::NamespaceReply& from, NamespaceReply& message) {
  message.id = from.id();
  message.code = Code{from.code()};
  message.detail = read_detail(in, from.detail());
  in.copy("namespaces", from.namespaces(), message.namespaces, [&in](const wire::Namespace* one) {
    Namespace read_one;
    const std::string_view name = Reader::view(one->name());
    if (in.pay("name", name.size())) read_one.name = name;
    read(in, one->policy(), read_one.policy);
    return read_one;
  });
  in.copy("absent", from.absent(), message.absent,
          [&in](const flatbuffers::String* name) { return in.text("absent", name); });
}

// ---- RangeRequest, RangeReply ----

Wall wall_of(Reader& in, const char* field, std::uint64_t ms) {
  return Wall{Wall::duration(in.within<std::uint64_t>(field, ms, 0, kLatestDateMs))};
}

std::chrono::seconds seconds_of(Reader& in, const char* field, std::uint64_t seconds) {
  return std::chrono::seconds(in.within<std::uint64_t>(field, seconds, 0, kLatestDateMs / 1000));
}

std::uint64_t on_wire(Wall time) {
  return static_cast<std::uint64_t>(time.time_since_epoch().count());
}

Offset<wire::RangeRequest> build(Builder& builder, const RangeRequest& message) {
  const auto key = build_bytes(builder, message.key);
  return wire::CreateRangeRequest(
      builder, message.id, key, static_cast<wire::ReadLevel>(message.level), on_wire(message.from),
      on_wire(message.to), static_cast<std::uint64_t>(message.last.count()), message.only_past,
      static_cast<std::uint64_t>(message.step.count()), message.timeout_ms,
      static_cast<std::uint8_t>(message.kind));
}

// Any key passes here. The node answers a bad one.
void read(Reader& in, const wire::RangeRequest& from, RangeRequest& message) {
  message.id = from.id();
  message.key = Reader::view(from.key());
  message.level = in.one_of<ReadLevel>("level", from.level());
  message.from = wall_of(in, "from_ms", from.from_ms());
  message.to = wall_of(in, "to_ms", from.to_ms());
  message.last = seconds_of(in, "last_s", from.last_s());
  message.only_past = from.only_past();
  message.step = seconds_of(in, "step_s", from.step_s());
  message.timeout_ms = std::min(from.timeout_ms(), kMaxTimeoutMs);
  message.kind = in.kind("kind", from.kind());
}

Offset<wire::RangeReply> build(Builder& builder, const RangeReply& message) {
  const auto detail = build_detail(builder, message.detail, kMaxDetail);
  const auto counts = builder.CreateVector(message.counts);
  return wire::CreateRangeReply(builder, message.id, static_cast<std::uint16_t>(message.code),
                                detail, on_wire(message.begin),
                                static_cast<std::uint64_t>(message.step.count()), counts,
                                message.complete, on_wire(message.settled_until));
}

void read(Reader& in, const wire::RangeReply& from, RangeReply& message) {
  message.id = from.id();
  message.code = Code{from.code()};
  message.detail = read_detail(in, from.detail());
  message.begin = wall_of(in, "begin_ms", from.begin_ms());
  message.step = seconds_of(in, "step_s", from.step_s());
  in.copy("counts", from.counts(), message.counts);
  in.within<std::size_t>("counts", message.counts.size(), 0, kMaxRange);
  message.complete = from.complete();
  message.settled_until = wall_of(in, "settled_until_ms", from.settled_until_ms());
}

// ---- ConfigRequest, ConfigReply ----

Offset<wire::ConfigRequest> build(Builder& builder, const ConfigRequest& message) {
  return wire::CreateConfigRequest(builder, message.id);
}

void read(Reader&, const wire::ConfigRequest& from, ConfigRequest& message) {
  message.id = from.id();
}

Offset<wire::Member> build_member(Builder& builder, const MemberInfo& member) {
  const auto name = build_text(builder, member.name);
  const auto address = build_text(builder, member.client_address);
  return wire::CreateMember(builder, raw(member.node), name, address, raw(member.store),
                            member.weight);
}

MemberInfo read_member(Reader& in, const wire::Member& from) {
  MemberInfo member;
  member.node = NodeId{from.node()};
  member.name = in.text("name", from.name());
  member.client_address = in.text("client_address", from.client_address());
  member.store = StoreId{from.store()};
  member.weight = from.weight();
  return member;
}

Offset<wire::ConfigReply> build(Builder& builder, const ConfigReply& message) {
  const auto name = build_text(builder, message.cluster_name);
  const auto members = build_tables<wire::Member>(
      builder, message.members, [&](const MemberInfo& one) { return build_member(builder, one); });
  const auto owners = build_scalars<std::uint16_t>(builder, message.owners);
  const auto release = build_release(builder, message.by);
  return wire::CreateConfigReply(builder, message.id, raw(message.cluster), name, raw(message.node),
                                 message.version, message.ready, raw(message.placement_key),
                                 members, message.replication, owners, release,
                                 raw(message.by.frames.from), raw(message.by.frames.to));
}

void check_owners(Reader& in, const ConfigReply& message) {
  if (message.owners.size() != kPartitions * message.replication) {
    return in.refuse("owners", "are not as many as partitions and replication say");
  }
  std::uint16_t greatest = 0;  // of thousands: a loop that may stop early takes longer
  for (const std::uint16_t owner : message.owners) greatest = std::max(greatest, owner);
  if (!message.owners.empty() && greatest >= message.members.size())
    in.refuse("owners", "name a member that is not there");
}

void read(Reader& in, const wire::ConfigReply& from, ConfigReply& message) {
  message.id = from.id();
  message.cluster = ClusterId{from.cluster()};
  message.cluster_name = in.text("cluster_name", from.cluster_name());
  message.node = NodeId{from.node()};
  message.version = from.version();
  message.ready = from.ready();
  message.placement_key = HashKey{from.placement_key()};
  in.copy("members", from.members(), message.members,
          [&in](const wire::Member* member) { return read_member(in, *member); });
  message.replication = from.replication();
  in.copy("owners", from.owners(), message.owners);
  check_owners(in, message);
  read_speaker(in, from, message.by);
}

// ---- StatusRequest, StatusReply ----

Offset<wire::StatusRequest> build(Builder& builder, const StatusRequest& message) {
  return wire::CreateStatusRequest(builder, message.id, raw(message.node));
}

void read(Reader&, const wire::StatusRequest& from, StatusRequest& message) {
  message.id = from.id();
  message.node = NodeId{from.node()};
}

Offset<wire::PeerStatus> build_peer(Builder& builder, const PeerStatus& peer) {
  const auto name = build_text(builder, peer.name);
  const auto address = build_text(builder, peer.address);
  const auto state = build_text(builder, peer.state);
  return wire::CreatePeerStatus(builder, name, address, state, peer.outbox, peer.age_ms,
                                peer.clock_ms);
}

PeerStatus read_peer(Reader& in, const wire::PeerStatus& from) {
  PeerStatus peer;
  peer.name = in.text("name", from.name());
  peer.address = in.text("address", from.address());
  peer.state = in.text("state", from.state());
  peer.outbox = from.outbox();
  peer.age_ms = from.age_ms();
  peer.clock_ms = from.clock_ms();
  return peer;
}

Offset<wire::StatusReply> build(Builder& builder, const StatusReply& message) {
  const auto name = build_text(builder, message.name);
  const auto state = build_text(builder, message.state);
  const auto peers = build_tables<wire::PeerStatus>(
      builder, message.peers, [&](const PeerStatus& peer) { return build_peer(builder, peer); });
  const auto stats = build_tables<wire::Stat>(builder, message.stats, [&builder](const Stat& stat) {
    return wire::CreateStat(builder, build_text(builder, stat.name), stat.value);
  });
  const flatbuffers::Optional<bool> trusted = message.clock_trusted;
  const auto doubt = build_text(builder, message.clock_doubt);
  const auto users = build_text(builder, message.users);
  return wire::CreateStatusReply(builder, message.id, name, state, raw(message.cluster),
                                 raw(message.node), raw(message.store), peers, stats,
                                 message.clock_ms, trusted, doubt, users);
}

void read(Reader& in, const wire::StatusReply& from, StatusReply& message) {
  message.id = from.id();
  message.name = in.text("name", from.name());
  message.state = in.text("state", from.state());
  message.cluster = ClusterId{from.cluster()};
  message.node = NodeId{from.node()};
  message.store = StoreId{from.store()};
  in.copy("peers", from.peers(), message.peers,
          [&in](const wire::PeerStatus* peer) { return read_peer(in, *peer); });
  in.copy("stats", from.stats(), message.stats, [&in](const wire::Stat* stat) {
    return Stat{in.text("name", stat->name()), stat->value()};
  });
  message.clock_ms = from.clock_ms();
  if (from.clock_trusted()) message.clock_trusted = *from.clock_trusted();
  message.clock_doubt = in.text("clock_doubt", from.clock_doubt());
  message.users = in.text("users", from.users());
}

// After the overloads, so that these find them all.
// (A table that differs between versions has a build() with the version.)
constexpr auto build_client_message = [](Builder& builder, const auto& message,
                                         FrameVersion version) {
  if constexpr (requires { build(builder, message, version); }) {
    return build(builder, message, version);
  } else {
    return build(builder, message);
  }
};
constexpr auto read_client_message = [](Reader& in, const auto& from, auto& to) {
  read(in, from, to);
};

template <class Table, class Message>
Result<Message> decode(Payload payload, const char* name) {
  return read_message<Table, Message>(payload, Code::protocol_error, name, read_client_message);
}

}  // namespace

void encode(std::string& out, const Op& message, FrameVersion version) {
  append_message(out, FrameType::op, message, build_client_message, version);
}
void encode(std::string& out, const Done& message, FrameVersion version) {
  append_message(out, FrameType::done, message, build_client_message, version);
}
void encode(std::string& out, const Read& message, FrameVersion version) {
  append_message(out, FrameType::read, message, build_client_message, version);
}
void encode(std::string& out, const Values& message, FrameVersion version) {
  append_message(out, FrameType::values, message, build_client_message, version);
}
void encode(std::string& out, const Query& message, FrameVersion version) {
  append_message(out, FrameType::query, message, build_client_message, version);
}
void encode(std::string& out, const QueryReply& message, FrameVersion version) {
  append_message(out, FrameType::query_reply, message, build_client_message, version);
}
void encode(std::string& out, const List& message, FrameVersion version) {
  append_message(out, FrameType::list, message, build_client_message, version);
}
void encode(std::string& out, const Keys& message, FrameVersion version) {
  append_message(out, FrameType::keys, message, build_client_message, version);
}
void encode(std::string& out, const CountKeys& message, FrameVersion version) {
  append_message(out, FrameType::size, message, build_client_message, version);
}
void encode(std::string& out, const KeyCount& message, FrameVersion version) {
  append_message(out, FrameType::sized, message, build_client_message, version);
}
void encode(std::string& out, const NamespaceRequest& message, FrameVersion version) {
  append_message(out, FrameType::namespaces, message, build_client_message, version);
}
void encode(std::string& out, const NamespaceReply& message, FrameVersion version) {
  append_message(out, FrameType::namespaces_reply, message, build_client_message, version);
}
void encode(std::string& out, const RangeRequest& message, FrameVersion version) {
  append_message(out, FrameType::range, message, build_client_message, version);
}
void encode(std::string& out, const RangeReply& message, FrameVersion version) {
  append_message(out, FrameType::range_reply, message, build_client_message, version);
}
void encode(std::string& out, const ConfigRequest& message, FrameVersion version) {
  append_message(out, FrameType::config, message, build_client_message, version);
}
void encode(std::string& out, const ConfigReply& message, FrameVersion version) {
  append_message(out, FrameType::config_reply, message, build_client_message, version);
}
void encode(std::string& out, const StatusRequest& message, FrameVersion version) {
  append_message(out, FrameType::status, message, build_client_message, version);
}
void encode(std::string& out, const StatusReply& message, FrameVersion version) {
  append_message(out, FrameType::status_reply, message, build_client_message, version);
}
void encode(std::string& out, const Authenticate& message, FrameVersion version) {
  append_message(out, FrameType::authenticate, message, build_client_message, version);
}
void encode(std::string& out, const Authenticated& message, FrameVersion version) {
  append_message(out, FrameType::authenticated, message, build_client_message, version);
}
void encode(std::string& out, const Refusal& message, FrameVersion version) {
  append_message(out, FrameType::refusal, message, build_client_message, version);
}

void encode_credentials(std::string& out, const Credentials& credentials, FrameVersion version) {
  if (credentials.secret.empty()) return;
  const auto cut = [](const std::string& word) {  // one byte more is as wrong as any
    return std::string_view(word).substr(0, kMaxUserWord + 1);
  };
  encode(out, Authenticate{.user = cut(credentials.user), .secret = cut(credentials.secret)},
         version);
}

std::optional<Status> answer_to_credentials(FrameType type, Payload payload) {
  if (type != FrameType::authenticated) return std::nullopt;
  const Result<Authenticated> answer = decode_authenticated(payload);
  if (!answer.ok()) return Status(Code::unauthenticated, answer.status().detail());
  return answer->code == Code::ok ? Status() : Status(Code::unauthenticated, answer->detail);
}

void encode_again(std::string& out, std::string_view frame, FrameVersion version) {
  if (version == spoken_versions().from) {
    out.append(frame);
    return;
  }
  FrameDecoder decoder;
  const std::span<std::byte> room = decoder.prepare(frame.size());
  std::memcpy(room.data(), frame.data(), frame.size());
  decoder.commit(frame.size());
  const Result<std::optional<Frame>> cut = decoder.next();
  QUIPU_CHECK(cut.ok() && *cut, "a frame of this build can be read", frame.size());
  const Payload payload = (*cut)->payload;
  switch ((*cut)->type) {
    case FrameType::op:
      return encode(out, decode_op(payload).value(), version);
    case FrameType::read:
      return encode(out, decode_read(payload).value(), version);
    case FrameType::list:
      return encode(out, decode_list(payload).value(), version);
    case FrameType::config:
      return encode(out, decode_config_request(payload).value(), version);
    case FrameType::status:
      return encode(out, decode_status_request(payload).value(), version);
    case FrameType::size:
      return encode(out, decode_count_keys(payload).value(), version);
    case FrameType::namespaces:
      return encode(out, decode_namespace_request(payload).value(), version);
    case FrameType::range:
      return encode(out, decode_range_request(payload).value(), version);
    case FrameType::query:
      return encode(out, decode_query(payload).value(), version);
    case FrameType::authenticate:
      return encode(out, decode_authenticate(payload).value(), version);
    default:
      QUIPU_CHECK(false, "only requests are sent again", (*cut)->type);
  }
}

Result<Op> decode_op(Payload payload) {
  Result<Op> op = decode<wire::Op, Op>(payload, "Op");
  if (op.ok() && (op->kind == OpKind::decide || (op->kind != OpKind::apply && !op->words.empty())))
    return Status(Code::protocol_error, "Op: commands in words travel between members only");
  return op;
}
Result<Done> decode_done(Payload payload) { return decode<wire::Done, Done>(payload, "Done"); }
Result<Read> decode_read(Payload payload) { return decode<wire::Read, Read>(payload, "Read"); }
Result<Values> decode_values(Payload payload) {
  return decode<wire::Values, Values>(payload, "Values");
}
Result<Query> decode_query(Payload payload) { return decode<wire::Query, Query>(payload, "Query"); }
Result<QueryReply> decode_query_reply(Payload payload) {
  return decode<wire::QueryReply, QueryReply>(payload, "QueryReply");
}
Result<List> decode_list(Payload payload) { return decode<wire::List, List>(payload, "List"); }
Result<Keys> decode_keys(Payload payload) { return decode<wire::Keys, Keys>(payload, "Keys"); }
Result<CountKeys> decode_count_keys(Payload payload) {
  return decode<wire::CountKeys, CountKeys>(payload, "CountKeys");
}
Result<KeyCount> decode_key_count(Payload payload) {
  return decode<wire::KeyCount, KeyCount>(payload, "KeyCount");
}
Result<NamespaceRequest> decode_namespace_request(Payload payload) {
  return decode<wire::NamespaceRequest, NamespaceRequest>(payload, "NamespaceRequest");
}
Result<NamespaceReply> decode_namespace_reply(Payload payload) {
  return decode<wire::NamespaceReply, NamespaceReply>(payload, "NamespaceReply");
}
Result<RangeRequest> decode_range_request(Payload payload) {
  return decode<wire::RangeRequest, RangeRequest>(payload, "RangeRequest");
}
Result<RangeReply> decode_range_reply(Payload payload) {
  return decode<wire::RangeReply, RangeReply>(payload, "RangeReply");
}
Result<ConfigRequest> decode_config_request(Payload payload) {
  return decode<wire::ConfigRequest, ConfigRequest>(payload, "ConfigRequest");
}
Result<ConfigReply> decode_config_reply(Payload payload) {
  return decode<wire::ConfigReply, ConfigReply>(payload, "ConfigReply");
}
Result<StatusRequest> decode_status_request(Payload payload) {
  return decode<wire::StatusRequest, StatusRequest>(payload, "StatusRequest");
}
Result<StatusReply> decode_status_reply(Payload payload) {
  return decode<wire::StatusReply, StatusReply>(payload, "StatusReply");
}
Result<Authenticate> decode_authenticate(Payload payload) {
  return decode<wire::Authenticate, Authenticate>(payload, "Authenticate");
}
Result<Authenticated> decode_authenticated(Payload payload) {
  return decode<wire::Authenticated, Authenticated>(payload, "Authenticated");
}
Result<Refusal> decode_refusal(Payload payload) {
  return decode<wire::Refusal, Refusal>(payload, "Refusal");
}

}  // namespace quipu
