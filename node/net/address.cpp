#include "node/net/address.h"

#include <algorithm>
#include <asio/ip/address.hpp>
#include <charconv>

namespace quipu {
namespace {

Status refuse(std::string_view text, std::string_view why) {
  return {Code::invalid_argument,
          "address \"" + std::string(text) + "\" " + std::string(why) + ": write host:port"};
}

// The characters of a name (also beyond ASCII), or of an IP address (with a zone).
bool may_be_in_host(char c) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80) != 0;
  const bool digit = c >= '0' && c <= '9';
  return letter || digit || std::string_view("-._:%").find(c) != std::string_view::npos;
}

bool parse_port(std::string_view text, std::uint16_t& port) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::vector<std::string> split_addresses(std::string_view list) {
  constexpr std::string_view kBlank = " \t\r\n";
  std::vector<std::string> addresses;
  for (;;) {
    const std::size_t comma = list.find(',');
    std::string_view one = list.substr(0, comma);
    one.remove_prefix(std::min(one.find_first_not_of(kBlank), one.size()));
    one = one.substr(0, one.find_last_not_of(kBlank) + 1);
    addresses.emplace_back(one);
    if (comma == std::string_view::npos) return addresses;
    list.remove_prefix(comma + 1);
  }
}

Result<Address> parse_address(std::string_view text) {
  if (text.find(',') != std::string_view::npos) return refuse(text, "is a list, not one address");
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return refuse(text, "has no port");
  std::string_view host = text.substr(0, colon);
  const bool bracketed = host.size() >= 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (!std::all_of(host.begin(), host.end(), may_be_in_host))
    return refuse(text, "has a host with characters that no host has");
  if (!bracketed && host.find(':') != std::string_view::npos)
    return refuse(text, "has an IPv6 host without [brackets]");
  if (host.empty()) return refuse(text, "has no host");
  Address address{std::string(host), 0};
  if (!parse_port(text.substr(colon + 1), address.port)) {
    return refuse(text, "has a port that is not 0 to 65535");
  }
  return address;
}

std::string to_string(const Address& address) {
  const bool v6 = address.host.find(':') != std::string::npos;
  return (v6 ? '[' + address.host + ']' : address.host) + ':' + std::to_string(address.port);
}

bool is_loopback(const Address& address) {
  if (address.host == "localhost") return true;
  asio::error_code error;
  const asio::ip::address ip = asio::ip::make_address(address.host, error);
  return !error && ip.is_loopback();
}

bool is_unspecified(const Address& address) {
  asio::error_code error;
  const asio::ip::address ip = asio::ip::make_address(address.host, error);
  return !error && ip.is_unspecified();
}

}  // namespace quipu
