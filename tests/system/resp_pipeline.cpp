#include "tests/system/resp_pipeline.h"

#include <asio/buffer.hpp>
#include <asio/post.hpp>
#include <asio/write.hpp>
#include <stdexcept>
#include <utility>

#include "node/net/address.h"
#include "tests/node/clients/resp/resp_reply.h"

namespace quipu::test {
namespace {

constexpr std::chrono::milliseconds kLook{50};
constexpr std::chrono::seconds kConnect{1};

}  // namespace

RespPipeline::RespPipeline(const std::vector<std::string>& addresses, std::size_t first,
                           std::chrono::milliseconds timeout)
    : timeout_(timeout), at_(first) {
  for (const std::string& text : addresses) {
    const Result<Address> address = parse_address(text);
    if (!address.ok()) throw std::runtime_error(address.status().message());
    endpoints_.emplace_back(asio::ip::make_address(address->host), address->port);
  }
  asio::post(io_, [this] {
    connect();
    watch();
  });
  thread_ = std::thread([this] { io_.run(); });
}

RespPipeline::~RespPipeline() {
  asio::post(io_, [this] {
    lose();
    timer_.cancel();
    io_.stop();
  });
  thread_.join();
}

void RespPipeline::ask(std::vector<Request> requests) {
  asio::post(io_, [this, requests = std::move(requests)] {
    const auto until = std::chrono::steady_clock::now() + timeout_;
    for (const Request& request : requests) {
      if (!connected_) {
        request.on_end(Fate::not_sent, {});
        continue;
      }
      unsent_.append(request.line).append("\r\n");
      waiting_.push_back({request.on_end, until});
    }
    write();
  });
}

void RespPipeline::connect() {
  const std::uint64_t mine = ++connection_;
  asio::error_code ignored;
  socket_.close(ignored);
  socket_.async_connect(endpoints_[at_], [this, mine](const asio::error_code& error) {
    if (mine != connection_ || error) return;  // watch() tries the next
    asio::error_code option;
    socket_.set_option(asio::ip::tcp::no_delay(true), option);
    connected_ = true;
    read();
  });
}

void RespPipeline::read() {
  const std::uint64_t mine = connection_;
  socket_.async_read_some(asio::buffer(room_),
                          [this, mine](const asio::error_code& error, std::size_t read_bytes) {
                            if (mine != connection_) return;
                            if (error) return lose();
                            unread_.append(room_.data(), read_bytes);
                            take_replies();
                            read();
                          });
}

void RespPipeline::take_replies() {
  std::string_view rest = unread_;
  while (!waiting_.empty()) {
    const std::string_view reply = first_reply(rest);
    if (reply.empty()) break;
    rest.remove_prefix(reply.size());
    const OnEnd on_end = std::move(waiting_.front().on_end);
    waiting_.pop_front();
    on_end(Fate::replied, reply);
  }
  unread_.erase(0, unread_.size() - rest.size());
}

void RespPipeline::write() {
  if (!connected_ || !sending_.empty() || unsent_.empty()) return;
  sending_ = std::exchange(unsent_, {});
  const std::uint64_t mine = connection_;
  asio::async_write(socket_, asio::buffer(sending_),
                    [this, mine](const asio::error_code& error, std::size_t) {
                      if (mine != connection_) return;
                      sending_.clear();
                      error ? lose() : write();
                    });
}

void RespPipeline::lose() {
  ++connection_;
  connected_ = false;
  asio::error_code ignored;
  socket_.close(ignored);
  unsent_.clear();
  sending_.clear();
  unread_.clear();
  for (const Waiting& one : std::exchange(waiting_, {})) one.on_end(Fate::unknown, {});
}

// Now and then: gives up a connection that does not answer, and makes the next.
void RespPipeline::watch() {
  const auto now = std::chrono::steady_clock::now();
  if (connected_ && !waiting_.empty() && waiting_.front().until <= now) lose();
  if (!connected_) {
    at_ = (at_ + (socket_.is_open() ? 1 : 0)) % endpoints_.size();
    connect();
  }
  timer_.expires_after(connected_ ? kLook
                                  : std::max<std::chrono::milliseconds>(kLook, kConnect / 4));
  timer_.async_wait([this](const asio::error_code& error) {
    if (!error) watch();
  });
}

}  // namespace quipu::test
