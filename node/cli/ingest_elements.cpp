#include "node/cli/ingest_elements.h"

#include <algorithm>
#include <string>

#include "node/cli/ingest_line.h"

namespace quipu::cli {

OpenElements::OpenElements(Kind kind, OpenAdds& adds) : kind_(kind), adds_(adds) {
  for (auto& [ticket, one] : adds_) {
    for (const auto& [first, last] : one.add.lines.ranges())
      wanted_.push_back({first, last, &one.add});
  }
  std::ranges::sort(wanted_, {}, &Lines::first);
}

void OpenElements::take(const LineReader::Line& line) {
  while (at_ < wanted_.size() && wanted_[at_].last < line.number) ++at_;
  if (at_ == wanted_.size() || line.number < wanted_[at_].first || line.too_long) return;
  const auto parsed = parse_element_line(line.text, longest_element(kind_));
  if (const auto* const element = std::get_if<std::string_view>(&parsed))
    wanted_[at_].add->elements.emplace_back(*element);
}

bool OpenElements::complete() const {
  return std::ranges::all_of(adds_, [](const auto& entry) {
    const CombinedAdd& add = entry.second.add;
    return static_cast<std::int64_t>(add.elements.size()) == add.amount;
  });
}

}  // namespace quipu::cli
