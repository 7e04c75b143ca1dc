// tls_context.h: what all TLS connections of one port, or of one client, have in common: protocol,
// certificate, trusted CAs, secrets.
//
// TLS 1.3 (RFC 8446) alone, by OpenSSL. No session tickets, no early data, no compression: a
// resumption would save 0.03 ms and need a key that must be rotated.
//
// Immutable. Any thread. A connection holds its context, so a newer one is for new connections.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quipu/status.h"

typedef struct x509_st X509;
typedef struct ssl_st SSL;
typedef struct ssl_ctx_st SSL_CTX;

namespace quipu {

// A certificate, with those that lead to its CA, and its key: the texts of PEM files.
struct KeyPair {
  std::string certificate{};
  std::string key{};
};

// 32 random bytes that all members share.
using ClusterSecret = std::array<std::uint8_t, 32>;

// All functions: invalid_argument tells what is wrong with which text, and `unavailable` that a
// certificate and a key do not match, which may be about to change.
class TlsContext {
 public:
  using Made = Result<std::shared_ptr<const TlsContext>>;

  // For a port that clients dial. `client_ca`, in PEM: each must show a certificate of these CAs.
  // Empty: none needs one.
  [[nodiscard]] static Made for_port(const KeyPair& own, const std::string& client_ca);
  // For a client. It accepts servers with a certificate of these CAs, in PEM, or of those that the
  // system trusts (empty). It shows `own`, if there is one.
  [[nodiscard]] static Made for_client(const std::string& ca, const KeyPair& own);
  // For links between members, both sides, by certificates of one of these CAs. Nothing is said of
  // their purpose, since public CAs issue them for servers alone.
  [[nodiscard]] static Made for_members(const KeyPair& own, const std::string& ca);
  // For links between members, both sides, by a secret (external PSK with an ephemeral key
  // exchange, RFC 8446 section 4.2.9). The first one is for dialing. All are accepted.
  [[nodiscard]] static Made for_members(const std::vector<ClusterSecret>& secrets);

  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  // The other side of a connection must show a certificate, and it must be for that host.
  [[nodiscard]] bool names_matter() const { return names_matter_; }
  // Whether a connection that was made with this secret could be made again.
  [[nodiscard]] bool has_secret(std::string_view identity) const;
  // … and would be, by this side.
  [[nodiscard]] bool dials_with(std::string_view identity) const;
  [[nodiscard]] SSL_CTX* native() const { return context_; }

 private:
  TlsContext();
  [[nodiscard]] static std::shared_ptr<TlsContext> make();
  [[nodiscard]] Status show(const KeyPair& own);
  [[nodiscard]] Status trust(const std::string& ca, const char* what);
  friend struct SecretLookup;

  SSL_CTX* const context_;
  std::vector<ClusterSecret> secrets_;
  bool names_matter_ = false;
};

// Whether the certificate is for this host: only its subjectAltName counts, since the common name
// of a subject may be a person's.
[[nodiscard]] bool is_for_host(X509* certificate, const std::string& host);
// The same of the first certificate of a PEM text. REQUIRES: TlsContext accepted the text.
[[nodiscard]] bool is_for_host(const std::string& certificates, const std::string& host);
// "127.0.0.1", "::1"; not a name.
[[nodiscard]] bool is_ip_address(const std::string& host);
// Flags of OpenSSL's checks of names.
extern const unsigned kHostFlags;

// When all certificates of a PEM text are valid. REQUIRES: TlsContext accepted the text.
struct Validity {
  std::chrono::sys_seconds from{};
  std::chrono::sys_seconds until{};
  std::chrono::seconds life{};  // of the one that ends first
};
[[nodiscard]] Validity validity_of(const std::string& certificates);

}  // namespace quipu
