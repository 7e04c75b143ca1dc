// config_file.cpp: a settings file, and behind its first zero byte what stands in
// QUIPU_CLUSTER_MEMBERS.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "node/reactor/node_plan.h"
#include "node/settings/settings.h"
#include "tests/fuzz/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace quipu::fuzz {
namespace {

// A file without a disk.
class File {
 public:
  explicit File(std::string_view text) : descriptor_(memfd_create("settings", 0)) {
    check(descriptor_ >= 0, "there is a descriptor left");
    check(write(descriptor_, text.data(), text.size()) == static_cast<ssize_t>(text.size()),
          "there is memory left");
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { close(descriptor_); }

  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

LoadedSettings load(const File& file, std::string_view members) {
  SettingSources sources;
  sources.file = file.path();
  sources.environment = [members](const std::string& name) -> std::optional<std::string> {
    if (name != "QUIPU_CLUSTER_MEMBERS" || members.empty()) return std::nullopt;
    return std::string(members);
  };
  return load_settings(sources);
}

bool is_one_line(const std::string& error) {
  return !error.empty() && std::none_of(error.begin(), error.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
}

}  // namespace
}  // namespace quipu::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace quipu::fuzz;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(input.find('\0'), size);
  const File file(input.substr(0, end));
  const std::string_view members = input.substr(std::min(end + 1, size));
  const quipu::LoadedSettings loaded = load(file, members);
  for (const std::string& error : loaded.errors) check(is_one_line(error), "an error is one line");
  check(loaded.errors == load(file, members).errors, "the same file, the same answer");
  if (loaded.errors.empty()) check(plan_node(loaded.settings.node).ok(), "no error, and a plan");
  return 0;
}
