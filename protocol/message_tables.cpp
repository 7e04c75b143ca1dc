#include "protocol/message_tables.h"

namespace quipu {
namespace {

bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

std::string_view cut(std::string_view detail, std::size_t room) {
  if (detail.size() <= room) return detail;
  while (room > 0 && continues_character(detail[room])) --room;
  return detail.substr(0, room);
}

}  // namespace

Offset<flatbuffers::String> build_detail(Builder& builder, std::string_view detail,
                                         std::size_t room) {
  return build_text(builder, cut(detail, room));
}

std::string read_detail(Reader& in, const flatbuffers::String* detail) {
  const std::string whole = in.text("detail", detail);
  return std::string(cut(whole, kMaxDetail));
}

Offset<wire::Op> build(Builder& builder, const Op& op) {
  const auto key = build_bytes(builder, op.key);
  const auto words = build_bytes(builder, op.words);
  const wire::Token token(raw(op.token.store), raw(op.token.serial), op.token.number,
                          op.token.floor);
  return wire::CreateOp(builder, op.id, static_cast<wire::OpKind>(op.kind), key, op.shard,
                        op.amount, static_cast<wire::Ack>(op.ack), op.timeout_ms,
                        op.token == Token{} ? nullptr : &token, raw(op.affinity), op.ttl_ms, words,
                        op.at_ms);
}

// Any key passes here. The coordinator answers a bad one by itself, and the connection stays.
void read(Reader& in, const wire::Op& from, Op& op) {
  op.id = from.id();
  op.kind = in.one_of<OpKind>("kind", from.kind());
  op.key = Reader::view(from.key());
  op.shard = from.shard() == kAnyShard ? kAnyShard : in.shard("shard", from.shard());
  op.amount = from.amount();
  op.ack = in.one_of<Ack>("ack", from.ack());
  op.timeout_ms = std::min(from.timeout_ms(), kMaxTimeoutMs);
  if (const wire::Token* token = from.token(); token != nullptr) {
    op.token = {StoreId{token->store()}, Serial{token->serial()}, token->number(), token->floor()};
  }
  op.affinity = Affinity{from.affinity()};
  op.ttl_ms = from.ttl_ms();
  op.words = Reader::view(from.words());
  op.at_ms = from.at_ms();
}

Offset<wire::Done> build(Builder& builder, const Done& done, std::size_t room) {
  const bool ok = done.code == Code::ok;
  const auto detail = build_detail(builder, ok ? "" : done.detail, room);
  const auto reply = build_bytes(builder, ok ? done.detail : "");
  return wire::CreateDone(
      builder, done.id, static_cast<std::uint16_t>(done.code), detail, done.usable, raw(done.store),
      raw(done.serial),
      done.total ? flatbuffers::Optional<std::int64_t>(*done.total) : flatbuffers::nullopt, reply);
}

void read(Reader& in, const wire::Done& from, Done& done) {
  done.id = from.id();
  done.code = Code{from.code()};
  done.detail = done.code == Code::ok ? std::string(Reader::view(from.reply()))
                                      : read_detail(in, from.detail());
  done.usable = in.within<ShardIndex>("usable", from.usable(), 0, kMaxShards);
  done.store = StoreId{from.store()};
  done.serial = Serial{from.serial()};
  if (const auto total = from.total()) done.total = *total;
}

Offset<Bytes> build_kinds(Builder& builder, const std::vector<Kind>& kinds) {
  const auto is_sum = [](Kind kind) { return kind == Kind::sum; };
  if (std::ranges::all_of(kinds, is_sum)) return 0;
  return build_scalars<std::uint8_t>(builder, kinds);
}

void read_kinds(Reader& in, const Bytes* from, std::size_t keys, std::vector<Kind>& kinds) {
  in.copy("kinds", from, kinds, [&in](std::uint8_t kind) { return in.kind("kinds", kind); });
  if (kinds.empty()) return;
  if (kinds.size() != keys) in.refuse("kinds", "are not as many as the keys");
  const auto is_sum = [](Kind kind) { return kind == Kind::sum; };
  if (std::ranges::all_of(kinds, is_sum)) in.refuse("kinds", "are all sums, which goes unsaid");
}

Offset<flatbuffers::String> build_release(Builder& builder, const Speaker& speaker) {
  return build_detail(builder, speaker.release, kMaxDetail);
}

Offset<wire::Refusal> build(Builder& builder, const Refusal& refusal) {
  const auto detail = build_detail(builder, refusal.detail, kMaxDetail);
  const auto release = build_release(builder, refusal.by);
  return wire::CreateRefusal(builder, static_cast<std::uint16_t>(refusal.code), detail, release,
                             raw(refusal.by.frames.from), raw(refusal.by.frames.to));
}

void read(Reader& in, const wire::Refusal& from, Refusal& refusal) {
  refusal.code = Code{from.code()};
  refusal.detail = read_detail(in, from.detail());
  read_speaker(in, from, refusal.by);
}

}  // namespace quipu
