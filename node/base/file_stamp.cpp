#include "node/base/file_stamp.h"

#include <sys/stat.h>

namespace quipu {

FileStamp stamp_of(const std::string& path) {
  struct stat file {};
  if (::stat(path.c_str(), &file) != 0) return {};
  return {.device = file.st_dev,
          .inode = file.st_ino,
          .size = static_cast<std::uint64_t>(file.st_size),
          .seconds = file.st_mtim.tv_sec,
          .nanoseconds = file.st_mtim.tv_nsec};
}

}  // namespace quipu
