// line_writer.h: writes lines to a descriptor, and never makes its callers wait for it.
//
//   put ─▶ queue ─▶ thread ─write()─▶ descriptor
//    └── the queue is full, or the write fails: the line is dropped and counted,
//        and the count is written in its place as soon as something can be
//
// A pipe whose reader hangs, a stopped terminal or a network file system may block
// write() for ever. O_NONBLOCK would be no way out: it belongs to the open file, which
// this process shares with others, its user's shell for example.
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
  // Bytes that wait; some ten thousand log lines. Up to as many are being written.
  static constexpr std::size_t kMaxQueued = std::size_t{1} << 20;

  // Called on the thread, possibly after the writer is gone: the line that stands for
  // `dropped` others.
  using Notice = std::function<std::string(std::uint64_t dropped)>;

  // `descriptor` must stay open until the process ends.
  explicit LineWriter(int descriptor, Notice notice = {});
  // Waits until all lines are written, at most a second. A thread that is blocked even
  // then is left to the end of the process.
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
