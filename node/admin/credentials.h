// credentials.h: the user and the secret of an HTTP request (RFC 7617, RFC 6750).
//
//   Authorization: Basic base64(user:secret)     any user
//   Authorization: Bearer secret                 the user `default`: a secret alone could only be
//                                                found by trying all users
#pragma once

#include <optional>
#include <string_view>

#include "quipu/credentials.h"

namespace quipu {

// From the header's value. Nothing: there are none, or they are malformed. Any bytes.
[[nodiscard]] std::optional<Credentials> read_authorization(std::string_view header);

}  // namespace quipu
