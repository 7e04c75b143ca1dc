// quipu ls [PREFIX]: the counters that exist, in no order.
//
// Each member names those that it owns, and all members go over the same places
// (partition and leaf) in step, so that what several hold is named once and memory
// stays bounded:
//
//   cursor ──▶ every member: keys in [cursor, its next) ──▶ up to the least next:
//   print the union; the rest is asked for again from there
#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "node/cli/commands.h"
#include "node/cli/node_session.h"
#include "node/cli/open_client.h"
#include "node/cli/output.h"
#include "protocol/keyed_hash.h"

namespace quipu::cli {
namespace {

struct Source {
  std::string name;
  std::unique_ptr<NodeSession> session;
};

class Listing {
 public:
  Listing(const Environment& environment, const ConfigReply& config, std::string prefix)
      : environment_(environment),
        placement_key_(config.placement_key),
        prefix_(std::move(prefix)) {
    for (const MemberInfo& member : config.members) open(config, member);
  }

  [[nodiscard]] int run() {
    if (environment_.json) std::cout << "{\"keys\":[";
    std::uint32_t cursor = 0;
    while (cursor < kListEnd && !sources_.empty()) cursor = step(cursor);
    const bool whole = cursor >= kListEnd;
    if (environment_.json)
      std::cout << "],\"complete\":" << (whole && complete_ ? "true" : "false") << "}\n";
    if (!whole) complain("no member is left to ask; the list is cut off");
    return whole ? kOk : kFailed;
  }

 private:
  void open(const ConfigReply& config, const MemberInfo& member) {
    if (member.weight == 0) return;  // owns nothing
    auto session = std::make_unique<NodeSession>(environment_.timeout);
    const Status opened = session->open(config, member);
    if (opened.ok()) {
      sources_.push_back({member.name, std::move(session)});
    } else {
      miss(member.name, opened);
    }
  }

  void miss(const std::string& name, const Status& why) {
    complete_ = false;
    complain(printable(name) + " cannot be asked (" + printable(why.detail()) +
             "): counters that only it has heard of are missing");
  }

  [[nodiscard]] std::uint32_t place(const std::string& key) const {
    const Placement placement(placement_key_, {key, 0});
    return std::uint32_t{raw(placement.partition())} * std::uint32_t{kLeaves} + placement.leaf();
  }

  // Returns up to where all was printed.
  std::uint32_t step(std::uint32_t cursor) {
    std::uint32_t end = kListEnd;
    std::vector<Keys> answers;
    for (std::size_t i = 0; i < sources_.size();) {
      Result<Keys> keys = sources_[i].session->list(prefix_, cursor);
      if (keys.ok() && keys->next > cursor) {
        end = std::min(end, keys->next);
        answers.push_back(std::move(*keys));
        ++i;
      } else {
        miss(sources_[i].name,
             keys.ok() ? Status(Code::unavailable, "its list does not go on") : keys.status());
        sources_.erase(sources_.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
    if (answers.empty()) return cursor;
    std::set<std::string> found;
    for (const Keys& keys : answers) {
      for (const std::string& key : keys.keys) {
        if (place(key) < end) found.insert(key);
      }
    }
    for (const std::string& key : found) show(key);
    return end;
  }

  // In JSON a text; or {key, key_escaped}, if a text cannot hold it.
  void show(const std::string& key) {
    if (!environment_.json) return print(printable(key));
    nlohmann::json object;
    put_key(object, key);
    std::cout << (std::exchange(first_, false) ? "" : ",")
              << json_text(object.size() == 1 ? object["key"] : object);
  }

  const Environment& environment_;
  HashKey placement_key_;
  std::string prefix_;
  std::vector<Source> sources_;
  bool complete_ = true;
  bool first_ = true;
};

}  // namespace

int run(const Environment& environment, const ListCommand& command) {
  const Result<ConfigReply> config = ask_config(environment.nodes, environment.timeout);
  if (!config.ok()) {
    complain_unreachable(config.status().detail());
    return kFailed;
  }
  return Listing(environment, *config, command.prefix).run();
}

}  // namespace quipu::cli
