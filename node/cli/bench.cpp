// quipu bench: closed-loop load over many connections, on two threads at most.
//
//   connect ─▶ warm up (a fifth of the time, 1 s at most) ─▶ measure ─▶ await open requests
//   ─▶ report
//
// Ctrl-C ends the measuring and reports the result so far. A second Ctrl-C does not wait for
// open requests.
#include <atomic>
#include <cmath>
#include <future>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <thread>

#include "node/cli/bench_connection.h"
#include "node/cli/commands.h"
#include "node/cli/interrupts.h"
#include "node/cli/open_client.h"
#include "node/cli/output.h"
#include "node/cli/progress.h"

namespace quipu::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr std::size_t kMaxThreads = 2;  // leave some of the machine to the nodes
// The pause between two checks: of a thread for the others, and of the main thread.
constexpr milliseconds kSlice{20};
constexpr milliseconds kLookAround{50};

// The commands to the threads, and their progress.
struct BenchControl {
  std::atomic<bool> stop = false;       // stop measuring
  std::atomic<bool> hurry = false;      // do not wait for open requests
  std::atomic<bool> measuring = false;  // at least one of them is
  std::atomic<std::uint64_t> done = 0;  // so far, by all of them
};

// One thread's share of the connections.
class BenchThread {
 public:
  BenchThread(const Environment& environment, const BenchCommand& command, BenchControl& control)
      : environment_(environment), command_(command), control_(control) {}

  void add_connection(std::uint64_t seed) {
    connections_.push_back(
        std::make_unique<BenchConnection>(io_, environment_, command_, phase_, result_, seed));
    nodes_.push_back(seed % environment_.nodes.size());
  }

  void run() {
    for (std::size_t i = 0; i < connections_.size(); ++i) {
      const Result<Address> node = parse_address(environment_.nodes[nodes_[i]]);
      if (node.ok()) connections_[i]->dial(*node);
    }
    const Instant give_up = NodeClock::now() + environment_.timeout;
    run_until(give_up, [this] { return control_.stop || all(&BenchConnection::started); });
    for (auto& connection : connections_) connection->expect_started();
    const Duration length = command_.seconds;
    run_measured(NodeClock::now() + std::min<Duration>(length / 5, milliseconds(1000)), length);
    phase_ = {.measuring = false, .stopping = true};
    run_until(NodeClock::now() + environment_.timeout,
              [this] { return control_.hurry || all(&BenchConnection::idle); });
    for (auto& connection : connections_) connection->close();
    run_for(milliseconds(1));
  }

  [[nodiscard]] const BenchResult& result() const { return result_; }
  [[nodiscard]] Duration measured() const { return measured_; }

 private:
  void run_measured(Instant begin, Duration length) {
    const auto over = [this] { return control_.stop || all(&BenchConnection::closed); };
    run_until(begin, over);
    if (over()) return;
    control_.measuring = true;
    phase_.measuring = true;
    const Instant began = NodeClock::now();
    run_until(began + length, over);
    measured_ = NodeClock::now() - began;
  }

  [[nodiscard]] bool all(bool (BenchConnection::*reached)() const) const {
    return std::all_of(connections_.begin(), connections_.end(),
                       [&](const auto& one) { return (*one.*reached)(); });
  }

  // In slices. It reports its progress after each.
  template <class Reached>
  void run_until(Instant end, const Reached& reached) {
    while (!reached()) {
      const Duration left = end - NodeClock::now();
      if (left <= Duration::zero()) return;
      run_for(std::min(std::chrono::ceil<milliseconds>(left), kSlice));
      control_.done += result_.latency.count() - std::exchange(told_, result_.latency.count());
    }
  }
  void run_for(milliseconds time) {
    io_.restart();
    io_.run_for(time);
  }

  const Environment& environment_;
  const BenchCommand& command_;
  BenchControl& control_;
  asio::io_context io_{1};
  BenchConnection::Phase phase_;
  BenchResult result_;
  std::vector<std::unique_ptr<BenchConnection>> connections_;
  std::vector<std::size_t> nodes_;  // which of environment_.nodes
  Duration measured_{};
  std::uint64_t told_ = 0;  // of control_.done
};

// Checks for Ctrl-C, and shows the threads' progress, until they end.
class BenchWatch {
 public:
  BenchWatch(const BenchCommand& command, BenchControl& control)
      : command_(command), control_(control) {}

  void until_end_of(std::vector<std::future<void>>& threads) {
    for (std::future<void>& thread : threads) {
      while (thread.wait_for(kLookAround) != std::future_status::ready) look();
    }
    progress_.clear();
  }
  [[nodiscard]] bool interrupted() const { return control_.stop; }

 private:
  void look() {
    const int interrupts = interrupts_.count();
    if (interrupts > 0) control_.stop = true;
    if (interrupts > 1) control_.hurry = true;
    const auto now = std::chrono::steady_clock::now();
    if (control_.measuring && !began_) began_ = now;
    if (progress_.due(now)) progress_.show(now, how_far(now));
  }

  [[nodiscard]] Progress::State how_far(std::chrono::steady_clock::time_point now) const {
    if (control_.stop) return {.words = {"stopping"}};
    if (!began_) return {.words = {"warming up"}};
    const std::chrono::duration<double> since = now - *began_;
    const double whole = std::chrono::duration<double>(command_.seconds).count();
    const auto rate = static_cast<double>(control_.done) / std::max(since.count(), 0.001);
    const bool reads = command_.what == BenchCommand::What::reads;
    return {
        .share = std::min(since.count() / whole, 1.0),
        .words = {for_people(static_cast<std::uint64_t>(rate)) + (reads ? " reads/s" : " adds/s")}};
  }

  const BenchCommand& command_;
  BenchControl& control_;
  Interrupts interrupts_;  // before the threads, which inherit the blocked signals
  Progress progress_;
  std::optional<std::chrono::steady_clock::time_point> began_;  // to measure
};

struct Totals {
  BenchResult result;
  double seconds = 0;
  std::uint64_t errors = 0;
  bool interrupted = false;

  [[nodiscard]] std::uint64_t per_second() const {
    return static_cast<std::uint64_t>(static_cast<double>(result.latency.count()) /
                                      std::max(seconds, 0.001));
  }
  [[nodiscard]] double ms(double quantile) const {
    const std::chrono::duration<double, std::milli> exact = result.latency.quantile(quantile);
    return std::round(exact.count() * 1000) / 1000;
  }
};

Totals measure(const Environment& environment, const BenchCommand& command) {
  const std::size_t count =
      std::min({kMaxThreads, command.connections,
                std::max<std::size_t>(std::thread::hardware_concurrency(), 1)});
  BenchControl control;
  BenchWatch watch(command, control);
  std::vector<std::unique_ptr<BenchThread>> shares;
  for (std::size_t i = 0; i < count; ++i)
    shares.push_back(std::make_unique<BenchThread>(environment, command, control));
  const std::uint64_t seed = std::random_device{}();
  for (std::size_t i = 0; i < command.connections; ++i) {
    shares[i % count]->add_connection(seed / environment.nodes.size() * environment.nodes.size() +
                                      i);
  }
  std::vector<std::future<void>> threads;
  threads.reserve(shares.size());
  for (auto& share : shares)
    threads.push_back(std::async(std::launch::async, [&share] { share->run(); }));
  watch.until_end_of(threads);
  Totals totals;
  totals.interrupted = watch.interrupted();
  for (const auto& share : shares) {
    totals.result.add(share->result());
    totals.seconds =
        std::max(totals.seconds, std::chrono::duration<double>(share->measured()).count());
  }
  for (const auto& [name, number] : totals.result.errors) totals.errors += number;
  return totals;
}

std::string format(double ms) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f ms", ms);
  return text;
}

void print_text(const BenchCommand& command, const Totals& totals) {
  const bool reads = command.what == BenchCommand::What::reads;
  print(for_people(totals.per_second()) + (reads ? " reads/s" : " adds/s") + " over " +
        for_people(command.connections) + " connections × " + for_people(command.pipeline) +
        " in flight, " + (command.hot ? "one key" : for_people(command.keys) + " keys"));
  print("latency: p50 " + format(totals.ms(0.5)) + ", p90 " + format(totals.ms(0.9)) + ", p99 " +
        format(totals.ms(0.99)) + ", max " + format(totals.ms(1)));
  print("errors: " + for_people(totals.errors));
  for (const auto& [name, count] : totals.result.errors)
    print("  " + name + ": " + for_people(count));
}

nlohmann::json to_json(const BenchCommand& command, const Totals& totals, const Status& status) {
  nlohmann::json json = document("bench", status);
  json["what"] = command.what == BenchCommand::What::reads ? "reads" : "adds";
  json["connections"] = command.connections;
  json["pipeline"] = command.pipeline;
  json["keys"] = command.hot ? 1 : command.keys;
  json["tokens"] = command.tokens;
  json["seconds"] = totals.seconds;
  json["operations"] = totals.result.latency.count();
  json["operations_per_second"] = totals.per_second();
  json["p50_ms"] = totals.ms(0.5);
  json["p90_ms"] = totals.ms(0.9);
  json["p99_ms"] = totals.ms(0.99);
  json["max_ms"] = totals.ms(1);
  json["errors"] = totals.errors;
  json["errors_by_code"] = totals.result.errors;
  json["broken_connections"] = totals.result.broken;
  return json;
}

// Why the result is not a measurement of a sound cluster.
Status judge(const BenchCommand& command, const Totals& totals) {
  const auto failed = [](std::string why) { return Status(Code::unavailable, std::move(why)); };
  if (totals.result.broken == command.connections && totals.result.latency.count() == 0)
    return failed("no connection worked: " + totals.result.why);
  if (totals.result.broken > 0)
    return failed(for_people(totals.result.broken) + " connections broke: " + totals.result.why);
  if (totals.result.latency.count() == 0)
    return failed("no request succeeded during the measurement");
  if (totals.errors > 0) return failed(for_people(totals.errors) + " requests failed");
  return {};
}

}  // namespace

int run(const Environment& environment, const BenchCommand& command) {
  Totals totals;
  Status status = open_client(environment).status();
  if (status.ok()) {
    totals = measure(environment, command);
    if (totals.interrupted) {
      std::ostringstream seconds;
      seconds << std::fixed << std::setprecision(1) << totals.seconds;
      complain("interrupted: this is what was measured in " + seconds.str() + " s");
    }
    status = judge(command, totals);
    if (!status.ok()) complain(status.detail());
    if (!environment.json) print_text(command, totals);
  }
  if (environment.json) print_json(to_json(command, totals, status));
  return status.ok() ? kOk : kFailed;
}

}  // namespace quipu::cli
