// native_rights.h: for each request of the native protocol, what it needs of its user, and the
// answer if the user lacks that. Each request has its row in all three overload sets, or it does
// not compile. The same for Redis's commands is a column of their table (resp/resp_command.h).
#pragma once

#include <optional>
#include <string>

#include "cluster/gates/effects.h"
#include "node/users/users.h"
#include "protocol/asked.h"
#include "protocol/client_messages.h"
#include "protocol/release.h"

namespace quipu {

[[nodiscard]] constexpr Rights needs(OpKind kind) {
  switch (kind) {
    case OpKind::add:
    case OpKind::apply:
      return kMayCount | kEveryKey;
    case OpKind::reset:
    case OpKind::expire:
      return kMayReset | kEveryKey;
    case OpKind::raise:
      return kMayAdminister | kEveryKey;
    case OpKind::open_session:  // its key says only which node is near
      return kMayChange;
    case OpKind::decide:  // between members only
      break;
  }
  return kAllRights;
}
[[nodiscard]] constexpr Rights needs(const Op& op) { return needs(op.kind); }
// A client that only changes a counter needs its number of shards. encode_permitted() shows it no
// more.
[[nodiscard]] constexpr Rights needs(const Read&) { return kMayTouch | kEveryKey; }
[[nodiscard]] constexpr Rights needs(const Query&) { return kMayRead | kEveryKey; }
[[nodiscard]] constexpr Rights needs(const RangeRequest&) { return kMayRead | kEveryKey; }
// Its answer has only permitted names: encode_permitted().
[[nodiscard]] constexpr Rights needs(const List&) { return kMayRead; }
[[nodiscard]] constexpr Rights needs(const CountKeys&) { return kMayRead | kEveryKey; }
[[nodiscard]] constexpr Rights needs(const NamespaceRequest& request) {
  return request.action == NamespaceAction::list ? kMayRead : kMayAdminister | kEveryKey;
}
[[nodiscard]] constexpr Rights needs(const ConfigRequest&) { return kAuthenticated; }
[[nodiscard]] constexpr Rights needs(const StatusRequest&) { return kMayObserve; }

// Whether the user may use all keys that the request names. nullopt: it names none.
[[nodiscard]] std::optional<bool> covers_keys(const Permit& permit, const Op& op);
[[nodiscard]] std::optional<bool> covers_keys(const Permit& permit, const Read& read);
[[nodiscard]] std::optional<bool> covers_keys(const Permit& permit, const Query& query);
[[nodiscard]] std::optional<bool> covers_keys(const Permit& permit, const RangeRequest& request);
[[nodiscard]] std::optional<bool> covers_keys(const Permit& permit,
                                              const NamespaceRequest& request);
[[nodiscard]] inline std::optional<bool> covers_keys(const Permit&, const List&) { return {}; }
[[nodiscard]] inline std::optional<bool> covers_keys(const Permit&, const CountKeys&) { return {}; }

[[nodiscard]] Done refused(const Op& op, const Status& why);
[[nodiscard]] Values refused(const Read& read, const Status& why);
[[nodiscard]] QueryReply refused(const Query& query, const Status& why);
[[nodiscard]] RangeReply refused(const RangeRequest& request, const Status& why);
[[nodiscard]] Keys refused(const List& list, const Status& why);
[[nodiscard]] KeyCount refused(const CountKeys& size, const Status& why);
[[nodiscard]] NamespaceReply refused(const NamespaceRequest& request, const Status& why);

// For the figures.
[[nodiscard]] constexpr Operation operation_of(const Read& read) { return read_at(read.level); }
[[nodiscard]] constexpr Operation operation_of(const Query& query) { return read_at(query.level); }
[[nodiscard]] constexpr Operation operation_of(const RangeRequest& it) { return read_at(it.level); }
[[nodiscard]] constexpr Operation operation_of(const List&) { return Operation::other; }
[[nodiscard]] constexpr Operation operation_of(const CountKeys&) { return Operation::other; }
[[nodiscard]] constexpr Operation operation_of(const NamespaceRequest&) { return Operation::other; }

// An answer, without what the user may not see: names in lists, and totals.
void encode_permitted(std::string& out, const Answer& answer, const Permit& permit,
                      FrameVersion version);

}  // namespace quipu
