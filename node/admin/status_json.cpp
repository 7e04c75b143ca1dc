#include "node/admin/status_json.h"

#include <nlohmann/json.hpp>

namespace quipu {
namespace {

nlohmann::json in_ms(std::optional<std::chrono::milliseconds> time) {
  return time ? nlohmann::json(time->count()) : nlohmann::json();
}

nlohmann::json to_json(const MemberStatus::Peer& peer) {
  return {{"name", peer.name},     {"address", peer.address},   {"state", peer.state},
          {"outbox", peer.outbox}, {"age_ms", in_ms(peer.age)}, {"clock_ms", in_ms(peer.clock)}};
}

nlohmann::json to_json(const MemberStatus& member) {
  nlohmann::json json{{"name", member.name},
                      {"client_address", member.client_address},
                      {"weight", member.weight},
                      {"state", member.state},
                      {"store", std::to_string(member.store)},  // many readers cannot hold 64 bits
                      {"clock_ms", in_ms(member.clock)},
                      {"clock_trusted", nullptr},
                      {"clock_doubt", member.clock_doubt},
                      {"users_digest", member.users_digest},
                      {"peers", nlohmann::json::array()},
                      {"stats", nlohmann::json::object()}};
  if (member.clock_trusted) json["clock_trusted"] = *member.clock_trusted;
  for (const MemberStatus::Peer& peer : member.peers) json["peers"].push_back(to_json(peer));
  for (const auto& [name, value] : member.figures) json["stats"][name] = value;
  return json;
}

}  // namespace

std::string status_json(const std::vector<MemberStatus>& members) {
  nlohmann::json json{{"members", nlohmann::json::array()}};
  for (const MemberStatus& member : members) json["members"].push_back(to_json(member));
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

}  // namespace quipu
