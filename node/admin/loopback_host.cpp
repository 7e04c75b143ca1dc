#include "node/admin/loopback_host.h"

#include <algorithm>
#include <asio/ip/address.hpp>
#include <string>

namespace quipu {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Without the port and the brackets of an IPv6 address. Empty: it is malformed.
std::string_view without_port(std::string_view host) {
  if (host.starts_with('[')) {
    const std::size_t end = host.find(']');
    if (end == std::string_view::npos) return {};
    const std::string_view port = host.substr(end + 1);
    const bool sound =
        port.empty() || (port.front() == ':' && std::ranges::all_of(port.substr(1), is_digit));
    return sound ? host.substr(1, end - 1) : std::string_view();
  }
  const std::size_t colon = host.find(':');
  if (colon == std::string_view::npos) return host;
  return std::ranges::all_of(host.substr(colon + 1), is_digit) ? host.substr(0, colon)
                                                               : std::string_view();
}

char lowered(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

bool names_loopback(std::string_view host) {
  const std::string_view name = without_port(host);
  if (std::ranges::equal(name, std::string_view("localhost"), {}, lowered)) return true;
  asio::error_code no_address;
  const auto address = asio::ip::make_address(std::string(name), no_address);
  return !no_address && address.is_loopback();
}

}  // namespace quipu
