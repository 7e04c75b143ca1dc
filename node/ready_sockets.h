// ready_sockets.h: which of many sockets can be read from or written to.
//
// Asio arms a socket anew for each wait, which is a system call for each request of a
// client that sends one at a time. Here all are in one set, which tells of a socket for as
// long as it is ready (a level-triggered epoll), and Asio arms only the set: once for all
// that it tells of together.
//
// Sockets in it must be of an io_context that nobody runs. Any that runs would be woken for
// each of them as well. Reactor thread; outlives the io_context's run.
#pragma once

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <cstdint>
#include <functional>

namespace quipu {

class ReadySockets {
 public:
  struct Wish {
    bool read = false;
    bool write = false;
    bool operator==(const Wish&) const = default;
  };
  // `ready`: one that broke, or whose client has gone, is both.
  using OnReady = std::function<void(std::uint64_t name, Wish ready)>;

  // Throws std::system_error if there are no more descriptors.
  ReadySockets(asio::io_context& io, OnReady on_ready);
  ReadySockets(const ReadySockets&) = delete;
  ReadySockets& operator=(const ReadySockets&) = delete;

  // From now on `now` is told of it, under that name; before, `before` was. Nobody learns
  // that it broke while nothing is wished for. One that is closed leaves by itself, if no
  // other process has it.
  // False: the system has no memory for it.
  [[nodiscard]] bool watch(int socket, std::uint64_t name, Wish before, Wish now);

 private:
  void wait();
  void tell();

  asio::posix::stream_descriptor set_;
  const OnReady on_ready_;
};

}  // namespace quipu
