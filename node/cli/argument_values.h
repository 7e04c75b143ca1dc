// argument_values.h: what people write on the command line, as values. Each throws a Usage that
// says what to write instead.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "node/tls/tls_context.h"
#include "quipu/credentials.h"
#include "quipu/namespace.h"

namespace quipu::cli {

struct Usage {
  std::string text;
};

// So that an empty text is noticed.
[[nodiscard]] std::string in_quotes(const std::string& text);

[[nodiscard]] std::chrono::milliseconds check_duration(const std::string& option,
                                                       const std::string& text,
                                                       std::chrono::milliseconds longest);
[[nodiscard]] std::chrono::seconds check_seconds(const std::string& option,
                                                 const std::string& text);
[[nodiscard]] std::chrono::system_clock::time_point check_time(const std::string& option,
                                                               const std::string& text);
[[nodiscard]] std::vector<Tier> check_tiers(const std::string& text);
std::string check_key(const std::string& key);
[[nodiscard]] std::string check_namespace(const std::string& name);
[[nodiscard]] std::int64_t check_amount(const std::string& text);

struct Limits {
  std::int64_t least, most;
};
// The given number, which must be within the limits. Otherwise the default.
[[nodiscard]] std::uint64_t check_number(const std::string& option,
                                         const std::optional<std::string>& given, Limits limits,
                                         std::uint64_t otherwise);

template <class Choice>
[[nodiscard]] Choice check_choice(const std::map<std::string, Choice>& choices,
                                  const std::string& option, const std::string& text) {
  if (const auto at = choices.find(text); at != choices.end()) return at->second;
  std::string known;
  for (const auto& [name, value] : choices) known += (known.empty() ? "" : ", ") + name;
  throw Usage{option + " " + in_quotes(text) + ": choose one of " + known};
}

// With the word that unsets a setting.
template <class Choice>
std::map<std::string, std::optional<Choice>> or_default(
    const std::map<std::string, Choice>& choices) {
  std::map<std::string, std::optional<Choice>> all(choices.begin(), choices.end());
  all.emplace("default", std::nullopt);
  return all;
}

// Empty: it was not given.
[[nodiscard]] std::string file_name(const std::string& option,
                                    const std::optional<std::string>& given);
// The default, then QUIPU_NODES, then --node. Each replaces the one before.
[[nodiscard]] std::vector<std::string> nodes_of(
    const std::optional<std::vector<std::string>>& given);

// "a,b": its parts that are not empty.
[[nodiscard]] std::vector<std::string> split_list(std::string_view list);
// From the flags, else from QUIPU_USER and QUIPU_SECRET_FILE. Throws Usage.
[[nodiscard]] Credentials credentials_of(const std::optional<std::string>& user,
                                         const std::optional<std::string>& secret_file);
// From the flags, else from QUIPU_CA, QUIPU_CERTIFICATE and QUIPU_CERTIFICATE_KEY. Null: plain
// text. Throws Usage.
[[nodiscard]] std::shared_ptr<const TlsContext> tls_of(
    const std::optional<std::string>& ca, const std::optional<std::string>& certificate,
    const std::optional<std::string>& key);

}  // namespace quipu::cli
