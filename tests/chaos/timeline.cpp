// timeline.cpp: the picture of a run, as SVG.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <ostream>

#include "tests/chaos/report.h"

namespace quipu::chaos {
namespace {

constexpr double kLeft = 130, kWidth = 1040;
constexpr double kPanel = 150, kGap = 40, kRow = 16;

std::string number(double value) {
  char text[32];
  return {text, static_cast<std::size_t>(std::snprintf(text, sizeof text, "%.1f", value))};
}

std::string escape(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '&')
      out += "&amp;";
    else
      out += c;
  }
  return out;
}

struct Second {
  std::size_t ok = 0, refused = 0, unknown = 0;
  std::vector<double> latencies;  // ms

  [[nodiscard]] double quantile(double q) {
    if (latencies.empty()) return 0;
    std::sort(latencies.begin(), latencies.end());
    return latencies[std::min(latencies.size() - 1,
                              static_cast<std::size_t>(static_cast<double>(latencies.size()) * q))];
  }
};

class Picture {
 public:
  Picture(const Run& run, const History& history, std::ostream& out)
      : run_(run), history_(history), out_(out) {
    for (const Add& add : history.adds) take(add.invoked, add.ended, add.answer);
    for (const Read& read : history.reads) {
      take(read.began, read.ended, read.value ? Answer::ok : Answer::fail);
    }
    for (const Fault& fault : history.faults) rows_.try_emplace(fault.kind, 0);
    double y = fault_top() + 14;
    for (auto& [kind, at] : rows_) {
      at = y;
      y += kRow;
    }
    bottom_ = y + 24;
  }

  void draw() {
    out_ << "<svg xmlns='http://www.w3.org/2000/svg' width='1200' height='" << number(bottom_)
         << "' font-family='sans-serif' font-size='11'>\n<rect width='100%' height='100%' "
            "fill='white'/>\n";
    text(kLeft, 18,
         "Quipu chaos test, seed " + std::to_string(run_.seed) + ": " +
             (run_.passed() ? "passed" : "FAILED"),
         "start");
    shade_faults();
    draw_throughput();
    draw_latency();
    draw_faults();
    draw_seconds();
    out_ << "</svg>\n";
  }

 private:
  static constexpr double kTop = 40;
  static double latency_top() { return kTop + kPanel + kGap; }
  static double fault_top() { return latency_top() + kPanel + kGap; }

  void take(Time began, Time ended, Answer answer) {
    if (ended == kNever) return;
    const auto at = static_cast<std::size_t>(std::chrono::duration<double>(ended).count());
    if (at >= seconds_.size()) seconds_.resize(at + 1);
    Second& second = seconds_[at];
    if (answer == Answer::ok) {
      ++second.ok;
      second.latencies.push_back(std::chrono::duration<double, std::milli>(ended - began).count());
    } else {
      ++(answer == Answer::fail ? second.refused : second.unknown);
    }
  }

  [[nodiscard]] double x(double second) const {
    return kLeft + kWidth * second / static_cast<double>(std::max<std::size_t>(seconds_.size(), 1));
  }
  [[nodiscard]] double x(Time time) const {
    const double end = static_cast<double>(seconds_.size());
    return x(std::min(std::chrono::duration<double>(time).count(), end));
  }

  void text(double at_x, double at_y, const std::string& what, const char* anchor) {
    out_ << "<text x='" << number(at_x) << "' y='" << number(at_y) << "' text-anchor='" << anchor
         << "'>" << escape(what) << "</text>\n";
  }
  void rect(double at_x, double at_y, double width, double height, const char* style) {
    out_ << "<rect x='" << number(at_x) << "' y='" << number(at_y) << "' width='" << number(width)
         << "' height='" << number(height) << "' " << style << "/>\n";
  }

  void shade_faults() {
    for (const Fault& fault : history_.faults) {
      rect(x(fault.began), kTop, std::max(x(fault.ended) - x(fault.began), 1.0),
           fault_top() - kGap - kTop, "fill='#d33' fill-opacity='0.07'");
    }
  }

  void draw_throughput() {
    std::size_t most = 1;
    for (const Second& s : seconds_) most = std::max(most, s.ok + s.refused + s.unknown);
    const double base = kTop + kPanel, scale = kPanel / static_cast<double>(most);
    text(kLeft - 8, kTop + 10, std::to_string(most) + " operations/s", "end");
    text(kLeft - 8, kTop + 30, "ok", "end");
    rect(kLeft - 40, kTop + 22, 10, 10, "fill='#4a8'");
    text(kLeft - 8, kTop + 45, "refused", "end");
    rect(kLeft - 65, kTop + 37, 10, 10, "fill='#ea3'");
    text(kLeft - 8, kTop + 60, "unknown", "end");
    rect(kLeft - 70, kTop + 52, 10, 10, "fill='#c3c'");
    for (std::size_t i = 0; i < seconds_.size(); ++i) {
      const double left = x(static_cast<double>(i)), width = x(1.0) - x(0.0);
      double y = base;
      const auto stack = [&](std::size_t count, const char* style) {
        if (count == 0) return;
        const double height = static_cast<double>(count) * scale;
        y -= height;
        rect(left, y, width, height, style);
      };
      stack(seconds_[i].ok, "fill='#4a8'");
      stack(seconds_[i].refused, "fill='#ea3'");
      stack(seconds_[i].unknown, "fill='#c3c'");
    }
  }

  // From 0.1 ms to 100 s, on a logarithmic scale.
  [[nodiscard]] static double height_of(double ms) {
    return latency_top() + kPanel - kPanel * (std::log10(std::clamp(ms, 0.1, 1e5)) + 1) / 6;
  }

  void draw_latency() {
    for (const auto& [ms, label] : {std::pair{1.0, "1 ms"}, {100.0, "100 ms"}, {10000.0, "10 s"}}) {
      text(kLeft - 8, height_of(ms) + 4, label, "end");
      rect(kLeft, height_of(ms), kWidth, 0.5, "fill='#ccc'");
    }
    text(kLeft, latency_top() - 6,
         "latency of what was ok: median (blue) and 99th percentile (grey)", "start");
    for (const auto& [quantile, colour] : {std::pair{0.99, "#999"}, {0.5, "#26c"}}) {
      out_ << "<polyline fill='none' stroke='" << colour << "' points='";
      for (std::size_t i = 0; i < seconds_.size(); ++i) {
        if (seconds_[i].latencies.empty()) continue;
        out_ << number(x(static_cast<double>(i) + 0.5)) << ','
             << number(height_of(seconds_[i].quantile(quantile))) << ' ';
      }
      out_ << "'/>\n";
    }
  }

  void draw_faults() {
    for (const auto& [kind, y] : rows_) text(kLeft - 8, y + 10, kind, "end");
    for (const Fault& fault : history_.faults) {
      out_ << "<rect x='" << number(x(fault.began)) << "' y='" << number(rows_.at(fault.kind))
           << "' width='" << number(std::max(x(fault.ended) - x(fault.began), 2.0))
           << "' height='12' fill='#d33'><title>" << escape(fault.what) << "</title></rect>\n";
    }
  }

  void draw_seconds() {
    const std::size_t step = std::max<std::size_t>(seconds_.size() / 10, 1);
    for (std::size_t i = 0; i < seconds_.size(); i += step) {
      text(x(static_cast<double>(i)), bottom_ - 8, std::to_string(i) + " s", "middle");
    }
  }

  const Run& run_;
  const History& history_;
  std::ostream& out_;
  std::vector<Second> seconds_;
  std::map<std::string, double> rows_;  // kind: top
  double bottom_ = 0;
};

}  // namespace

void write_timeline(const Run& run, const History& history, std::ostream& out) {
  Picture(run, history, out).draw();
}

}  // namespace quipu::chaos
