#include "node/daemon/dev.h"

#include <cstdlib>
#include <system_error>
#include <utility>

#include "node/net/address.h"

namespace quipu {

TemporaryDirectory::TemporaryDirectory() {
  std::error_code error;
  const std::string pattern = "quipu-dev-" + std::string(6, 'X');  // mkdtemp() writes over them
  std::string name = (std::filesystem::temp_directory_path(error) / pattern).string();
  if (!error && ::mkdtemp(name.data()) != nullptr) path_ = name;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

LoadedSettings dev_settings(std::vector<std::pair<std::string, std::string>> flags,
                            const std::filesystem::path& data) {
  // In front, so that given flags take precedence. At this level the banner stays readable.
  flags.insert(flags.begin(),
               {{"--log-level", "warning"}, {"--name", "dev"}, {"--data", data.string()}});
  LoadedSettings loaded = load_settings({.file = {}, .environment = {}, .flags = std::move(flags)});
  loaded.settings.drain_delay = {};
  return loaded;
}

std::string dev_banner(const Node& node) {
  const std::string address = node.client_address();
  const std::string where = address == kDefaultClientAddress ? "" : "--node " + address + " ";
  return "quipud: one node to try things out; its data is deleted on exit (Ctrl-C)\n"
         "  clients: " +
         address +
         "\n"
         "  next:    quipu " +
         where + "add likes:42\n";
}

}  // namespace quipu
