// failing_sync.cpp: a library to preload. While the file exists that
// QUIPU_FAIL_SYNC_WHILE names, fdatasync and fsync fail with EIO and sync nothing. If
// QUIPU_LIE_ABOUT_SYNC is not empty, they always sync nothing, and say that they did.
#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

extern "C" {
__attribute__((visibility("default"))) int fdatasync(int file);
__attribute__((visibility("default"))) int fsync(int file);
}

namespace {

bool fails() {
  const char* const path = std::getenv("QUIPU_FAIL_SYNC_WHILE");
  const int before = errno;
  const bool there = path != nullptr && ::access(path, F_OK) == 0;
  errno = before;
  return there;
}

bool lies() {
  const char* const lie = std::getenv("QUIPU_LIE_ABOUT_SYNC");
  return lie != nullptr && *lie != '\0';
}

int sync(const char* name, int file) {
  if (fails()) {
    errno = EIO;
    return -1;
  }
  if (lies()) return 0;
  return reinterpret_cast<int (*)(int)>(::dlsym(RTLD_NEXT, name))(file);
}

}  // namespace

extern "C" {
int fdatasync(int file) { return sync("fdatasync", file); }
int fsync(int file) { return sync("fsync", file); }
}
