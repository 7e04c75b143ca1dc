#include "node/base/sha256.h"

#include <openssl/evp.h>

#include "protocol/check.h"

namespace quipu {

// Looked up once: a look-up takes longer than the hash of a secret.
Sha256 sha256(std::string_view bytes) {
  static const EVP_MD* const algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  Sha256 digest{};
  const bool hashed =
      EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, algorithm, nullptr) == 1;
  QUIPU_CHECK(hashed, "OpenSSL has SHA-256");
  return digest;
}

std::string in_hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    text.push_back(kDigits[value >> 4]);
    text.push_back(kDigits[value & 15]);
  }
  return text;
}

std::string short_digest(std::string_view text) {
  const Sha256 hash = sha256(text);
  return in_hex({reinterpret_cast<const char*>(hash.data()), 4});
}

}  // namespace quipu
