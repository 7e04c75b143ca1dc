// quipu ls [PREFIX]: the counters that exist, unordered. One node lists all of them, step by
// step, and reports it if no owner of some of them answers.
//
//   which views are complete? ─▶ list, step by step, printed as it comes ─▶ how it ended
//
// A view that was complete before the list began has everything that was acknowledged until
// then. So the list is complete if the views of all nodes that supply it were.
#include <exception>
#include <future>
#include <iostream>
#include <nlohmann/json.hpp>
#include <utility>

#include "cluster/membership/config.h"
#include "node/cli/commands.h"
#include "node/cli/node_session.h"
#include "node/cli/open_client.h"
#include "node/cli/output.h"
#include "protocol/check.h"
#include "protocol/keyed_hash.h"

namespace quipu::cli {
namespace {

// A counter about which `member` can be asked. REQUIRES: it owns something
std::string key_owned_by(const ConfigReply& config, const OwnerTable& owners, MemberIndex member) {
  QUIPU_CHECK(!owners.owned_by(member).empty(), "a member that is asked owns something", member);
  for (std::uint64_t number = 0;; ++number) {
    std::string key = std::to_string(number);
    const Placement place(config.placement_key, {key, 0});
    if (owners.owns(member, place.partition())) return key;
  }
}

// Whether the member at the other end hears all members that may have counted. Any counter
// that it owns shows it.
bool hears_all(NodeSession& session, const std::string& key_of_its_own) {
  const Result<Value> value = session.read(key_of_its_own);
  return value.ok() && value->code == Code::ok && value->complete;
}

// Why the view of the asked node is not complete.
std::string deafness(NodeSession& session, const MemberInfo& asked, const std::string& key) {
  const Result<Value> value = session.read(key);
  if (value.ok() && value->code == Code::not_permitted)
    return "this user may not ask whether the list is complete";
  std::vector<std::string> silent;
  const Result<StatusReply> status = session.status(asked);
  for (const PeerStatus& peer : status.ok() ? status->peers : std::vector<PeerStatus>()) {
    if (peer.state != "up") silent.push_back(peer.name);
  }
  if (silent.empty()) return asked.name + " did not hear every other member just now";
  return asked.name + " cannot hear " + name_list(silent);
}

// Why counters may be missing. Empty: every view that supplies the list is complete. These are
// that of the asked node and, if it does not own everything, those of all other members.
std::string incomplete(const Environment& environment, Reached& reached) {
  const ConfigReply& config = reached.config;
  const OwnerTable owners(config.replication, config.owners);
  const auto patience = std::min(environment.timeout, kPatience);
  std::vector<std::pair<std::string, std::future<bool>>> asked;
  for (MemberIndex i = 0; i < config.members.size(); ++i) {
    const MemberInfo& member = config.members[i];
    if (owners.owned_by(i).empty()) continue;
    const std::string key = key_owned_by(config, owners, i);
    if (member.node == config.node) {
      if (!hears_all(*reached.session, key)) return deafness(*reached.session, member, key);
      if (owners.owned_by(i) == Partitions::all()) return {};
      continue;
    }
    asked.emplace_back(member.name, std::async(std::launch::async, [&, key] {
                         NodeSession session(patience, environment);
                         return session.open(config, member).ok() && hears_all(session, key);
                       }));
  }
  std::vector<std::string> deaf;
  for (auto& [name, hears] : asked) {
    if (!hears.get()) deaf.push_back(name);
  }
  if (deaf.empty()) return {};
  return name_list(deaf) + " cannot be asked, or did not hear every other member just now";
}

void show(const Environment& environment, const std::string& key, Kind kind, bool first) {
  if (!environment.json) return print(printable(key));
  nlohmann::json object;
  put_key(object, key);
  object["kind"] = name_of(kind);
  std::cout << (first ? "" : ",") << json_text(object);
}

// Shows the list up to its end, or to the limit.
Status show_all(const Environment& environment, NodeSession& session, const ListCommand& command) {
  bool first = true;
  for (std::uint32_t cursor = 0; cursor < kListEnd;) {
    const Result<Keys> keys = session.list(command.prefix, cursor);
    if (!keys.ok()) return keys.status();
    if (keys->code != Code::ok) return Status(keys->code, keys->detail);
    if (keys->next <= cursor) return Status(Code::unavailable, "the list does not go on");
    for (std::size_t i = 0; i < keys->keys.size(); ++i) {
      const Kind kind = keys->kinds.empty() ? Kind::sum : keys->kinds[i];
      if (command.kind.value_or(kind) == kind)
        show(environment, keys->keys[i], kind, std::exchange(first, false));
    }
    cursor = keys->next;
  }
  return Status();
}

struct Listed {
  Status status{};
  bool complete = false;
  std::string caveat{};
};

Listed list(const Environment& environment, const ListCommand& command) {
  Result<Reached> reached = open_any(environment);
  if (!reached.ok()) {
    const Status why = unreachable(reached.status());
    complain(why.detail());
    return {.status = why};
  }
  Listed listed;
  if (const std::string why = incomplete(environment, *reached); !why.empty())
    listed.caveat = "the latest counters may be missing: " + printable(why);
  try {  // for the document to end as it should
    listed.status = show_all(environment, *reached->session, command);
  } catch (const std::exception& error) {
    listed.status = Status(Code::unavailable, error.what());
  }
  listed.complete = listed.status.ok() && listed.caveat.empty();
  if (!listed.status.ok()) {
    complain("the list is cut off: " + message_of(listed.status));
  } else if (!listed.caveat.empty()) {
    complain(listed.caveat);
  }
  return listed;
}

}  // namespace

int run(const Environment& environment, const ListCommand& command) {
  if (!environment.json) return list(environment, command).status.ok() ? kOk : kFailed;
  // Printed as it comes, since a list may be long.
  std::cout << "{\"counters\":[";
  const Listed listed = list(environment, command);
  nlohmann::json rest = document("ls", listed.status);
  rest["complete"] = listed.complete;
  rest["caveat"] = listed.caveat;
  std::cout << "]," << json_text(rest).substr(1) << "\n";
  return listed.status.ok() ? kOk : kFailed;
}

}  // namespace quipu::cli
