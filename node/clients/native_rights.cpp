#include "node/clients/native_rights.h"

#include <algorithm>

#include "protocol/message_codec.h"

namespace quipu {
namespace {

// For each answer with a code and a detail.
template <class Answer>
Answer refusal(std::uint64_t id, const Status& why) {
  Answer answer;
  answer.id = id;
  answer.code = why.code();
  answer.detail = why.detail();
  return answer;
}

}  // namespace

std::optional<bool> covers_keys(const Permit& permit, const Op& op) {
  return permit.covers(op.key);
}
std::optional<bool> covers_keys(const Permit& permit, const Read& read) {
  return permit.covers_all(read.keys);
}
std::optional<bool> covers_keys(const Permit& permit, const Query& it) {
  return permit.covers_all(it.keys);
}
std::optional<bool> covers_keys(const Permit& permit, const RangeRequest& it) {
  return permit.covers(it.key);
}
std::optional<bool> covers_keys(const Permit& permit, const NamespaceRequest& request) {
  return permit.covers_namespace(request.name);
}

Done refused(const Op& op, const Status& why) { return refusal<Done>(op.id, why); }

Values refused(const Read& read, const Status& why) {
  Value value;
  value.code = why.code();
  value.detail = why.detail();
  return {read.id, std::vector<Value>(read.keys.size(), value)};
}

QueryReply refused(const Query& query, const Status& why) {
  return refusal<QueryReply>(query.id, why);
}
RangeReply refused(const RangeRequest& request, const Status& why) {
  return refusal<RangeReply>(request.id, why);
}
Keys refused(const List& list, const Status& why) {
  Keys keys = refusal<Keys>(list.id, why);
  keys.next = list.cursor;
  return keys;
}
KeyCount refused(const CountKeys& size, const Status& why) {
  return refusal<KeyCount>(size.id, why);
}
NamespaceReply refused(const NamespaceRequest& request, const Status& why) {
  return refusal<NamespaceReply>(request.id, why);
}

void encode_permitted(std::string& out, const Answer& answer, const Permit& permit,
                      FrameVersion version) {
  if (const auto* const all = std::get_if<Keys>(&answer)) {
    Keys seen{
        .id = all->id, .keys = {}, .next = all->next, .code = all->code, .detail = all->detail};
    for (std::size_t i = 0; i < all->keys.size(); ++i) {
      if (!permit.covers(all->keys[i])) continue;
      seen.keys.push_back(all->keys[i]);
      if (!all->kinds.empty()) seen.kinds.push_back(all->kinds[i]);
    }
    return encode(out, seen, version);
  }
  if (const auto* const all = std::get_if<Values>(&answer); all && !permit.rights().has(kMayRead)) {
    Values seen{.id = all->id};
    for (const Value& one : all->values)
      seen.values.push_back({.code = Code::not_permitted,
                             .kind = one.kind,
                             .shards = one.shards,
                             .ack = one.ack,
                             .detail = "the user " + permit.user() + " may not read"});
    return encode(out, seen, version);
  }
  if (const auto* const reply = std::get_if<NamespaceReply>(&answer)) {
    NamespaceReply seen = *reply;
    std::erase_if(seen.namespaces,
                  [&](const Namespace& one) { return !permit.touches_namespace(one.name); });
    return encode(out, seen, version);
  }
  std::visit([&](const auto& one) { encode(out, one, version); }, answer);
}

}  // namespace quipu
