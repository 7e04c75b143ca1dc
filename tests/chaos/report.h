// report.h: the report of a run: one page of text, and a picture over time.
#pragma once

#include <chrono>
#include <filesystem>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include "tests/chaos/checker.h"
#include "tests/chaos/history.h"

namespace quipu::chaos {

struct Run {
  std::string command;  // that repeats its faults and operations
  std::uint64_t seed = 0;
  std::size_t reactors = 1;
  bool tls = false;
  std::string network;
  std::string disks;
  std::vector<std::pair<std::string, std::string>> skipped;  // kind, why
  std::filesystem::path directory;
  int rebuilds = 0;
  std::size_t final_keys = 0;
  std::chrono::milliseconds converged{};
  bool agreed = false;
  std::size_t brief = 0;  // counters of a few seconds that were made

  // Each of these fails the run.
  std::string invalid;
  std::vector<std::string> findings;
  std::vector<Violation> violations;

  [[nodiscard]] bool passed() const {
    return invalid.empty() && findings.empty() && violations.empty();
  }
};

void write_report(const Run& run, const History& history, std::ostream& out);

// Throughput and latency by the second, and a bar for each fault.
void write_timeline(const Run& run, const History& history, std::ostream& out);

}  // namespace quipu::chaos
