// arguments.h: quipud's command line. (The only file that sees CLI11, which is slow
// to compile, is its .cpp.)
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace quipu {

struct Arguments {
  std::filesystem::path config;
  std::vector<std::pair<std::string, std::string>> flags;  // settings, as in SettingSources
  bool rebuild = false;
  bool dev = false;
  bool check_config = false;
};

inline constexpr int kGoOn = -1;

// Fills in `arguments` and returns kGoOn. If it printed help or a usage error instead, returns
// the exit code: 0 or 2.
[[nodiscard]] int parse_arguments(int count, const char* const* values, Arguments& arguments);

}  // namespace quipu
