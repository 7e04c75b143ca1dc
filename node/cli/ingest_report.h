// ingest_report.h: what became of every line, told as it is learnt and summed up
// at the end.
//
// Invariant: each line read ends in exactly one of blank, counted, refused (not
// sent included) and unknown.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "cluster/client/changes.h"
#include "node/cli/ingest_combiner.h"
#include "node/cli/progress.h"
#include "quipu/status.h"

namespace quipu::cli {

class IngestReport {
 public:
  explicit IngestReport(Progress& progress) : progress_(progress) {}

  void on_blank() { ++blank_; }
  // A line that never became an add. Neighbours with one reason are told together.
  void on_bad(std::uint64_t line, std::string_view why);
  void on_counted(const CombinedAdd& add);
  void on_failed(const CombinedAdd& add, const Status& status);
  void on_unsent(const CombinedAdd& add);
  void on_stopped(std::uint64_t last_line, std::string_view why);
  // What is said together is complete.
  void flush();

  [[nodiscard]] std::uint64_t settled() const {
    return blank_ + counted_ + refused_ + unknown_.lines();
  }
  // How it ended as a whole: ok, in_doubt, or why some lines were not counted.
  [[nodiscard]] Status status() const;

  struct Totals {
    std::chrono::duration<double> took{};
    std::size_t reconnects = 0;
    ClientStats client{};
  };
  void print_text(const Totals& totals) const;
  void print_json(const Totals& totals, const Status& status) const;

 private:
  void refuse(std::uint64_t lines, Code code);

  Progress& progress_;
  std::uint64_t blank_ = 0;
  std::uint64_t counted_ = 0;
  std::uint64_t refused_ = 0;
  std::uint64_t adds_ = 0;  // that were counted
  LineRanges unknown_;
  Code refused_as_ = Code::ok;  // the first that was
  bool stopped_ = false;
  std::string stopped_why_;
  std::uint64_t last_line_ = 0;
  std::string_view bad_why_;
  LineRanges bad_;
  LineRanges unsent_;
};

}  // namespace quipu::cli
