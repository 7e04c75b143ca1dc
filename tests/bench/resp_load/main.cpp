// resp_load: a light load for what speaks RESP, redis-server and quipud alike: one
// thread, requests encoded ahead, replies counted and not understood.
//
//   resp_load --port 6379 --what add --keys 1000000 --pipeline 16 --seconds 5
//
// Prints one JSON object. Exit 1: a connection ended, hung, or had an error for an answer.
#include <CLI/CLI.hpp>
#include <iostream>
#include <nlohmann/json.hpp>

#include "tests/bench/cpu_seconds.h"
#include "tests/bench/resp_load/load.h"

namespace quipu::bench {
namespace {

double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }
double ms(Clock::duration time) { return seconds(time) * 1e3; }

nlohmann::json to_json(const LoadResult& result) {
  const auto operations = static_cast<double>(result.latency.count());
  nlohmann::json over;
  for (std::size_t i = 0; i < LoadResult::kLengths.size(); ++i)
    over[std::to_string(LoadResult::kLengths[i].count())] = result.gaps_over[i];
  nlohmann::json gaps = nlohmann::json::array();
  for (const Gap& gap : result.gaps)
    gaps.push_back({seconds(gap.end.time_since_epoch()), ms(gap.length)});
  return {{"operations", result.latency.count()},
          {"seconds", seconds(result.took)},
          {"operations_per_second", operations / seconds(result.took)},
          {"p50_ms", ms(result.latency.quantile(0.5))},
          {"p99_ms", ms(result.latency.quantile(0.99))},
          {"max_ms", ms(result.latency.quantile(1))},
          {"client_cpu_us", cpu_seconds() * 1e6 / operations},
          {"longest_gap_ms", ms(result.longest_gap)},
          {"gaps_over_ms", over},
          {"gaps", gaps}};  // [when it ended, in seconds since 1970; how long it was, in ms]
}

int run(int argc, char** argv) {
  using What = LoadOptions::What;
  LoadOptions options;
  std::int64_t pause_ms = 0;
  double time = 1;
  const std::map<std::string, What> names{{"add", What::add},
                                          {"get", What::get},
                                          {"mget", What::mget},
                                          {"ping", What::ping},
                                          {"commands", What::commands}};
  CLI::App app("A light load for a server that speaks RESP, on 127.0.0.1.", "resp_load");
  app.add_option("--port", options.port)->required();
  app.add_option("--what", options.what, "INCRBY by 1, GET, MGET of 10, PING, or --commands")
      ->transform(CLI::CheckedTransformer(names));
  app.add_option("--commands", options.commands,
                 "of an operation, with ';' between them and KEY for the key");
  app.add_option("--kinds", options.kinds, "the first byte of each of their replies: '+++*'");
  app.add_option("--item", options.item, "the first byte of an array's items");
  app.add_option("--keys", options.keys, "counter:000000000000 and on, at random; 1: a hot one")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000'000'000}));
  app.add_option("--connections", options.connections)->check(CLI::Range(1, 10'000));
  app.add_option("--user", options.user, "to authenticate as");
  app.add_option("--secret", options.secret, "of the user");
  app.add_option("--pipeline", options.pipeline, "requests in a batch")->check(CLI::Range(1, 4096));
  app.add_option("--requests", options.requests, "rounded up to whole batches");
  app.add_option("--seconds", time, "if there is no --requests")->check(CLI::PositiveNumber);
  app.add_option("--pause", pause_ms, "ms, of a connection, between two batches")
      ->check(CLI::Range(0, 10'000));
  app.add_option("--seed", options.seed);
  CLI11_PARSE(app, argc, argv);
  options.time = std::chrono::milliseconds(static_cast<std::int64_t>(time * 1000));
  options.pause = std::chrono::milliseconds(pause_ms);
  try {
    std::cout << to_json(Load(options).run()) << '\n';
    return 0;
  } catch (const std::exception& problem) {
    std::cerr << "resp_load: " << problem.what() << '\n';
    return 1;
  }
}

}  // namespace
}  // namespace quipu::bench

int main(int argc, char** argv) { return quipu::bench::run(argc, argv); }
