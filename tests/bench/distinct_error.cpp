// distinct_error: how far the estimates of `distinct` are from the truth.
//
//   for each set: add elements ─▶ at 1, 10, 100, … of them: estimate / truth − 1
//
// Prints a table in Markdown. The standard error is the root of the mean square of these errors,
// and the bias is their mean. Exit 1: one of them is above its bar. The bars are for 1,000 sets;
// with fewer sets, chance alone may miss them. The sets are the same in each run.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/random.h"
#include "storage/kinds/distinct.h"

namespace quipu::bench {
namespace {

// A twentieth above the theory, 1.04 / √(registers): room for the chance in 1,000 sets.
struct Bar {
  unsigned precision;
  double most_error;
  // A count is a whole number: rounding alone may bias it by half an element.
  [[nodiscard]] double most_bias(std::size_t size) const {
    return std::max(most_error / 5, 0.5 / static_cast<double>(size));
  }
};
constexpr std::array kBars{Bar{14, 0.0086}, Bar{11, 0.0242}};

constexpr std::size_t kBatch = 1000;  // elements of an op

struct Options {
  std::uint64_t sets = 1000;
  std::size_t most = 1'000'000;
};

class Errors {
 public:
  void add(double error) {
    sum_ += error;
    squares_ += error * error;
    ++count_;
  }
  [[nodiscard]] double bias() const { return sum_ / count_; }
  [[nodiscard]] double standard() const { return std::sqrt(squares_ / count_); }

 private:
  double sum_ = 0, squares_ = 0, count_ = 0;
};

class Counter {
 public:
  explicit Counter(unsigned precision) : precision_(precision) {}

  void add(std::span<const std::uint64_t> hashes) {
    Edit edit(body_.data(), body_.size());
    std::string reply;
    if (kDistinct.apply(edit, {distinct::words_of(hashes), precision_}, reply) != Code::ok)
      throw std::runtime_error("an add was refused");
    if (edit.replaced()) body_ = std::move(*edit.replaced());
  }
  [[nodiscard]] double estimate() const {
    const std::array<std::string_view, 1> bodies{body_};
    std::string reply;
    if (kDistinct.answer(bodies, distinct::kCountQuestion, reply) != Code::ok)
      throw std::runtime_error("the question was refused");
    return static_cast<double>(distinct::count(reply).value());
  }

 private:
  unsigned precision_;
  std::string body_;
};

// Errors at 1, 10, 100, … elements.
std::vector<Errors> measure(unsigned precision, const Options& options) {
  std::vector<Errors> errors;
  for (std::size_t size = 1; size <= options.most; size *= 10) errors.emplace_back();
  for (std::uint64_t set = 0; set < options.sets; ++set) {
    Random random(set);
    Counter counter(precision);
    std::size_t held = 0, size = 1;
    for (Errors& at_size : errors) {
      while (held < size) {
        std::vector<std::uint64_t> hashes(std::min(kBatch, size - held));
        for (std::uint64_t& hash : hashes) hash = random.next();
        counter.add(hashes);
        held += hashes.size();
      }
      at_size.add(counter.estimate() / static_cast<double>(size) - 1);
      size *= 10;
    }
  }
  return errors;
}

// Whether all bars are met.
bool print(const Bar& bar, const std::vector<Errors>& errors) {
  bool met = true;
  std::size_t size = 1;
  for (const Errors& at_size : errors) {
    const bool good =
        at_size.standard() <= bar.most_error && std::abs(at_size.bias()) <= bar.most_bias(size);
    std::printf("| %u | %zu | %.3f%% | %+.3f%% | %s |\n", bar.precision, size,
                100 * at_size.standard(), 100 * at_size.bias(), good ? "" : "missed");
    met = met && good;
    size *= 10;
  }
  return met;
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("The error of estimates of distinct elements.", "distinct_error");
  app.add_option("--sets", options.sets)->check(CLI::Range(1, 1'000'000))->capture_default_str();
  app.add_option("--most", options.most, "elements of a set")
      ->check(CLI::Range(1, 1'000'000'000))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  std::printf("%llu sets\n\n", static_cast<unsigned long long>(options.sets));
  std::printf("| precision | elements | standard error | bias | bar |\n|---|---|---|---|---|\n");
  bool met = true;
  for (const Bar& bar : kBars) met = print(bar, measure(bar.precision, options)) && met;
  return met ? 0 : 1;
}

}  // namespace
}  // namespace quipu::bench

int main(int argc, char** argv) {
  try {
    return quipu::bench::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "distinct_error: %s\n", error.what());
    return 1;
  }
}
