// quipu bench: closed-loop load over many connections, on two threads at most.
//
//   connect ─▶ warm up (a fifth of the time, 1 s at most) ─▶ measure ─▶ await what is
//   open ─▶ report
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "node/cli/bench_connection.h"
#include "node/cli/commands.h"
#include "node/cli/open_client.h"
#include "node/cli/output.h"

namespace quipu::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr std::size_t kMaxThreads = 2;  // leave some of the machine to the nodes

// One thread's share of the connections.
class BenchThread {
 public:
  BenchThread(const Environment& environment, const BenchCommand& command)
      : environment_(environment), command_(command) {}

  void add_connection(std::uint64_t seed) {
    connections_.push_back(std::make_unique<BenchConnection>(io_, command_, phase_, result_, seed));
    nodes_.push_back(seed % environment_.nodes.size());
  }

  void run() {
    for (std::size_t i = 0; i < connections_.size(); ++i) {
      const Result<Address> node = parse_address(environment_.nodes[nodes_[i]]);
      if (node.ok()) connections_[i]->dial(*node);
    }
    run_until_all([](const BenchConnection& one) { return one.started(); });
    for (auto& connection : connections_) connection->expect_started();
    const auto all = std::chrono::duration_cast<milliseconds>(command_.seconds);
    run_for(std::min(all / 5, milliseconds(1000)));
    phase_.measuring = true;
    const Instant began = NodeClock::now();
    run_for(all);
    measured_ = NodeClock::now() - began;
    phase_ = {.measuring = false, .stopping = true};
    run_until_all([](const BenchConnection& one) { return one.idle(); });
    for (auto& connection : connections_) connection->close();
    run_for(milliseconds(1));
  }

  [[nodiscard]] const BenchResult& result() const { return result_; }
  [[nodiscard]] Duration measured() const { return measured_; }

 private:
  // For the timeout at most.
  void run_until_all(bool (*reached)(const BenchConnection&)) {
    const Instant give_up = NodeClock::now() + environment_.timeout;
    const auto all = [&] {
      return std::all_of(connections_.begin(), connections_.end(),
                         [&](const auto& one) { return reached(*one); });
    };
    while (!all() && NodeClock::now() < give_up) run_for(milliseconds(1));
  }
  void run_for(milliseconds time) {
    io_.restart();
    io_.run_for(time);
  }

  const Environment& environment_;
  const BenchCommand& command_;
  asio::io_context io_{1};
  BenchConnection::Phase phase_;
  BenchResult result_;
  std::vector<std::unique_ptr<BenchConnection>> connections_;
  std::vector<std::size_t> nodes_;  // which of environment_.nodes
  Duration measured_{};
};

struct Totals {
  BenchResult result;
  double seconds = 0;
  std::uint64_t errors = 0;

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
  std::vector<std::unique_ptr<BenchThread>> shares;
  for (std::size_t i = 0; i < count; ++i)
    shares.push_back(std::make_unique<BenchThread>(environment, command));
  const std::uint64_t seed = std::random_device{}();
  for (std::size_t i = 0; i < command.connections; ++i) {
    shares[i % count]->add_connection(seed / environment.nodes.size() * environment.nodes.size() +
                                      i);
  }
  std::vector<std::thread> threads;
  for (auto& share : shares) threads.emplace_back([&share] { share->run(); });
  for (std::thread& thread : threads) thread.join();
  Totals totals;
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

// What keeps it from being a measurement of a sound cluster.
Status judge(const BenchCommand& command, const Totals& totals) {
  const auto failed = [](std::string why) { return Status(Code::unavailable, std::move(why)); };
  if (totals.result.broken == command.connections && totals.result.latency.count() == 0)
    return failed("no connection worked: " + totals.result.why);
  if (totals.result.broken > 0)
    return failed(for_people(totals.result.broken) + " connections broke: " + totals.result.why);
  if (totals.result.latency.count() == 0)
    return failed("nothing was answered with ok while it was measured");
  if (totals.errors > 0) return failed(for_people(totals.errors) + " requests failed");
  return {};
}

}  // namespace

int run(const Environment& environment, const BenchCommand& command) {
  Totals totals;
  Status status = open_client(environment).status();
  if (status.ok()) {
    totals = measure(environment, command);
    status = judge(command, totals);
    if (!status.ok()) complain(status.detail());
    if (!environment.json) print_text(command, totals);
  }
  if (environment.json) print_json(to_json(command, totals, status));
  return status.ok() ? kOk : kFailed;
}

}  // namespace quipu::cli
