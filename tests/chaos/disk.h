// disk.h: one node's disk: a small ext4 filesystem in a file, on a loop device if that is
// allowed. Otherwise a plain directory, which can neither fill up nor lose power.
//
// Power loss is real: ext4's own ioctl shuts the filesystem down, so that nothing more reaches
// the device. Then it is unmounted and mounted again. Data that was not synced is gone.
#pragma once

#include <filesystem>
#include <string>

namespace quipu::chaos {

class Disk {
 public:
  enum class Kind : std::uint8_t { loop, directory };
  // `place` must not exist. The image is stored beside it. Throws if a command fails.
  Disk(Kind kind, std::filesystem::path place);
  ~Disk();
  Disk(Disk&& other) noexcept;
  Disk& operator=(Disk&&) = delete;

  // Why there can be no loop filesystem in this directory; empty: there can.
  [[nodiscard]] static std::string why_no_loop(const std::filesystem::path& directory);

  [[nodiscard]] std::filesystem::path data() const { return place_ / "data"; }
  // An operator syncs after copying: the store is not to blame for a power loss right after it.
  void sync() const;
  // A file takes all free space.
  void fill() const;
  void make_room() const;
  // Every write fails from now on.
  void power_off() const;
  // REQUIRES: power_off(), and no process uses it.
  void power_on();

 private:
  [[nodiscard]] std::filesystem::path image() const { return place_.string() + ".ext4"; }
  [[nodiscard]] std::filesystem::path ballast() const { return place_ / "ballast"; }
  void mount() const;
  void unmount() const;

  Kind kind_;
  std::filesystem::path place_;  // empty: moved from
};

}  // namespace quipu::chaos
