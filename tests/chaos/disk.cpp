#include "tests/chaos/disk.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "tests/node/eventually.h"
#include "tests/system/process.h"

namespace quipu::chaos {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kBytes = 96u << 20;
// EXT4_IOC_SHUTDOWN with EXT4_GOING_FLAGS_NOLOGFLUSH; no installed header has them.
constexpr unsigned long kShutDown = 0x8004587D;
constexpr std::uint32_t kWithoutFlush = 2;

}  // namespace

std::string Disk::why_no_loop(const fs::path& directory) {
  const fs::path place = directory / "trial-disk";
  try {
    Disk trial(Kind::loop, place);
    std::ofstream(trial.place_ / "file") << "not synced";
    trial.power_off();
    trial.power_on();
    return "";
  } catch (const std::exception& error) {
    std::error_code ignored;
    fs::remove(place, ignored);
    fs::remove(place.string() + ".ext4", ignored);
    return error.what();
  }
}

Disk::Disk(Kind kind, fs::path place) : kind_(kind), place_(std::move(place)) {
  fs::create_directories(place_);
  if (kind_ == Kind::directory) return;
  std::ofstream(image()).flush();
  fs::resize_file(image(), kBytes);
  // No reserve: it would be there for root, whose nodes then never run out.
  test::run_or_throw({"mkfs.ext4", "-q", "-F", "-m", "0", image()});
  mount();
}

Disk::Disk(Disk&& other) noexcept
    : kind_(other.kind_), place_(std::exchange(other.place_, fs::path())) {}

Disk::~Disk() {
  if (place_.empty()) return;
  std::error_code ignored;
  if (kind_ == Kind::loop) {
    ::umount2(place_.c_str(), MNT_DETACH);
    fs::remove(image(), ignored);
    fs::remove(place_, ignored);
  } else {
    fs::remove_all(place_, ignored);
  }
}

void Disk::mount() const {
  test::run_or_throw({"mount", "-o", "loop", image(), place_});
  ::sync();  // the new filesystem's own blocks
}

// Somebody who looks around may hold it for a moment.
void Disk::unmount() const {
  const bool done = test::eventually([this] { return ::umount2(place_.c_str(), 0) == 0; });
  if (!done)
    throw std::runtime_error("cannot unmount " + place_.string() + ": " + std::strerror(errno));
}

void Disk::sync() const {
  const int place = ::open(place_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool done = place >= 0 && ::syncfs(place) == 0;
  if (place >= 0) ::close(place);
  if (!done) throw std::runtime_error("cannot sync " + place_.string());
}

void Disk::fill() const {
  const int file = ::open(ballast().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) throw std::runtime_error("cannot fill " + place_.string());
  off_t size = 0;
  for (off_t step = off_t{kBytes}; step >= 1024; step /= 2) {
    while (::fallocate(file, 0, size, step) == 0) size += step;
  }
  ::close(file);
}

void Disk::make_room() const { fs::remove(ballast()); }

void Disk::power_off() const {
  const int file = ::open(place_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  std::uint32_t flags = kWithoutFlush;
  const bool done = file >= 0 && ::ioctl(file, kShutDown, &flags) == 0;
  const int error = errno;
  if (file >= 0) ::close(file);
  if (!done)
    throw std::runtime_error("cannot shut down " + place_.string() + ": " + std::strerror(error));
}

void Disk::power_on() {
  unmount();
  mount();
}

}  // namespace quipu::chaos
