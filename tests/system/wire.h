// wire.h: a TCP proxy that records all bytes, and can change one bit.
//
//   dialer ──there──▶ address() ──▶ target
//          ◀──back───
//
// One thread.
#pragma once

#include <array>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace quipu::test {

class Wire {
 public:
  enum Way : std::size_t { there, back };

  // Listens, and accepts once it leads somewhere.
  Wire();
  ~Wire();
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  // Call it once. `target`: "127.0.0.1:port", where nobody needs to listen yet.
  void lead_to(const std::string& target);
  // Where it listens.
  [[nodiscard]] const std::string& address() const { return address_; }

  // All that went this way over any connection since the start.
  [[nodiscard]] std::size_t bytes(Way way) const;
  // Whether the text went over a connection, in either way.
  [[nodiscard]] bool has_carried(const std::string& text) const;
  // Changes one bit of what goes this way over any connection, after this many bytes of it.
  void flip_after(Way way, std::size_t bytes);
  // How many connections had a bit changed, and how many of those have ended since.
  struct Changed {
    int all = 0;
    int ended = 0;
  };
  [[nodiscard]] Changed changed() const;

 private:
  struct Connection;

  void accept();
  void carry(const std::shared_ptr<Connection>& connection, Way way);
  void take(Connection& connection, Way way, std::size_t size);
  void end(Connection& connection);

  asio::io_context io_{1};
  asio::ip::tcp::acceptor acceptor_{io_};
  asio::ip::tcp::endpoint target_;
  std::string address_;

  mutable std::mutex mutex_;  // for what follows
  std::list<std::shared_ptr<Connection>> connections_;
  std::array<std::size_t, 2> bytes_{};
  std::array<std::optional<std::size_t>, 2> flip_;  // after how many bytes more

  std::thread thread_;
};

}  // namespace quipu::test
