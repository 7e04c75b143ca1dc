#include "node/net/ready_sockets.h"

#include <sys/epoll.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace quipu {
namespace {

// Other work has its turn after this many.
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

bool ReadySockets::watch(Socket& socket, Interest interest) {
  const Interest before = std::exchange(socket.interest, interest);
  if (interest == before) return true;
  // A socket without interest must be removed. Otherwise, once broken, it is reported for ever.
  const int what = interest == Interest{} ? EPOLL_CTL_DEL
                   : before == Interest{} ? EPOLL_CTL_ADD
                                          : EPOLL_CTL_MOD;
  epoll_event event{};
  event.events = (interest.read ? EPOLLIN : 0u) | (interest.write ? EPOLLOUT : 0u);
  event.data.u64 = raw(socket.client);
  return ::epoll_ctl(set_.native_handle(), what, socket.descriptor, &event) == 0;
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
    on_ready_(ClientId{event.data.u64}, {.read = broken || (event.events & EPOLLIN) != 0,
                                         .write = broken || (event.events & EPOLLOUT) != 0});
  }
  wait();
}

}  // namespace quipu
