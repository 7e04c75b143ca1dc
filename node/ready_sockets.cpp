#include "node/ready_sockets.h"

#include <sys/epoll.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace quipu {
namespace {

// Others have their turn behind so many.
constexpr int kMostAtOnce = 128;

int new_set() {
  const int set = ::epoll_create1(EPOLL_CLOEXEC);
  if (set < 0) throw std::system_error(errno, std::generic_category(), "epoll_create1");
  return set;
}

}  // namespace

ReadySockets::ReadySockets(asio::io_context& io, OnReady on_ready)
    : set_(io, new_set()), on_ready_(std::move(on_ready)) {
  wait();
}

bool ReadySockets::watch(int socket, std::uint64_t name, Wish before, Wish now) {
  if (now == before) return true;
  // Even one that nothing is wished of would be told of when it broke, for ever.
  const bool was = before != Wish{}, is = now != Wish{};
  const int what = !is ? EPOLL_CTL_DEL : was ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
  epoll_event event{};
  event.events = (now.read ? EPOLLIN : 0u) | (now.write ? EPOLLOUT : 0u);
  event.data.u64 = name;
  return ::epoll_ctl(set_.native_handle(), what, socket, &event) == 0;
}

void ReadySockets::wait() {
  set_.async_wait(asio::posix::stream_descriptor::wait_read, [this](const asio::error_code& error) {
    if (!error) tell();
  });
}

void ReadySockets::tell() {
  std::array<epoll_event, kMostAtOnce> events;
  const int count = ::epoll_wait(set_.native_handle(), events.data(), kMostAtOnce, 0);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    const bool broken = (event.events & (EPOLLERR | EPOLLHUP)) != 0;
    on_ready_(event.data.u64, {.read = broken || (event.events & EPOLLIN) != 0,
                               .write = broken || (event.events & EPOLLOUT) != 0});
  }
  wait();
}

}  // namespace quipu
