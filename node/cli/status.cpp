// quipu cluster status: every member's own state, and its view of the others. It fails if a
// member cannot be reached, or a majority of the owners of some counters is lost.
#include <algorithm>
#include <future>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "cluster/membership/config.h"
#include "node/cli/commands.h"
#include "node/cli/node_session.h"
#include "node/cli/open_client.h"
#include "node/cli/output.h"

namespace quipu::cli {
namespace {

constexpr std::string_view kReady = "ready";  // NodeCore::state()
constexpr std::string_view kUp = "up";        // Handshake::state()

struct MemberStatus {
  MemberInfo member;
  Result<StatusReply> status;
};

Result<StatusReply> ask_status(const ConfigReply& config, const MemberInfo& member,
                               const Environment& environment) {
  NodeSession session(environment.timeout, environment);
  Status opened = session.open(config, member);
  if (!opened.ok()) return opened;
  return session.status(member);
}

std::vector<MemberStatus> ask_all(const Environment& environment, const ConfigReply& config) {
  std::vector<std::future<Result<StatusReply>>> asked;
  for (const MemberInfo& member : config.members) {
    asked.push_back(
        std::async(std::launch::async, [&] { return ask_status(config, member, environment); }));
  }
  std::vector<MemberStatus> all;
  for (std::size_t i = 0; i < asked.size(); ++i) all.push_back({config.members[i], asked[i].get()});
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return a.member.name < b.member.name; });
  return all;
}

// The members that each member can use. None if it cannot be asked or is not ready. Otherwise
// itself and the peers that it hears, unless they say that they are not ready.
std::vector<std::vector<bool>> companies(const ConfigReply& config,
                                         const std::vector<MemberStatus>& all) {
  std::map<std::string, MemberIndex> index;
  for (std::size_t i = 0; i < config.members.size(); ++i)
    index.emplace(config.members[i].name, static_cast<MemberIndex>(i));
  std::vector<std::vector<bool>> companies(config.members.size(),
                                           std::vector<bool>(config.members.size(), false));
  std::vector<bool> unready(config.members.size(), false);
  for (const MemberStatus& one : all)
    unready[index.at(one.member.name)] = one.status.ok() && one.status->state != kReady;
  for (const MemberStatus& one : all) {
    const MemberIndex self = index.at(one.member.name);
    if (!one.status.ok() || unready[self]) continue;
    companies[self][self] = true;
    for (const PeerStatus& peer : one.status->peers) {
      const auto at = index.find(peer.name);
      if (at != index.end() && peer.state == kUp && !unready[at->second])
        companies[self][at->second] = true;
    }
  }
  return companies;
}

// The partitions of which no owner can use enough others for a majority.
std::size_t without_majority(const ConfigReply& config, const std::vector<MemberStatus>& all) {
  const OwnerTable table(config.replication, config.owners);
  const auto company = companies(config, all);
  std::size_t lost = 0;
  for (std::uint16_t p = 0; p < kPartitions; ++p) {
    const auto owners = table.of(Partition{p});
    const bool alive = std::any_of(owners.begin(), owners.end(), [&](MemberIndex owner) {
      const auto together = std::count_if(owners.begin(), owners.end(),
                                          [&](MemberIndex other) { return company[owner][other]; });
      return static_cast<std::size_t>(together) >= table.majority();
    });
    if (!alive) ++lost;
  }
  return lost;
}

struct ClusterStatus {
  Result<ConfigReply> config;
  std::vector<MemberStatus> members{};
  std::size_t without_majority = 0;

  // The faults of the cluster as a whole.
  [[nodiscard]] Status verdict() const {
    if (!config.ok()) return config.status();
    std::vector<std::string> gone;
    for (const MemberStatus& one : members) {
      if (!one.status.ok()) gone.push_back(one.member.name);
    }
    std::string text = gone.empty() ? "" : name_list(gone) + " cannot be reached";
    if (without_majority > 0) {
      text += (text.empty() ? "" : "; ") + for_people(std::uint64_t{without_majority}) + " of " +
              for_people(std::uint64_t{kPartitions}) +
              " partitions have lost the majority of their owners: no adds at quorum and no strong "
              "reads of their counters";
    }
    return text.empty() ? Status() : Status(Code::unavailable, text);
  }
};

// The names of the members whose users are not those of the most members.
std::string with_other_users(const std::vector<MemberStatus>& members) {
  std::map<std::string, std::vector<std::string>> by_digest;
  for (const MemberStatus& one : members)
    if (one.status.ok()) by_digest[one.status->users].push_back(one.member.name);
  if (by_digest.size() < 2) return {};
  const auto most =
      std::ranges::max_element(by_digest, {}, [](const auto& one) { return one.second.size(); });
  std::vector<std::string> others;
  for (const auto& [digest, names] : by_digest)
    if (digest != most->first) others.insert(others.end(), names.begin(), names.end());
  return name_list(others);
}

std::optional<std::chrono::milliseconds> age(const PeerStatus& peer) {
  if (peer.age_ms == kUnknownAge) return std::nullopt;
  return std::chrono::milliseconds(peer.age_ms);
}

nlohmann::json clock_json(std::int64_t ms) {
  return ms == kUnknownClock ? nlohmann::json() : nlohmann::json(ms);
}

// How far it is from the others', and whether the member trusts it.
std::string clock_text(const StatusReply& status) {
  const std::int64_t ms = status.clock_ms;
  const bool trusted = status.clock_trusted.value_or(true);
  if (ms == kUnknownClock) return trusted ? "-" : "not trusted";
  return (ms > 0 ? "+" : "") + std::to_string(ms) + " ms" + (trusted ? "" : ", not trusted");
}

nlohmann::json to_json(const PeerStatus& peer) {
  nlohmann::json json{{"name", peer.name},
                      {"address", peer.address},
                      {"state", peer.state},
                      {"outbox", peer.outbox},
                      {"age_ms", nullptr}};
  if (const auto ms = age(peer)) json["age_ms"] = ms->count();
  json["clock_ms"] = clock_json(peer.clock_ms);
  return json;
}

nlohmann::json to_json(const MemberStatus& one) {
  nlohmann::json json{{"name", one.member.name},
                      {"client_address", one.member.client_address},
                      {"weight", one.member.weight},
                      {"reachable", one.status.ok()},
                      {"state", "unreachable"},
                      {"store", nullptr},
                      {"clock_ms", nullptr},
                      {"clock_trusted", nullptr},
                      {"clock_doubt", nullptr},
                      {"users_digest", nullptr},
                      {"peers", nlohmann::json::array()},
                      {"stats", nlohmann::json::object()}};
  put_status(json, one.status.status());
  if (!one.status.ok()) return json;
  json["state"] = one.status->state;
  json["clock_ms"] = clock_json(one.status->clock_ms);
  if (one.status->clock_trusted) json["clock_trusted"] = *one.status->clock_trusted;
  json["clock_doubt"] = one.status->clock_doubt;
  json["users_digest"] = one.status->users;
  // As text: many readers of JSON cannot hold 64 bits.
  json["store"] = std::to_string(raw(one.status->store));
  for (const PeerStatus& peer : one.status->peers) json["peers"].push_back(to_json(peer));
  for (const Stat& stat : one.status->stats) json["stats"][stat.name] = stat.value;
  return json;
}

nlohmann::json to_json(const ClusterStatus& cluster) {
  nlohmann::json json = document("cluster status", cluster.verdict());
  json["cluster"] = json["config_version"] = json["replication"] = nullptr;
  json["partitions_without_majority"] = nullptr;
  json["members"] = nlohmann::json::array();
  if (!cluster.config.ok()) return json;
  json["cluster"] = cluster.config->cluster_name;
  json["config_version"] = cluster.config->version;
  json["replication"] = cluster.config->replication;
  json["partitions_without_majority"] = cluster.without_majority;
  for (const MemberStatus& one : cluster.members) json["members"].push_back(to_json(one));
  return json;
}

void show_members(const std::vector<MemberStatus>& all) {
  Table table({"NODE", "ADDRESS", "CLOCK", "STATE"});
  for (const MemberStatus& one : all) {
    const std::string state =
        one.status.ok() ? one.status->state : "unreachable: " + one.status.status().detail();
    const std::string clock = one.status.ok() ? clock_text(*one.status) : "-";
    table.add({printable(one.member.name), printable(one.member.client_address), clock,
               printable(state)});
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
  ClusterStatus cluster{ask_config(environment)};
  if (cluster.config.ok()) {
    cluster.members = ask_all(environment, *cluster.config);
    cluster.without_majority = without_majority(*cluster.config, cluster.members);
    // The refusal concerns the user, so it replaces the report about the members.
    const auto refused = std::ranges::find_if(cluster.members, [](const MemberStatus& one) {
      return one.status.status().code() == Code::not_permitted;
    });
    if (refused != cluster.members.end()) cluster.config = refused->status.status();
  } else {
    cluster.config = unreachable(cluster.config.status());
  }
  if (environment.json) {
    print_json(to_json(cluster));
  } else if (cluster.config.ok()) {
    print("cluster " + printable(cluster.config->cluster_name) + ", " +
          std::to_string(cluster.members.size()) + " members, replication " +
          std::to_string(cluster.config->replication));
    print("");
    show_members(cluster.members);
    show_peers(cluster.members);
    show_stats(cluster.members);
  }
  if (const std::string differ = with_other_users(cluster.members); !differ.empty())
    complain(printable(differ) + ": not the same users as the other members");
  const Status verdict = cluster.verdict();
  if (verdict.ok()) return kOk;
  complain(printable(verdict.detail()));
  return kFailed;
}

}  // namespace quipu::cli
