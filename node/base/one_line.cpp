#include "node/base/one_line.h"

namespace quipu {

std::string one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      line += c;
    } else {
      line.append("\\x").append({"0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]});
    }
  }
  return line;
}

}  // namespace quipu
