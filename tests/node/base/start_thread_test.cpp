#include "node/base/start_thread.h"

#include <gtest/gtest.h>

#include <csignal>
#include <initializer_list>

namespace quipu::test {
namespace {

// Whether the calling thread blocks each of these.
bool blocks(std::initializer_list<int> signals) {
  sigset_t now;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &now);
  for (const int number : signals) {
    if (::sigismember(&now, number) != 1) return false;
  }
  return true;
}

TEST(StartThread, OnlyTheNewThreadBlocksSignals) {
  bool blocked = false;
  start_thread("quipu-test", [&] {
    blocked = blocks({SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGTTOU});
  }).join();
  EXPECT_TRUE(blocked);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGTTOU})
    EXPECT_FALSE(blocks({number})) << number;
}

}  // namespace
}  // namespace quipu::test
