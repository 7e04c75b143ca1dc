// ready_sockets.h: which of the clients' sockets can be read from or written to.
//
// Asio arms a socket anew for each wait, which is a system call for each request of a
// client that sends one at a time. Here all are in one set, which tells of a socket for as
// long as it is ready (a level-triggered epoll), and Asio arms only the set: once for all
// that it tells of together.
//
// The sockets' own io_context must be one that nobody runs: Asio keeps each socket in its
// epoll as well, and would be woken there. Reactor thread; outlives the run of `io`.
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
  // `ready`: a socket that broke is both, one whose client has ended it can be read from.
  using OnReady = std::function<void(ClientId client, Interest ready)>;

  // Throws std::system_error if there are no more descriptors.
  ReadySockets(asio::io_context& io, OnReady on_ready);
  ReadySockets(const ReadySockets&) = delete;
  ReadySockets& operator=(const ReadySockets&) = delete;

  // From now on it is told of for that. While there is no interest, nobody learns that it
  // broke. End it before the socket is closed: a process that was forked may hold a copy,
  // and the set would tell of that for ever. False: the system has no memory for it.
  [[nodiscard]] bool watch(Socket& socket, Interest interest);

 private:
  void wait();
  void tell();

  asio::posix::stream_descriptor set_;
  const OnReady on_ready_;
};

}  // namespace quipu
