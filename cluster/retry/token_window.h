// token_window.h: the asker's side of one session: which numbers are in use, and which of
// them may still be sent again.
//
//   settled … settled │ floor: outstanding … settled … outstanding │ next
//
// The executor forgets numbers below the floor and refuses numbers kWindow or more above it.
// So if the window is full, open another session.
//
// Invariant: the floor never passes an outstanding number, and never decreases.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>

#include "protocol/ids.h"
#include "protocol/state.h"

namespace quipu {

class TokenWindow {
 public:
  static constexpr std::size_t kWindow = 1024;  // TokenLimits::window is the executor's side

  TokenWindow(StoreId store, Serial serial) : store_(store), serial_(serial) {}

  [[nodiscard]] bool full() const { return next_ - floor_ >= kWindow; }
  // No number is outstanding.
  [[nodiscard]] bool idle() const { return next_ == floor_; }
  // The next number, outstanding from now on. REQUIRES: !full()
  [[nodiscard]] Token take();
  // `number` will never be sent again. Once settled, a second time does nothing.
  void settle(std::uint64_t number);

  // The lowest outstanding number, or the next one. Every token carries it, also a retried one.
  [[nodiscard]] std::uint64_t floor() const { return floor_; }
  [[nodiscard]] StoreId store() const { return store_; }
  [[nodiscard]] Serial serial() const { return serial_; }

 private:
  StoreId store_;
  Serial serial_;
  std::uint64_t floor_ = 1;
  std::uint64_t next_ = 1;
  std::bitset<kWindow> outstanding_;  // by number mod kWindow, for floor_ … next_ - 1
};

}  // namespace quipu
