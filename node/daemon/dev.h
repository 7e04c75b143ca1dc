// dev.h: `quipud --dev`: one node. Its data is deleted on exit.
#pragma once

#include <filesystem>
#include <string>

#include "node/settings/settings.h"
#include "quipu/node.h"

namespace quipu {

// Deletes itself with its whole content.
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

// `flags` are those of the command line. File and environment are ignored.
[[nodiscard]] LoadedSettings dev_settings(std::vector<std::pair<std::string, std::string>> flags,
                                          const std::filesystem::path& data);

// The text with the ports, and with what to type next.
[[nodiscard]] std::string dev_banner(const Node& node);

}  // namespace quipu
