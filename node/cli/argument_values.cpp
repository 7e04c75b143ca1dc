#include "node/cli/argument_values.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "node/api/client.h"
#include "node/base/duration_text.h"
#include "node/base/tier_text.h"
#include "node/base/time_text.h"
#include "node/cli/ingest_line.h"
#include "node/cli/output.h"
#include "node/cli/secret_file.h"
#include "node/net/address.h"
#include "node/settings/variables.h"
#include "node/tls/client_tls_files.h"
#include "protocol/ids.h"
#include "protocol/namespace.h"

namespace quipu::cli {

std::string in_quotes(const std::string& text) { return '"' + printable(text) + '"'; }

std::chrono::milliseconds check_duration(const std::string& option, const std::string& text,
                                         std::chrono::milliseconds longest) {
  if (const auto duration = to_duration(text, longest)) return *duration;
  throw Usage{option + ' ' + in_quotes(text) + ": write a duration above 0 and up to " +
              to_text(longest) + ", such as 500ms, 5s or 2h"};
}

std::chrono::seconds check_seconds(const std::string& option, const std::string& text) {
  const auto duration = check_duration(option, text, kMaxTtl);
  if (duration.count() % 1000 != 0)
    throw Usage{option + ' ' + in_quotes(text) + ": write whole seconds"};
  return std::chrono::duration_cast<std::chrono::seconds>(duration);
}

std::chrono::system_clock::time_point check_time(const std::string& option,
                                                 const std::string& text) {
  if (const auto time = to_time(text)) return *time;
  throw Usage{option + ' ' + in_quotes(text) +
              ": write a time in UTC, such as 2026-11-26T10:41, or seconds since 1970"};
}

std::vector<Tier> check_tiers(const std::string& text) {
  if (const auto tiers = to_tiers(text)) return *tiers;
  throw Usage{"--tiers " + in_quotes(text) + ": write such as \"" + kTiersExample + '"'};
}

std::string check_key(const std::string& key) {
  if (key.empty()) throw Usage{"the key is empty: a key has 1 to 512 bytes"};
  if (key.size() > kMaxKey) {
    throw Usage{"the key has " + std::to_string(key.size()) + " bytes: a key has 1 to 512"};
  }
  return key;
}

std::int64_t check_amount(const std::string& text) {
  std::int64_t amount = 0;
  if (parse_amount(text, amount)) return amount;
  throw Usage{"N is " + in_quotes(text) +
              ": write a whole number from -9223372036854775808 to 9223372036854775807"};
}

std::uint64_t check_number(const std::string& option, const std::optional<std::string>& given,
                           Limits limits, std::uint64_t otherwise) {
  std::int64_t number = 0;
  if (!given) return otherwise;
  if (parse_amount(*given, number) && number >= limits.least && number <= limits.most)
    return static_cast<std::uint64_t>(number);
  throw Usage{option + " " + in_quotes(*given) + ": write a whole number from " +
              std::to_string(limits.least) + " to " + std::to_string(limits.most)};
}

std::string check_namespace(const std::string& name) {
  if (name.size() > kMaxNamespaceName) {
    throw Usage{"NAME has " + std::to_string(name.size()) +
                " bytes: the name of a namespace has at most " + std::to_string(kMaxNamespaceName)};
  }
  if (name.find(':') != std::string::npos)
    throw Usage{"NAME is " + in_quotes(name) +
                ": write only what is before the first ':' of a key"};
  return name;
}

std::string file_name(const std::string& option, const std::optional<std::string>& given) {
  if (given && given->empty()) throw Usage{option + " \"\": write the name of a file"};
  return given.value_or("");
}

std::vector<std::string> nodes_of(const std::optional<std::vector<std::string>>& given) {
  const char* environment = std::getenv("QUIPU_NODES");
  std::vector<std::string> nodes{kDefaultClientAddress};
  if (environment != nullptr && *environment != '\0') nodes = {environment};
  if (given) nodes = *given;
  Result<std::vector<std::string>> sound = sound_seeds(nodes);
  if (sound.ok()) return std::move(*sound);
  throw Usage{(given ? "--node: " : "QUIPU_NODES: ") + printable(sound.status().detail())};
}

std::vector<std::string> split_list(std::string_view list) {
  std::vector<std::string> all;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (comma > 0) all.emplace_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return all;
}

namespace {

std::optional<std::string> given(const std::optional<std::string>& flag, const char* variable) {
  return flag ? flag : read_variable(variable);
}

}  // namespace

Credentials credentials_of(const std::optional<std::string>& user,
                           const std::optional<std::string>& secret_file) {
  const auto name = given(user, "QUIPU_USER");
  const auto file = given(secret_file, "QUIPU_SECRET_FILE");
  if (!file || file->empty()) {
    if (!name) return {};
    throw Usage{"the user " + printable(*name) +
                " needs its secret: give --secret-file, or QUIPU_SECRET_FILE"};
  }
  Result<std::string> secret = read_secret_file(*file);
  if (!secret.ok()) throw Usage{printable(secret.status().detail())};
  Credentials credentials{.secret = std::move(*secret)};
  if (name) credentials.user = *name;
  return credentials;
}

std::shared_ptr<const TlsContext> tls_of(const std::optional<std::string>& ca,
                                         const std::optional<std::string>& certificate,
                                         const std::optional<std::string>& key) {
  TlsContext::Made made =
      read_client_tls({.ca = given(ca, "QUIPU_CA").value_or(""),
                       .certificate = given(certificate, "QUIPU_CERTIFICATE").value_or(""),
                       .key = given(key, "QUIPU_CERTIFICATE_KEY").value_or("")});
  if (!made.ok()) throw Usage{printable(made.status().detail())};
  return *made;
}

}  // namespace quipu::cli
