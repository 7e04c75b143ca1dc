// message_codec.h: messages ↔ frames.
//
// encode appends one whole frame. REQUIRES: it fits kMaxFrame, as every message within its
// documented bounds does. decode takes a payload from FrameDecoder and trusts nothing: it
// checks the verifier (depth ≤ 16, tables bounded), required fields, key lengths and enum
// ranges. A refusal is protocol_error, and its text names the field. Keys of Op and Read
// pass at any length: the coordinator answers bad ones. Details for people are cut
// (message_tables.h).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "protocol/client_messages.h"
#include "protocol/frame.h"
#include "protocol/peer_messages.h"
#include "quipu/credentials.h"

namespace quipu {

// ---- client port ----
// Without a version: the lowest that this build speaks, for a sender that has not heard what the
// other side speaks.
void encode(std::string& out, const Op& message, FrameVersion version = spoken_versions().from);
void encode(std::string& out, const Done& message, FrameVersion version = spoken_versions().from);
void encode(std::string& out, const Read& message, FrameVersion version = spoken_versions().from);
void encode(std::string& out, const Values& message, FrameVersion version = spoken_versions().from);
void encode(std::string& out, const Query& message, FrameVersion version = spoken_versions().from);
void encode(std::string& out, const QueryReply& message,
            FrameVersion version = spoken_versions().from);
void encode(std::string& out, const List& message, FrameVersion version = spoken_versions().from);
void encode(std::string& out, const Keys& message, FrameVersion version = spoken_versions().from);
void encode(std::string& out, const CountKeys& message,
            FrameVersion version = spoken_versions().from);
void encode(std::string& out, const KeyCount& message,
            FrameVersion version = spoken_versions().from);
void encode(std::string& out, const NamespaceRequest& message,
            FrameVersion version = spoken_versions().from);
void encode(std::string& out, const NamespaceReply& message,
            FrameVersion version = spoken_versions().from);
void encode(std::string& out, const RangeRequest& message,
            FrameVersion version = spoken_versions().from);
void encode(std::string& out, const RangeReply& message,
            FrameVersion version = spoken_versions().from);
void encode(std::string& out, const ConfigRequest& message,
            FrameVersion version = spoken_versions().from);
void encode(std::string& out, const ConfigReply& message,
            FrameVersion version = spoken_versions().from);
void encode(std::string& out, const StatusRequest& message,
            FrameVersion version = spoken_versions().from);
void encode(std::string& out, const StatusReply& message,
            FrameVersion version = spoken_versions().from);
void encode(std::string& out, const Authenticate& message,
            FrameVersion version = spoken_versions().from);
void encode(std::string& out, const Authenticated& message,
            FrameVersion version = spoken_versions().from);
void encode(std::string& out, const Refusal& message,
            FrameVersion version = spoken_versions().from);

// The first frame of a client, if it has a secret. Its id is 0.
void encode_credentials(std::string& out, const Credentials& credentials, FrameVersion version);
// What its answer says: ok, or unauthenticated. Nothing: this is another frame.
[[nodiscard]] std::optional<Status> answer_to_credentials(FrameType type,
                                                          std::span<const std::byte> payload);

// The request of that frame, in another version. REQUIRES: encode() made the frame, in the lowest.
void encode_again(std::string& out, std::string_view frame, FrameVersion version);

using Payload = std::span<const std::byte>;
[[nodiscard]] Result<Op> decode_op(Payload payload);
[[nodiscard]] Result<Done> decode_done(Payload payload);
[[nodiscard]] Result<Read> decode_read(Payload payload);
[[nodiscard]] Result<Values> decode_values(Payload payload);
[[nodiscard]] Result<Query> decode_query(Payload payload);
[[nodiscard]] Result<QueryReply> decode_query_reply(Payload payload);
[[nodiscard]] Result<List> decode_list(Payload payload);
[[nodiscard]] Result<Keys> decode_keys(Payload payload);
[[nodiscard]] Result<CountKeys> decode_count_keys(Payload payload);
[[nodiscard]] Result<KeyCount> decode_key_count(Payload payload);
[[nodiscard]] Result<NamespaceRequest> decode_namespace_request(Payload payload);
[[nodiscard]] Result<NamespaceReply> decode_namespace_reply(Payload payload);
[[nodiscard]] Result<RangeRequest> decode_range_request(Payload payload);
[[nodiscard]] Result<RangeReply> decode_range_reply(Payload payload);
[[nodiscard]] Result<ConfigRequest> decode_config_request(Payload payload);
[[nodiscard]] Result<ConfigReply> decode_config_reply(Payload payload);
[[nodiscard]] Result<StatusRequest> decode_status_request(Payload payload);
[[nodiscard]] Result<StatusReply> decode_status_reply(Payload payload);
[[nodiscard]] Result<Authenticate> decode_authenticate(Payload payload);
[[nodiscard]] Result<Authenticated> decode_authenticated(Payload payload);
[[nodiscard]] Result<Refusal> decode_refusal(Payload payload);

// For people: why the other side, as named here, refuses this build's frames.
[[nodiscard]] inline std::string reason(const Refusal& refusal,
                                        std::string_view they = "the node") {
  return common_version(refusal.by.frames, spoken_versions())
             ? refusal.detail
             : no_common_version(they, refusal.by, this_build());
}

// For a question to a node that refused the connection: unauthenticated and not_permitted are about
// the asker, anything else is unavailable.
[[nodiscard]] inline Status unanswered(const Refusal& refusal) {
  const bool about_us =
      refusal.code == Code::unauthenticated || refusal.code == Code::not_permitted;
  return {about_us ? refusal.code : Code::unavailable, reason(refusal)};
}

// ---- peer port ----
// Hello and Refusal carry salt 0, all others the cluster id (frame.h).
// `version`: that of the link; a greeting has its own.
void encode_peer(std::string& out, const PeerMessage& message, ClusterId cluster,
                 FrameVersion version = spoken_versions().from);
// `version`: the frame's.
[[nodiscard]] Result<PeerMessage> decode_peer(FrameType type, Payload payload,
                                              FrameVersion version = spoken_versions().from);

}  // namespace quipu
