// message_tables.h: code that the codecs of the two ports share: Op, Done, Refusal and
// keys, and framing a table. Private to protocol/*.cpp.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/client_messages.h"
#include "protocol/frame.h"
#include "protocol/wire.h"

namespace quipu {

[[nodiscard]] Offset<wire::Op> build(Builder& builder, const Op& op);
void read(Reader& in, const wire::Op& from, Op& op);

// A detail is for a person. So it is cut rather than overflow the frame: to this many
// bytes, and to fewer if `count` details share one frame.
inline constexpr std::size_t kMaxDetail = 256;
[[nodiscard]] constexpr std::size_t detail_room(std::size_t count) {
  return std::min(kMaxDetail, kMaxFrame / 4 / std::max<std::size_t>(count, 1));
}
[[nodiscard]] Offset<flatbuffers::String> build_detail(Builder& builder, std::string_view detail,
                                                       std::size_t room);
// Cut again when received: the sender may be anyone, and we pass it on.
[[nodiscard]] std::string read_detail(Reader& in, const flatbuffers::String* detail);

[[nodiscard]] Offset<wire::Done> build(Builder& builder, const Done& done,
                                       std::size_t room = kMaxDetail);
void read(Reader& in, const wire::Done& from, Done& done);

[[nodiscard]] Offset<wire::Refusal> build(Builder& builder, const Refusal& refusal);
void read(Reader& in, const wire::Refusal& from, Refusal& refusal);

[[nodiscard]] Offset<flatbuffers::String> build_release(Builder& builder, const Speaker& speaker);
// Any release, but a sound range. `table`: one with the three fields of a speaker.
template <class Table>
void read_speaker(Reader& in, const Table& table, Speaker& speaker) {
  speaker.release = read_detail(in, table.release());
  speaker.frames = {FrameVersion{table.frames_from()}, FrameVersion{table.frames_to()}};
  if (speaker.frames.from == FrameVersion{} || speaker.frames.from > speaker.frames.to)
    in.refuse("frames", "are no versions");
}

// Keys, one after the other.
template <class Key>
Offset<wire::KeyList> build_keys(Builder& builder, const std::vector<Key>& keys) {
  std::string bytes;
  std::vector<std::uint32_t> lengths;
  lengths.reserve(keys.size());
  for (const std::string_view key : keys) {
    bytes.append(key);
    lengths.push_back(static_cast<std::uint32_t>(key.size()));
  }
  const auto all = build_bytes(builder, bytes);
  return wire::CreateKeyList(builder, all, build_scalars<std::uint32_t>(builder, lengths));
}

template <class Key>
void read_keys(Reader& in, const wire::KeyList* from, std::size_t limit, std::vector<Key>& keys) {
  if (from == nullptr) return;
  if (from->lengths() != nullptr) in.within<std::size_t>("keys", from->lengths()->size(), 0, limit);
  KeyCutter cutter(in, "keys", from->bytes());
  in.copy("keys", from->lengths(), keys,
          [&cutter](std::uint32_t length) { return Key(cutter.next(length)); });
  cutter.end();
}

// Kinds of keys: absent if all are sums.
[[nodiscard]] Offset<Bytes> build_kinds(Builder& builder, const std::vector<Kind>& kinds);
void read_kinds(Reader& in, const Bytes* from, std::size_t keys, std::vector<Kind>& kinds);

// Appends the frame of one message. `build_table` builds its table of that version.
template <class Message, class BuildTable>
void append_message(std::string& out, FrameType type, const Message& message,
                    BuildTable build_table, FrameVersion version, std::uint64_t salt = 0) {
  Builder& builder = fresh_builder();
  append_frame(out, type, finish(builder, build_table(builder, message, version)), version, salt);
}

}  // namespace quipu
