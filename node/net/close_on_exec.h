// close_on_exec.h: keeps sockets out of programs that this process starts. Otherwise a port
// would stay in use, and a connection open, long after the node has ended. Asio opens and
// accepts sockets without SOCK_CLOEXEC.
#pragma once

#include <fcntl.h>

namespace quipu {

// Call it at once after the socket was opened or accepted: a fork in between inherits it.
inline void close_on_exec(int descriptor) { ::fcntl(descriptor, F_SETFD, FD_CLOEXEC); }

}  // namespace quipu
