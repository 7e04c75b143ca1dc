#include "tests/system/wire.h"

#include <algorithm>
#include <asio/buffer.hpp>
#include <asio/write.hpp>
#include <utility>

#include "node/net/address.h"

namespace quipu::test {

using asio::ip::tcp;

struct Wire::Connection {
  explicit Connection(tcp::socket from)
      : ends{std::move(from), tcp::socket(ends[0].get_executor())} {}

  std::array<tcp::socket, 2> ends;  // the dialer's, and the target's
  std::array<std::array<char, 16384>, 2> moving{};
  std::array<std::string, 2> carried;
  bool changed = false;
  bool ended = false;
};

Wire::Wire() {
  acceptor_.open(tcp::v4());
  acceptor_.bind({asio::ip::address_v4::loopback(), 0});
  acceptor_.listen();
  address_ = "127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
}

void Wire::lead_to(const std::string& target) {
  const Result<Address> parsed = parse_address(target);
  target_ = {asio::ip::make_address(parsed->host), parsed->port};
  accept();
  thread_ = std::thread([this] { io_.run(); });
}

Wire::~Wire() {
  io_.stop();
  if (thread_.joinable()) thread_.join();
}

void Wire::accept() {
  acceptor_.async_accept([this](const asio::error_code& error, tcp::socket dialer) {
    if (error) return;
    const auto made = std::make_shared<Connection>(std::move(dialer));
    {
      const std::lock_guard lock(mutex_);
      connections_.push_back(made);
    }
    made->ends[1].async_connect(target_, [this, made](const asio::error_code& refused) {
      if (refused) return end(*made);
      asio::error_code only_slower;
      for (tcp::socket& one : made->ends) one.set_option(tcp::no_delay(true), only_slower);
      carry(made, there);
      carry(made, back);
    });
    accept();
  });
}

void Wire::carry(const std::shared_ptr<Connection>& connection, Way way) {
  auto& bytes = connection->moving[way];
  connection->ends[way].async_read_some(
      asio::buffer(bytes),
      [this, connection, way, &bytes](const asio::error_code& error, std::size_t size) {
        if (error) return end(*connection);
        take(*connection, way, size);
        asio::async_write(connection->ends[1 - way], asio::buffer(bytes.data(), size),
                          [this, connection, way](const asio::error_code& broken, std::size_t) {
                            if (broken) return end(*connection);
                            carry(connection, way);
                          });
      });
}

void Wire::take(Connection& connection, Way way, std::size_t size) {
  const std::lock_guard lock(mutex_);
  bytes_[way] += size;
  if (flip_[way] && *flip_[way] < size) {
    connection.moving[way][*flip_[way]] ^= 1;
    flip_[way].reset();
    connection.changed = true;
  } else if (flip_[way]) {
    *flip_[way] -= size;
  }
  connection.carried[way].append(connection.moving[way].data(), size);
}

void Wire::end(Connection& connection) {
  asio::error_code ignored;
  for (tcp::socket& one : connection.ends) one.close(ignored);
  const std::lock_guard lock(mutex_);
  connection.ended = true;
}

std::size_t Wire::bytes(Way way) const {
  const std::lock_guard lock(mutex_);
  return bytes_[way];
}

bool Wire::has_carried(const std::string& text) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(connections_, [&](const auto& connection) {
    return std::ranges::any_of(connection->carried, [&](const std::string& bytes) {
      return bytes.find(text) != std::string::npos;
    });
  });
}

void Wire::flip_after(Way way, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  flip_[way] = bytes;
}

Wire::Changed Wire::changed() const {
  const std::lock_guard lock(mutex_);
  Changed count;
  for (const auto& connection : connections_) {
    count.all += connection->changed ? 1 : 0;
    count.ended += connection->changed && connection->ended ? 1 : 0;
  }
  return count;
}

}  // namespace quipu::test
