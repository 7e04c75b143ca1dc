// peer_messages.h: what members say to each other, as plain structs.
//
//   greeting      Hello, Refusal
//   replication   DeltaFrame → DeltaAck, Beat
//   requests      Forward → Forwarded, Collect → Collected, WriteBack → WrittenBack
//   repair        Pull → Pulled
//   what exists   ListPart → ListedPart, SizePart → SizedPart
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
#include "protocol/partitions.h"
#include "protocol/state.h"

namespace quipu {

// Which config and pinned stores the sender goes by; only equality means anything.
// Whatever is to be counted names the asker's. A replica that goes by another when
// its answer leaves says stale_config, and is not counted. 0: by whichever.
enum class Fence : std::uint64_t {};

// Said on every new link by both sides, and again whenever `pins` change.
struct Hello {
  ClusterId cluster{};
  NodeId node{};
  StoreId store{};
  BootId boot{};
  bool marked = false;
  bool welcome = false;  // the sender has accepted the receiver, durably
  Pins pins{};
  std::vector<Sighting> sightings{};
};

// Outbox frames are numbered per link and acked one by one, when what the
// receiver now has is durable.
struct DeltaFrame {
  std::uint64_t number = 0;
  Fence fence{};
  Delta delta{};
};

struct DeltaAck {
  Code code = Code::ok;  // stale_config: held all the same
  std::vector<std::uint64_t> numbers{};
  std::vector<Partition> unfilled{};  // of these the sender's copy does not count yet
};

// Sent every gossip interval. `covered` says: all that I held when I received
// your beat of that number, you have acked, and nothing of mine awaits repair.
struct Beat {
  std::uint64_t number = 0;
  std::uint64_t covered = 0;
  std::uint64_t lost_epoch = 0;    // counts how often my outbox to you was lost
  std::uint64_t pulled_epoch = 0;  // the lost_epoch of yours that I have repaired
  bool full = false;               // my disk has no room: I execute and acknowledge nothing
};

struct Forward {
  std::vector<Op> ops{};
};

struct Forwarded {
  std::vector<Done> done{};
};

// Asks for states as they are now. Each is sealed and durable when answered.
struct Collect {
  std::uint64_t id = 0;
  Fence fence{};
  std::vector<ShardKey> shards{};
};

struct Collected {
  std::uint64_t id = 0;
  Code code = Code::ok;
  // In the order of Collect::shards, absent ones empty; as many as there is room for.
  Delta states{};
  std::vector<Partition> unfilled{};   // see DeltaAck
  std::uint32_t age_ms = kUnknownAge;  // of the answering node's own view
  bool complete = false;
  BootId boot{};  // of the answering start
};

// States to be merged: the join of what owners answered, or what a raise says.
struct WriteBack {
  std::uint64_t id = 0;
  Fence fence{};
  Delta states{};
  // The starts that answered. A member that has ended one of them may have lost what it told
  // in it and counted on, so a replica that knows of a later start takes nothing.
  std::vector<BootId> boots{};
};

struct WrittenBack {
  std::uint64_t id = 0;
  Code code = Code::ok;  // stale_config, too: a start that the write-back names has ended
  std::vector<Partition> unfilled{};
};

// Anti-entropy is a pull: the asker compares and asks for what differs.
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
  // Kind states: these. Kind keys: of the first leaf, only those behind this one.
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

// An answer may stop early for size: `answered` of what was asked are in it; of keys,
// perhaps a part of the next leaf.
struct Pulled {
  std::uint64_t id = 0;
  PullKind kind = PullKind::root;
  std::uint32_t answered = 0;
  bool whole = false;                         // the sender's copy counts wherever it is an owner
  Hash128 root{};                             // over the partitions that the asker owns
  std::vector<PartitionDigest> partitions{};  // those, the empty ones left out
  std::vector<LeafDigest> leaves{};           // the empty ones left out
  std::vector<ShardDigest> shards{};          // sorted within each leaf
  Delta states{};
};

// Asks for the keys of the counters that exist, as List does, but only for what the
// asked one holds: it asks nobody else.
struct ListPart {
  std::uint64_t id = 0;
  std::string prefix{};  // at most kMaxKey
  std::uint32_t cursor = 0;
  std::uint32_t limit = kMaxListKeys;
};

// Up to `next`, in front of the first partition where the sender's copy does not
// count; so it may be the cursor. By place, and by key within one.
struct ListedPart {
  std::uint64_t id = 0;
  std::vector<std::string> keys{};  // at most kMaxListKeys
  std::uint32_t next = 0;
};

struct SizePart {
  std::uint64_t id = 0;
  Partitions partitions{};
};

// How many counters exist in those of the partitions where the sender's copy counts.
struct SizedPart {
  std::uint64_t id = 0;
  Partitions counted{};
  std::uint64_t counters = 0;  // at most kMaxCounters
};
// More than memory holds, and so few that what all members say never overflows.
inline constexpr std::uint64_t kMaxCounters = std::uint64_t{1} << 40;

using PeerMessage =
    std::variant<Hello, Refusal, DeltaFrame, DeltaAck, Beat, Forward, Forwarded, Collect, Collected,
                 WriteBack, WrittenBack, Pull, Pulled, ListPart, ListedPart, SizePart, SizedPart>;

}  // namespace quipu
