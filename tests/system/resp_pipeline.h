// resp_pipeline.h: a Redis client that pipelines, and reports the outcome of each request.
//
//   ask ──▶ one write ──▶ replies, in the order of the requests
//    └── not connected: not sent       └── the connection broke: unknown
//
// It goes from one address to the next when its connection breaks, or is silent for too long.
// Any thread may ask. Callbacks come on a thread of its own.
#pragma once

#include <array>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>
#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace quipu::test {

class RespPipeline {
 public:
  enum class Fate { replied, not_sent, unknown };
  // `reply`: its bytes, if there is one.
  using OnEnd = std::function<void(Fate fate, std::string_view reply)>;
  struct Request {
    std::string line;  // without its end
    OnEnd on_end;
  };

  // Begins with the address of this index. `timeout`: for a reply.
  RespPipeline(const std::vector<std::string>& addresses, std::size_t first,
               std::chrono::milliseconds timeout);
  // Waiting requests end as unknown.
  ~RespPipeline();
  RespPipeline(const RespPipeline&) = delete;
  RespPipeline& operator=(const RespPipeline&) = delete;

  // Writes all of them at once.
  void ask(std::vector<Request> requests);
  [[nodiscard]] bool connected() const { return connected_; }
  // The address that it uses, or tries to.
  [[nodiscard]] std::size_t at() const { return at_; }

 private:
  struct Waiting {
    OnEnd on_end;
    std::chrono::steady_clock::time_point until;
  };

  void connect();
  void read();
  void take_replies();
  void write();
  void lose();
  void watch();

  std::vector<asio::ip::tcp::endpoint> endpoints_;
  const std::chrono::milliseconds timeout_;
  asio::io_context io_{1};
  asio::ip::tcp::socket socket_{io_};
  asio::steady_timer timer_{io_};
  std::atomic<std::size_t> at_;
  std::atomic<bool> connected_ = false;
  std::uint64_t connection_ = 0;  // counts up: late reports of an earlier connection are ignored
  std::deque<Waiting> waiting_;
  std::string unsent_;
  std::string sending_;
  std::string unread_;
  std::array<char, 16384> room_{};
  std::thread thread_;
};

}  // namespace quipu::test
