#include "tests/node/tls/test_certificates.h"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "protocol/check.h"

namespace quipu::test {
namespace {

template <class T, auto release>
using Owned = std::unique_ptr<T, decltype([](T* object) { release(object); })>;
using Certificate = Owned<X509, X509_free>;
using Key = Owned<EVP_PKEY, EVP_PKEY_free>;

template <class Write>
std::string pem_of(Write write) {
  const Owned<BIO, BIO_free> bio(BIO_new(BIO_s_mem()));
  QUIPU_CHECK(write(bio.get()) == 1, "a test has memory");
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

void extend(X509* certificate, X509* issuer, int what, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, what, value.c_str());
  QUIPU_CHECK(extension != nullptr, "a test's certificate is sound");
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

Certificate make(const std::string& name, EVP_PKEY* key, const TestCa::Order& order) {
  static long serial = 1;
  Certificate certificate(X509_new());
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), order.from.count());
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), order.until.count());
  X509_set_pubkey(certificate.get(), key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  return certificate;
}

}  // namespace

struct TestCa::Parts {
  ~Parts() {
    X509_free(certificate);
    EVP_PKEY_free(key);
  }
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = nullptr;
};

TestCa::TestCa(const std::string& name) : parts_(std::make_unique<Parts>()) {
  X509* const own = parts_->certificate = make(name, parts_->key, {}).release();
  X509_set_issuer_name(own, X509_get_subject_name(own));
  extend(own, own, NID_basic_constraints, "critical,CA:TRUE");
  X509_sign(own, parts_->key, EVP_sha256());
  pem_ = pem_of([&](BIO* to) { return PEM_write_bio_X509(to, own); });
}

TestCa::~TestCa() = default;

KeyPair TestCa::issue(const Order& order) const {
  const Key key(EVP_EC_gen(order.curve.c_str()));
  const Certificate certificate = make(order.subject, key.get(), order);
  X509* const ca = parts_->certificate;
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(ca));
  extend(certificate.get(), ca, NID_subject_alt_name, order.names);
  if (!order.usage.empty()) extend(certificate.get(), ca, NID_ext_key_usage, order.usage);
  X509_sign(certificate.get(), parts_->key, EVP_sha256());
  return {.certificate = pem_of([&](BIO* to) { return PEM_write_bio_X509(to, certificate.get()); }),
          .key = pem_of([&](BIO* to) {
            return PEM_write_bio_PrivateKey(to, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
          })};
}

}  // namespace quipu::test
