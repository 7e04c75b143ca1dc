// address.h: "host:port" as text. Pure.
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

// The default address of quipud's client port. The command line looks for a node there.
inline constexpr const char* kDefaultClientAddress = "127.0.0.1:7400";

// Splits a list with commas, and removes blanks. Does not check the addresses.
[[nodiscard]] std::vector<std::string> split_addresses(std::string_view list);

// invalid_argument: the text says what is wrong with `text`.
[[nodiscard]] Result<Address> parse_address(std::string_view text);
[[nodiscard]] std::string to_string(const Address& address);

// Whether only this machine can reach it. False for every name but "localhost", since a name
// may mean any address.
[[nodiscard]] bool is_loopback(const Address& address);
// Whether it means every address of this machine (0.0.0.0, [::]): valid to listen on, not to
// dial.
[[nodiscard]] bool is_unspecified(const Address& address);

}  // namespace quipu
