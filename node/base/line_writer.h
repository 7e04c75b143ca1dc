// line_writer.h: writes lines to a descriptor without ever blocking its callers.
//
//   put ─▶ queue ─▶ thread ─write()─▶ descriptor
//    └── the queue is full, or the write fails: the line is dropped and counted. The count is
//        written in its place as soon as writing works again
//
// A pipe whose reader hangs, a stopped terminal or a network file system may block write() for
// ever. O_NONBLOCK does not help: it belongs to the open file, which this process shares with
// others, such as its user's shell.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

namespace quipu {

class LineWriter {
 public:
  // The most waiting bytes: some ten thousand log lines. As many again may be being written.
  static constexpr std::size_t kMaxQueued = std::size_t{1} << 20;

  // Called on the thread, possibly after the writer is gone. Returns the line that replaces
  // `dropped` others.
  using Notice = std::function<std::string(std::uint64_t dropped)>;

  // `descriptor` must stay open until the process ends.
  explicit LineWriter(int descriptor, Notice notice = {});
  // Waits until all lines are written, at most a second. If the thread is blocked even then, it
  // stays until the process ends.
  ~LineWriter();
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  // Any thread. `line` ends with '\n'.
  void put(std::string line);

 private:
  struct State;

  const std::shared_ptr<State> state_;  // shared with the thread
  std::thread thread_;
};

}  // namespace quipu
