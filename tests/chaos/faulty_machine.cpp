// faulty_machine.cpp: a library to preload.
//
//   QUIPU_FAIL_SYNC_WHILE  a file: while it exists, fdatasync and fsync do nothing, and fail (EIO)
//   QUIPU_LIE_ABOUT_SYNC   not empty: they do nothing, and succeed
//   QUIPU_CLOCK_AHEAD      a file of 8 bytes: the seconds by which the wall clock is ahead
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>

extern "C" {
__attribute__((visibility("default"))) int fdatasync(int file);
__attribute__((visibility("default"))) int fsync(int file);
__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, timespec* time) noexcept;
}

namespace {

// ---- syncs ----

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

// ---- the wall clock ----

using ClockGetTime = int (*)(clockid_t, timespec*);

// Mapped, since a node reads its clock for every batch of requests.
const volatile std::int64_t* map_seconds_ahead() {
  static const std::int64_t kNone = 0;
  const char* const path = std::getenv("QUIPU_CLOCK_AHEAD");
  const int file = path == nullptr ? -1 : ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return &kNone;
  const void* const at = ::mmap(nullptr, sizeof kNone, PROT_READ, MAP_SHARED, file, 0);
  ::close(file);
  return at == MAP_FAILED ? &kNone : static_cast<const std::int64_t*>(at);
}

}  // namespace

extern "C" {
int fdatasync(int file) { return sync("fdatasync", file); }
int fsync(int file) { return sync("fsync", file); }

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  static const auto real = reinterpret_cast<ClockGetTime>(::dlsym(RTLD_NEXT, "clock_gettime"));
  static const volatile std::int64_t* const seconds_ahead = map_seconds_ahead();
  const int result = real(clock, time);
  if (result == 0 && clock == CLOCK_REALTIME) time->tv_sec += *seconds_ahead;
  return result;
}
}
