// ingest_report.h: the outcome of every line, printed as soon as it is known, with a summary
// at the end.
//
//   counted      blank      refused: certainly not counted, now or later
//   pending      not counted, but a resumed ingest would try again
//   doubtful     may be counted; a resumed ingest would find out
//   lost         may be counted, and this cannot be found out any more
//
// Invariant: each line read ends in exactly one of these. Without a state there is no
// resuming: then pending lines are refused, and doubtful lines are lost.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "cluster/client/changes.h"
#include "node/cli/ingest_combiner.h"
#include "node/cli/ingest_details.h"
#include "node/cli/ingest_state.h"
#include "quipu/status.h"

namespace quipu::cli {

class IngestReport {
 public:
  // `state`: the name of its file, for people. Empty if nothing can be resumed. `format`: what a
  // line should be, for lines that are not.
  IngestReport(IngestDetails& details, std::string state, std::string_view format)
      : details_(details), state_(std::move(state)), format_(format) {}

  // The lines that an earlier ingest has settled.
  void restore(const IngestState::Position& position, const IngestState::Sums& sums);

  void on_blank() { ++blank_; }
  // A line that never became an add. Neighbouring lines with one reason are printed together.
  void on_bad(std::uint64_t line, std::string_view why);
  // `before`: an earlier ingest may have sent it.
  void on_counted(const CombinedAdd& add, bool before);
  void on_failed(const CombinedAdd& add, const Status& status);
  void on_unsent(const CombinedAdd& add);
  // No more lines will be read.
  void on_stopped(std::uint64_t last_line, std::string_view why);
  // No more adds will be sent.
  void on_gave_up(std::string_view why);
  // The lines to print together are complete.
  void flush();

  [[nodiscard]] std::uint64_t settled() const {
    return blank_ + counted_ + refused_ + pending_ + unknown_.lines();
  }
  // Blank lines, and lines that are not adds, of those that were read.
  [[nodiscard]] std::uint64_t blank() const { return blank_; }
  [[nodiscard]] std::uint64_t bad() const { return bad_lines_; }
  // The outcome of the ingest as a whole. The detail says what to do next.
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
  [[nodiscard]] bool can_resume() const;

  IngestDetails& details_;
  const std::string state_;
  const std::string_view format_;
  std::uint64_t blank_ = 0;
  std::uint64_t bad_lines_ = 0;
  std::uint64_t counted_ = 0;
  std::uint64_t adds_ = 0;  // counted ones
  std::uint64_t refused_ = 0;
  std::uint64_t pending_ = 0;
  std::uint64_t doubtful_ = 0;  // part of unknown_
  LineRanges unknown_;
  std::uint64_t counted_before_ = 0;
  Code refused_as_ = Code::ok;  // the code of the first
  bool stopped_ = false;
  std::string why_;  // why it stopped, or gave up
  std::uint64_t last_line_ = 0;
  std::string_view bad_why_;
  LineRanges bad_;
  LineRanges unsent_;
};

}  // namespace quipu::cli
