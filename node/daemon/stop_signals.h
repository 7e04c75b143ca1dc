// stop_signals.h: the meaning of each signal for quipud.
//
//   stops the node   SIGINT SIGTERM SIGQUIT SIGUSR1 SIGUSR2 SIGALRM SIGVTALRM SIGPROF SIGIO
//                    SIGPWR SIGSTKFLT SIGXCPU and the real-time signals; with
//                    Hangup::stops also SIGHUP, and the end of the terminal
//   ignored          SIGHUP, SIGPIPE (a reader of stderr is gone), SIGXFSZ (the write
//                    that was too large fails instead)
//   left alone       the others: they report a crash, control jobs or are ignored by default
//
// So no signal whose default action ends a process ends this one ungracefully. A signal that
// the parent process ignored stays ignored (nohup). A signal with a handler keeps it (a
// profiler). SIGINT and SIGTERM always stop the node.
#pragma once

namespace quipu {

enum class Hangup { ignored, stops };

// One for the whole process. The signals keep this meaning until the process ends.
class StopSignals {
 public:
  // Throws std::system_error if the system has no descriptor left.
  explicit StopSignals(Hangup hangup);
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Blocks until the node must stop, or until wake(). A stop signal may have come long before.
  // Another signal that comes kSameRequest or more after the first one ends the process at
  // once. An earlier one is part of the same request: timeout(1), for example, sends each
  // signal twice.
  void wait() const;
  // Any thread.
  void wake() const;

 private:
  int terminal_ = -1;  // its end is a hangup
};

}  // namespace quipu
