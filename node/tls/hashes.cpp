#include "node/tls/hashes.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/sha.h>

#include "protocol/check.h"

namespace quipu {
namespace {

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

// Looked up once: a look-up takes longer than the hash of a secret.
Sha256 sha256(std::string_view bytes) {
  static const EVP_MD* const algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  Sha256 digest{};
  const bool hashed =
      EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, algorithm, nullptr) == 1;
  QUIPU_CHECK(hashed, "OpenSSL has SHA-256");
  return digest;
}

Sha1 sha1(std::string_view bytes) {
  Sha1 digest{};
  SHA1(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
  return digest;
}

bool equal(const Sha256& a, const Sha256& b) {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string in_hex(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const std::uint8_t byte : bytes) {
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

std::string in_hex(std::string_view bytes) {
  return in_hex({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

bool from_hex(std::string_view text, std::span<std::uint8_t> to) {
  if (text.size() != to.size() * 2) return false;
  for (std::size_t i = 0; i < to.size(); ++i) {
    const int high = digit(text[i * 2]), low = digit(text[i * 2 + 1]);
    if (high < 0 || low < 0) return false;
    to[i] = static_cast<std::uint8_t>(high << 4 | low);
  }
  return true;
}

std::string short_digest(std::string_view text) { return in_hex(sha256(text)).substr(0, 8); }

}  // namespace quipu
