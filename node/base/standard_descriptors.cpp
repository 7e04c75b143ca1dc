#include "node/base/standard_descriptors.h"

#include <fcntl.h>
#include <unistd.h>

namespace quipu {

void open_standard_descriptors() {
  // The system uses the lowest free number, so they are opened in this order.
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) >= 0) continue;
    // Reading a file that is open for writing only fails, and the reverse.
    const int mode = descriptor == STDOUT_FILENO ? O_RDONLY : O_WRONLY;
    // A root directory exists even without /dev, and fails both ways.
    if (::open("/dev/null", mode) < 0) static_cast<void>(::open("/", O_RDONLY));
  }
}

}  // namespace quipu
