#include "cluster/retry/token_window.h"

#include <cassert>

namespace quipu {

Token TokenWindow::take() {
  assert(!full());
  const std::uint64_t number = next_++;
  outstanding_.set(number % kWindow);
  return {.store = store_, .serial = serial_, .number = number, .floor = floor_};
}

void TokenWindow::settle(std::uint64_t number) {
  if (number < floor_ || number >= next_) return;
  outstanding_.reset(number % kWindow);
  while (floor_ < next_ && !outstanding_.test(floor_ % kWindow)) ++floor_;
}

}  // namespace quipu
