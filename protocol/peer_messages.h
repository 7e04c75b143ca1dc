// peer_messages.h: the messages between members, as plain structs.
//
//   handshake     Hello, Refusal
//   replication   DeltaFrame → DeltaAck, Heartbeat
//   requests      Forward → Forwarded, Collect → Collected, WriteBack → WrittenBack
//   repair        Pull → Pulled
//   what exists   ListPart → ListedPart, CountKeysPart → KeyCountPart
//   definitions   Namespaces
//   what may end  Prefixes
//
// States (DeltaFrame, WriteBack, Pulled) and adds (Forward) are different types
// and never share a path. Views borrow the frame.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "protocol/client_messages.h"
#include "protocol/keyed_hash.h"
#include "protocol/namespace.h"
#include "protocol/partitions.h"
#include "protocol/state.h"
#include "protocol/wall.h"

namespace quipu {

// The sender's config and pinned stores; compare for equality only. A request for an answer
// that counts towards a quorum has the asker's. A replica whose pins differ when its answer
// leaves says stale_config, and its answer does not count. 0: any.
enum class Fence : std::uint64_t {};

// The handshake: both sides send it on every new link, and again whenever `pins` change.
struct Hello {
  ClusterId cluster{};
  NodeId node{};
  StoreId store{};
  BootId boot{};
  bool marked = false;
  bool welcome = false;  // the sender has accepted the receiver, durably
  Pins pins{};
  std::vector<VersionEntry> versions{};
  Speaker by = this_build();  // the sender
};

// Outbox frames are numbered per link. Each is acked by itself, when the receiver's merged
// state is durable.
struct DeltaFrame {
  std::uint64_t number = 0;
  Fence fence{};
  Delta delta{};
};

struct DeltaAck {
  Code code = Code::ok;  // stale_config: the states were merged all the same
  std::vector<std::uint64_t> numbers{};
  std::vector<Partition> unfilled{};  // here the sender's copy is not in sync yet
};

// The heartbeat, sent every gossip interval. `covered` says: you have acked all that I held
// when I received your heartbeat of that number, and nothing of mine awaits repair.
struct Heartbeat {
  std::uint64_t number = 0;
  std::uint64_t covered = 0;
  std::uint64_t lost_epoch = 0;    // how often my outbox to you was dropped
  std::uint64_t pulled_epoch = 0;  // your lost_epoch that I have repaired
  bool full = false;               // my disk has no room: I execute and acknowledge nothing
  Hash128 namespaces{};            // over all definitions of namespaces that I hold durably
  Wall wall{};                     // what my machine's clock shows; 1970: I do not say
  std::uint64_t newest = 0;        // the newest heartbeat that came over this link; 0: none
  std::uint32_t held_us = 0;       // how long ago that came
  bool closing = false;            // I take no more of your changes, and acknowledge to the end
};

// Definitions of namespaces that the sender holds durably. Some of these messages with all of them
// go to a member whose heartbeat shows that it holds others.
inline constexpr std::size_t kMaxDefinitions = 1024;  // of a message, so that it fits a frame
struct Namespaces {
  std::vector<NamespaceDefinition> definitions{};
};

// Bits of the sender's set of prefixes (storage/prefixes.h): all when the link came up, then those
// that are new.
struct Prefixes {
  std::vector<std::uint16_t> bits{};
};

struct Forward {
  std::vector<Op> ops{};
};

struct Forwarded {
  std::vector<Done> done{};
};

// Asks for the current states. Each is sealed and durable when it is answered.
struct Collect {
  std::uint64_t id = 0;
  Fence fence{};
  std::vector<ShardKey> shards{};
  bool hashes = false;  // of large states, only their hashes (Collected::hashes)
};

// The hash of a state that is larger than kSmallBodies, in place of the state: then the state in
// `states` is empty.
struct StateHash {
  std::uint32_t shard = 0;  // its place in Collect::shards
  Hash128 hash{};
};
inline constexpr std::size_t kSmallBodies = 256;  // bytes

// The asker's shard shows no counter, but its key has one of another kind here.
struct OtherKind {
  std::uint32_t shard = 0;  // its place in Collect::shards
  Kind kind{};
  Wall ends{};  // Wall{}: never

  bool operator==(const OtherKind&) const = default;
};

struct Collected {
  std::uint64_t id = 0;
  Code code = Code::ok;
  // In the order of Collect::shards, absent ones empty. As many as fit the frame.
  Delta states{};
  std::vector<Partition> unfilled{};   // see DeltaAck
  std::uint32_t age_ms = kUnknownAge;  // of the answering node's own view
  bool complete = false;
  BootId boot{};                    // of the start that answers
  std::vector<StateHash> hashes{};  // ascending by shard
  std::vector<OtherKind> others{};  // ascending by shard
};

// States to merge: the join of the owners' answers, or a raised number of shards.
struct WriteBack {
  std::uint64_t id = 0;
  Fence fence{};
  Delta states{};
  // The starts that the states were collected from. A member whose start has ended may have
  // lost what it answered, and gone on counting. So a replica that knows a later start refuses.
  std::vector<BootId> boots{};
};

struct WrittenBack {
  std::uint64_t id = 0;
  Code code = Code::ok;  // stale_config also if a start that the write-back names has ended
  std::vector<Partition> unfilled{};
};

// Anti-entropy is a pull: the asker compares digests and asks for what differs.
struct ShardDigest {
  ShardKey shard{};
  Hash128 hash{};
};

enum class PullKind : std::uint8_t { root = 0, partitions = 1, leaves = 2, keys = 3, states = 4 };

struct Pull {
  std::uint64_t id = 0;
  PullKind kind = PullKind::root;
  std::vector<Partition> partitions{};  // kind leaves
  std::vector<LeafId> leaves{};         // kind keys
  // Kind states: these shards. Kind keys: in the first leaf, only shards behind this one.
  std::vector<ShardKey> shards{};
};

struct PartitionDigest {
  Partition partition{};
  Hash128 hash{};
};

struct LeafDigest {
  LeafId leaf{};
  Hash128 hash{};
};

// An answer may stop early for size. It has the first `answered` items of the request and,
// for keys, perhaps part of the next leaf.
struct Pulled {
  std::uint64_t id = 0;
  PullKind kind = PullKind::root;
  std::uint32_t answered = 0;
  bool whole = false;                         // the sender's copy is in sync where it is an owner
  Hash128 root{};                             // over the partitions that the asker owns
  std::vector<PartitionDigest> partitions{};  // of those partitions, without empty ones
  std::vector<LeafDigest> leaves{};           // without empty ones
  std::vector<ShardDigest> shards{};          // sorted within each leaf
  Delta states{};
};

// Asks for the keys of existing counters, as List does, but only for those that the
// receiver holds. The receiver asks no other node.
struct ListPart {
  std::uint64_t id = 0;
  std::string prefix{};  // at most kMaxKey
  std::uint32_t cursor = 0;
  std::uint32_t limit = kMaxListKeys;
};

// Keys up to `next`, sorted by place, then key. The answer stops before the first partition
// where the sender's copy is not in sync, so `next` may be the request's cursor.
struct ListedPart {
  std::uint64_t id = 0;
  std::vector<std::string> keys{};  // at most kMaxListKeys
  std::uint32_t next = 0;
  std::vector<Kind> kinds{};  // as of Keys
};

struct CountKeysPart {
  std::uint64_t id = 0;
  Partitions partitions{};
};

// The key count of those partitions where the sender's copy is in sync.
struct KeyCountPart {
  std::uint64_t id = 0;
  Partitions counted{};
  std::uint64_t counters = 0;  // at most kMaxCounters
};
// More than fits into memory, but so few that the sum over all members cannot overflow.
inline constexpr std::uint64_t kMaxCounters = std::uint64_t{1} << 40;

using PeerMessage =
    std::variant<Hello, Refusal, DeltaFrame, DeltaAck, Heartbeat, Forward, Forwarded, Collect,
                 Collected, WriteBack, WrittenBack, Pull, Pulled, ListPart, ListedPart,
                 CountKeysPart, KeyCountPart, Namespaces, Prefixes>;

}  // namespace quipu
