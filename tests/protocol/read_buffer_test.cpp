#include "protocol/read_buffer.h"

#include <gtest/gtest.h>

#include <cstring>

namespace quipu::test {
namespace {

constexpr std::size_t kRead = std::size_t{64} << 10;

TEST(ReadBuffer, GivesBackTheRoomOfALongMessageOnceItWasRead) {
  ReadBuffer in;
  (void)in.prepare(std::size_t{1} << 20);
  in.commit(std::size_t{1} << 20);
  in.consume(std::size_t{1} << 20);
  (void)in.prepare(kRead);
  EXPECT_EQ(in.held(), kRead);
}

TEST(ReadBuffer, KeepsWhatIsUnreadWhereverItGoes) {
  ReadBuffer in;
  std::memcpy(in.prepare(kRead).data(), "read, left", 10);
  in.commit(10);
  in.consume(6);
  in.fit();
  EXPECT_EQ(in.unread(), "left");
  EXPECT_EQ(in.held(), 8u);
  (void)in.prepare(kRead);
  EXPECT_EQ(in.unread(), "left");
}

}  // namespace
}  // namespace quipu::test
