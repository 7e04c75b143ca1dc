// dev.h: `quipud --dev`, one node whose data goes when it stops.
#pragma once

#include <filesystem>
#include <string>

#include "node/settings/settings.h"
#include "quipu/node.h"

namespace quipu {

// Removes itself, with all that is in it.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  // Empty: it could not be created.
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// `flags` as given on the command line; file and environment do not count.
[[nodiscard]] LoadedSettings dev_settings(std::vector<std::pair<std::string, std::string>> flags,
                                          const std::filesystem::path& data);

// Which ports there are, and what to type next.
[[nodiscard]] std::string dev_banner(const Node& node);

}  // namespace quipu
