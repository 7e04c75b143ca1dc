#include "storage/number_table.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "protocol/check.h"

namespace quipu {
namespace {

// An empty table frees a larger array: it may have been full once.
constexpr std::size_t kKept = 4096;

}  // namespace

void NumberTable::insert(std::uint64_t hash, std::uint32_t number) {
  if (2 * (size_ + 1) > slots_.size()) grow();
  place({tag_of(hash), number});
  ++size_;
  QUIPU_CHECK(2 * size_ <= slots_.size(), "half of the slots are free, so that probes end", size_,
              slots_.size());
}

void NumberTable::place(Slot slot) {
  std::size_t at = home(slot.tag);
  while (slots_[at].tag != 0) at = after(at);
  slots_[at] = slot;
}

void NumberTable::grow() {
  const std::vector<Slot> before = std::exchange(slots_, {});
  slots_.resize(std::max<std::size_t>(16, 2 * before.size()));
  QUIPU_CHECK(std::has_single_bit(slots_.size()), "a mask wraps the table at its end",
              slots_.size());
  for (const Slot& slot : before) {
    if (slot.tag != 0) place(slot);
  }
}

// The following slots move into the gap, unless that would put them before their home.
void NumberTable::erase(std::uint64_t hash, std::uint32_t number) {
  QUIPU_CHECK(size_ > 0, "what is erased is in the table", hash, number);
  std::size_t gap = home(tag_of(hash));
  while (slots_[gap].tag != tag_of(hash) || slots_[gap].number != number) {
    QUIPU_CHECK(slots_[gap].tag != 0, "what is erased is in the table", hash, number);
    gap = after(gap);
  }
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = after(gap); slots_[at].tag != 0; at = after(at)) {
    const std::size_t from_home = (at - home(slots_[at].tag)) & mask;
    if (from_home < ((at - gap) & mask)) continue;
    slots_[gap] = slots_[at];
    gap = at;
  }
  slots_[gap] = {};
  if (--size_ == 0 && slots_.size() > kKept) clear();
}

void NumberTable::clear() {
  slots_ = std::vector<Slot>();
  size_ = 0;
}

}  // namespace quipu
