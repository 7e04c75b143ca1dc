// load.h: many connections of one thread. Each sends a batch of requests, and the next one when
// the whole batch is answered, as redis-benchmark does.
//
//   batch (encoded once; only digits of keys change) ──▶ replies ──[--pause]──▶ batch …
//
// Invariant: an operation is a reply of the right kind to a request. Anything else throws, also
// the end of a connection.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "node/cli/histogram.h"
#include "protocol/random.h"
#include "tests/bench/resp_load/replies.h"

namespace quipu::bench {

using Clock = std::chrono::steady_clock;

struct LoadOptions {
  enum class What : std::uint8_t { add, get, mget, ping, commands };
  What what = What::add;
  // For What::commands: the commands of one operation. KEY stands for the key, and ';' separates
  // them. Then the first byte of each reply, and the first byte of an array's items.
  std::string commands{}, kinds{};
  char item = ':';
  std::uint16_t port = 6379;
  std::size_t connections = 50;
  std::string user{}, secret{};  // empty: it does not authenticate
  std::size_t pipeline = 1;
  std::uint64_t keys = 1'000'000;
  std::uint64_t requests = 0;  // at least; 0: until the time is over
  std::chrono::milliseconds time{0};
  std::chrono::milliseconds pause{0};  // of a connection, between two batches
  std::uint64_t seed = 1;
};

// A time without any reply, though some were due.
struct Gap {
  std::chrono::system_clock::time_point end;
  Clock::duration length;
};

struct LoadResult {
  static constexpr std::array<std::chrono::milliseconds, 5> kLengths{
      std::chrono::milliseconds(5), std::chrono::milliseconds(10), std::chrono::milliseconds(20),
      std::chrono::milliseconds(50), std::chrono::milliseconds(100)};
  static constexpr std::size_t kMaxGaps = 100'000;

  Clock::duration took{};
  cli::Histogram latency;  // of each operation, from when its batch was sent
  Clock::duration longest_gap{};
  std::array<std::uint64_t, kLengths.size()> gaps_over{};
  std::vector<Gap> gaps;  // longer than the first of these; kMaxGaps at most
};

class Load {
 public:
  // Connects. Throws std::system_error.
  explicit Load(const LoadOptions& options);
  ~Load();
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  // Call it once. Throws the reason if the run ends early.
  [[nodiscard]] LoadResult run();

 private:
  struct Connection;

  void connect(Connection& connection) const;
  void authenticate(Connection& connection) const;
  void begin(Connection& connection, Clock::time_point now);
  void write(Connection& connection);
  void read(Connection& connection);
  void on_replies(Connection& connection, std::size_t count);
  void resume(Clock::time_point now);
  [[nodiscard]] int patience() const;
  [[nodiscard]] bool over(Clock::time_point now) const;
  void note_gap(Clock::time_point now);

  LoadOptions options_;
  Random random_;
  int epoll_;
  std::size_t digits_;                // of a key, that change
  std::vector<std::size_t> keys_at_;  // where in a batch the digits of keys are
  std::vector<std::unique_ptr<Connection>> connections_;
  std::deque<std::pair<Clock::time_point, Connection*>> paused_;  // until then
  std::string buffer_;
  std::size_t open_ = 0;    // batches
  std::uint64_t sent_ = 0;  // requests
  Clock::time_point began_{};
  std::optional<Clock::time_point> last_reply_;
  LoadResult result_;
};

}  // namespace quipu::bench
