// client_messages.h: the messages of the client port, as plain structs.
//
// One request changes a counter (Op → Done), three read (Read → Values, Query → QueryReply,
// RangeRequest → RangeReply),
// four ask about the cluster (List, CountKeys, ConfigRequest, StatusRequest), one is about
// namespaces (NamespaceRequest → NamespaceReply), and one says who asks (Authenticate →
// Authenticated). Every message carries the `id` that the asker
// chose. Answers come in any order. Views borrow the frame.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/asked.h"
#include "protocol/ids.h"
#include "protocol/keyed_hash.h"
#include "protocol/release.h"
#include "protocol/state.h"
#include "quipu/kind.h"
#include "quipu/levels.h"
#include "quipu/namespace.h"
#include "quipu/status.h"

namespace quipu {

inline constexpr ShardIndex kAnyShard = 0xffff;  // the coordinator chooses (add), or all (reset)
inline constexpr std::size_t kMaxReadKeys = 1024;
inline constexpr std::size_t kMaxListKeys = 1000;
// Bytes: the words of a decision, and its reply.
inline constexpr std::size_t kMaxDecisionWords = std::size_t{256} << 10;
inline constexpr std::size_t kMaxDecisionReply = std::size_t{512} << 10;

enum class OpKind : std::uint8_t {
  add = 0,    // amount
  reset = 1,  // clears what is observed
  raise = 2,  // amount = the wanted number of shards; grow-only, needs no token
  // token.store = the executor's. 0: the node chooses, an owner of `key` if there is one.
  // The answer has the store and a serial.
  open_session = 3,
  expire = 4,  // amount = when the counter ends, in wall ms since 1970; 0: never again
  // `words` = commands that decide on what they read (cluster/changes/decision.h). Not from
  // clients: between members, and from this node's own clients of RESP. If they are about several
  // counters, `key` is one of them.
  decide = 5,
  // `words` = a change of a counter that is no sum. `shard` has its kind, and is never kAnyShard.
  apply = 6,
};

// A server keeps waiting requests in memory, so no request waits longer than this. A client
// that wants to wait longer asks again.
inline constexpr std::uint32_t kMaxTimeoutMs = 60'000;

// The small fields come last: the hot path copies ops.
struct Op {
  std::uint64_t id = 0;
  std::string_view key{};
  std::string_view words{};  // of a decide or an apply
  std::int64_t amount = 0;
  Token token{};  // store 0: no token, so no node ever retries it
  // For an add to kAnyShard: chooses the shard (affinity.h). Between members `shard` is set,
  // too: the coordinator has chosen it, knowing that adds may use it.
  Affinity affinity{};
  std::uint64_t ttl_ms = 0;  // of an add: if it creates the counter, how long that lives; 0: unset
  // A moment, in wall ms since 1970. An add counts in the windows of this moment; 0 means now. A
  // reset sets the windows of this moment to zero and leaves the counter; 0 means the counter.
  std::int64_t at_ms = 0;
  std::uint32_t timeout_ms = 0;  // 0: the server's default; at most kMaxTimeoutMs arrives
  ShardIndex shard = kAnyShard;
  OpKind kind = OpKind::add;
  Ack ack = Ack::disk;
};

struct Done {
  std::uint64_t id = 0;
  Code code = Code::ok;
  std::string detail{};   // why not; of a decide or an apply that is ok: its reply
  ShardIndex usable = 0;  // the counter's usable shards, as the executor knows; 0: unknown
  StoreId store{};        // open_session: the store of the serial
  Serial serial{};
  // For a new add: the counter's total right after it, as the executor knows. Nothing if the
  // executor cannot know it: the counter has more shards, or this is a retry.
  std::optional<std::int64_t> total{};
  Asked asked{};  // for the asked node alone, as in Values, QueryReply and RangeReply; not sent
};

[[nodiscard]] constexpr Operation operation_of(const Op& op) {
  if (op.kind == OpKind::add || op.kind == OpKind::apply) return add_at(op.ack);
  return op.kind == OpKind::reset ? Operation::reset : Operation::other;
}

struct Read {
  std::uint64_t id = 0;
  ReadLevel level = ReadLevel::local;
  std::uint32_t timeout_ms = 0;
  std::vector<std::string_view> keys{};
};

// A key that has a counter of another kind than the sum: wrong_type, with the kind, and `exists`,
// `expires_in_ms` and `ends` as for a sum.
struct Value {
  Code code = Code::ok;
  Kind kind = Kind::sum;
  ShardIndex shards = 1;
  std::optional<Ack> ack{};  // of changes that name none, if the key's namespace says so
  bool exists = false;
  bool complete = false;  // nothing acknowledged `age` ago is missing
  std::string detail{};
  std::int64_t value = 0;
  std::uint64_t expires_in_ms = 0;  // when it ends; 0: never
  Wall ends{};                      // the same by this node's clock; not sent
  std::uint32_t age_ms = 0;         // kUnknownAge: unknown
};
inline constexpr std::uint32_t kUnknownAge = 0xffffffff;

struct Values {
  std::uint64_t id = 0;
  std::vector<Value> values{};  // in the order of Read::keys
  Asked asked{};
};

// Lists the counters that exist, as one owner of each holds it, in bounded steps. Start at
// cursor 0, go on at Keys::next, stop at kListEnd. Unordered. A counter that exists from
// the first step to the last is listed exactly once.
struct List {
  std::uint64_t id = 0;
  std::string_view prefix{};
  std::uint32_t cursor = 0;            // partition × kLeaves + leaf
  std::uint32_t limit = kMaxListKeys;  // about: a leaf is listed as a whole
  std::uint32_t timeout_ms = 0;
};
inline constexpr std::uint32_t kListEnd = kPartitions * kLeaves;

// Not ok: the list stopped at `next`. Ask again there.
struct Keys {
  std::uint64_t id = 0;
  std::vector<std::string> keys{};  // may be empty before the end
  std::uint32_t next = kListEnd;
  Code code = Code::ok;
  std::string detail{};
  std::vector<Kind> kinds{};  // of the keys, in order; empty: all are sums
};

// A question about the bodies of counters of one kind, all together: for example how many different
// elements they have. Answered by one QueryReply.
struct Query {
  std::uint64_t id = 0;
  Kind kind = Kind::distinct;
  ReadLevel level = ReadLevel::by_default;
  std::uint32_t timeout_ms = 0;
  std::string_view words{};              // the question, as its kind understands it
  std::vector<std::string_view> keys{};  // at most kMaxReadKeys
};

struct QueryReply {
  std::uint64_t id = 0;
  Code code = Code::ok;
  std::string detail{};
  std::string reply{};    // as the kind writes it
  bool exists = false;    // some of the counters do
  bool complete = false;  // as of Value …
  std::uint32_t age_ms = 0;
  std::uint64_t expires_in_ms = 0;  // … for the counter of a query with one key
  Asked asked{};
};

// Asks for the key count: as many as List would list.
struct CountKeys {
  std::uint64_t id = 0;
  std::uint32_t timeout_ms = 0;
};

struct KeyCount {
  std::uint64_t id = 0;
  std::uint64_t counters = 0;
  Code code = Code::ok;  // not ok: no number, rather than that of a part
  std::string detail{};
};

enum class NamespaceAction : std::uint8_t {
  list = 0,
  create = 1,  // refused if it exists
  set = 2,     // changes the fields that are named
  drop = 3,    // the definition; resetting its counters is up to the asker
};

struct NamespaceRequest {
  // Bits of `fields`.
  static constexpr std::uint16_t kAck = 1, kRead = 2, kShards = 4, kStrict = 8, kTtl = 16,
                                 kDecide = 32, kTiers = 64, kLate = 128, kKind = 256,
                                 kPrecision = 512;

  std::uint64_t id = 0;
  NamespaceAction action = NamespaceAction::list;
  std::string_view name{};
  NamespacePolicy policy{};
  std::uint16_t fields = 0;  // for set: which of the policy's. One that has no value is unset
  std::uint32_t timeout_ms = 0;
};

// Answered once every member that is up holds the change, or at the deadline.
struct NamespaceReply {
  std::uint64_t id = 0;
  Code code = Code::ok;
  std::string detail{};
  std::vector<Namespace> namespaces{};  // for list: all, sorted by name
  std::vector<std::string> absent{};    // members that do not hold the change yet, by name
};

inline constexpr std::size_t kMaxRange = 10'000;  // counts, and windows that are read for them
// Windows of a range of another kind than the sum. Their bodies are larger.
inline constexpr std::size_t kMaxBodyRange = 1024;

// What a counter counted in time, from its windows. The node rounds to whole steps since 1970.
struct RangeRequest {
  std::uint64_t id = 0;
  std::string_view key{};
  ReadLevel level = ReadLevel::by_default;
  Wall from{}, to{};
  std::chrono::seconds last{};  // not 0: the time until now instead, by the node's clock
  bool only_past = false;       // with `last`: no step that is not over yet
  std::chrono::seconds step{};  // 0: the shortest that the namespace keeps for all of it
  std::uint32_t timeout_ms = 0;
  // A kind beside the sum gives one number for each step: its answer to the empty question about
  // all windows of the step together.
  Kind kind = Kind::sum;
};

struct RangeReply {
  std::uint64_t id = 0;
  Code code = Code::ok;
  std::string detail{};
  Wall begin{};  // of the first step
  std::chrono::seconds step{};
  std::vector<std::int64_t> counts{};
  bool complete = false;  // nothing that was counted in this time is missing
  // What ends before that does not change any more. 0: unknown.
  Wall settled_until{};
  Asked asked{};
};

struct ConfigRequest {
  std::uint64_t id = 0;
};

struct MemberInfo {
  NodeId node{};
  std::string name{};
  std::string client_address{};  // host:port
  StoreId store{};               // pinned; 0: unknown
  std::uint32_t weight = 1;
};

// All that a client needs to choose executors by itself.
struct ConfigReply {
  std::uint64_t id = 0;
  ClusterId cluster{};
  std::string cluster_name{};
  NodeId node{};  // the node that answers
  std::uint64_t version = 0;
  bool ready = false;
  HashKey placement_key{};  // 0: the cluster is not founded yet, so no counter has a place
  std::vector<MemberInfo> members{};
  std::uint8_t replication = 0;         // owners per partition
  std::vector<std::uint16_t> owners{};  // kPartitions × replication indices into members
  Speaker by = this_build();            // the node that answers
};

struct StatusRequest {
  std::uint64_t id = 0;
  NodeId node{};  // which member to ask, of those at this address; 0: any
};

// A clock that was not compared lately.
inline constexpr std::int64_t kUnknownClock = std::numeric_limits<std::int64_t>::min();

struct PeerStatus {
  std::string name{};
  std::string address{};
  std::string state{};  // "up", "connecting", or why it was refused
  std::uint64_t outbox = 0;
  std::uint32_t age_ms = kUnknownAge;
  std::int64_t clock_ms = kUnknownClock;  // how far its clock is ahead of this member's
};

struct Stat {
  std::string name{};
  std::uint64_t value = 0;
};

struct StatusReply {
  std::uint64_t id = 0;
  std::string name{};
  std::string state{};  // "ready", or what it waits for
  ClusterId cluster{};
  NodeId node{};
  StoreId store{};
  std::vector<PeerStatus> peers{};
  std::vector<Stat> stats{};              // sorted by name
  std::int64_t clock_ms = kUnknownClock;  // how far its clock is ahead of the members' median
  std::optional<bool> clock_trusted{};    // nullopt: unknown
  std::string clock_doubt{};              // why not
  std::string users{};                    // a digest of its users file; empty: it has none
};

// Authenticates the connection as a user. Authenticated answers it. Before that is ok, a node with
// a users file refuses all other requests.
inline constexpr std::size_t kMaxUserWord = 512;  // bytes: a name, or a secret
struct Authenticate {
  std::uint64_t id = 0;
  std::string_view user{};
  std::string_view secret{};
};

struct Authenticated {
  std::uint64_t id = 0;
  Code code = Code::ok;
  std::string detail{};
};

// The frame was refused, and the connection will be closed.
struct Refusal {
  Code code = Code::protocol_error;
  std::string detail{};
  Speaker by = this_build();
};

}  // namespace quipu
