#include "node/cli/secret_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "node/users/secret.h"

namespace quipu::cli {

Result<std::string> read_secret_file(const std::string& path) {
  std::ifstream file(path);
  const std::string trouble = file ? "it is empty" : std::strerror(errno);
  std::string line;
  if (!std::getline(file, line))
    return Status(Code::invalid_argument, "the secret file " + path + " cannot be read (" +
                                              trouble + "): write the user's secret into it");
  if (line.ends_with('\r')) line.pop_back();
  if (line.empty() || line.size() > kMaxSecret)
    return Status(Code::invalid_argument,
                  "the first line of the secret file " + path + " must be a user's secret");
  return line;
}

}  // namespace quipu::cli
