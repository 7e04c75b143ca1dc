#include "node/reactor/store_settings.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <utility>

#include "node/base/log.h"
#include "node/disk/data_directory.h"

namespace quipu {
namespace {

using Fields = std::map<std::string, std::string, std::less<>>;

struct Described {
  Fields node;                            // id, cluster, …
  std::map<std::string, Fields> members;  // by name: peer, zone, weight
};

std::string line(std::initializer_list<LogField> fields) {
  return to_logfmt({fields.begin(), fields.size()}) + '\n';
}

Described parse(std::string_view text) {
  Described described;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    Fields fields;
    for (auto& [key, value] : parse_logfmt(text.substr(0, end))) fields[key] = std::move(value);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (const auto member = fields.extract("member")) {
      described.members[member.mapped()] = std::move(fields);
    } else if (fields.contains("id")) {
      described.node = std::move(fields);
    }
  }
  return described;
}

// If one of them does not say, nothing is known.
bool differ(std::string_view key, const Fields& before, const Fields& now) {
  const auto was = before.find(key);
  const auto is = now.find(key);
  return was != before.end() && is != now.end() && was->second != is->second;
}

class Changes {
 public:
  void add(const std::string& change) { text_.append(text_.empty() ? "" : "; ").append(change); }
  void compare(const std::string& what, std::string_view key, const Fields& before,
               const Fields& now) {
    if (!differ(key, before, now)) return;
    add(what + " is " + shown(now.find(key)->second) + " and was " +
        shown(before.find(key)->second));
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

  // Quoted unless it is a plain word: text from a file must not control a terminal.
  static std::string shown(const std::string& text) {
    const LogField field{"", text};
    return to_logfmt({&field, 1}).substr(1);
  }

 private:
  std::string text_;
};

void compare_members(const Described& before, const Described& now, Changes& changes) {
  for (const auto& [name, fields] : now.members) {
    const auto was = before.members.find(name);
    if (was == before.members.end()) {
      changes.add("member " + Changes::shown(name) + " is new");
      continue;
    }
    for (const char* const key : {"peer", "zone", "weight"})
      changes.compare(std::string("the ") + key + " of member " + Changes::shown(name), key,
                      was->second, fields);
  }
  for (const auto& [name, fields] : before.members) {
    if (!now.members.contains(name)) changes.add("member " + Changes::shown(name) + " is missing");
  }
}

}  // namespace

std::string store_settings(const NodeOptions& options, const NodePlan& plan) {
  const std::size_t replication = options.members.empty() ? 1 : options.replication;
  std::string text = line({{"id", std::to_string(raw(plan.config.id))},
                           {"cluster", options.cluster},
                           {"replication", std::to_string(replication)},
                           {"reactors", std::to_string(options.reactors)},
                           {"node", plan.config.members[plan.self].name}});
  for (const NodeMember& member : options.members) {
    text += line({{"member", member.name},
                  {"peer", member.peer_address},
                  {"zone", member.zone},
                  {"weight", std::to_string(member.weight)}});
  }
  return text;
}

std::string changed_settings(std::string_view before, std::string_view now) {
  const Described was = parse(before);
  const Described is = parse(now);
  Changes changes;
  if (!differ("id", was.node, is.node) && !differ("node", was.node, is.node)) return {};
  changes.compare("the cluster's name", "cluster", was.node, is.node);
  changes.compare("cluster.replication", "replication", was.node, is.node);
  changes.compare("cluster.reactors", "reactors", was.node, is.node);
  changes.compare("the node's name", "node", was.node, is.node);
  compare_members(was, is, changes);
  return changes.take();
}

std::string why_foreign(const std::filesystem::path& data, std::string_view settings) {
  const std::string changed = changed_settings(DataDirectory::remembered(data), settings);
  if (changed.empty()) return {};
  return data.string() + " was made with other settings: " + changed +
         ": correct that, or name another directory";
}

}  // namespace quipu
