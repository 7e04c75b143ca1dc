#include "node/daemon/signals.h"

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
#include <utility>
#include <vector>

namespace quipu {
namespace {

using Clock = std::chrono::steady_clock;  // clock_gettime(), which is allowed in a handler

constexpr std::chrono::milliseconds kSameRequest{500};

// A signal handler can reach only globals.
int event = -1;                           // readable: something below has changed
std::atomic<Clock::rep> first_signal{0};  // that stops, when it came; 0: none came
std::atomic<int> stopped_by{0};           // its number
std::atomic<bool> reload_asked{false};
std::atomic<bool> hangup_reloads{false};
static_assert(std::atomic<Clock::rep>::is_always_lock_free);

void tell() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(event, &one, sizeof one);
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

extern "C" void on_signal(int number) {
  const int error = errno;
  const Clock::rep now = Clock::now().time_since_epoch().count();
  Clock::rep first = 0;
  if (number == SIGHUP && hangup_reloads) {
    reload_asked = true;
    tell();
  } else if (first_signal.compare_exchange_strong(first, now)) {
    stopped_by = number;
    tell();
  } else if (number != SIGHUP && Clock::duration(now - first) >= kSameRequest) {
    end_now(number);
  }
  errno = error;
}

std::vector<int> handled_signals() {
  std::vector<int> signals{SIGINT,  SIGTERM, SIGQUIT, SIGUSR1,   SIGUSR2, SIGALRM, SIGVTALRM,
                           SIGPROF, SIGIO,   SIGPWR,  SIGSTKFLT, SIGXCPU, SIGHUP};
  for (int number = SIGRTMIN; number <= SIGRTMAX; ++number) signals.push_back(number);
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

Signals::Signals(Hangup hangup) {
  event = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (event < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  hangup_reloads = hangup == Hangup::reloads;
  // A user of nohup wants the process to outlive the terminal.
  if (hangup == Hangup::stops && is_default(SIGHUP)) terminal_ = find_terminal();
  struct sigaction handled {};
  handled.sa_handler = on_signal;
  handled.sa_flags = SA_RESTART;
  sigfillset(&handled.sa_mask);
  for (const int number : handled_signals()) {
    const bool always =
        number == SIGINT || number == SIGTERM || (number == SIGHUP && hangup == Hangup::reloads);
    if (always || is_default(number)) ::sigaction(number, &handled, nullptr);
  }
  for (const int number : {SIGPIPE, SIGXFSZ}) {
    if (is_default(number)) std::signal(number, SIG_IGN);
  }
}

// Each once.
std::optional<Signals::Wish> Signals::next_wish() {
  if (reload_asked.exchange(false)) return Wish::reload;
  const int number = stopped_by;
  if (number == 0 || std::exchange(stop_told_, true)) return {};
  return number == SIGTERM ? Wish::drain : Wish::stop;
}

std::optional<Signals::Wish> Signals::wait(std::chrono::milliseconds most) {
  if (const auto wish = next_wish()) return wish;
  std::array<pollfd, 2> watched{{{event, POLLIN, 0}, {terminal_, 0, 0}}};  // -1: skipped
  if (::poll(watched.data(), watched.size(), static_cast<int>(most.count())) > 0) {
    std::uint64_t told = 0;
    [[maybe_unused]] const ssize_t read = ::read(event, &told, sizeof told);
    if (watched[1].revents != 0) {
      terminal_ = -1;
      return Wish::stop;
    }
  }
  return next_wish();
}

void Signals::wake() const { tell(); }

}  // namespace quipu
