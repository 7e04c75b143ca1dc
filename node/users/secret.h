// secret.h: the secret of a user, and the hash that a users file has of it.
//
//   "quipu_" + 43 characters of base64url (256 random bits) ─▶ "sha256:SALT:HASH"
//
// With 256 random bits there is nothing to guess, so a fast hash is enough: a slow one protects
// short passwords, and delays ten thousand clients that connect at once. The prefix lets scanners
// for leaked secrets find it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "node/tls/hashes.h"
#include "node/tls/random_bytes.h"

namespace quipu {

// The longest that is looked at.
inline constexpr std::size_t kMaxSecret = 512;
// The shortest that a person may choose.
inline constexpr std::size_t kMinSecret = 20;

struct SecretHash {
  std::array<std::uint8_t, 16> salt{};
  Sha256 hash{};
  bool operator==(const SecretHash&) const = default;
};

[[nodiscard]] std::string make_secret(const RandomBytes& random);
// Takes the salt of `random`.
[[nodiscard]] SecretHash hash_secret(std::string_view secret, const RandomBytes& random);
// "sha256:" and both in hex.
[[nodiscard]] std::string to_text(const SecretHash& hash);
[[nodiscard]] std::optional<SecretHash> parse_secret_hash(std::string_view text);
// Takes the same time wherever they differ.
[[nodiscard]] bool matches(const SecretHash& hash, std::string_view secret);

}  // namespace quipu
