#include "cluster/retry/token_window.h"

#include "protocol/check.h"

namespace quipu {

Token TokenWindow::take() {
  QUIPU_CHECK(!full(), "a full window takes no number", serial_, floor_, next_);
  const std::uint64_t number = next_++;
  QUIPU_CHECK(!outstanding_.test(number % kWindow), "a number is outstanding once", serial_,
              number);
  outstanding_.set(number % kWindow);
  return {.store = store_, .serial = serial_, .number = number, .floor = floor_};
}

void TokenWindow::settle(std::uint64_t number) {
  if (number < floor_ || number >= next_) return;
  outstanding_.reset(number % kWindow);
  while (floor_ < next_ && !outstanding_.test(floor_ % kWindow)) ++floor_;
  QUIPU_CHECK(floor_ <= next_ && next_ - floor_ <= kWindow,
              "the floor passes no outstanding number", floor_, next_);
}

}  // namespace quipu
