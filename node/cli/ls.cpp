// quipu ls [PREFIX]: the counters that exist, in no order. One node tells them all,
// step by step, and says so where nobody can.
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "node/cli/commands.h"
#include "node/cli/node_session.h"
#include "node/cli/open_client.h"
#include "node/cli/output.h"

namespace quipu::cli {
namespace {

// In JSON a text; or {key, key_escaped}, if a text cannot hold it.
void show(const Environment& environment, const std::string& key, bool first) {
  if (!environment.json) return print(printable(key));
  nlohmann::json object;
  put_key(object, key);
  std::cout << (first ? "" : ",") << json_text(object.size() == 1 ? object["key"] : object);
}

// Shows what there is up to where it ends, or is cut off.
Status show_all(const Environment& environment, NodeSession& session, const std::string& prefix) {
  bool first = true;
  for (std::uint32_t cursor = 0; cursor < kListEnd;) {
    const Result<Keys> keys = session.list(prefix, cursor);
    if (!keys.ok()) return keys.status();
    if (keys->code != Code::ok) return Status(keys->code, keys->detail);
    if (keys->next <= cursor) return Status(Code::unavailable, "the list does not go on");
    for (const std::string& key : keys->keys) show(environment, key, std::exchange(first, false));
    cursor = keys->next;
  }
  return Status();
}

}  // namespace

int run(const Environment& environment, const ListCommand& command) {
  const auto reached = open_any(environment.nodes, environment.timeout);
  if (!reached.ok()) {
    complain_unreachable(reached.status().detail());
    return kFailed;
  }
  if (environment.json) std::cout << "{\"keys\":[";
  const Status shown = show_all(environment, *reached->session, command.prefix);
  if (environment.json) std::cout << "],\"complete\":" << (shown.ok() ? "true" : "false") << "}\n";
  if (shown.ok()) return kOk;
  complain("the list is cut off: " + shown.message());
  return kFailed;
}

}  // namespace quipu::cli
