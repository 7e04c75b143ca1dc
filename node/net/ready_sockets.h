// ready_sockets.h: reports which client sockets can be read or written.
//
// Asio arms a socket again for each wait: a system call for each request of a client that
// sends one at a time. Here all sockets are in one level-triggered epoll set, which reports a
// socket as long as it is ready. Asio arms only the set: once for all sockets reported
// together.
//
// Nothing may run the sockets' own io_context: Asio keeps each socket in its epoll as well, and
// would be woken there. Reactor thread. Outlives the run of `io`.
#pragma once

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <functional>

#include "cluster/gates/effects.h"

namespace quipu {

class ReadySockets {
 public:
  struct Interest {
    bool read = false;
    bool write = false;
    bool operator==(const Interest&) const = default;
  };
  struct Socket {
    int descriptor;
    ClientId client;
    Interest interest{};
  };
  // `ready`: a broken socket is both. A socket that its client has ended can be read.
  using OnReady = std::function<void(ClientId client, Interest ready)>;

  // Throws std::system_error if there are no more descriptors.
  ReadySockets(asio::io_context& io, OnReady on_ready);
  ReadySockets(const ReadySockets&) = delete;
  ReadySockets& operator=(const ReadySockets&) = delete;

  // Reports the socket for this interest from now on. Without interest, a break is not reported.
  // End it before the socket is closed: a forked process may hold a copy, and the set would
  // report that for ever. False: the system has no memory for it.
  [[nodiscard]] bool watch(Socket& socket, Interest interest);

 private:
  void wait();
  void tell();

  asio::posix::stream_descriptor set_;
  const OnReady on_ready_;
};

}  // namespace quipu
