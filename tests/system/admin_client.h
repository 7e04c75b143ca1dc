// admin_client.h: asks an admin port on loopback, by plain sockets.
#pragma once

#include <asio/connect.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/read.hpp>
#include <asio/write.hpp>
#include <cstdint>
#include <string>
#include <utility>

namespace quipu::test {

class AdminClient {
 public:
  explicit AdminClient(int port, asio::ip::address address = asio::ip::address_v4::loopback())
      : at_(std::move(address), static_cast<std::uint16_t>(port)) {}

  [[nodiscard]] asio::ip::tcp::socket connect() {
    asio::ip::tcp::socket socket(io_);
    asio::error_code refused;
    socket.connect(at_, refused);
    return socket;
  }
  // The whole answer. Empty: there was none.
  [[nodiscard]] std::string ask(const std::string& request) {
    asio::ip::tcp::socket socket = connect();
    asio::error_code failed;
    asio::write(socket, asio::buffer(request), failed);
    std::string answer;
    if (!failed) asio::read(socket, asio::dynamic_buffer(answer), failed);
    return answer;
  }
  [[nodiscard]] std::string get(const std::string& path, const std::string& host = "localhost") {
    return ask("GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
  }
  // What follows the header of a 200. Empty: there was another answer.
  [[nodiscard]] std::string page(const std::string& path) {
    const std::string answer = get(path);
    const std::size_t end = answer.find("\r\n\r\n");
    const bool fine = answer.starts_with("HTTP/1.1 200 ") && end != std::string::npos;
    return fine ? answer.substr(end + 4) : "";
  }

 private:
  const asio::ip::tcp::endpoint at_;
  asio::io_context io_;
};

}  // namespace quipu::test
