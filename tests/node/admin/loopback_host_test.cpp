// Which Host headers a loopback address answers.
#include "node/admin/loopback_host.h"

#include <gtest/gtest.h>

#include <string>

namespace quipu::test {
namespace {

TEST(LoopbackHost, IsANameOrAnAddressThatOnlyThisMachineHas) {
  for (const char* const host : {"localhost", "localhost:7402", "LocalHost", "127.0.0.1",
                                 "127.0.0.1:7402", "127.9.8.7", "[::1]", "[::1]:7402"})
    EXPECT_TRUE(names_loopback(host)) << host;
}

TEST(LoopbackHost, IsNoNameThatSomebodyElseMayOwn) {
  for (const char* const host :
       {"", ":", "example.com", "example.com:7402", "127.0.0.1.example.com", "127.example.com",
        "localhost.example.com", "localhost:x", "10.0.0.1", "[::2]", "[::1", "[::1]x", "::1",
        "0.0.0.0", "127.0.0.1:80@example.com"})
    EXPECT_FALSE(names_loopback(host)) << host;
}

}  // namespace
}  // namespace quipu::test
