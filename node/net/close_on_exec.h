// close_on_exec.h: programs that this one starts are not to hold its sockets: a port
// would stay taken, and a connection open, when the node has long ended. Asio opens
// and accepts sockets without SOCK_CLOEXEC.
#pragma once

#include <fcntl.h>

namespace quipu {

// At once after the socket was opened or accepted: a fork in between inherits it.
inline void close_on_exec(int descriptor) { ::fcntl(descriptor, F_SETFD, FD_CLOEXEC); }

}  // namespace quipu
