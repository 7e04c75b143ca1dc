// tls_paths.h: where the files are that protect a node's ports.
#pragma once

#include <string>

namespace quipu {

// Empty: not set. What may be set together is checked before (node_plan.h).
struct TlsPaths {
  std::string certificate{};
  std::string key{};
  std::string client_ca{};
  std::string peer_ca{};
  std::string cluster_secret{};
  // Not a file: the host of this member's peer address. With peer_ca, other members
  // refuse a certificate that is not for it.
  std::string peer_host{};

  [[nodiscard]] bool any() const { return !certificate.empty() || !cluster_secret.empty(); }
};

}  // namespace quipu
