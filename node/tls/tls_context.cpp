#include "node/tls/tls_context.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <utility>

#include "node/tls/hashes.h"
#include "protocol/check.h"

namespace quipu {
namespace {

constexpr long kMaxCertificateList = 16 << 10;
// OpenSSL refuses an external key whose session has another one.
constexpr unsigned char kSessionIdContext[]{'q', 'u', 'i', 'p', 'u'};
constexpr std::array<unsigned char, 2> kSecretCipher{0x13, 0x02};  // with SHA-384

template <class T, auto release>
using Owned = std::unique_ptr<T, decltype([](T* object) { release(object); })>;
using Bio = Owned<BIO, BIO_free>;
using Certificate = Owned<X509, X509_free>;
using PrivateKey = Owned<EVP_PKEY, EVP_PKEY_free>;
using Session = Owned<SSL_SESSION, SSL_SESSION_free>;

Bio reader_of(const std::string& text) {
  ERR_clear_error();
  Bio bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  QUIPU_CHECK(bio != nullptr, "there is memory");
  return bio;
}

// Never asks for a password.
int no_password(char*, int, int, void*) { return -1; }

// False: something in the text is no certificate.
bool each_certificate(const std::string& text, const std::function<bool(Certificate)>& take) {
  const Bio bio = reader_of(text);
  while (Certificate one{PEM_read_bio_X509(bio.get(), nullptr, no_password, nullptr)}) {
    if (!take(std::move(one))) return false;
  }
  const unsigned long error = ERR_peek_last_error();  // that there is no more is an error, too
  ERR_clear_error();
  return ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
}

Status refuse(std::string why) { return {Code::invalid_argument, std::move(why)}; }

std::chrono::sys_seconds time_of(const ASN1_TIME* time) {
  std::tm parts{};
  QUIPU_CHECK(ASN1_TIME_to_tm(time, &parts) == 1, "OpenSSL has parsed this date");
  return std::chrono::sys_seconds(std::chrono::seconds(timegm(&parts)));
}

// With a prefix, so that both sides mean the same kind of identity.
std::string identity_of(const ClusterSecret& secret) {
  const auto* const bytes = reinterpret_cast<const char*>(secret.data());
  return "quipu1:" + in_hex(sha256({bytes, secret.size()})).substr(0, 16);
}

Session session_of(SSL* ssl, const ClusterSecret& secret) {
  Session session(SSL_SESSION_new());
  const SSL_CIPHER* const cipher = SSL_CIPHER_find(ssl, kSecretCipher.data());
  const bool made =
      session != nullptr && cipher != nullptr &&
      SSL_SESSION_set1_master_key(session.get(), secret.data(), secret.size()) == 1 &&
      SSL_SESSION_set_cipher(session.get(), cipher) == 1 &&
      SSL_SESSION_set_protocol_version(session.get(), TLS1_3_VERSION) == 1 &&
      SSL_SESSION_set1_id_context(session.get(), kSessionIdContext, sizeof kSessionIdContext) == 1;
  QUIPU_CHECK(made, "OpenSSL takes an external key");
  return session;
}

}  // namespace

struct SecretLookup {
  static const std::vector<ClusterSecret>& of(SSL* ssl) {
    return static_cast<const TlsContext*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)))->secrets_;
  }

  static int use(SSL* ssl, const EVP_MD* hash, const unsigned char** identity, std::size_t* size,
                 SSL_SESSION** session) {
    // OpenSSL reads the identity later: it is kept with the connection.
    const ClusterSecret& secret = of(ssl).front();
    *session = nullptr;
    if (hash != nullptr && EVP_MD_get_size(hash) != 48) return 1;  // not of our cipher: no key
    auto* const text = static_cast<std::string*>(SSL_get_app_data(ssl));
    *text = identity_of(secret);
    *identity = reinterpret_cast<const unsigned char*>(text->data());
    *size = text->size();
    *session = session_of(ssl, secret).release();
    return 1;
  }

  // Without a session the handshake fails, as there is no certificate either.
  static int find(SSL* ssl, const unsigned char* identity, std::size_t size,
                  SSL_SESSION** session) {
    const std::string_view wanted(reinterpret_cast<const char*>(identity), size);
    const auto& secrets = of(ssl);
    const auto found = std::ranges::find(secrets, wanted, identity_of);
    *session = found == secrets.end() ? nullptr : session_of(ssl, *found).release();
    if (*session != nullptr) static_cast<std::string*>(SSL_get_app_data(ssl))->assign(wanted);
    return 1;
  }
};

TlsContext::TlsContext() : context_(SSL_CTX_new(TLS_method())) {
  QUIPU_CHECK(context_ != nullptr, "OpenSSL has TLS");
  const bool only = SSL_CTX_set_min_proto_version(context_, TLS1_3_VERSION) == 1 &&
                    SSL_CTX_set_max_proto_version(context_, TLS1_3_VERSION) == 1;
  QUIPU_CHECK(only, "OpenSSL has TLS 1.3");
  SSL_CTX_set_options(context_, SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_num_tickets(context_, 0);
  SSL_CTX_set_session_cache_mode(context_, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(context_, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_max_cert_list(context_, kMaxCertificateList);
  SSL_CTX_set_app_data(context_, this);
  SSL_CTX_set_session_id_context(context_, kSessionIdContext, sizeof kSessionIdContext);
}

TlsContext::~TlsContext() { SSL_CTX_free(context_); }

bool TlsContext::has_secret(std::string_view identity) const {
  return std::ranges::find(secrets_, identity, identity_of) != secrets_.end();
}

bool TlsContext::dials_with(std::string_view identity) const {
  return !secrets_.empty() && identity_of(secrets_.front()) == identity;
}

std::shared_ptr<TlsContext> TlsContext::make() {
  return std::shared_ptr<TlsContext>(new TlsContext());
}

Status TlsContext::show(const KeyPair& own) {
  bool first = true;
  const auto take = [&](Certificate one) {
    if (std::exchange(first, false)) return SSL_CTX_use_certificate(context_, one.get()) == 1;
    return SSL_CTX_add1_chain_cert(context_, one.get()) == 1;
  };
  if (!each_certificate(own.certificate, take) || first)
    return refuse("the certificate is no PEM file that OpenSSL accepts");
  const Bio bio = reader_of(own.key);
  const PrivateKey key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr));
  if (key == nullptr)
    return refuse("the key is no PEM file without a password (openssl pkey -in FILE removes one)");
  if (SSL_CTX_use_PrivateKey(context_, key.get()) == 1 && SSL_CTX_check_private_key(context_) == 1)
    return {};
  return {Code::unavailable, "the certificate and the key do not match"};
}

Status TlsContext::trust(const std::string& ca, const char* what) {
  X509_STORE* const store = SSL_CTX_get_cert_store(context_);
  std::size_t count = 0;
  const auto take = [&](const Certificate& one) {
    ++count;
    return X509_STORE_add_cert(store, one.get()) == 1 &&
           SSL_CTX_add_client_CA(context_, one.get()) == 1;
  };
  if (!each_certificate(ca, take) || count == 0)
    return refuse(std::string(what) +
                  " has no certificate of a CA in PEM, or one that OpenSSL "
                  "does not accept");
  return {};
}

TlsContext::Made TlsContext::for_port(const KeyPair& own, const std::string& client_ca) {
  const auto context = make();
  if (Status shown = context->show(own); !shown.ok()) return shown;
  if (!client_ca.empty()) {
    if (Status trusted = context->trust(client_ca, "client_ca"); !trusted.ok()) return trusted;
    SSL_CTX_set_verify(context->context_, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                       nullptr);
  }
  return std::shared_ptr<const TlsContext>(context);
}

TlsContext::Made TlsContext::for_client(const std::string& ca, const KeyPair& own) {
  const auto context = make();
  if (!own.certificate.empty()) {
    if (Status shown = context->show(own); !shown.ok()) return shown;
  }
  if (ca.empty()) {
    if (SSL_CTX_set_default_verify_paths(context->context_) != 1)
      return refuse("the system has no list of CAs: install ca-certificates, or name a file");
  } else if (Status trusted = context->trust(ca, "the file"); !trusted.ok()) {
    return trusted;
  }
  SSL_CTX_set_verify(context->context_, SSL_VERIFY_PEER, nullptr);
  context->names_matter_ = true;
  return std::shared_ptr<const TlsContext>(context);
}

TlsContext::Made TlsContext::for_members(const KeyPair& own, const std::string& ca) {
  const auto context = make();
  if (Status shown = context->show(own); !shown.ok()) return shown;
  if (Status trusted = context->trust(ca, "peer_ca"); !trusted.ok()) return trusted;
  SSL_CTX_set_verify(context->context_, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  SSL_CTX_set_purpose(context->context_, X509_PURPOSE_ANY);
  context->names_matter_ = true;
  return std::shared_ptr<const TlsContext>(context);
}

TlsContext::Made TlsContext::for_members(const std::vector<ClusterSecret>& secrets) {
  QUIPU_CHECK(!secrets.empty(), "links are protected by a secret");
  const auto context = make();
  context->secrets_ = secrets;
  const bool set = SSL_CTX_set_ciphersuites(context->context_, "TLS_AES_256_GCM_SHA384") == 1;
  QUIPU_CHECK(set, "OpenSSL has the cipher of the secret");
  SSL_CTX_set_psk_use_session_callback(context->context_, SecretLookup::use);
  SSL_CTX_set_psk_find_session_callback(context->context_, SecretLookup::find);
  // With no CA at all: a certificate in place of the secret is never accepted.
  SSL_CTX_set_verify(context->context_, SSL_VERIFY_PEER, nullptr);
  return std::shared_ptr<const TlsContext>(context);
}

const unsigned kHostFlags =
    X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS;

bool is_ip_address(const std::string& host) {
  ASN1_OCTET_STRING* const ip = a2i_IPADDRESS(host.c_str());
  ASN1_OCTET_STRING_free(ip);
  return ip != nullptr;
}

bool is_for_host(X509* certificate, const std::string& host) {
  if (is_ip_address(host)) return X509_check_ip_asc(certificate, host.c_str(), 0) == 1;
  return X509_check_host(certificate, host.data(), host.size(), kHostFlags, nullptr) == 1;
}

bool is_for_host(const std::string& certificates, const std::string& host) {
  bool named = false, first = true;
  each_certificate(certificates, [&](const Certificate& one) {
    if (std::exchange(first, false)) named = is_for_host(one.get(), host);
    return true;
  });
  return named;
}

Validity validity_of(const std::string& certificates) {
  Validity all{.from = std::chrono::sys_seconds::min(), .until = std::chrono::sys_seconds::max()};
  each_certificate(certificates, [&](const Certificate& one) {
    const auto from = time_of(X509_get0_notBefore(one.get()));
    const auto until = time_of(X509_get0_notAfter(one.get()));
    if (until < all.until) all.life = until - from;
    all.from = std::max(all.from, from);
    all.until = std::min(all.until, until);
    return true;
  });
  return all;
}

}  // namespace quipu
