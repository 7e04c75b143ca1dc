#include "node/users/secret.h"

#include <algorithm>

#include "node/tls/base64.h"

namespace quipu {
namespace {

constexpr std::string_view kAlgorithm = "sha256:";
constexpr std::string_view kPrefix = "quipu_";

Sha256 salted(const SecretHash& hash, std::string_view secret) {
  std::string text(hash.salt.begin(), hash.salt.end());
  text.append(secret);
  return sha256(text);
}

}  // namespace

std::string make_secret(const RandomBytes& random) {
  return std::string(kPrefix) + to_base64url(random);
}

SecretHash hash_secret(std::string_view secret, const RandomBytes& random) {
  SecretHash hash;
  std::copy_n(random.begin(), hash.salt.size(), hash.salt.begin());
  hash.hash = salted(hash, secret);
  return hash;
}

std::string to_text(const SecretHash& hash) {
  return std::string(kAlgorithm) + in_hex(hash.salt) + ':' + in_hex(hash.hash);
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
  return equal(salted(hash, secret.substr(0, kMaxSecret + 1)), hash.hash);
}

}  // namespace quipu
