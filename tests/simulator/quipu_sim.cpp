// quipu_sim: runs seeds of the simulator.
//
// --seed runs one seed, --first and --count many, --minutes fresh ones, every other one a
// stray (options.h); usage() lists the arguments.
//
// Exit: 0 all promises kept, 1 one was broken, 2 wrong arguments.
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <random>
#include <string_view>

#include "tests/simulator/planted.h"
#include "tests/simulator/shrink.h"

namespace quipu::sim {
namespace {

constexpr std::uint64_t kTwiceEach = 100;  // of so many seeds one is run twice

struct Arguments {
  std::optional<Options> one;
  std::uint64_t first = 0, count = 0;
  double minutes = 0;
  bool trace = false, messages = false, shrink = false, knobs = false;
};

// What runs now, so that an assertion or a crash names it, too.
char running[64];
int running_length = 0;

extern "C" void name_the_seed(int signal) {
  (void)!write(STDERR_FILENO, running, static_cast<std::size_t>(running_length));
  std::signal(signal, SIG_DFL);
  (void)std::raise(signal);
}

Report run_seed(const Options& options) {
  running_length = std::snprintf(running, sizeof running, "quipu_sim: died in --seed %llu\n",
                                 static_cast<unsigned long long>(options.seed));
  return simulate(options);
}

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

void usage(std::ostream& out) {
  out << "quipu_sim --seed N [--trace | --messages | --shrink] [--with KNOB] [--without KNOB]\n"
         "          [--nodes N] [--owners N] [--clients N] [--wire-clients N]\n"
         "          [--operations N] [--pace-ms N] [--faults N] [--torment-ms N]\n"
         "quipu_sim --first N --count N\n"
         "quipu_sim --minutes M\n"
         "quipu_sim --knobs\n"
         "and before any of these: [--plant BUG]\n";
}

template <class Number>
bool parse_number(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

// What is wrong with them, or nothing.
std::string parse(int argc, char** argv, Arguments& arguments) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--trace" || name == "--messages" || name == "--shrink" || name == "--knobs") {
      arguments.trace |= name == "--trace" || name == "--messages";
      arguments.messages |= name == "--messages";
      arguments.shrink |= name == "--shrink";
      arguments.knobs |= name == "--knobs";
      continue;
    }
    if (i + 1 == argc) return std::string(name) + " needs a value";
    const char* value = argv[++i];
    std::uint64_t seed = 0;
    if (name == "--seed" && parse_number(value, seed)) {
      arguments.one = Options::draw(seed);
    } else if (name == "--first" && parse_number(value, arguments.first)) {
    } else if (name == "--count" && parse_number(value, arguments.count)) {
    } else if (name == "--minutes" && parse_number(value, arguments.minutes)) {
    } else if (name == "--seed" || name == "--first" || name == "--count" || name == "--minutes") {
      return std::string(name) + " needs a number, not '" + value + "'";
    } else if (name == "--plant") {
      if (!plant(value)) return "no bug is planted under the name '" + std::string(value) + "'";
    } else if (!arguments.one) {
      return "say --seed before " + std::string(name);
    } else if (const Status applied = arguments.one->apply(name, value); !applied.ok()) {
      return applied.detail();
    }
  }
  return {};
}

void add(Tally& total, const Tally& more) {
  for (const auto& [kind, count] : more) total[kind] += count;
}

void print(const char* what, const Tally& tally) {
  std::cout << what;
  const char* between = "";
  for (const auto& [kind, count] : tally) {
    std::cout << between << count << ' ' << kind;
    between = ", ";
  }
  std::cout << '\n';
}

void print_speed(Duration lasted, double cpu) {
  const double seconds = std::chrono::duration<double>(lasted).count();
  std::cout << seconds / 3600 << " virtual hours in " << cpu << " s of CPU: " << seconds / cpu
            << " x real time\n";
}

int run_one(const Arguments& arguments) {
  if (arguments.trace) {
    Trace trace;
    trace.follow([](const std::string& line) { std::cout << line << '\n'; });
    if (arguments.messages) trace.tell_messages();
    World world(*arguments.one, trace);
    world.run();
    std::cout << (trace.failure() ? "BROKEN" : "all promises kept") << '\n';
    return trace.failure() ? 1 : 0;
  }
  const double cpu_begun = cpu_seconds();
  Report report = run_seed(*arguments.one);
  if (!report.failure) {
    std::cout << "seed " << report.options.seed << ": all promises kept ("
              << report.options.describe() << ")\n";
    print_speed(report.lasted, cpu_seconds() - cpu_begun);
    print("operations: ", report.operations);
    print("faults: ", report.faults);
    return 0;
  }
  if (arguments.shrink)
    report =
        shrink(report, [](const std::string& step) { std::cout << "  " << step << std::endl; });
  std::cout << explain(report);
  return 1;
}

int run_many(const Arguments& arguments) {
  const auto begun = std::chrono::steady_clock::now();
  const double cpu_begun = cpu_seconds();
  const auto time_is_up = [&] {
    return std::chrono::steady_clock::now() - begun >
           std::chrono::duration<double>(arguments.minutes * 60);
  };
  std::uint64_t seed = arguments.first;
  const bool fresh = arguments.minutes > 0;
  if (fresh) seed = std::uint64_t{std::random_device{}()} << 16;
  std::cout << "seeds from " << seed << std::endl;
  Tally faults, operations;
  Duration lasted{};
  std::uint64_t runs = 0;
  for (;; ++seed, ++runs) {
    if (fresh ? time_is_up() : runs == arguments.count) break;
    const Options options = fresh && seed % 2 == 1 ? Options::stray(seed) : Options::draw(seed);
    const Report report = run_seed(options);
    if (report.failure) {
      std::cout << explain(report);
      return 1;
    }
    // Halved, so that odd seeds, which are strays, are run twice as well.
    if (seed / 2 % kTwiceEach == 0 && simulate(options).hash != report.hash) {
      std::cout << options.arguments()
                << " went another way the second time: something reads a "
                   "clock, an address or a hash order\n";
      return 1;
    }
    lasted += report.lasted;
    add(faults, report.faults);
    add(operations, report.operations);
  }
  std::cout << runs << " seeds, all promises kept\n";
  print_speed(lasted, cpu_seconds() - cpu_begun);
  print("operations: ", operations);
  print("faults: ", faults);
  return 0;
}

int main(int argc, char** argv) {
  for (const int signal : {SIGABRT, SIGSEGV, SIGTERM}) std::signal(signal, name_the_seed);
  Arguments arguments;
  const std::string wrong = parse(argc, argv, arguments);
  const bool many = arguments.count > 0 || arguments.minutes > 0;
  if (!wrong.empty() || (!arguments.one && !many && !arguments.knobs)) {
    if (!wrong.empty()) std::cerr << "quipu_sim: " << wrong << '\n';
    usage(std::cerr);
    return 2;
  }
  if (arguments.knobs) {
    for (const KnobInfo& knob : knobs()) {
      std::cout << knob.name << ": " << knob.meaning << " (" << knob.share() << "% of seeds)\n";
    }
    return 0;
  }
  return many ? run_many(arguments) : run_one(arguments);
}

}  // namespace
}  // namespace quipu::sim

int main(int argc, char** argv) { return quipu::sim::main(argc, argv); }
