// standard_descriptors.h: keeps descriptors 0, 1 and 2 for stdin, stdout and stderr.
//
// If a process starts with one of them closed, its next file or socket gets that number, and
// log lines are written into it.
#pragma once

namespace quipu {

// Call it first in main(). Opens closed ones on /dev/null: stderr so that its output vanishes;
// stdin and stdout so that reading and writing fail as before, and no caller takes lost input
// or output for success.
void open_standard_descriptors();

}  // namespace quipu
