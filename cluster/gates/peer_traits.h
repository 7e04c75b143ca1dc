// peer_traits.h: what the core must know about each kind of peer message.
//
// One row for each message of PeerMessage. A message without a row does not compile, nor one
// without a NodeCore::handle(). A row says:
//
//   kNeedsRoom   it brings states, or its answer needs a sync: refused while the backlog is
//                full
//   states()     the states that it brings; null if none
//   look_at()    the shards and leaves that its handler uses: they must be in memory first
//   call_stale() makes an answer say stale_config: this node has another fence than the
//                request had. Only answers to fenced requests have it
//
// The rest of what a new message needs: protocol/peer.fbs, peer_messages.h, peer_codec.cpp.
#pragma once

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "protocol/peer_messages.h"

namespace quipu {

// What an event uses.
struct Needs {
  std::vector<ShardKey> shards;
  std::vector<LeafId> leaves;  // all shards of these leaves
  std::size_t bytes = 0;       // about how much memory the event takes while it is held
  void add(const Delta& states);
};

template <class Message>
struct PeerTraits;  // no default

// For messages that need nothing of the above.
template <class Message>
struct PlainPeerTraits {
  static constexpr bool kNeedsRoom = false;
  static const Delta* states(const Message&) { return nullptr; }
  static void look_at(const Message&, Needs&) {}
};

template <>
struct PeerTraits<Hello> : PlainPeerTraits<Hello> {};
template <>
struct PeerTraits<Refusal> : PlainPeerTraits<Refusal> {};
template <>
struct PeerTraits<Heartbeat> : PlainPeerTraits<Heartbeat> {};
// The executor of an op learns which shards it uses only when it routes the op.
template <>
struct PeerTraits<Forward> : PlainPeerTraits<Forward> {};
template <>
struct PeerTraits<Forwarded> : PlainPeerTraits<Forwarded> {};
template <>
struct PeerTraits<ListedPart> : PlainPeerTraits<ListedPart> {};
template <>
struct PeerTraits<CountKeysPart> : PlainPeerTraits<CountKeysPart> {};
template <>
struct PeerTraits<KeyCountPart> : PlainPeerTraits<KeyCountPart> {};

template <>
struct PeerTraits<Namespaces> : PlainPeerTraits<Namespaces> {
  static constexpr bool kNeedsRoom = true;
};

template <>
struct PeerTraits<Prefixes> : PlainPeerTraits<Prefixes> {
  static constexpr bool kNeedsRoom = true;
};

template <>
struct PeerTraits<DeltaFrame> {
  static constexpr bool kNeedsRoom = true;
  static const Delta* states(const DeltaFrame& frame) { return &frame.delta; }
  static void look_at(const DeltaFrame& frame, Needs& needs) { needs.add(frame.delta); }
};

template <>
struct PeerTraits<DeltaAck> : PlainPeerTraits<DeltaAck> {
  static void call_stale(DeltaAck& ack) { ack.code = Code::stale_config; }
};

template <>
struct PeerTraits<Collect> : PlainPeerTraits<Collect> {
  static constexpr bool kNeedsRoom = true;
  static void look_at(const Collect& ask, Needs& needs) { needs.shards = ask.shards; }
};

// The round merges its states, and they are used when it has ended.
template <>
struct PeerTraits<Collected> : PlainPeerTraits<Collected> {
  static const Delta* states(const Collected& answer) { return &answer.states; }
  static void call_stale(Collected& answer) {
    answer.code = Code::stale_config;
    answer.states = Delta{};
    answer.hashes.clear();  // they are about these states
    answer.others.clear();
  }
};

template <>
struct PeerTraits<WriteBack> {
  static constexpr bool kNeedsRoom = true;
  static const Delta* states(const WriteBack& write) { return &write.states; }
  static void look_at(const WriteBack& write, Needs& needs) { needs.add(write.states); }
};

template <>
struct PeerTraits<WrittenBack> : PlainPeerTraits<WrittenBack> {
  static void call_stale(WrittenBack& answer) { answer.code = Code::stale_config; }
};

template <>
struct PeerTraits<Pull> : PlainPeerTraits<Pull> {
  static constexpr bool kNeedsRoom = true;
  static void look_at(const Pull& pull, Needs& needs) {
    needs.leaves = pull.leaves;
    if (pull.kind == PullKind::states) needs.shards = pull.shards;
  }
};

template <>
struct PeerTraits<Pulled> {
  static constexpr bool kNeedsRoom = true;
  static const Delta* states(const Pulled& answer) { return &answer.states; }
  static void look_at(const Pulled& answer, Needs& needs) {
    needs.add(answer.states);
    for (const ShardDigest& told : answer.shards) needs.shards.push_back(told.shard);
  }
};

template <>
struct PeerTraits<ListPart> : PlainPeerTraits<ListPart> {
  static constexpr bool kNeedsRoom = true;
  static void look_at(const ListPart& list, Needs& needs);
};

// ---- for any message ----

[[nodiscard]] bool needs_room(const PeerMessage& message);
[[nodiscard]] const Delta* states_in(const PeerMessage& message);
[[nodiscard]] Needs needs_of(const PeerMessage& message);
// REQUIRES: it answers a fenced request.
void call_stale(PeerMessage& message);

}  // namespace quipu
