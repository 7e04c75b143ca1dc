#include "node/users/users.h"

#include <toml++/toml.h>

#include <algorithm>
#include <utility>

#include "node/base/one_line.h"
#include "protocol/ids.h"

namespace quipu {
namespace {

Status wrong_at(const toml::node& at, const std::string& file, const std::string& why) {
  return {Code::invalid_argument,
          one_line(file + ':' + std::to_string(at.source().begin.line) + ": " + why)};
}

Rights derived(Rights may, bool every_key) {
  Rights all = kAuthenticated | may;
  if (may.has(kMayCount) || may.has(kMayReset)) all = all | kMayChange;
  if (all.has(kMayChange) || may.has(kMayRead)) all = all | kMayTouch;
  return every_key ? all | kEveryKey : all;
}

// Sorted, without those that another one begins.
std::vector<std::string> shortest(std::vector<std::string> prefixes) {
  std::ranges::sort(prefixes);
  std::vector<std::string> kept;
  for (std::string& one : prefixes) {
    if (kept.empty() || !one.starts_with(kept.back())) kept.push_back(std::move(one));
  }
  return kept;
}

// Printable, without what CLIENT LIST and a log line separate by.
bool is_user_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxUserName && std::ranges::all_of(name, [](char c) {
    return c > ' ' && c <= '~' && c != '"' && c != ':';
  });
}

// Reads one [[user]], and stops at the first error.
class UserReader {
 public:
  UserReader(const toml::table& table, const std::string& file) : table_(table), file_(file) {}

  Status read() {
    for (const auto& [key, value] : table_) {
      Status status = read_field(key.str(), value);
      if (!status.ok()) return status;
    }
    if (name.empty()) return wrong(table_, "a user has no name: add name = \"…\"");
    if (secrets.empty())
      return wrong(table_,
                   "the user \"" + name + "\" has no secrets: make them with quipu user new");
    if (!has_may_)
      return wrong(table_, "the user \"" + name + "\" has no may: add may = [\"read\"]");
    return {};
  }

  std::string name;
  std::vector<SecretHash> secrets;
  Rights may = kNoRight;
  std::optional<std::vector<std::string>> prefixes;

 private:
  Status wrong(const toml::node& at, const std::string& why) const {
    return wrong_at(at, file_, why);
  }

  Status read_field(std::string_view key, const toml::node& value) {
    if (key == "name") {
      name = value.value_or(std::string());
      if (is_user_name(name)) return {};
      return wrong(value,
                   "name must be a text of 1 to 128 printable characters, without space, "
                   "quote or colon");
    }
    if (key == "secrets") return read_secrets(value);
    if (key == "may") return read_may(value);
    if (key == "keys") return read_keys(value);
    return wrong(
        value, "unknown key \"" + std::string(key) + "\": a user has name, secrets, may and keys");
  }

  // The texts of a list. Nothing: it is no list of texts.
  static std::optional<std::vector<std::string>> texts(const toml::node& value) {
    const toml::array* const list = value.as_array();
    if (list == nullptr) return std::nullopt;
    std::vector<std::string> all;
    for (const toml::node& one : *list) {
      const auto text = one.value_exact<std::string>();
      if (!text) return std::nullopt;
      all.push_back(*text);
    }
    return all;
  }

  // Its errors repeat nothing: somebody may have written a secret there.
  Status read_secrets(const toml::node& value) {
    const auto all = texts(value);
    if (!all || all->empty() || all->size() > kMaxUserSecrets)
      return wrong(value,
                   "secrets must be a list of one or two texts: make them with quipu user new");
    for (const std::string& one : *all) {
      const auto hash = parse_secret_hash(one);
      if (!hash)
        return wrong(value, "a secret must be \"sha256:SALT:HASH\", as quipu user new prints it");
      secrets.push_back(*hash);
    }
    return {};
  }

  Status read_may(const toml::node& value) {
    has_may_ = true;
    const auto all = texts(value);
    if (!all)
      return wrong(value, "may must be a list of texts: read, count, reset, observe, admin");
    for (const std::string& one : *all) {
      const auto known = std::ranges::find(kPermissions, one, &PermissionName::name);
      if (known == kPermissions.end())
        return wrong(value, "no permission \"" + one +
                                "\": there are read, count, reset, observe and admin");
      may = may | known->rights;
    }
    return {};
  }

  // An empty list would be a user of nothing: rather a slip than a wish.
  Status read_keys(const toml::node& value) {
    prefixes = texts(value);
    if (prefixes && prefixes->empty())
      return wrong(value, "keys has no prefix: leave it out for all keys");
    if (!prefixes)
      return wrong(value, "keys must be a list of prefixes: leave it out for all keys");
    for (const std::string& one : *prefixes) {
      if (one.empty() || one.size() > kMaxKey)
        return wrong(value, "a prefix in keys has 1 to 512 bytes: leave keys out for all keys");
    }
    return {};
  }

  const toml::table& table_;
  const std::string& file_;
  bool has_may_ = false;
};

}  // namespace

std::string names_of(Rights missing) {
  std::string names;
  for (const auto& [name, rights] : kPermissions) {
    if (missing.has(rights)) names.append(names.empty() ? "" : " and ").append(name);
  }
  if (!names.empty()) return names;
  if (missing.has(kMayChange)) return "count or reset";
  return missing.has(kMayTouch) ? "read, count or reset" : "all keys";
}

Permit::Permit(std::string user, Rights rights, std::vector<std::string> prefixes)
    : user_(std::move(user)), rights_(rights), prefixes_(shortest(std::move(prefixes))) {}

std::string Permit::canonical() const {
  std::string text = user_;
  for (const auto& [name, rights] : kPermissions) {
    if (rights_.has(rights)) text.append(" ").append(name);
  }
  text += rights_.has(kEveryKey) ? " all keys" : " keys";
  // In hex, since a prefix may have any characters.
  for (const std::string& prefix : prefixes_) text += ' ' + in_hex(prefix);
  return text;
}

// The greatest prefix that is not above the key is the only one that can begin it.
bool Permit::covers(std::string_view key) const {
  if (rights_.has(kEveryKey)) return true;
  const auto above = std::upper_bound(prefixes_.begin(), prefixes_.end(), key);
  return above != prefixes_.begin() && key.starts_with(*std::prev(above));
}

bool Permit::covers_all(std::span<const std::string_view> keys) const {
  return std::ranges::all_of(keys, [this](std::string_view key) { return covers(key); });
}

bool Permit::covers_namespace(std::string_view name) const {
  return rights_.has(kEveryKey) || (!name.empty() && covers(std::string(name) + ':'));
}

bool Permit::touches_namespace(std::string_view name) const {
  if (name.empty() || covers_namespace(name)) return true;
  const std::string prefix = std::string(name) + ':';
  const auto from = std::lower_bound(prefixes_.begin(), prefixes_.end(), prefix);
  return from != prefixes_.end() && from->starts_with(prefix);
}

const std::shared_ptr<const Permit>& permit_for_everything() {
  static const auto permit = std::make_shared<const Permit>(std::string(kDefaultUser), kAllRights,
                                                            std::vector<std::string>());
  return permit;
}

const std::shared_ptr<const Permit>& permit_for_nothing() {
  static const auto permit =
      std::make_shared<const Permit>(std::string(), kNoRight, std::vector<std::string>());
  return permit;
}

Result<std::shared_ptr<const Users>> Users::parse(std::string_view text, const std::string& file) {
  toml::table whole;
  try {
    whole = toml::parse(text);
  } catch (const toml::parse_error& error) {  // its text may repeat a part of a secret
    return Status(Code::invalid_argument, file + ':' + std::to_string(error.source().begin.line) +
                                              ": this is not TOML: fix the line");
  }
  const auto users = std::make_shared<Users>();
  for (const auto& [key, value] : whole) {
    const toml::array* const list = value.as_array();
    if (key.str() != "user" || list == nullptr || !list->is_array_of_tables())
      return wrong_at(
          value, file,
          "a users file has only tables [[user]], not \"" + std::string(key.str()) + '"');
    for (const toml::node& node : *list) {
      UserReader reader(*node.as_table(), file);
      if (Status read = reader.read(); !read.ok()) return read;
      auto permit = std::make_shared<const Permit>(
          reader.name, derived(reader.may, !reader.prefixes.has_value()),
          reader.prefixes.value_or(std::vector<std::string>()));
      if (!users->users_.emplace(reader.name, User{reader.secrets, std::move(permit)}).second)
        return wrong_at(node, file,
                        "the user \"" + reader.name + "\" is defined twice: remove one");
    }
  }
  if (users->users_.empty())  // perhaps it is being written just now
    return Status(Code::invalid_argument,
                  one_line(file) + ": there is no [[user]] in it: make one with quipu user new");
  users->digest_ = short_digest(users->canonical());
  return std::shared_ptr<const Users>(users);
}

std::string Users::canonical() const {
  std::string text;
  for (const auto& [name, user] : users_) {
    std::vector<std::string> secrets;
    for (const SecretHash& secret : user.secrets) secrets.push_back(to_text(secret));
    std::ranges::sort(secrets);
    text += user.permit->canonical();
    for (const std::string& secret : secrets) text += ' ' + secret;
    text += '\n';
  }
  return text;
}

std::optional<Login> Users::log_in(std::string_view user, std::string_view secret) const {
  static const SecretHash kNone{};
  const auto at = users_.find(user);
  const User* const found = at == users_.end() ? nullptr : &at->second;
  std::optional<Login> login;
  for (std::size_t i = 0; i < kMaxUserSecrets; ++i) {
    const bool known = found != nullptr && i < found->secrets.size();
    const SecretHash& hash = known ? found->secrets[i] : kNone;
    if (matches(hash, secret) && known) login = Login{found->permit, hash};
  }
  return login;
}

std::optional<Login> Users::again(const Login& login) const {
  const auto at = users_.find(login.permit->user());
  if (at == users_.end() ||
      std::ranges::find(at->second.secrets, login.secret) == at->second.secrets.end())
    return std::nullopt;
  return Login{at->second.permit, login.secret};
}

Status Users::may_observe(std::string_view user, std::string_view secret) const {
  const std::optional<Login> login = log_in(user, secret);
  if (!login) return {Code::unauthenticated, "there is no such user, or that is not its secret"};
  if (login->permit->rights().has(kMayObserve)) return {};
  return {Code::not_permitted, "the user " + login->permit->user() + " may not observe the node"};
}

}  // namespace quipu
