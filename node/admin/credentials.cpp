#include "node/admin/credentials.h"

#include <algorithm>

#include "node/tls/base64.h"
#include "node/users/users.h"

namespace quipu {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Takes "Basic " from the front, in any case.
bool take_scheme(std::string_view& header, std::string_view scheme) {
  if (header.size() <= scheme.size() || header[scheme.size()] != ' ' ||
      !std::ranges::equal(header.substr(0, scheme.size()), scheme, {}, lower))
    return false;
  header.remove_prefix(scheme.size());
  header.remove_prefix(std::min(header.find_first_not_of(' '), header.size()));
  return true;
}

}  // namespace

std::optional<Credentials> read_authorization(std::string_view header) {
  if (header.size() > 2 * (kMaxUserName + kMaxSecret)) return std::nullopt;
  if (take_scheme(header, "bearer"))
    return Credentials{std::string(kDefaultUser), std::string(header)};
  if (!take_scheme(header, "basic")) return std::nullopt;
  const auto both = from_base64(header);
  const std::size_t colon = both ? both->find(':') : std::string::npos;
  if (colon == std::string::npos) return std::nullopt;
  return Credentials{both->substr(0, colon), both->substr(colon + 1)};
}

}  // namespace quipu
