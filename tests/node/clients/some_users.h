// some_users.h: a users file for tests. The secret of each user is "secret-of-" and its name.
#pragma once

#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "node/users/users.h"

namespace quipu::test {

inline std::string secret_of(const std::string& name) { return "secret-of-" + name; }

struct SomeUser {
  std::string name;
  std::vector<std::string> may;
  std::optional<std::string> prefix{};
};

inline void write_users(const std::string& path, const std::vector<SomeUser>& users) {
  std::string text;
  for (const SomeUser& user : users) {
    text += "[[user]]\nname = \"" + user.name + "\"\nsecrets = [\"" +
            to_text(hash_secret(secret_of(user.name), {})) + "\"]\nmay = [";
    for (const std::string& one : user.may) text += '"' + one + "\",";
    text += "]\n";
    if (user.prefix) text += "keys = [\"" + *user.prefix + "\"]\n";
  }
  std::ofstream(path) << text;
}

}  // namespace quipu::test
