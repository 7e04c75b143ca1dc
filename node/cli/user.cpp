// quipu user new: makes a user for the users file of quipud, with a new secret.
#include <iostream>
#include <nlohmann/json.hpp>

#include "node/cli/commands.h"
#include "node/cli/output.h"
#include "node/users/users.h"

namespace quipu::cli {
namespace {

// A text of TOML.
std::string quoted(const std::string& text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string to = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      to.append("\\").push_back(c);
    } else if (byte < ' ' || byte == 0x7f) {
      to.append("\\u00").push_back(kDigits[byte >> 4]);
      to.push_back(kDigits[byte & 15]);
    } else {
      to.push_back(c);
    }
  }
  return to + '"';
}

std::string list(const std::vector<std::string>& texts) {
  std::string to;
  for (const std::string& text : texts) to.append(to.empty() ? "" : ", ").append(quoted(text));
  return '[' + to + ']';
}

std::string stanza(const UserNewCommand& command, const SecretHash& hash) {
  std::string text = "[[user]]\nname = " + quoted(command.name) + "\nsecrets = [" +
                     quoted(to_text(hash)) + "]\nmay = " + list(command.may) + '\n';
  if (command.keys) text += "keys = " + list(*command.keys) + '\n';
  return text;
}

Result<std::string> secret_of_stdin() {
  std::string line;
  std::getline(std::cin, line);
  if (line.ends_with('\r')) line.pop_back();
  if (line.size() >= kMinSecret && line.size() <= kMaxSecret) return line;
  return Status(Code::invalid_argument,
                "a secret has " + std::to_string(kMinSecret) + " to " + std::to_string(kMaxSecret) +
                    " characters, and must be random: leave --secret-stdin out to have one made");
}

struct NewUser {
  std::string stanza, secret;
};

Result<NewUser> make_user(const UserNewCommand& command) {
  Result<std::string> secret =
      command.secret_from_stdin ? secret_of_stdin() : make_secret(random_bytes());
  if (!secret.ok()) return secret.status();
  std::string text = stanza(command, hash_secret(*secret, random_bytes()));
  // As quipud will read it.
  if (const auto users = Users::parse(text, "new user"); !users.ok()) return users.status();
  return NewUser{std::move(text), std::move(*secret)};
}

}  // namespace

// The secret goes to stderr, so that stdout can be appended to the users file.
int run(const Environment& environment, const UserNewCommand& command) {
  const Result<NewUser> made = make_user(command);
  if (environment.json) {
    nlohmann::json json = document("user new", made.status());
    json["stanza"] = made.ok() ? made->stanza : "";
    print_json(json);
  } else if (made.ok()) {
    std::cout << made->stanza;
  }
  if (!made.ok()) {
    complain(made.status().detail());
    return kUsage;
  }
  if (command.secret_from_stdin) {
    complain("use only a random secret: a guessed secret gives others this user's permissions");
  } else {
    std::cerr << made->secret << '\n';
  }
  return kOk;
}

}  // namespace quipu::cli
