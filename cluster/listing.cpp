#include "cluster/listing.h"

#include <algorithm>
#include <iterator>

namespace quipu {
namespace {

constexpr std::size_t kPartitionsPerCall = 64;  // bounds the work where little matches

using EntryIterator = std::vector<Entry*>::const_iterator;

// Of the leaf that `at` stands in, and moves it behind. More than an answer may hold
// are in one leaf only if somebody aimed them there, as any client can: of those the
// last are not told, rather than that an answer outgrows its frame.
std::vector<std::string> names_in_leaf(EntryIterator& at, EntryIterator end,
                                       std::string_view prefix) {
  std::vector<std::string> names;
  for (const std::uint8_t leaf = (*at)->leaf(); at != end && (*at)->leaf() == leaf; ++at) {
    const std::string_view key = (*at)->ref().key;
    const bool told = (*at)->shows_counter() && key.starts_with(prefix);
    if (told && names.size() < kMaxListKeys) names.emplace_back(key);
  }
  return names;
}

}  // namespace

void Listing::on_list(ClientId client, const List& list) { out_.answer(client, held(list)); }

void Listing::on_size(ClientId client, const Size& size) {
  out_.answer(client, Sized{size.id, counters_here()});
}

std::uint64_t Listing::counters_here() const {
  std::uint64_t counters = 0;
  for (std::uint16_t p = 0; p < kPartitions; ++p) {
    if (view_.owned(Partition{p})) counters += executor_.map().counters(Partition{p});
  }
  return counters;
}

// In whole leaves, so that a cursor is a place: the first whatever it holds, those
// behind it as far as they fit.
Keys Listing::held(const List& list) const {
  Keys keys{list.id, {}};
  const std::size_t limit = std::clamp<std::size_t>(list.limit, 1, kMaxListKeys);
  std::vector<Entry*> entries;
  keys.next = std::min(list.cursor, kListEnd);
  for (std::size_t work = 0; keys.next < kListEnd && work < kPartitionsPerCall; ++work) {
    const Partition partition{static_cast<std::uint16_t>(keys.next / kLeaves)};
    const std::uint32_t begin = raw(partition) * std::uint32_t{kLeaves};
    entries.clear();
    if (view_.owned(partition)) {
      executor_.map().collect_from(partition, static_cast<std::uint8_t>(keys.next % kLeaves),
                                   entries);
    }
    for (EntryIterator at = entries.begin(); at != entries.end();) {
      const std::uint8_t leaf = (*at)->leaf();
      std::vector<std::string> found = names_in_leaf(at, entries.end(), list.prefix);
      if (!keys.keys.empty() && keys.keys.size() + found.size() > limit) {
        keys.next = begin + leaf;
        return keys;
      }
      std::move(found.begin(), found.end(), std::back_inserter(keys.keys));
    }
    keys.next = begin + std::uint32_t{kLeaves};
  }
  return keys;
}

}  // namespace quipu
