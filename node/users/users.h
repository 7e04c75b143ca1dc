// users.h: the users of the client and admin ports, as their file has them.
//
//   text of the file ─parse─▶ Users ─log_in(name, secret)─▶ Login: a Permit, and the secret used
//
//   [[user]]
//   name = "web"
//   secrets = ["sha256:SALT:HASH"]   # two while one is being replaced
//   may = ["read", "count"]
//   keys = ["likes:", "views:"]      # prefixes; left out: all keys
//
// Immutable, and shared by all threads. Only the ports look here: members and the embedding
// program are trusted.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "node/users/rights.h"
#include "node/users/secret.h"
#include "quipu/status.h"

namespace quipu {

inline constexpr std::string_view kDefaultUser = "default";
inline constexpr std::size_t kMaxUserName = 128;
inline constexpr std::size_t kMaxUsersFile = std::size_t{16} << 20;  // bytes
inline constexpr std::size_t kMaxUserSecrets = 2;

// What one user may do.
class Permit {
 public:
  Permit(std::string user, Rights rights, std::vector<std::string> prefixes);

  [[nodiscard]] const std::string& user() const { return user_; }
  [[nodiscard]] Rights rights() const { return rights_; }
  // Whether some prefix of the user begins this key, or there are no prefixes.
  [[nodiscard]] bool covers(std::string_view key) const;
  [[nodiscard]] bool covers_all(std::span<const std::string_view> keys) const;
  // The same for all keys of a namespace, and for some key of it. All keys concern the default
  // namespace, whose name is empty.
  [[nodiscard]] bool covers_namespace(std::string_view name) const;
  [[nodiscard]] bool touches_namespace(std::string_view name) const;
  // One line, equal for equal permits.
  [[nodiscard]] std::string canonical() const;
  [[nodiscard]] bool operator==(const Permit&) const = default;

 private:
  std::string user_;
  Rights rights_;
  std::vector<std::string> prefixes_;  // sorted, and none begins with another
};

// Without a users file, all clients have this.
[[nodiscard]] const std::shared_ptr<const Permit>& permit_for_everything();
// Before authentication.
[[nodiscard]] const std::shared_ptr<const Permit>& permit_for_nothing();

struct Login {
  std::shared_ptr<const Permit> permit;
  SecretHash secret;  // the one that was used
};

class Users {
 public:
  // invalid_argument: names the line, and says what to do. Nothing of that text is a secret.
  [[nodiscard]] static Result<std::shared_ptr<const Users>> parse(std::string_view text,
                                                                  const std::string& file);

  // Nothing: there is no such user, or that is not its secret. Takes as long for an unknown user.
  [[nodiscard]] std::optional<Login> log_in(std::string_view user, std::string_view secret) const;
  // unauthenticated, or not_permitted, if not.
  [[nodiscard]] Status may_observe(std::string_view user, std::string_view secret) const;
  // The same user with the same secret, as these users have it. Nothing: one of them is gone.
  [[nodiscard]] std::optional<Login> again(const Login& login) const;
  // Equal for equal users, wherever their files are written differently.
  [[nodiscard]] const std::string& digest() const { return digest_; }
  [[nodiscard]] std::size_t size() const { return users_.size(); }
  [[nodiscard]] bool has(std::string_view user) const { return users_.contains(user); }

 private:
  struct User {
    std::vector<SecretHash> secrets;
    std::shared_ptr<const Permit> permit;
  };
  [[nodiscard]] std::string canonical() const;

  std::map<std::string, User, std::less<>> users_;
  std::string digest_;
};

}  // namespace quipu
