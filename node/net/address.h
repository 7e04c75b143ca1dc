// address.h: "host:port" as people write it. Pure.
//
//   127.0.0.1:7400   [::1]:7400   node-1.example:7400   127.0.0.1:0, any free port
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "quipu/status.h"

namespace quipu {

struct Address {
  std::string host;  // a name, or an IP address without brackets
  std::uint16_t port = 0;
};

// Where quipud serves clients, and the command line looks for it, unless told otherwise.
inline constexpr const char* kDefaultClientAddress = "127.0.0.1:7400";

// The addresses of a list that commas separate, without the blanks around them. Checks none.
[[nodiscard]] std::vector<std::string> split_addresses(std::string_view list);

// invalid_argument says what is wrong with `text`.
[[nodiscard]] Result<Address> parse_address(std::string_view text);
[[nodiscard]] std::string to_string(const Address& address);

// Whether only this machine can reach it. A name other than "localhost" may stand
// for anything, so it is not.
[[nodiscard]] bool is_loopback(const Address& address);
// Whether it means every address of this machine (0.0.0.0, [::]): to listen on, not to
// dial.
[[nodiscard]] bool is_unspecified(const Address& address);

}  // namespace quipu
