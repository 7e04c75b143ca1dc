#include "node/cli/ingest_report.h"

#include <nlohmann/json.hpp>
#include <sstream>

#include "node/cli/output.h"

namespace quipu::cli {
namespace {

// The most ranges of unknown lines in a document. The report's file has all of them.
constexpr std::size_t kMostRangesShown = 100;

std::uint64_t per_second(std::uint64_t count, std::chrono::duration<double> took) {
  return static_cast<std::uint64_t>(static_cast<double>(count) / std::max(took.count(), 0.001));
}

std::string lines_that(std::uint64_t count, const char* what) {
  return for_people(count) + (count == 1 ? " line " : " lines ") + what;
}

// A resumed ingest tries lines again that were refused for any other reason. Among them are those
// of undefined namespaces: they can be defined first.
bool is_refused_for_good(Code code) {
  return code == Code::out_of_range || code == Code::invalid_argument || code == Code::token_reused;
}

}  // namespace

void IngestReport::restore(const IngestState::Position& position, const IngestState::Sums& sums) {
  blank_ = position.blank;
  bad_lines_ = position.refused;
  refused_ = position.refused + sums.refused;
  if (refused_ > 0) refused_as_ = Code::invalid_argument;
  counted_ = counted_before_ = sums.counted;
  adds_ = sums.adds;
  unknown_ = sums.lost;
}

void IngestReport::on_bad(std::uint64_t line, std::string_view why) {
  ++bad_lines_;
  refuse(1, Code::invalid_argument);
  const bool goes_on = !bad_.empty() && bad_why_ == why && bad_.ranges().back().second + 1 == line;
  if (!goes_on) flush();
  bad_why_ = why;
  bad_.add(line);
}

void IngestReport::flush() {
  if (!bad_.empty()) {
    const Status why(Code::invalid_argument,
                     std::string(bad_why_) + " (" + std::string(format_) + ")");
    details_.tell(bad_, "", 0, why);
  }
  if (!unsent_.empty()) details_.tell(unsent_, "", 0, Status(Code::unavailable, "not sent"));
  bad_ = {};
  unsent_ = {};
}

void IngestReport::refuse(std::uint64_t lines, Code code) {
  const bool again = !state_.empty() && !is_refused_for_good(code);
  (again ? pending_ : refused_) += lines;
  if (refused_as_ == Code::ok) refused_as_ = code;
}

void IngestReport::on_unsent(const CombinedAdd& add) {
  refuse(add.lines.lines(), Code::unavailable);
  unsent_.add(add.lines);
}

void IngestReport::on_counted(const CombinedAdd& add, bool before) {
  ++adds_;
  counted_ += add.lines.lines();
  if (before) details_.tell(add.lines, add.key, add.amount, {});
}

void IngestReport::on_failed(const CombinedAdd& add, const Status& status) {
  flush();
  if (status.outcome() == Outcome::unknown) {
    unknown_.add(add.lines);
    if (status.code() == Code::in_doubt && !state_.empty()) doubtful_ += add.lines.lines();
  } else {
    refuse(add.lines.lines(), status.code());
  }
  details_.tell(add.lines, add.key, add.amount, status);
}

void IngestReport::on_stopped(std::uint64_t last_line, std::string_view why) {
  if (std::exchange(stopped_, true)) return;
  flush();
  last_line_ = last_line;
  if (why_.empty()) why_ = why;
}

void IngestReport::on_gave_up(std::string_view why) {
  if (why_.empty()) why_ = why;
}

bool IngestReport::can_resume() const {
  return !state_.empty() && (pending_ > 0 || doubtful_ > 0 || stopped_);
}

Status IngestReport::status() const {
  std::string text = why_;
  if (stopped_)
    text += ": stopped after line " + std::to_string(last_line_) + ", nothing behind it was sent";
  const auto say = [&text](const std::string& more) { text += (text.empty() ? "" : "; ") + more; };
  if (!unknown_.empty()) say(lines_that(unknown_.lines(), "may or may not be counted"));
  const std::uint64_t refused = refused_ + pending_;
  if (refused > 0) say(lines_that(refused, refused == 1 ? "was not counted" : "were not counted"));
  if (text.empty()) return {};
  if (can_resume()) {
    say("to settle the rest and go on, run the same command again: it counts no line twice");
  } else if (!unknown_.empty()) {
    say("look at the totals before you count them again" +
        std::string(state_.empty() ? " (with --resume FILE, ingest can settle them)" : ""));
  }
  if (!unknown_.empty()) return {Code::in_doubt, text};
  return {refused > 0 ? refused_as_ : Code::unavailable, text};
}

void IngestReport::print_text(const Totals& totals) const {
  const std::uint64_t now = counted_ - counted_before_;
  std::ostringstream text;
  text << for_people(counted_) << (counted_ == 1 ? " line" : " lines") << " counted"
       << (counted_before_ > 0 ? ", " + for_people(now) + " of them now," : "") << " in "
       << for_people(std::chrono::round<std::chrono::milliseconds>(totals.took)) << " ("
       << for_people(per_second(now, totals.took)) << " lines/s), as " << for_people(adds_)
       << " adds\n";
  if (refused_ + pending_ > 0) text << lines_that(refused_ + pending_, "not counted\n");
  if (!unknown_.empty())
    text << lines_that(unknown_.lines(), "may or may not be counted: ") << unknown_.text() << "\n";
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
  for (const auto& [first, last] : unknown_.ranges()) {
    if (unknown.size() < kMostRangesShown) unknown.push_back({first, last});
  }
  const std::uint64_t now = counted_ - counted_before_;
  nlohmann::json json = document("ingest", status);
  if (!status.ok())  // the detail says what to do
    json["message"] = std::string(describe(status.code()).name) + ": " + status.detail();
  if (status.outcome() == Outcome::not_applied && counted_ > 0) json["outcome"] = "partly_applied";
  json["lines"] = settled();
  json["counted_lines"] = counted_;
  json["counted_before"] = counted_before_;
  json["blank_lines"] = blank_;
  json["refused_lines"] = refused_ + pending_;
  json["unknown_lines"] = unknown_.lines();
  json["unknown"] = std::move(unknown);
  json["adds"] = adds_;
  json["seconds"] = totals.took.count();
  json["lines_per_second"] = per_second(now, totals.took);
  json["settled_by_retry"] = totals.client.settled_by_retry;
  json["settled_doubts"] = totals.client.settled_doubts;
  json["reconnects"] = totals.reconnects;
  json["nodes"] = std::move(nodes);
  json["stopped_after_line"] = nullptr;
  json["can_resume"] = can_resume();
  if (stopped_) json["stopped_after_line"] = last_line_;
  cli::print_json(json);
}

}  // namespace quipu::cli
