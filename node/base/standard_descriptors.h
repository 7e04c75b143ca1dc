// standard_descriptors.h: descriptors 0, 1 and 2 are never anything but stdin, stdout
// and stderr.
//
// A process that is started with one of them closed gets its number for the next file
// or socket that it opens, and writes log lines there.
#pragma once

namespace quipu {

// For the first line of main(). Opens those that are closed on /dev/null: stderr so that
// what is written vanishes, stdin and stdout so that reading and writing fail as they
// would have, and no caller takes lost input or output for success.
void open_standard_descriptors();

}  // namespace quipu
