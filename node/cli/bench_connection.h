// bench_connection.h: one connection that always has `pipeline` requests open, and
// measures how long each took.
//
//   connected ──[--tokens: open_session]──▶ fill ──▶ answer ─▶ measure, ask the next
//
// An answer that is not ok is an error, not an operation. Open requests count as lost when
// their connection breaks, and it is not dialed again. Open requests count as unanswered at
// the end.
#pragma once

#include <asio/io_context.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/retry/token_window.h"
#include "node/base/clock.h"
#include "node/cli/commands.h"
#include "node/cli/histogram.h"
#include "node/remote/client_connection.h"
#include "protocol/message_codec.h"
#include "protocol/random.h"

namespace quipu::cli {

struct BenchResult {
  Histogram latency;                            // of ok answers while measuring
  std::map<std::string, std::uint64_t> errors;  // by code or reason, while measuring
  std::size_t broken = 0;                       // connections
  std::string why;                              // the first connection broke

  void add(const BenchResult& other);
};

class BenchConnection {
 public:
  // Every answer checks `measuring` and `stopping`.
  struct Phase {
    bool measuring = false;
    bool stopping = false;
  };
  // All but `seed` must outlive it.
  BenchConnection(asio::io_context& io, const Environment& environment, const BenchCommand& command,
                  const Phase& phase, BenchResult& result, std::uint64_t seed);

  void dial(const Address& node);
  // A connection that has not started by now is broken.
  void expect_started();
  void close();
  [[nodiscard]] bool started() const { return started_ || closed_; }
  [[nodiscard]] bool closed() const { return closed_; }
  // Nothing is open. With Phase::stopping, for good.
  [[nodiscard]] bool idle() const { return open_ == 0 || closed_; }

 private:
  struct Slot {
    Instant asked{};
    Token token;
  };

  void on_connected();
  void on_frame(const FrameDecoder::Frame& frame);
  void on_done(const Done& done);
  void on_values(const Values& values);
  void finish(std::uint64_t id, Code code);
  void ask(std::uint64_t id);
  void fill();
  void flush();
  void on_closed(const std::string& why);
  void fail(const std::string& why);

  const Environment& environment_;
  const BenchCommand& command_;
  const Phase& phase_;
  BenchResult& result_;
  Random random_;
  std::string prefix_ = "bench:";
  std::string key_;
  std::string frames_;
  std::optional<TokenWindow> session_;
  std::vector<Slot> slots_;  // by request id - 1
  std::size_t open_ = 0;
  bool started_ = false;
  bool closed_ = false;
  std::shared_ptr<ClientConnection> connection_;
};

}  // namespace quipu::cli
