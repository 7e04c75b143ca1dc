#include "node/cli/ingest_combiner.h"

#include <utility>

namespace quipu::cli {
namespace {

std::size_t memory_of(std::string_view element) { return sizeof(std::string) + element.size(); }

}  // namespace

void IngestCombiner::put(std::uint64_t line, std::string_view key, std::int64_t amount) {
  if (const auto at = newest_.find(key); at != newest_.end()) {
    CombinedAdd& add = *at->second;
    std::int64_t sum = 0;
    const bool fits = !__builtin_add_overflow(add.amount, amount, &sum);
    if (fits && add.lines.ranges().size() < kMaxRanges) {
      add.amount = sum;
      add.lines.add(line);
      return;
    }
    newest_.erase(at);
  }
  waiting_.push_back({std::string(key), amount, {}});
  waiting_.back().lines.add(line);
  newest_.emplace(waiting_.back().key, std::prev(waiting_.end()));
}

void IngestCombiner::put_element(std::uint64_t line, std::string_view key,
                                 std::string_view element) {
  const bool room = !waiting_.empty() && waiting_.back().elements.size() < kMaxElements &&
                    waiting_.back().lines.ranges().size() < kMaxRanges;
  if (!room) waiting_.push_back({std::string(key), 0, {}});
  CombinedAdd& add = waiting_.back();
  ++add.amount;
  add.lines.add(line);
  add.elements.emplace_back(element);
  element_bytes_ += memory_of(element);
}

std::optional<CombinedAdd> IngestCombiner::take() {
  if (waiting_.empty()) return std::nullopt;
  const auto newest = newest_.find(waiting_.front().key);
  if (newest != newest_.end() && newest->second == waiting_.begin()) newest_.erase(newest);
  CombinedAdd add = std::move(waiting_.front());
  waiting_.pop_front();
  for (const std::string& element : add.elements) element_bytes_ -= memory_of(element);
  return add;
}

}  // namespace quipu::cli
