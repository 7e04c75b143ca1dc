#include "protocol/item_words.h"

#include <algorithm>
#include <vector>

#include "protocol/check.h"
#include "protocol/distinct_words.h"
#include "protocol/element.h"
#include "protocol/frequency_words.h"
#include "protocol/top_words.h"

namespace quipu {
namespace {

constexpr std::size_t kMostCounted = 1024;
static_assert(kMostCounted <= top::kMaxItems);

std::string distinct_words(HashKey salt, std::span<const Item> items) {
  std::vector<std::uint64_t> hashes;
  hashes.reserve(items.size());
  for (const Item& item : items) hashes.push_back(element_hash(salt, item.name));
  return distinct::words_of(hashes);
}

std::string frequency_words(HashKey salt, std::span<const Item> items) {
  std::vector<frequency::Increment> increments;
  increments.reserve(items.size());
  for (const Item& item : items) increments.push_back({element_hash(salt, item.name), item.count});
  return frequency::words_to_add(increments);
}

std::string top_words(std::span<const Item> items) {
  std::vector<top::Increment> increments;
  increments.reserve(items.size());
  for (const Item& item : items) increments.push_back({item.name, item.count});
  return top::words_to_add(increments);
}

}  // namespace

std::size_t most_items(Kind kind) {
  return kind == Kind::distinct ? distinct::kMaxElements : kMostCounted;
}

std::string objection(Kind kind, std::span<const Item> items) {
  const std::size_t most = most_items(kind);
  if (items.size() > most) return "one call is about at most " + std::to_string(most) + " items";
  const auto is_long = [](const Item& item) { return item.name.size() > top::kMaxItem; };
  if (kind == Kind::top && std::ranges::any_of(items, is_long))
    return "an item has at most 128 bytes";
  return {};
}

std::string words_to_add(Kind kind, HashKey placement, std::span<const Item> items) {
  switch (kind) {
    case Kind::distinct:
      return distinct_words(element_salt(placement), items);
    case Kind::frequency:
      return frequency_words(element_salt(placement), items);
    case Kind::top:
      return top_words(items);
    default:
      QUIPU_CHECK(false, "the kind counts items", kind);
  }
}

std::string question_about(Kind kind, HashKey placement, std::span<const std::string> items) {
  if (kind == Kind::top) return top::question_about(items);
  QUIPU_CHECK(kind == Kind::frequency, "the kind tells counts of items", kind);
  const HashKey salt = element_salt(placement);
  std::vector<std::uint64_t> hashes;
  hashes.reserve(items.size());
  for (const std::string& item : items) hashes.push_back(element_hash(salt, item));
  return frequency::question_about(hashes);
}

}  // namespace quipu
