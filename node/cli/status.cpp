// quipu cluster status: every member as it sees itself, and its view of the others.
#include <algorithm>
#include <future>
#include <nlohmann/json.hpp>
#include <set>

#include "node/cli/commands.h"
#include "node/cli/node_session.h"
#include "node/cli/open_client.h"
#include "node/cli/output.h"

namespace quipu::cli {
namespace {

struct MemberStatus {
  MemberInfo member;
  Result<StatusReply> status;
};

Result<StatusReply> ask_status(const ConfigReply& config, const MemberInfo& member,
                               std::chrono::milliseconds timeout) {
  NodeSession session(timeout);
  Status opened = session.open(config, member);
  if (!opened.ok()) return opened;
  return session.status(member);
}

std::vector<MemberStatus> ask_all(const Environment& environment, const ConfigReply& config) {
  std::vector<std::future<Result<StatusReply>>> asked;
  for (const MemberInfo& member : config.members) {
    asked.push_back(std::async(std::launch::async,
                               [&] { return ask_status(config, member, environment.timeout); }));
  }
  std::vector<MemberStatus> all;
  for (std::size_t i = 0; i < asked.size(); ++i) all.push_back({config.members[i], asked[i].get()});
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return a.member.name < b.member.name; });
  return all;
}

std::optional<std::chrono::milliseconds> age(const PeerStatus& peer) {
  if (peer.age_ms == kUnknownAge) return std::nullopt;
  return std::chrono::milliseconds(peer.age_ms);
}

nlohmann::json to_json(const PeerStatus& peer) {
  nlohmann::json json{{"name", peer.name},
                      {"address", peer.address},
                      {"state", peer.state},
                      {"outbox", peer.outbox},
                      {"age_ms", nullptr}};
  if (const auto ms = age(peer)) json["age_ms"] = ms->count();
  return json;
}

nlohmann::json to_json(const MemberStatus& one) {
  nlohmann::json json{
      {"name", one.member.name},          {"client_address", one.member.client_address},
      {"weight", one.member.weight},      {"reachable", one.status.ok()},
      {"state", "unreachable"},           {"store", nullptr},
      {"peers", nlohmann::json::array()}, {"stats", nlohmann::json::object()}};
  put_status(json, one.status.status());
  if (!one.status.ok()) return json;
  json["state"] = one.status->state;
  // As a text: many readers of JSON hold no whole 64 bits.
  json["store"] = std::to_string(raw(one.status->store));
  for (const PeerStatus& peer : one.status->peers) json["peers"].push_back(to_json(peer));
  for (const Stat& stat : one.status->stats) json["stats"][stat.name] = stat.value;
  return json;
}

nlohmann::json to_json(const Result<ConfigReply>& config, const std::vector<MemberStatus>& all) {
  nlohmann::json json = document("cluster status", config.status());
  json["cluster"] = json["config_version"] = json["replication"] = nullptr;
  json["members"] = nlohmann::json::array();
  if (!config.ok()) return json;
  json["cluster"] = config->cluster_name;
  json["config_version"] = config->version;
  json["replication"] = config->replication;
  for (const MemberStatus& one : all) json["members"].push_back(to_json(one));
  return json;
}

void show_members(const std::vector<MemberStatus>& all) {
  Table table({"NODE", "ADDRESS", "STATE"});
  for (const MemberStatus& one : all) {
    const std::string state =
        one.status.ok() ? one.status->state : "unreachable: " + one.status.status().detail();
    table.add({printable(one.member.name), printable(one.member.client_address), printable(state)});
  }
  table.print();
}

void show_peers(const std::vector<MemberStatus>& all) {
  Table table({"NODE", "PEER", "OUTBOX", "AGE", "STATE"});
  bool any = false;
  for (const MemberStatus& one : all) {
    if (!one.status.ok()) continue;
    for (const PeerStatus& peer : one.status->peers) {
      any = true;
      table.add({printable(one.member.name), printable(peer.name), std::to_string(peer.outbox),
                 for_people(age(peer)), printable(peer.state)});
    }
  }
  if (!any) return;
  print("");
  table.print();
}

// A row per stat, a column per node.
void show_stats(const std::vector<MemberStatus>& all) {
  std::vector<std::string> header{"STAT"};
  std::set<std::string> names;
  for (const MemberStatus& one : all) {
    if (!one.status.ok()) continue;
    header.push_back(printable(one.member.name));
    for (const Stat& stat : one.status->stats) names.insert(stat.name);
  }
  if (names.empty()) return;
  Table table(std::move(header));
  for (const std::string& name : names) {
    std::vector<std::string> row{printable(name)};
    for (const MemberStatus& one : all) {
      if (!one.status.ok()) continue;
      std::string value = "-";
      for (const Stat& stat : one.status->stats) {
        if (stat.name == name) value = std::to_string(stat.value);
      }
      row.push_back(std::move(value));
    }
    table.add(std::move(row));
  }
  print("");
  table.print();
}

}  // namespace

int run(const Environment& environment, const StatusCommand&) {
  Result<ConfigReply> config = ask_config(environment.nodes, environment.timeout);
  if (!config.ok()) {
    config = unreachable(config.status());
    complain(config.status().detail());
  }
  std::vector<MemberStatus> all;
  if (config.ok()) all = ask_all(environment, *config);
  if (environment.json) {
    print_json(to_json(config, all));
  } else if (config.ok()) {
    print("cluster " + printable(config->cluster_name) + ", " + std::to_string(all.size()) +
          " members, replication " + std::to_string(config->replication));
    print("");
    show_members(all);
    show_peers(all);
    show_stats(all);
  }
  return config.ok() ? kOk : kFailed;
}

}  // namespace quipu::cli
