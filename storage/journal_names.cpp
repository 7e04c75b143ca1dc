#include "storage/journal_names.h"

namespace quipu {
namespace {

constexpr unsigned kPageBits = 12;
constexpr std::size_t kPage = std::size_t{1} << kPageBits;

constexpr std::size_t kNameBytes = 28;  // about, that an alias saves

}  // namespace

std::size_t journaled_bytes(const Record& record, std::size_t encoded) {
  return encoded + record.aliased.size() * kNameBytes;
}

bool JournalNames::resolve(Record& record) {
  Delta::Cursor entries(record.delta);
  for (const Alias alias : record.aliases) {
    const DeltaEntry entry = entries.next();
    if (alias == Alias{}) continue;
    if (entry.cells.size() != 1) return false;
    give(alias, entry);
  }
  ShardState state{{Cell{}}};
  for (std::size_t i = 0; i < record.aliased.size(); ++i) {
    const Name* const name = find(record.aliased[i]);
    if (name == nullptr) return false;
    state.cells[0] = {name->actor, record.delta.commit(), record.aliased_sums[i], {}, 0};
    record.delta.push({std::string_view(keys_).substr(name->key, name->key_size), name->shard},
                      state);
  }
  record.aliases.clear();
  record.aliased.clear();
  record.aliased_sums.clear();
  return true;
}

void JournalNames::give(Alias alias, const DeltaEntry& entry) {
  const std::size_t page = raw(alias) >> kPageBits;
  if (page >= pages_.size()) pages_.resize(page + 1);
  if (pages_[page].empty()) pages_[page].resize(kPage);
  std::uint32_t& place = pages_[page][raw(alias) % kPage];
  if (place == 0) {
    names_.emplace_back();
    place = static_cast<std::uint32_t>(names_.size());
  }
  names_[place - 1] = {keys_.size(), static_cast<std::uint16_t>(entry.ref.key.size()),
                       entry.ref.shard, entry.cells[0].actor};
  keys_.append(entry.ref.key);
}

const JournalNames::Name* JournalNames::find(Alias alias) const {
  const std::size_t page = raw(alias) >> kPageBits;
  if (page >= pages_.size() || pages_[page].empty()) return nullptr;
  const std::uint32_t place = pages_[page][raw(alias) % kPage];
  return place == 0 ? nullptr : &names_[place - 1];
}

}  // namespace quipu
