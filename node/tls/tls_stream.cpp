#include "node/tls/tls_stream.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <cstring>

#include "protocol/check.h"

namespace quipu {

// Where OpenSSL reads and writes: input_ and output_. Its own memory BIO would copy all input, and
// keep the room of the longest for ever.
struct TlsStream::Bytes {
  static int read(BIO* bio, char* to, std::size_t size, std::size_t* taken) {
    BIO_clear_retry_flags(bio);
    auto& input = of(bio).input_;
    *taken = std::min(size, input.size());
    if (*taken == 0) {
      BIO_set_retry_read(bio);
      return 0;
    }
    std::memcpy(to, input.data(), *taken);
    input = input.subspan(*taken);
    return 1;
  }

  static int write(BIO* bio, const char* from, std::size_t size, std::size_t* written) {
    of(bio).output_.append(from, size);
    *written = size;
    return 1;
  }

  static long control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

  static const BIO_METHOD* method() {
    static const BIO_METHOD* const made = [] {
      BIO_METHOD* const table = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "quipu");
      QUIPU_CHECK(table != nullptr && BIO_meth_set_read_ex(table, read) == 1 &&
                      BIO_meth_set_write_ex(table, write) == 1 &&
                      BIO_meth_set_ctrl(table, control) == 1,
                  "there is memory");
      return table;
    }();
    return made;
  }

  static TlsStream& of(BIO* bio) { return *static_cast<TlsStream*>(BIO_get_data(bio)); }
};

namespace {

// A change of keys costs this side some 10 µs. A sender of data needs one after 2^24 records.
constexpr int kMostKeyUpdates = 32;

// Alerts of the other side, and what else people meet, in words that say what to do.
struct Reason {
  int code;
  const char* words;
};
constexpr Reason kReasons[] = {
    {SSL_R_TLSV1_ALERT_UNKNOWN_CA,
     "the other side does not trust the CA of this side's certificate: show one of a CA that it "
     "has"},
    {SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED,
     "the other side requires a certificate: show one of a CA that it has"},
    {SSL_R_SSLV3_ALERT_BAD_CERTIFICATE,
     "the other side does not accept this side's certificate: its log says why"},
    {SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN,
     "the other side does not accept this side's certificate: its log says why"},
    {SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE,
     "the other side does not accept this side's certificate for this use: see its "
     "extendedKeyUsage"},
    {SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED,
     "this side's certificate has expired, says the other side: issue a new one"},
    {SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED,
     "this side's certificate was revoked, says the other side: issue a new one"},
    {SSL_R_TLSV1_ALERT_PROTOCOL_VERSION, "the other side does not speak TLS 1.3"},
    {SSL_R_UNSUPPORTED_PROTOCOL, "the other side does not speak TLS 1.3"},
    {SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE, "the other side showed no certificate"},
    {SSL_R_WRONG_VERSION_NUMBER, "the other side does not speak TLS there"},
};

// What the last call left in OpenSSL's queue, for people.
std::string reason_of(SSL* ssl) {
  const unsigned long error = ERR_peek_error();
  if (ERR_GET_REASON(error) == SSL_R_CERTIFICATE_VERIFY_FAILED)
    return std::string("the other side's certificate is not accepted: ") +
           X509_verify_cert_error_string(SSL_get_verify_result(ssl));
  for (const Reason& known : kReasons) {
    if (ERR_GET_LIB(error) == ERR_LIB_SSL && ERR_GET_REASON(error) == known.code)
      return known.words;
  }
  const char* const text = ERR_reason_error_string(error);
  return text == nullptr ? "the other side does not speak TLS 1.3" : text;
}

}  // namespace

TlsStream::TlsStream(std::shared_ptr<const TlsContext> context, Role role, const std::string& host)
    : context_(std::move(context)), ssl_(SSL_new(context_->native())), role_(role) {
  BIO* const bio = BIO_new(Bytes::method());
  QUIPU_CHECK(ssl_ != nullptr && bio != nullptr, "there is memory");
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_, bio, bio);  // which owns it
  SSL_set_app_data(ssl_, &secret_);
  SSL_set_msg_callback(ssl_, on_message);
  SSL_set_msg_callback_arg(ssl_, this);
  if (role == Role::accept) {
    SSL_set_accept_state(ssl_);
    return;
  }
  SSL_set_connect_state(ssl_);
  if (!context_->names_matter()) return;
  SSL_set_hostflags(ssl_, kHostFlags);
  const bool ip = is_ip_address(host);
  const int set = ip ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_), host.c_str())
                     : SSL_set1_host(ssl_, host.c_str());
  QUIPU_CHECK(set == 1, "there is memory");
  // As the macro SSL_set_tlsext_host_name() does, with a cast of today.
  if (!ip)
    SSL_ctrl(ssl_, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
             const_cast<char*>(host.c_str()));
}

TlsStream::~TlsStream() { SSL_free(ssl_); }

void TlsStream::on_message(int sent, int, int type, const void* message, std::size_t size, SSL*,
                           void* stream) {
  if (sent == 0 && type == SSL3_RT_HANDSHAKE && size > 0 &&
      *static_cast<const unsigned char*>(message) == SSL3_MT_KEY_UPDATE)
    ++static_cast<TlsStream*>(stream)->key_updates_;
}

bool TlsStream::incomplete() const { return SSL_has_pending(ssl_) == 1; }

bool TlsStream::fail() {
  why_ = reason_of(ssl_);
  input_ = {};
  return false;
}

TlsStream::Shake TlsStream::shake(std::span<const std::byte> input) {
  ERR_clear_error();
  input_ = input;
  const int result = SSL_do_handshake(ssl_);
  if (result == 1 && input_.empty()) return Shake::done;
  if (SSL_get_error(ssl_, result) == SSL_ERROR_WANT_READ) return Shake::wants_input;
  (void)fail();
  return Shake::failed;
}

bool TlsStream::other_side_is(const std::string& host) const {
  X509* const shown = SSL_get0_peer_certificate(ssl_);
  return shown != nullptr && is_for_host(shown, host);
}

TlsStream::Decrypted TlsStream::decrypt(std::span<const std::byte> ciphertext,
                                        std::span<std::byte> room) {
  QUIPU_CHECK(room.size() >= ciphertext.size() + kTlsRecord,
              "there is room for what is decrypted, and an incomplete record before it",
              room.size(), ciphertext.size());
  ERR_clear_error();
  input_ = ciphertext;
  Decrypted all;
  for (;;) {
    std::size_t bytes = 0;
    const int result = SSL_read_ex(ssl_, room.data() + all.bytes, room.size() - all.bytes, &bytes);
    all.bytes += bytes;
    if (bytes > 0) key_updates_ = 0;
    if (result == 1 && input_.empty() && SSL_has_pending(ssl_) == 0) break;  // nothing is left
    if (result == 1) continue;
    const int error = SSL_get_error(ssl_, result);
    if (error == SSL_ERROR_WANT_READ) break;
    all.ended = error == SSL_ERROR_ZERO_RETURN;
    all.broken = !all.ended;
    if (all.broken) (void)fail();
    break;
  }
  input_ = {};
  if (key_updates_ > kMostKeyUpdates) {
    all.broken = true;
    why_ = "the other side changes its keys all the time";
  }
  return all;
}

bool TlsStream::encrypt(std::span<const std::byte> plaintext) {
  QUIPU_CHECK(!plaintext.empty() && plaintext.size() <= kTlsPlaintext,
              "one record is written at a time", plaintext.size());
  ERR_clear_error();
  std::size_t written = 0;
  if (SSL_write_ex(ssl_, plaintext.data(), plaintext.size(), &written) != 1) return fail();
  return true;
}

void TlsStream::end() {
  ERR_clear_error();
  SSL_shutdown(ssl_);
}

}  // namespace quipu
