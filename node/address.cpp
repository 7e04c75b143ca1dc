#include "node/address.h"

#include <asio/ip/address.hpp>
#include <charconv>

namespace quipu {
namespace {

Status refuse(std::string_view text, std::string_view why) {
  return {Code::invalid_argument,
          "address \"" + std::string(text) + "\" " + std::string(why) + ": write host:port"};
}

bool parse_port(std::string_view text, std::uint16_t& port) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

Result<Address> parse_address(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return refuse(text, "has no port");
  std::string_view host = text.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return refuse(text, "has an IPv6 host without [brackets]");
  }
  if (host.empty()) return refuse(text, "has no host");
  if (host.find_first_of(" \t\r\n[]/") != std::string_view::npos) {
    return refuse(text, "has a host that is none");
  }
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
