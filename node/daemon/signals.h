// signals.h: the meaning of each signal for quipud.
//
//   stops the node   SIGINT SIGTERM SIGQUIT SIGUSR1 SIGUSR2 SIGALRM SIGVTALRM SIGPROF SIGIO
//                    SIGPWR SIGSTKFLT SIGXCPU and the real-time signals; with
//                    Hangup::stops also SIGHUP, and the end of the terminal
//   reloads          SIGHUP with Hangup::reloads: the node reads its settings again
//   ignored          SIGPIPE (a reader of stderr is gone), SIGXFSZ (the write that was too
//                    large fails instead)
//   left alone       the others: they report a crash, control jobs or are ignored by default
//
// So no signal whose default action ends a process ends this one ungracefully. A signal that
// the parent process ignored stays ignored (nohup). A signal with a handler keeps it (a
// profiler). SIGINT and SIGTERM always stop the node, and where SIGHUP reloads, it always does.
#pragma once

#include <chrono>
#include <optional>

namespace quipu {

enum class Hangup { reloads, stops };

// One for the whole process. The signals keep this meaning until the process ends.
class Signals {
 public:
  enum class Wish {
    reload,
    drain,  // SIGTERM: stop, but serve clients until they had time to go elsewhere
    stop,   // any other stop signal
  };

  // Throws std::system_error if the system has no descriptor left.
  explicit Signals(Hangup hangup);
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // Blocks until something is asked for, until wake(), or for `most`. Nothing: nothing new was
  // asked for. A signal may have come long before.
  // Another stop signal that comes kSameRequest or more after the first one ends the process at
  // once. An earlier one is part of the same request: timeout(1), for example, sends each
  // signal twice.
  [[nodiscard]] std::optional<Wish> wait(std::chrono::milliseconds most);
  // Ends one wait(). Any thread.
  void wake() const;

 private:
  [[nodiscard]] std::optional<Wish> next_wish();

  int terminal_ = -1;  // its end is a hangup
  bool stop_told_ = false;
};

}  // namespace quipu
