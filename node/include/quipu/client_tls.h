// client_tls.h: how a program encrypts its connections to the client ports of nodes.
//
// Plain data without locks, and a value type. Threads: several may read one object, while none
// changes it. The files are PEM, and are read once, when the client or the node is opened.
#pragma once

#include <string>

namespace quipu {

struct ClientTls {
  // A file with the CAs that sign the nodes' certificates. "system": those that the system trusts.
  // Empty: connections are in plain text. A certificate must be for the host of the node's address.
  std::string ca{};
  // What this program shows to nodes that have a client_ca. Empty: nothing.
  std::string certificate{};
  std::string key{};
};

}  // namespace quipu
