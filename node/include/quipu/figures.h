// figures.h: what a node counts and measures, for a monitoring system of your choice.
//
//   for (const quipu::FigureFamily& family : node->figures()) { … family.name … }
//
// The names, units and labels are those of Prometheus: times are in seconds, sizes in bytes,
// moments in seconds since 1970, and what only grows has a name that ends with _total. A counter of
// a node starts at 0 with the node, or with its core after a restart of that. No name of a counter
// of yours appears here, as a value or as a label.
//
// Bound: about 120 families' samples, some 20 for each operation and 10 for each other member.
//
// Plain data without locks: a copy that the caller owns. Threads: several may read one object at
// once, while none changes or destroys it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace quipu {

enum class FigureKind : std::uint8_t {
  counter,    // only grows, until the node starts again
  gauge,      // goes up and down
  histogram,  // how many measurements fell into each bucket
};

struct FigureSample {
  // Names and values, such as {"peer", "n2"}. Samples of one family have different values.
  std::vector<std::pair<std::string, std::string>> labels{};
  double value = 0;  // of a counter or a gauge

  // One bucket of a histogram.
  struct Bucket {
    double most = 0;          // in the unit of the family
    std::uint64_t count = 0;  // of measurements up to `most`, including those of smaller buckets
  };
  std::vector<Bucket> buckets{};  // ascending, without that for all measurements
  std::uint64_t count = 0;        // of all measurements
  double sum = 0;                 // of all measurements
};

struct FigureFamily {
  std::string name{};  // begins with quipu_
  std::string help{};  // for people
  FigureKind kind = FigureKind::gauge;
  std::vector<FigureSample> samples{};
};

}  // namespace quipu
