// client_filter.h: which connections CLIENT KILL ends.
#pragma once

#include <optional>
#include <string>

#include "cluster/gates/effects.h"

namespace quipu {

// A connection that has all of what is given here.
struct ClientFilter {
  std::optional<ClientId> id{};
  std::optional<std::string> remote{}, local{};  // "host:port"
  std::optional<std::string> user{};
  ClientId asker{};  // never this one: it ends itself, after its reply

  [[nodiscard]] bool matches(ClientId client, const std::string& its_remote,
                             const std::string& its_local, const std::string& its_user) const {
    return (!id || *id == client) && (!remote || *remote == its_remote) &&
           (!local || *local == its_local) && (!user || *user == its_user);
  }
};

}  // namespace quipu
