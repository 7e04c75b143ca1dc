#include "node/cli/ingest_report.h"

#include <nlohmann/json.hpp>
#include <sstream>

#include "node/cli/output.h"

namespace quipu::cli {
namespace {

std::string name(const LineRanges& lines) {
  return (lines.lines() == 1 ? "line " : "lines ") + lines.text();
}

std::uint64_t per_second(std::uint64_t count, std::chrono::duration<double> took) {
  return static_cast<std::uint64_t>(static_cast<double>(count) / std::max(took.count(), 0.001));
}

}  // namespace

void IngestReport::on_bad(std::uint64_t line, std::string_view why) {
  refuse(1, Code::invalid_argument);
  const bool goes_on = !bad_.empty() && bad_why_ == why && bad_.ranges().back().second + 1 == line;
  if (!goes_on) flush();
  bad_why_ = why;
  bad_.add(line);
}

void IngestReport::flush() {
  progress_.clear();
  if (!bad_.empty())
    complain(name(bad_) + ": not counted: " + std::string(bad_why_) + " (write KEY [N])");
  if (!unsent_.empty()) complain(name(unsent_) + ": not counted: not sent");
  bad_ = {};
  unsent_ = {};
}

void IngestReport::on_unsent(const CombinedAdd& add) {
  refuse(add.lines.lines(), Code::unavailable);
  unsent_.add(add.lines);
}

void IngestReport::on_counted(const CombinedAdd& add) {
  ++adds_;
  counted_ += add.lines.lines();
}

void IngestReport::on_failed(const CombinedAdd& add, const Status& status) {
  flush();
  const bool unknown = status.outcome() == Outcome::unknown;
  if (unknown) {
    unknown_.add(add.lines);
  } else {
    refuse(add.lines.lines(), status.code());
  }
  complain(name(add.lines) + " (" + printable(add.key) + ", " + std::to_string(add.amount) +
           " in all): " + (unknown ? "may or may not be counted: " : "not counted: ") +
           message_of(status));
}

void IngestReport::on_stopped(std::uint64_t last_line, std::string_view why) {
  if (std::exchange(stopped_, true)) return;
  flush();
  last_line_ = last_line;
  stopped_why_ = why;
  complain(std::string(why) + ": stopped after line " + std::to_string(last_line) +
           "; nothing behind it was sent");
}

void IngestReport::refuse(std::uint64_t lines, Code code) {
  refused_ += lines;
  if (refused_as_ == Code::ok) refused_as_ = code;
}

Status IngestReport::status() const {
  if (!unknown_.empty()) {
    return {Code::in_doubt, for_people(unknown_.lines()) + " lines may or may not be counted"};
  }
  if (refused_ > 0) return {refused_as_, for_people(refused_) + " lines were not counted"};
  if (stopped_) return {Code::unavailable, stopped_why_};
  return {};
}

void IngestReport::print_text(const Totals& totals) const {
  std::ostringstream text;
  text << for_people(counted_) << " lines counted in "
       << for_people(std::chrono::round<std::chrono::milliseconds>(totals.took)) << " ("
       << for_people(per_second(counted_, totals.took)) << " lines/s), as " << for_people(adds_)
       << " adds\n";
  if (refused_ > 0) text << for_people(refused_) << " lines not counted\n";
  if (!unknown_.empty()) text << "may or may not be counted: " << name(unknown_) << "\n";
  if (stopped_) text << "stopped after line " << last_line_ << "\n";
  text << for_people(totals.client.settled_doubts)
       << " adds had been in doubt and were settled by retry; " << totals.reconnects
       << " reconnects";
  for (const auto& [node, counts] : totals.client.nodes) {
    text << "\n"
         << printable(node) << ": executed " << for_people(counts.executed) << " adds, answered "
         << for_people(counts.through);
  }
  print(text.str());
}

void IngestReport::print_json(const Totals& totals, const Status& status) const {
  nlohmann::json nodes = nlohmann::json::object();
  for (const auto& [node, counts] : totals.client.nodes) {
    nodes[node] = {{"executed", counts.executed}, {"through", counts.through}};
  }
  nlohmann::json unknown = nlohmann::json::array();
  for (const auto& [first, last] : unknown_.ranges()) unknown.push_back({first, last});
  nlohmann::json json = document("ingest", status);
  json["lines"] = settled();
  json["counted_lines"] = counted_;
  json["blank_lines"] = blank_;
  json["refused_lines"] = refused_;
  json["unknown_lines"] = unknown_.lines();
  json["unknown"] = std::move(unknown);
  json["adds"] = adds_;
  json["seconds"] = totals.took.count();
  json["lines_per_second"] = per_second(counted_, totals.took);
  json["settled_by_retry"] = totals.client.settled_by_retry;
  json["settled_doubts"] = totals.client.settled_doubts;
  json["reconnects"] = totals.reconnects;
  json["nodes"] = std::move(nodes);
  json["stopped_after_line"] = nullptr;
  if (stopped_) json["stopped_after_line"] = last_line_;
  cli::print_json(json);
}

}  // namespace quipu::cli
