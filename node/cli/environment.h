// environment.h: what every command is told.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace quipu::cli {

struct Environment {
  std::vector<std::string> nodes;  // host:port, the first preferred; sound, not empty
  std::chrono::milliseconds timeout{5000};
  bool json = false;
};

// Exit codes.
inline constexpr int kOk = 0;
inline constexpr int kFailed = 1;
inline constexpr int kUsage = 2;

}  // namespace quipu::cli
