#include "storage/journal_aliases.h"

#include "protocol/check.h"

namespace quipu {

void JournalAliases::give(Alias alias, const Target& target) {
  QUIPU_CHECK(alias != Alias{} && target.entry != nullptr,
              "an alias is not 0 and refers to an entry", alias);
  const std::size_t page = raw(alias) / kPage;
  if (page >= pages_.size()) pages_.resize(page + 1);
  if (pages_[page] == nullptr) pages_[page] = std::make_unique<Page>();
  (*pages_[page])[raw(alias) % kPage] = target;
}

const JournalAliases::Target* JournalAliases::find(Alias alias) const {
  const std::size_t page = raw(alias) / kPage;
  if (page >= pages_.size() || pages_[page] == nullptr) return nullptr;
  return &(*pages_[page])[raw(alias) % kPage];
}

}  // namespace quipu
