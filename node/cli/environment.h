// environment.h: the input that every command gets.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "quipu/credentials.h"
#include "quipu/status.h"

namespace quipu {
class TlsContext;
}

namespace quipu::cli {

struct Environment {
  // host:port, the first preferred. Valid, and not empty if the command asks a node.
  std::vector<std::string> nodes;
  std::chrono::milliseconds timeout{5000};
  Credentials credentials{};
  std::shared_ptr<const TlsContext> tls{};  // null: plain text
  bool json = false;
};

// Exit codes.
inline constexpr int kOk = 0;
inline constexpr int kFailed = 1;   // a change that failed was not applied
inline constexpr int kUsage = 2;    // the command line is invalid
inline constexpr int kUnknown = 3;  // a change may have been applied

[[nodiscard]] inline int exit_code(const Status& status) {
  if (status.ok()) return kOk;
  return status.outcome() == Outcome::unknown ? kUnknown : kFailed;
}

}  // namespace quipu::cli
