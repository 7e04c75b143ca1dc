// An event cannot be left unfinished: the end of its scope does that.
#include "node/cores/core_port.h"

#include <gtest/gtest.h>

#include <asio/io_context.hpp>

#include "node/cores/core_router.h"
#include "storage/memory_store.h"
#include "tests/node/cores/core_alone.h"

namespace quipu::test {
namespace {

class CorePorts : public testing::Test {
 protected:
  asio::io_context io_;
  int now_ = 0;
  int later_ = 0;
  CoreHolder port_{router_, {.now = [this] { ++now_; }, .later = [this] { ++later_; }}};
  CoreRouter router_{io_, port_, nullptr};
};

TEST_F(CorePorts, TheEndOfTheOutermostScopeFinishesOnce) {
  {
    const CorePort::Event outer(port_);
    {
      const CorePort::Event inner(port_);
      const CorePort::Event inner_later(port_, CorePort::End::later);
    }
    EXPECT_EQ(now_, 0);
  }
  EXPECT_EQ(now_, 1);
  EXPECT_EQ(later_, 0);
}

TEST_F(CorePorts, TheOutermostScopeSaysHowItEnds) {
  {
    const CorePort::Event turn(port_, CorePort::End::later);
    const CorePort::Event inner(port_);
  }
  EXPECT_EQ(now_, 0);
  EXPECT_EQ(later_, 1);
}

TEST_F(CorePorts, EffectsOfNestedScopesAreTakenTogether) {
  MemoryDisk disk;
  MemoryStore store(disk);
  port_.set(core_alone(store));
  {
    const CorePort::Event outer(port_);
    outer.effects().replies.push_back({ClientId{1}, Done{}});
    const CorePort::Event inner(port_);
    inner.effects().replies.push_back({ClientId{2}, Done{}});
  }
  EXPECT_EQ(port_.finish_batch(NodeClock::now()).replies.size(), 2u);
  EXPECT_TRUE(port_.effects().replies.empty());
}

}  // namespace
}  // namespace quipu::test
