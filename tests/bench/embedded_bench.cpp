// embedded_bench: adds from threads of the very process that runs the node, through
// quipu::Node and, over a socket to it, through quipu::Client.
//
//   fill every key ─▶ for each case and round: threads add for a while ─▶ await what is
//   open ─▶ a row of medians … ─▶ all counters together must be all adds
//
// CPU is the whole process's: node, callers and LevelDB. An add that is not answered with
// ok ends the run. Prints Markdown.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <iostream>
#include <optional>
#include <semaphore>
#include <stdexcept>
#include <thread>

#include "protocol/random.h"
#include "quipu/client.h"
#include "quipu/node.h"
#include "tests/bench/cpu_seconds.h"
#include "tests/node/temporary_directory.h"

namespace quipu::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::ptrdiff_t kWindow = 2000;  // open callback calls of a thread

struct Options {
  std::uint64_t keys = 1'000'000;
  double seconds = 2;
  int rounds = 3;
  std::string directory;
};

enum class Style : std::uint8_t { blocking, callbacks };

struct Case {
  bool client;  // or embedded
  Style style;
  Ack ack;
  int threads;
};

struct Figures {
  double per_second;
  double cpu_us;
};

using Open = std::function<Counter(std::uint64_t key)>;

// What any callback or thread found wrong first; kept until all have ended.
class Failure {
 public:
  void note(const Status& status) {
    if (!status.ok() && !failed_.exchange(true)) why_ = status.message();
  }
  [[nodiscard]] bool failed() const { return failed_; }
  void raise() const {
    if (failed_) throw std::runtime_error(why_);
  }

 private:
  std::atomic<bool> failed_ = false;
  std::string why_;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Runs `call(key, done)` for each key that `next` gives, kWindow of them at once, and
// returns how many when all are done.
template <class Next, class Call>
std::uint64_t with_window(Failure& failure, Next next, Call call) {
  std::counting_semaphore<kWindow> room(kWindow);
  std::uint64_t calls = 0;
  while (!failure.failed()) {
    const std::optional<std::uint64_t> key = next();
    if (!key) break;
    room.acquire();
    ++calls;
    call(*key, [&room, &failure](const Status& status) {
      failure.note(status);
      room.release();
    });
  }
  for (std::ptrdiff_t i = 0; i < kWindow; ++i) room.acquire();
  return calls;
}

std::uint64_t add_until(Clock::time_point end, const Case& one, const Open& open,
                        std::uint64_t keys, std::uint64_t seed, Failure& failure) {
  Random random(seed);
  if (one.style == Style::callbacks) {
    const auto next = [&]() -> std::optional<std::uint64_t> {
      if (Clock::now() >= end) return std::nullopt;
      return random.below(keys);
    };
    return with_window(failure, next, [&](std::uint64_t key, auto done) {
      open(key).add(1, {.ack = one.ack}, done);
    });
  }
  std::uint64_t adds = 0;
  for (; Clock::now() < end && !failure.failed(); ++adds)
    failure.note(open(random.below(keys)).add(1, {.ack = one.ack}));
  return adds;
}

Figures run_once(const Case& one, const Open& open, const Options& options, std::uint64_t seed,
                 std::uint64_t& all) {
  Failure failure;
  std::atomic<std::uint64_t> adds = 0;
  std::vector<std::thread> threads;
  const double used = cpu_seconds();
  const Clock::time_point began = Clock::now();
  const auto end = began + std::chrono::milliseconds(std::lround(options.seconds * 1000));
  for (int i = 0; i < one.threads; ++i) {
    threads.emplace_back([&, i] {
      adds +=
          add_until(end, one, open, options.keys, seed + static_cast<std::uint64_t>(i), failure);
    });
  }
  for (std::thread& thread : threads) thread.join();
  failure.raise();
  const double took = std::chrono::duration<double>(Clock::now() - began).count();
  all += adds;
  const auto count = static_cast<double>(adds);
  return {count / took, (cpu_seconds() - used) * 1e6 / count};
}

template <class Call>
void for_each_key(std::uint64_t keys, Call call) {
  Failure failure;
  std::uint64_t key = 0;
  const auto next = [&]() -> std::optional<std::uint64_t> {
    return key < keys ? std::optional(key++) : std::nullopt;
  };
  with_window(failure, next, call);
  failure.raise();
}

std::uint64_t fill(const Open& open, std::uint64_t keys) {
  for_each_key(keys, [&](std::uint64_t key, auto done) { open(key).add(1, {}, done); });
  return keys;
}

std::uint64_t total(const Open& open, std::uint64_t keys) {
  std::atomic<std::int64_t> sum = 0;
  for_each_key(keys, [&](std::uint64_t key, auto done) {
    open(key).read({}, [&sum, done](const Result<Reading>& reading) {
      if (reading.ok()) sum += reading->value;
      done(reading.status());
    });
  });
  return static_cast<std::uint64_t>(sum.load());
}

void print_row(const Case& one, const std::vector<Figures>& rounds) {
  std::vector<double> rates;
  std::vector<double> cpu;
  for (const Figures& round : rounds) {
    rates.push_back(round.per_second);
    cpu.push_back(round.cpu_us);
  }
  std::printf("| %s | %s | %s | %d | %.0f | %.2f |\n", one.client ? "Client" : "Node",
              one.ack == Ack::disk ? "disk" : "memory",
              one.style == Style::blocking ? "blocking" : "callbacks", one.threads, median(rates),
              median(cpu));
  std::fflush(stdout);
}

template <class Opened>
Opened opened(Result<Opened> result) {
  if (!result.ok()) throw std::runtime_error(result.status().message());
  return std::move(*result);
}

template <class Owner>
Open opener(Owner& owner) {
  return [&owner](std::uint64_t key) { return owner.counter("counter:" + std::to_string(key)); };
}

// What is slow first: the work that many adds leave to LevelDB is not charged to few.
std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const Style style : {Style::blocking, Style::callbacks}) {
    for (const bool client : {false, true}) {
      for (const Ack ack : {Ack::memory, Ack::disk}) {
        for (const int threads : {1, 2}) cases.push_back({client, style, ack, threads});
      }
    }
  }
  return cases;
}

void measure(const Options& options) {
  NodeOptions of_node;
  of_node.name = "n1";
  of_node.data_directory = options.directory;
  of_node.client_address = "127.0.0.1:0";
  const auto node = opened(Node::open(of_node));
  if (!node->wait_ready(std::chrono::seconds(10))) throw std::runtime_error("it is not ready");
  const auto client = opened(Client::connect({.seeds = {node->client_address()}}));
  const Open embedded = opener(*node);
  const Open remote = opener(*client);
  std::uint64_t adds = fill(embedded, options.keys);
  std::uint64_t seed = 0;
  std::printf(
      "| through | ack | calls | threads | adds/s | CPU µs/add |\n|---|---|---|---|---|---|\n");
  for (const Case& one : all_cases()) {
    const Open& open = one.client ? remote : embedded;
    std::vector<Figures> rounds;
    for (int round = 0; round < options.rounds; ++round, seed += 2)
      rounds.push_back(run_once(one, open, options, seed, adds));
    print_row(one, rounds);
  }
  const std::uint64_t counted = total(embedded, options.keys);
  if (counted != adds)
    throw std::runtime_error(std::to_string(counted) + " counted of " + std::to_string(adds));
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("Adds from inside the node's process.", "embedded_bench");
  app.add_option("--keys", options.keys, "counters that are added to, at random")
      ->check(CLI::Range(1, 100'000'000));
  app.add_option("--seconds", options.seconds, "of each round")->check(CLI::PositiveNumber);
  app.add_option("--rounds", options.rounds, "medians of them")->check(CLI::Range(1, 1000));
  CLI11_PARSE(app, argc, argv);
  try {
    const test::TemporaryDirectory directory;
    options.directory = directory.path().string();
    measure(options);
    return 0;
  } catch (const std::exception& problem) {
    std::cerr << "embedded_bench: " << problem.what() << '\n';
    return 1;
  }
}

}  // namespace
}  // namespace quipu::bench

int main(int argc, char** argv) { return quipu::bench::run(argc, argv); }
