#include "storage/journal_aliases.h"

namespace quipu {

void JournalAliases::give(Alias alias, const Target& target) {
  const std::size_t number = raw(alias) / kPage;
  if (number >= pages_.size()) pages_.resize(number + 1);
  if (pages_[number] == nullptr) pages_[number] = std::make_unique<Page>();
  pages_[number]->entries[raw(alias) % kPage] = target.entry;
  pages_[number]->actors[raw(alias) % kPage] = target.actor;
}

JournalAliases::Target JournalAliases::find(Alias alias) const {
  const Page* const in = page(alias);
  if (in == nullptr) return {};
  return {in->entries[raw(alias) % kPage], in->actors[raw(alias) % kPage]};
}

void JournalAliases::prefetch(Alias alias) const {
  const Page* const in = page(alias);
  if (in == nullptr) return;
  __builtin_prefetch(&in->entries[raw(alias) % kPage]);
  __builtin_prefetch(&in->actors[raw(alias) % kPage]);
}

JournalAliases::Page* JournalAliases::page(Alias alias) const {
  const std::size_t number = raw(alias) / kPage;
  return number < pages_.size() ? pages_[number].get() : nullptr;
}

}  // namespace quipu
