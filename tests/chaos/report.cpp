#include "tests/chaos/report.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <map>
#include <ostream>

namespace quipu::chaos {
namespace {

constexpr std::size_t kMostShown = 10;

[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...) {
  char text[256];
  va_list values;
  va_start(values, pattern);
  const int length = std::vsnprintf(text, sizeof text, pattern, values);
  va_end(values);
  return {text, std::min(static_cast<std::size_t>(length), sizeof text - 1)};
}

double in_seconds(Time time) { return std::chrono::duration<double>(time).count(); }

struct Tally {
  std::size_t ok = 0, fail = 0, unknown = 0;
  std::vector<Time> latencies;  // of those that were ok

  void take(Answer answer, Time took) {
    if (answer == Answer::ok) {
      ++ok;
      latencies.push_back(took);
    } else {
      ++(answer == Answer::fail ? fail : unknown);
    }
  }
  [[nodiscard]] double latency_ms(double quantile) {
    if (latencies.empty()) return 0;
    const auto at =
        std::min(latencies.size() - 1,
                 static_cast<std::size_t>(static_cast<double>(latencies.size()) * quantile));
    std::nth_element(latencies.begin(), latencies.begin() + static_cast<std::ptrdiff_t>(at),
                     latencies.end());
    return in_seconds(latencies[at]) * 1000;
  }
};

// Empty for sums.
std::string of_kind(std::string_view key) {
  const Kind kind = kind_of(key);
  return kind == Kind::sum ? "" : name_of(kind) + std::string(" ");
}

void write_operations(const History& history, std::ostream& out) {
  std::map<std::string, Tally> tallies;
  for (const Add& add : history.adds) {
    tallies[of_kind(add.key) + "add " + std::string(to_text(add.ack))].take(
        add.answer, add.ended - add.invoked);
  }
  for (const Read& read : history.reads) {
    tallies[of_kind(read.key) + "read " + std::string(to_text(read.level))].take(
        read.value ? Answer::ok : Answer::fail, read.ended - read.began);
  }
  out << "\nOperations                 ok  refused  unknown   p50 ms   p99 ms   max ms\n";
  for (auto& [name, tally] : tallies) {
    out << format("%-22s %6zu %8zu %8zu %8.1f %8.1f %8.1f\n", name.c_str(), tally.ok, tally.fail,
                  tally.unknown, tally.latency_ms(0.5), tally.latency_ms(0.99),
                  tally.latency_ms(1));
  }
}

void write_faults(const Run& run, const History& history, std::ostream& out) {
  struct Row {
    std::size_t times = 0, operations = 0;
    double lasted = 0;
  };
  std::map<std::string, Row> rows;
  for (const Fault& fault : history.faults) {
    Row& row = rows[fault.kind];
    ++row.times;
    row.operations += overlapping(history, fault);
    row.lasted += in_seconds((fault.ended == kNever ? fault.began : fault.ended) - fault.began);
  }
  out << "\nFaults              times  seconds until all were ready again  operations meanwhile\n";
  for (const auto& [kind, row] : rows) {
    out << format("%-18s %6zu %36.1f %21zu\n", kind.c_str(), row.times, row.lasted, row.operations);
  }
  for (const auto& [kind, why] : run.skipped) out << "skipped " << kind << ": " << why << '\n';
}

void write_verdict(const Run& run, std::ostream& out) {
  if (run.passed()) {
    out << "\nPASSED: every read lay within its bounds, every witness add and item was counted as "
           "it had to be,\nand after healing all nodes agreed and had every acknowledged add.\n";
    return;
  }
  out << "\nFAILED\n";
  if (!run.invalid.empty()) out << "INVALID RUN, it proves nothing: " << run.invalid << '\n';
  for (const std::string& finding : run.findings) out << "FINDING: " << finding << '\n';
  for (std::size_t i = 0; i < run.violations.size() && i < kMostShown; ++i) {
    out << to_text(run.violations[i]);
  }
  if (run.violations.size() > kMostShown) {
    out << "... and " << run.violations.size() - kMostShown << " more keys, or items of keys\n";
  }
  out << "Kept in " << run.directory.string()
      << ": history.tsv (every operation), n1.log to n5.log, "
      << "the nodes' settings and disks.\n";
}

}  // namespace

void write_report(const Run& run, const History& history, std::ostream& out) {
  Time last{};
  for (const Add& add : history.adds) last = std::max(last, add.invoked);
  out << "Quipu chaos test, " << (run.passed() ? "passed" : "FAILED") << "\n\n"
      << "seed     " << run.seed << "; again: " << run.command << '\n'
      << "         (repeats the faults and the operations, but not how real processes are "
         "scheduled)\n"
      << "nodes    five, of " << run.reactors << (run.reactors == 1 ? " reactor" : " reactors")
      << " each, " << (run.tls ? "with TLS and a cluster secret" : "without TLS") << "\nnetwork  "
      << run.network << "\ndisks    " << run.disks << '\n'
      << format("load     %.0f s, %zu operations, %.0f a second\n", in_seconds(last),
                history.adds.size() + history.reads.size(),
                static_cast<double>(history.adds.size() + history.reads.size()) /
                    std::max(in_seconds(last), 1.0))
      << format(
             "healing  %zu keys, %s on all nodes %.1f s after the operator was done; "
             "%d rebuilds\n",
             run.final_keys, run.agreed ? "equal" : "NOT equal",
             std::chrono::duration<double>(run.converged).count(), run.rebuilds)
      << format("endings  %zu counters of a few seconds\n", run.brief);
  write_operations(history, out);
  write_faults(run, history, out);
  write_verdict(run, out);
}

}  // namespace quipu::chaos
