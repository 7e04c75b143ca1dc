// top_error: how good the lists of `top` are, beside those of HeavyKeeper.
//
//   for each skew: a stream of items ─▶ top, on 1 node and on 3 │ HeavyKeeper (Gong et al. 2018)
//                                        list ─▶ recall, bounds │ list ─▶ recall
//
// Prints a table in Markdown. Item i comes i^−skew as often as the first. Recall is the share of
// the k most frequent items that the list has. Exit 1: a recall of `top` is below the bar, its
// first ten are not the true ones in order, or a count is not within its bounds. The streams are
// the same in each run.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/keyed_hash.h"
#include "protocol/random.h"
#include "storage/kinds/top.h"

namespace quipu::bench {
namespace {

constexpr double kLeastRecall = 0.98;
constexpr std::uint64_t kBatch = 100;  // items of an op

struct Options {
  std::uint64_t adds = 1'000'000;
  std::uint64_t items = 100'000;
  std::uint32_t k = 50;
};

using Stream = std::vector<std::uint64_t>;

std::string name_of(std::uint64_t item) { return "item" + std::to_string(item); }
std::uint64_t number_of(std::string_view name) { return std::stoull(std::string(name.substr(4))); }

Stream zipf(double skew, const Options& options) {
  std::vector<double> sums;
  double sum = 0;
  for (std::uint64_t i = 1; i <= options.items; ++i)
    sums.push_back(sum += std::pow(static_cast<double>(i), -skew));
  Random random(1);
  Stream stream(options.adds);
  for (std::uint64_t& item : stream) {
    const double at = sum * static_cast<double>(random.next() >> 11) * 0x1p-53;
    item = static_cast<std::uint64_t>(std::ranges::upper_bound(sums, at) - sums.begin());
    item = std::min(item, options.items - 1);
  }
  return stream;
}

// What was really counted.
struct Truth {
  std::vector<std::uint64_t> counts{};
  Stream ranking{};  // all items, the most frequent first

  Truth(const Stream& stream, std::uint64_t items) : counts(items), ranking(items) {
    for (const std::uint64_t item : stream) ++counts[item];
    for (std::uint64_t item = 0; item < items; ++item) ranking[item] = item;
    std::ranges::stable_sort(ranking, [&](auto a, auto b) { return counts[a] > counts[b]; });
  }
  // The share of a list of k items that is right. An item as frequent as the last true one is
  // right, too.
  [[nodiscard]] double recall(const Stream& list, std::uint32_t k) const {
    const std::uint64_t least = counts[ranking[k - 1]];
    const auto is_found = [&](std::uint64_t item) { return counts[item] >= least; };
    return static_cast<double>(std::ranges::count_if(list, is_found)) / k;
  }
  [[nodiscard]] bool begins_with_the_first_ten(const Stream& list) const {
    return list.size() >= 10 && std::equal(list.begin(), list.begin() + 10, ranking.begin());
  }
};

struct Result {
  Stream list{};
  bool bounds_hold = true;
  std::size_t certain = 0;  // items of the list
  std::size_t bytes = 0;    // of the body
};

// ---- top ----

void apply(std::string& body, const std::string& words, std::uint64_t node) {
  Edit edit(body.data(), body.size());
  std::string reply;
  const KindOp op{.words = words, .actor = ActorId{node + 1}};
  if (kTop.apply(edit, op, reply) != Code::ok) throw std::runtime_error("an op was refused");
  if (edit.replaced()) body = std::move(*edit.replaced());
}
std::string ask(std::string_view body, std::string_view question) {
  const std::array<std::string_view, 1> bodies{body};
  std::string reply;
  if (kTop.answer(bodies, question, reply) != Code::ok)
    throw std::runtime_error("the question was refused");
  return reply;
}

// The nodes take turns, and their bodies are joined at the end.
std::string count(const Stream& stream, std::uint64_t nodes, std::uint32_t k) {
  std::vector<std::string> bodies(nodes);
  for (std::uint64_t node = 0; node < nodes; ++node)
    apply(bodies[node], top::words_to_begin({.k = k}), node);
  for (std::uint64_t begin = 0; begin < stream.size(); begin += kBatch) {
    std::vector<std::string> names;
    for (std::uint64_t i = begin; i < std::min(stream.size(), begin + kBatch); ++i)
      names.push_back(name_of(stream[i]));
    std::vector<top::Increment> increments;
    for (const std::string& name : names) increments.push_back({name});
    const std::uint64_t node = begin / kBatch % nodes;
    apply(bodies[node], top::words_to_add(increments), node);
  }
  std::string all;
  for (const std::string& body : bodies) {
    Edit edit(all.data(), all.size());
    kTop.join(edit, body);
    if (edit.replaced()) all = std::move(*edit.replaced());
  }
  return all;
}

Result measure_top(const Stream& stream, const Truth& truth, std::uint64_t nodes, std::uint32_t k) {
  const std::string body = count(stream, nodes, k);
  Result result{.bytes = body.size()};
  const auto list = top::list(ask(body, top::kListQuestion));
  for (const top::Listed& each : list.value()) {
    result.list.push_back(number_of(each.item));
    result.certain += each.certain ? 1 : 0;
  }
  std::vector<std::string> names;
  for (std::uint64_t item = 0; item < truth.counts.size(); ++item) names.push_back(name_of(item));
  const auto standings = top::standings(ask(body, top::question_about(names))).value();
  for (std::uint64_t item = 0; item < truth.counts.size(); ++item) {
    const top::Standing& standing = standings.at(item);
    if (truth.counts[item] < standing.lower || truth.counts[item] > standing.upper)
      result.bounds_hold = false;
  }
  return result;
}

// ---- HeavyKeeper ----

// Rows of buckets (fingerprint, count). An item whose bucket has another fingerprint makes the
// count there one less with the probability decay^count, and takes the bucket at 0. An item's count
// is the greatest of its buckets. The k items with the greatest counts are kept with their names.
class HeavyKeeper {
 public:
  HeavyKeeper(std::size_t width, std::size_t depth, double decay, std::size_t k)
      : width_(width), decay_(decay), k_(k), rows_(depth, std::vector<Bucket>(width)) {}

  void add(std::uint64_t item) {
    const std::uint64_t fingerprint = hash(item, 0) | 1;
    std::uint64_t count = 0;
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      Bucket& bucket = rows_[row][hash(item, row + 1) % width_];
      if (bucket.count == 0) {
        bucket = {fingerprint, 1};
      } else if (bucket.fingerprint == fingerprint) {
        ++bucket.count;
      } else if (chance() < std::pow(decay_, static_cast<double>(bucket.count)) &&
                 --bucket.count == 0) {
        bucket = {fingerprint, 1};
      }
      if (bucket.fingerprint == fingerprint) count = std::max(count, bucket.count);
    }
    rank(item, count);
  }
  [[nodiscard]] Stream list() const {
    Stream items;
    for (const auto& [count, item] : list_) items.push_back(item);
    return items;
  }

 private:
  struct Bucket {
    std::uint64_t fingerprint = 0;
    std::uint64_t count = 0;
  };

  static std::uint64_t hash(std::uint64_t item, std::uint64_t row) {
    return hash64(HashKey{row}, name_of(item));
  }
  double chance() { return static_cast<double>(random_.next() >> 11) * 0x1p-53; }
  void rank(std::uint64_t item, std::uint64_t count) {
    const auto at = std::ranges::find(list_, item, &Ranked::second);
    if (at != list_.end())
      at->first = std::max(at->first, count);
    else if (list_.size() < k_)
      list_.emplace_back(count, item);
    else if (count > list_.back().first)
      list_.back() = {count, item};
    std::ranges::stable_sort(list_, std::greater<>(), &Ranked::first);
  }

  using Ranked = std::pair<std::uint64_t, std::uint64_t>;  // count, item
  std::size_t width_;
  double decay_;
  std::size_t k_;
  std::vector<std::vector<Bucket>> rows_;
  std::vector<Ranked> list_;
  Random random_{1};
};

Stream list_of_heavy_keeper(const Stream& stream, std::uint32_t k) {
  HeavyKeeper heavy_keeper(8, 7, 0.9, k);  // as RedisBloom's TOPK.RESERVE, if nothing is said
  for (const std::uint64_t item : stream) heavy_keeper.add(item);
  return heavy_keeper.list();
}

// ---- the table ----

const char* yes_or_no(bool holds) { return holds ? "yes" : "no"; }

// Whether the bar is met.
bool print_top(double skew, std::uint64_t nodes, const Result& result, const Truth& truth,
               std::uint32_t k) {
  const double recall = truth.recall(result.list, k);
  const bool first_ten = truth.begins_with_the_first_ten(result.list);
  std::printf("| %.1f | top, nodes: %llu | %.2f | %s | %s | %zu | %zu |\n", skew,
              static_cast<unsigned long long>(nodes), recall, yes_or_no(first_ten),
              yes_or_no(result.bounds_hold), result.certain, result.bytes);
  return recall >= kLeastRecall && first_ten && result.bounds_hold;
}

bool measure(double skew, const Options& options) {
  const Stream stream = zipf(skew, options);
  const Truth truth(stream, options.items);
  bool met = true;
  for (const std::uint64_t nodes : {1U, 3U})
    met = print_top(skew, nodes, measure_top(stream, truth, nodes, options.k), truth, options.k) &&
          met;
  const Stream list = list_of_heavy_keeper(stream, options.k);
  std::printf("| %.1f | HeavyKeeper 8 × 7 | %.2f | %s | none | none | |\n", skew,
              truth.recall(list, options.k), yes_or_no(truth.begins_with_the_first_ten(list)));
  return met;
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("How good lists of the most frequent items are.", "top_error");
  app.add_option("--adds", options.adds)->check(CLI::Range(1000, 1'000'000'000));
  app.add_option("--items", options.items)->check(CLI::Range(1000, 100'000'000));
  app.add_option("--k", options.k)->check(CLI::Range(10, 100))->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  std::printf("%llu adds, %llu items, k = %u\n\n", static_cast<unsigned long long>(options.adds),
              static_cast<unsigned long long>(options.items), options.k);
  std::printf("| skew | sketch | recall | first ten in order | bounds hold | certain | bytes |\n");
  std::printf("|---|---|---|---|---|---|---|\n");
  bool met = true;
  for (const double skew : {0.9, 1.0, 1.2}) met = measure(skew, options) && met;
  return met ? 0 : 1;
}

}  // namespace
}  // namespace quipu::bench

int main(int argc, char** argv) {
  try {
    return quipu::bench::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "top_error: %s\n", error.what());
    return 1;
  }
}
