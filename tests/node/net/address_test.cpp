#include "node/net/address.h"

#include <gtest/gtest.h>

namespace quipu::test {
namespace {

TEST(Address, ReadsWhatPeopleWrite) {
  struct Case {
    const char* text;
    const char* host;
    std::uint16_t port;
  };
  for (const auto& [text, host, port] :
       {Case{"127.0.0.1:7400", "127.0.0.1", 7400}, Case{"node-1.example:1", "node-1.example", 1},
        Case{"[::1]:65535", "::1", 65535}, Case{"localhost:0", "localhost", 0}}) {
    const Result<Address> address = parse_address(text);
    ASSERT_TRUE(address.ok()) << text;
    EXPECT_EQ(address->host, host);
    EXPECT_EQ(address->port, port);
    EXPECT_EQ(to_string(*address), text);
  }
}

TEST(Address, RefusesWhatIsNone) {
  for (const char* text : {"", ":", "host", "host:", ":7400", "host:65536", "host:-1", "host:+1",
                           "host: 1", "host:7400x", "::1:7400", "[]:7400", "ho st:1", "[::1]",
                           "http://host:80", "a:1;b:2", "a:1 b:2"}) {
    const Result<Address> address = parse_address(text);
    EXPECT_FALSE(address.ok()) << text;
    EXPECT_EQ(address.status().code(), Code::invalid_argument);
  }
  EXPECT_EQ(parse_address("a:1;b:2").status().detail(),
            "address \"a:1;b:2\" has a host with characters that no host has: write host:port");
}

TEST(Address, AListIsSplitAtItsCommas) {
  using List = std::vector<std::string>;
  EXPECT_EQ(split_addresses("a:1"), List{"a:1"});
  EXPECT_EQ(split_addresses("a:1, [::1]:2 ,\tb:3"), (List{"a:1", "[::1]:2", "b:3"}));
  EXPECT_EQ(split_addresses(""), List{""});
  EXPECT_EQ(split_addresses("a:1,,"), (List{"a:1", "", ""}));
  EXPECT_EQ(split_addresses(" , "), (List{"", ""}));
}

TEST(Address, AListIsNotTakenForOneAddress) {
  const Result<Address> address = parse_address("a:1,b:2");
  ASSERT_FALSE(address.ok());
  EXPECT_EQ(address.status().detail(),
            "address \"a:1,b:2\" is a list, not one address: write host:port");
}

TEST(Address, LoopbackIsWhatOnlyThisMachineReaches) {
  for (const char* host : {"127.0.0.1", "127.8.9.1", "::1", "localhost"}) {
    EXPECT_TRUE(is_loopback({host, 1})) << host;
  }
  for (const char* host : {"0.0.0.0", "::", "10.0.0.1", "localhost.example", "example"}) {
    EXPECT_FALSE(is_loopback({host, 1})) << host;
  }
}

TEST(Address, UnspecifiedIsWhatNobodyCanDial) {
  for (const char* host : {"0.0.0.0", "::", "0:0:0:0:0:0:0:0"}) {
    EXPECT_TRUE(is_unspecified({host, 1})) << host;
  }
  for (const char* host : {"127.0.0.1", "::1", "10.0.0.1", "localhost"}) {
    EXPECT_FALSE(is_unspecified({host, 1})) << host;
  }
}

}  // namespace
}  // namespace quipu::test
