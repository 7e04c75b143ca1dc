// users_file.cpp: a users file, and behind its first zero byte the Authorization header of a
// request to the admin port.
#include <algorithm>

#include "node/admin/credentials.h"
#include "node/users/users.h"
#include "tests/fuzz/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using quipu::fuzz::check;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(input.find('\0'), size);
  const std::string_view text = input.substr(0, end);
  const std::string_view header = input.substr(std::min(end + 1, size));

  const auto users = quipu::Users::parse(text, "users.toml");
  const auto again = quipu::Users::parse(text, "users.toml");
  check(users.ok() == again.ok(), "the same file is read the same way");
  const auto credentials =
      quipu::read_authorization(header).value_or(quipu::Credentials{"default", ""});
  if (!users.ok()) {
    const std::string& why = users.status().detail();
    check(why.starts_with("users.toml:"), "an error names the file and the line");
    check(why.find('\n') == why.npos, "an error is one line");
    return 0;
  }
  check((*users)->digest() == (*again)->digest(), "the same file has the same digest");
  // Nobody knows a secret to a random hash, so this must be one that the input has hashed.
  const auto login = (*users)->log_in(credentials.user, credentials.secret);
  if (login) check((*users)->again(*login).has_value(), "who logged in is there");
  return 0;
}
