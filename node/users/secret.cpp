#include "node/users/secret.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>

#include "protocol/check.h"

namespace quipu {
namespace {

constexpr std::string_view kAlgorithm = "sha256:";
constexpr std::string_view kPrefix = "quipu_";

template <class Bytes>
std::string_view view_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Without padding.
std::string base64url(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // EVP_EncodeBlock ends it with a zero
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                  reinterpret_cast<const unsigned char*>(bytes.data()),
                  static_cast<int>(bytes.size()));
  std::ranges::replace(text, '+', '-');
  std::ranges::replace(text, '/', '_');
  return text.substr(0, text.find_first_of(std::string_view("=\0", 2)));
}

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

template <class Bytes>
bool from_hex(std::string_view text, Bytes& to) {
  if (text.size() != to.size() * 2) return false;
  for (std::size_t i = 0; i < to.size(); ++i) {
    const int high = digit(text[i * 2]), low = digit(text[i * 2 + 1]);
    if (high < 0 || low < 0) return false;
    to[i] = static_cast<std::uint8_t>(high << 4 | low);
  }
  return true;
}

Sha256 salted(const SecretHash& hash, std::string_view secret) {
  std::string text(view_of(hash.salt));
  text.append(secret);
  return sha256(text);
}

}  // namespace

RandomBytes random_bytes() {
  RandomBytes bytes{};
  const bool drawn = RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1;
  QUIPU_CHECK(drawn, "the system gives randomness");
  return bytes;
}

std::string make_secret(const RandomBytes& random) {
  return std::string(kPrefix) + base64url(view_of(random));
}

SecretHash hash_secret(std::string_view secret, const RandomBytes& random) {
  SecretHash hash;
  std::copy_n(random.begin(), hash.salt.size(), hash.salt.begin());
  hash.hash = salted(hash, secret);
  return hash;
}

std::string to_text(const SecretHash& hash) {
  return std::string(kAlgorithm) + in_hex(view_of(hash.salt)) + ':' + in_hex(view_of(hash.hash));
}

std::optional<SecretHash> parse_secret_hash(std::string_view text) {
  if (!text.starts_with(kAlgorithm)) return std::nullopt;
  text.remove_prefix(kAlgorithm.size());
  const std::size_t colon = text.find(':');
  SecretHash hash;
  if (colon == text.npos || !from_hex(text.substr(0, colon), hash.salt) ||
      !from_hex(text.substr(colon + 1), hash.hash))
    return std::nullopt;
  return hash;
}

bool matches(const SecretHash& hash, std::string_view secret) {
  const Sha256 found = salted(hash, secret.substr(0, kMaxSecret + 1));
  return CRYPTO_memcmp(found.data(), hash.hash.data(), found.size()) == 0;
}

}  // namespace quipu
