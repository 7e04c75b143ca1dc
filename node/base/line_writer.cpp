#include "node/base/line_writer.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "node/base/start_thread.h"

namespace quipu {
namespace {

constexpr std::chrono::seconds kFlush{1};

// Another process has made the shared open file non-blocking.
bool wait_for_room(int descriptor) {
  pollfd room{descriptor, POLLOUT, 0};
  return ::poll(&room, 1, -1) >= 0 || errno == EINTR;
}

// Returns how many bytes could be written: all, unless writing fails.
std::size_t write_all(int descriptor, std::string_view bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t written = ::write(descriptor, bytes.data() + done, bytes.size() - done);
    if (written > 0) {
      done += static_cast<std::size_t>(written);
    } else if (written == 0 || (errno == EAGAIN && !wait_for_room(descriptor)) ||
               (errno != EAGAIN && errno != EINTR)) {
      break;
    }
  }
  return done;
}

}  // namespace

struct LineWriter::State {
  const int descriptor;
  const Notice notice;

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> queue;
  std::size_t queued = 0;  // bytes
  std::uint64_t dropped = 0;
  bool stopping = false;
  bool ended = false;

  bool torn = false;  // used by the thread alone: the last line was written in part

  void run();
  [[nodiscard]] std::uint64_t write(const std::vector<std::string>& lines, std::uint64_t lost);
  [[nodiscard]] bool write_line(const std::string& line);
};

void LineWriter::State::run() {
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [this] { return stopping || !queue.empty(); });
    if (queue.empty()) break;
    // The dropped lines came after the queued ones.
    const std::vector<std::string> lines = std::exchange(queue, {});
    const std::uint64_t lost = std::exchange(dropped, 0);
    queued = 0;
    lock.unlock();
    const std::uint64_t untold = write(lines, lost);
    lock.lock();
    dropped += untold;
  }
  ended = true;
  changed.notify_all();
}

// How many lines are lost without a notice.
std::uint64_t LineWriter::State::write(const std::vector<std::string>& lines, std::uint64_t lost) {
  for (const std::string& line : lines) {
    if (!write_line(line)) ++lost;
  }
  if (lost == 0 || !notice || !write_line(notice(lost))) return lost;
  return 0;
}

bool LineWriter::State::write_line(const std::string& line) {
  if (torn && write_all(descriptor, "\n") == 0) return false;
  const std::size_t written = write_all(descriptor, line);
  torn = written > 0 && written < line.size();
  return written == line.size();
}

LineWriter::LineWriter(int descriptor, Notice notice)
    : state_(new State{.descriptor = descriptor,
                       .notice = std::move(notice),
                       .mutex = {},
                       .changed = {},
                       .queue = {}}),
      thread_(start_thread("quipu-log", [state = state_] { state->run(); })) {}

LineWriter::~LineWriter() {
  bool ended = false;
  {
    std::unique_lock lock(state_->mutex);
    state_->stopping = true;
    state_->changed.notify_all();
    ended = state_->changed.wait_for(lock, kFlush, [this] { return state_->ended; });
  }
  ended ? thread_.join() : thread_.detach();
}

void LineWriter::put(std::string line) {
  const std::lock_guard lock(state_->mutex);
  if (state_->queued + line.size() > kMaxQueued) {
    ++state_->dropped;
    return;
  }
  state_->queued += line.size();
  state_->queue.push_back(std::move(line));
  state_->changed.notify_all();
}

}  // namespace quipu
