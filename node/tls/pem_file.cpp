#include "node/tls/pem_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>

namespace quipu {

Result<std::string> read_pem_file(const std::string& path) {
  const auto refuse = [&path](const std::string& why) {
    return Status(Code::invalid_argument, path + " " + why);
  };
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return refuse(std::string("cannot be read (") + std::strerror(errno) +
                  "): let this program's user read it");
  std::string text(kMaxPemFile + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.empty()) return refuse("is empty, or no file");
  if (text.size() > kMaxPemFile) return refuse("has more than 1 MiB: it is no file of this kind");
  return text;
}

}  // namespace quipu
