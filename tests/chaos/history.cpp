#include "tests/chaos/history.h"

#include <algorithm>
#include <cstdio>
#include <ostream>
#include <utility>

namespace quipu::chaos {
namespace {

std::string end_text(Time ended) { return ended == kNever ? "-" : seconds(ended); }

std::string amount_text(const Add& add) {
  const std::string amount = std::to_string(add.amount);
  return add.item.empty() ? amount : add.item + "+" + amount;
}

// "7", or what it has of each item: "16: a=5 b=11"
std::string value_text(const Read& read) {
  if (!read.value) return "-";
  std::string text = std::to_string(*read.value) + (read.items.empty() ? "" : ":");
  for (const auto& [item, lower, upper] : read.items) {
    text += " " + item + "=" + std::to_string(lower);
    if (lower != upper) text += ".." + std::to_string(upper);
  }
  return text;
}

std::string line(const Add& add) {
  return seconds(add.invoked) + "\t" + end_text(add.ended) +
         "\tadd\tclient=" + std::to_string(add.client) + "\tprefers=n" + std::to_string(add.node) +
         "\t" + add.key + "\t" + amount_text(add) + "\t" + std::string(to_text(add.ack)) + "\t" +
         std::string(to_text(add.answer)) + "\t" + add.said;
}

std::string line(const Read& read) {
  std::string text = seconds(read.began) + "\t" + end_text(read.ended) +
                     "\tread\tclient=" + std::to_string(read.client) + "\tprefers=n" +
                     std::to_string(read.node) + "\t" + read.key + "\t" + value_text(read) + "\t" +
                     std::string(to_text(read.level)) + "\t";
  if (read.level != ReadLevel::strong && read.value) {
    text += read.complete ? "complete" : "incomplete";
    if (read.age) text += ",age=" + std::to_string(read.age->count()) + "ms";
  }
  return text + "\t" + read.said;
}

std::string line(const Fault& fault) {
  return seconds(fault.began) + "\t" + end_text(fault.ended) + "\tfault\t" + fault.kind + "\t" +
         fault.what;
}

}  // namespace

Kind kind_of(std::string_view key) {
  if (key.starts_with(kDistinctPrefix)) return Kind::distinct;
  if (key.starts_with(kFrequencyPrefix)) return Kind::frequency;
  return key.starts_with(kTopPrefix) ? Kind::top : Kind::sum;
}

bool counts_items(Kind kind) { return kind == Kind::frequency || kind == Kind::top; }

std::string_view to_text(Answer answer) {
  switch (answer) {
    case Answer::ok:
      return "ok";
    case Answer::fail:
      return "fail";
    case Answer::unknown:
      return "unknown";
    default:
      return "open";
  }
}

std::string_view to_text(Ack ack) {
  switch (ack) {
    case Ack::memory:
      return "memory";
    case Ack::disk:
      return "disk";
    default:
      return "quorum";
  }
}

std::string_view to_text(ReadLevel level) {
  switch (level) {
    case ReadLevel::local:
      return "local";
    case ReadLevel::fresh:
      return "fresh";
    default:
      return "strong";
  }
}

std::string seconds(Time time) {
  char text[32];
  const int length =
      std::snprintf(text, sizeof text, "%.6f s", std::chrono::duration<double>(time).count());
  return {text, static_cast<std::size_t>(length)};
}

void write_history(const History& history, std::ostream& out) {
  std::vector<std::pair<Time, std::string>> lines;
  for (const Add& add : history.adds) lines.emplace_back(add.invoked, line(add));
  for (const Read& read : history.reads) lines.emplace_back(read.began, line(read));
  for (const Read& read : history.finals) lines.emplace_back(read.began, line(read));
  for (const Fault& fault : history.faults) lines.emplace_back(fault.began, line(fault));
  std::stable_sort(lines.begin(), lines.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  out << "# began\tended\twhat\twho\tpreferred node\tkey\tamount or value\tlevel\tanswer\tsaid\n";
  for (const auto& [time, text] : lines) out << text << '\n';
}

}  // namespace quipu::chaos
