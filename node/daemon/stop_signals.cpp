#include "node/daemon/stop_signals.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <system_error>
#include <vector>

namespace quipu {
namespace {

using Clock = std::chrono::steady_clock;  // clock_gettime(), which is allowed in a handler

constexpr std::chrono::milliseconds kSameRequest{500};

// A signal handler can reach only globals.
int stop_event = -1;
std::atomic<Clock::rep> first_signal{0};  // when it came; 0: none came
static_assert(std::atomic<Clock::rep>::is_always_lock_free);

void tell_stop() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(stop_event, &one, sizeof one);
}

// Like the default action. That does nothing in process 1 of a container, hence _exit().
void end_now(int number) {
  std::signal(number, SIG_DFL);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, number);
  std::raise(number);
  ::pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  ::_exit(128 + number);
}

extern "C" void on_stop_signal(int number) {
  const int error = errno;
  const Clock::rep now = Clock::now().time_since_epoch().count();
  Clock::rep first = 0;
  if (first_signal.compare_exchange_strong(first, now)) {
    tell_stop();
  } else if (number != SIGHUP && Clock::duration(now - first) >= kSameRequest) {
    end_now(number);
  }
  errno = error;
}

std::vector<int> stopping_signals(Hangup hangup) {
  std::vector<int> signals{SIGINT,    SIGTERM, SIGQUIT, SIGUSR1, SIGUSR2,   SIGALRM,
                           SIGVTALRM, SIGPROF, SIGIO,   SIGPWR,  SIGSTKFLT, SIGXCPU};
  for (int number = SIGRTMIN; number <= SIGRTMAX; ++number) signals.push_back(number);
  if (hangup == Hangup::stops) signals.push_back(SIGHUP);
  return signals;
}

bool is_default(int number) {
  struct sigaction now {};
  return ::sigaction(number, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 &&
         now.sa_handler == SIG_DFL;
}

// -1: this process has none.
int find_terminal() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::isatty(descriptor) == 1) return descriptor;
  }
  return -1;
}

}  // namespace

StopSignals::StopSignals(Hangup hangup) {
  stop_event = ::eventfd(0, EFD_CLOEXEC);
  if (stop_event < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  // A user of nohup wants the process to outlive the terminal.
  if (hangup == Hangup::stops && is_default(SIGHUP)) terminal_ = find_terminal();
  struct sigaction stop {};
  stop.sa_handler = on_stop_signal;
  stop.sa_flags = SA_RESTART;
  sigfillset(&stop.sa_mask);
  for (const int number : stopping_signals(hangup)) {
    const bool always = number == SIGINT || number == SIGTERM;
    if (always || is_default(number)) ::sigaction(number, &stop, nullptr);
  }
  for (const int number : {SIGHUP, SIGPIPE, SIGXFSZ}) {
    if (is_default(number)) std::signal(number, SIG_IGN);
  }
}

void StopSignals::wait() const {
  std::array<pollfd, 2> watched{{{stop_event, POLLIN, 0}, {terminal_, 0, 0}}};  // -1: skipped
  while (::poll(watched.data(), watched.size(), -1) < 0 && errno == EINTR) {
  }
}

void StopSignals::wake() const { tell_stop(); }

}  // namespace quipu
