// client_access.h: what the client of one connection may do.
//
//   unknown ──right secret──▶ known: the user's Permit ──newer users──▶ known, or gone
//      │  ▲──────RESP's RESET──────┘
//      └──kMaxWrongSecrets──▶ exhausted: the connection ends
//
// Without a users file, each client is `default` and may do everything. Reactor thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "cluster/gates/effects.h"
#include "node/users/users.h"

namespace quipu {

// What one connection may send and leave unread before it has authenticated.
inline constexpr std::size_t kMaxStrangerBytes = 4096;  // a request, and replies
inline constexpr std::size_t kMaxStrangerWords = 16;
// One turn of such a connection reads and writes about this many bytes.
inline constexpr std::size_t kStrangerTurn = 1024;
inline constexpr int kMaxWrongSecrets = 3;

// What all connections of a reactor share.
struct AccessShared {
  std::shared_ptr<const Users> users{};  // null: there is no users file
  std::function<void(ClientId)> on_wrong_secret = [](ClientId) {};
  // Whether this connection has authenticated now.
  std::function<void(ClientId, bool known)> on_change = [](ClientId, bool) {};
};

class ClientAccess {
 public:
  ClientAccess(ClientId client, AccessShared& shared) : client_(client), shared_(shared) {
    if (shared.users == nullptr) permit_ = permit_for_everything();
  }

  [[nodiscard]] const Permit& permit() const { return *permit_; }
  [[nodiscard]] Rights rights() const { return permit_->rights(); }
  // The part of `needed` that the client lacks: nearly always nothing.
  [[nodiscard]] Rights missing_of(Rights needed) const { return rights().missing_of(needed); }
  [[nodiscard]] bool authenticated() const { return rights().has(kAuthenticated); }
  // Whether there is a users file.
  [[nodiscard]] bool has_users_file() const { return shared_.users != nullptr; }

  // False: it stays what it was. REQUIRES: has_users_file().
  bool log_in(std::string_view user, std::string_view secret);
  void log_out();
  // The users may have changed. False: this one, or the secret that it used, is gone.
  [[nodiscard]] bool renew();
  // Too many wrong secrets: the connection must end.
  [[nodiscard]] bool exhausted() const { return wrong_ >= kMaxWrongSecrets; }

 private:
  const ClientId client_;
  AccessShared& shared_;
  std::shared_ptr<const Permit> permit_ = permit_for_nothing();
  std::optional<SecretHash> secret_;  // that it used
  int wrong_ = 0;                     // secrets, one after the other
};

}  // namespace quipu
