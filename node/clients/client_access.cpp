#include "node/clients/client_access.h"

namespace quipu {

bool ClientAccess::log_in(std::string_view user, std::string_view secret) {
  const std::optional<Login> login = shared_.users->log_in(user, secret);
  if (!login) {
    ++wrong_;
    shared_.on_wrong_secret(client_);
    return false;
  }
  wrong_ = 0;
  permit_ = login->permit;
  secret_ = login->secret;
  shared_.on_change(client_, true);
  return true;
}

void ClientAccess::log_out() {
  if (!secret_) return;
  permit_ = permit_for_nothing();
  secret_.reset();
  shared_.on_change(client_, false);
}

bool ClientAccess::renew() {
  if (!secret_) return true;
  const auto login = shared_.users->again({permit_, *secret_});
  if (!login) return false;
  permit_ = login->permit;
  return true;
}

}  // namespace quipu
