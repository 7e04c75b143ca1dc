#include "node/base/line_writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <sstream>
#include <string>
#include <utility>

namespace quipu::test {
namespace {

// Two connected descriptors, the one that is read and the one that is written.
struct Ends {
  int read = -1;
  int write = -1;

  ~Ends() {
    close_reader();
    if (write >= 0) ::close(write);
  }
  void close_reader() {
    if (read >= 0) ::close(std::exchange(read, -1));
  }
  void fill() const {
    const int flags = ::fcntl(write, F_GETFL);
    ::fcntl(write, F_SETFL, flags | O_NONBLOCK);
    while (::write(write, "#", 1) == 1) {
    }
    ::fcntl(write, F_SETFL, flags);
  }
  // Until no more comes.
  [[nodiscard]] std::string rest() {
    ::close(std::exchange(write, -1));
    std::string text;
    std::array<char, 4096> piece{};
    for (ssize_t n = 0; (n = ::read(read, piece.data(), piece.size())) > 0;)
      text.append(piece.data(), static_cast<std::size_t>(n));
    return text;
  }
};

void make_pipe(Ends& ends) {
  std::array<int, 2> both{};
  ASSERT_EQ(::pipe2(both.data(), O_CLOEXEC), 0);
  ends.read = both[0];
  ends.write = both[1];
}

void make_sockets(Ends& ends) {
  std::array<int, 2> both{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both.data()), 0);
  ends.read = both[0];
  ends.write = both[1];
}

std::string count_dropped(std::uint64_t dropped) {
  return "dropped " + std::to_string(dropped) + "\n";
}

TEST(LineWriter, WritesEverythingInOrderBeforeItIsGone) {
  Ends ends;
  make_pipe(ends);
  {
    LineWriter writer(ends.write);
    for (const char* const line : {"a\n", "b\n", "c\n"}) writer.put(line);
  }
  EXPECT_EQ(ends.rest(), "a\nb\nc\n");
}

// A reader that hangs, on each kind of descriptor that can be full.
TEST(LineWriter, IsNotHeldUpByAReaderThatHangs) {
  for (const auto make : {make_pipe, make_sockets}) {
    Ends ends;
    make(ends);
    ends.fill();
    // The thread is left behind, so its descriptor stays open, too.
    LineWriter writer(std::exchange(ends.write, -1));
    writer.put("the thread waits with this one\n");
    writer.put("and with this one\n");
  }
}

// Reads until lines and notices account for `count` lines, each in its place.
void expect_lines_and_gaps(int from, std::uint64_t count) {
  std::string text;
  std::array<char, 4096> piece{};
  std::uint64_t next = 0;
  bool gap = false;
  while (next < count) {
    const ssize_t n = ::read(from, piece.data(), piece.size());
    ASSERT_GT(n, 0);
    text.append(piece.data(), static_cast<std::size_t>(n));
    for (std::size_t end = 0; (end = text.find('\n')) != text.npos; text.erase(0, end + 1)) {
      std::istringstream line(text.substr(text.find_first_not_of('#')));
      std::string word;
      std::uint64_t number = 0;
      line >> word >> number;
      if (word == "dropped") {
        gap = true;
        next += number;
      } else {
        ASSERT_EQ(number, next++) << word;
      }
    }
  }
  EXPECT_EQ(next, count);
  EXPECT_TRUE(gap);
}

TEST(LineWriter, CountsWhatItDroppedWhereItWouldHaveStood) {
  Ends ends;
  make_pipe(ends);
  ends.fill();
  constexpr std::uint64_t kLines = 3 * LineWriter::kMaxQueued / 1024;
  {
    LineWriter writer(ends.write, count_dropped);
    for (std::uint64_t i = 0; i < kLines; ++i) {
      std::string line = "line " + std::to_string(i) + ' ';
      line.resize(1023, '.');
      writer.put(line + '\n');
    }
    expect_lines_and_gaps(ends.read, kLines);
    writer.put("there is room again\n");
  }
  EXPECT_EQ(ends.rest(), "there is room again\n");
}

// As a terminal that a shell or another program has switched to that.
TEST(LineWriter, WaitsForRoomInAFileThatAnotherProcessMadeNonBlocking) {
  Ends ends;
  make_pipe(ends);
  ASSERT_EQ(::fcntl(ends.write, F_SETFL, O_NONBLOCK), 0);
  const int room = ::fcntl(ends.write, F_GETPIPE_SZ);
  const std::string line = std::string(static_cast<std::size_t>(room), 'x') + '\n';
  std::string text(line.size() * 2, '\0');
  {
    LineWriter writer(ends.write, count_dropped);
    writer.put(line);
    writer.put(line);
    for (std::size_t at = 0; at < text.size();) {
      const ssize_t n = ::read(ends.read, text.data() + at, text.size() - at);
      ASSERT_GT(n, 0);
      at += static_cast<std::size_t>(n);
    }
  }
  EXPECT_EQ(text, line + line);
  EXPECT_EQ(ends.rest(), "");
}

TEST(LineWriter, SurvivesAReaderThatIsGone) {
  Ends ends;
  make_pipe(ends);
  ends.close_reader();
  LineWriter writer(ends.write, count_dropped);
  writer.put("nobody reads this\n");
}

// A file on a disk that has no room for a while.
TEST(LineWriter, CountsWhatCouldNotBeWrittenOnceSomethingCan) {
  Ends ends;
  make_pipe(ends);
  const int file = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  {
    LineWriter writer(file, [&](std::uint64_t dropped) {
      if (dropped == 2) ::dup2(ends.write, file);  // there is room now
      return count_dropped(dropped);
    });
    writer.put("lost\n");
    writer.put("lost, too\n");
  }
  ::close(file);
  EXPECT_EQ(ends.rest(), "dropped 2\n");
}

TEST(LineWriter, BeginsANewLineBehindOneThatWasCutOff) {
  Ends broken;
  Ends sound;
  make_pipe(broken);
  make_pipe(sound);
  const int file = ::dup(broken.write);
  {
    LineWriter writer(file, [&](std::uint64_t dropped) {
      ::dup2(sound.write, file);
      return count_dropped(dropped);
    });
    writer.put(std::string(LineWriter::kMaxQueued - 1, 'x') + '\n');
    char first = 0;
    ASSERT_EQ(::read(broken.read, &first, 1), 1);  // it has begun
    broken.close_reader();
  }
  ::close(file);
  EXPECT_EQ(sound.rest(), "\ndropped 1\n");
}

}  // namespace
}  // namespace quipu::test
