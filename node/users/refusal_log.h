// refusal_log.h: which refusals (of a secret, of a TLS handshake) to log: one each second for an
// address and kMostASecond in all, so that no client can fill the log. Beyond kMaxAddresses, the
// address that was logged longest ago is forgotten. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "node/base/clock.h"

namespace quipu {

class RefusalLog {
 public:
  static constexpr std::size_t kMaxAddresses = 1024;
  static constexpr std::uint32_t kMostASecond = 10;
  static constexpr std::chrono::seconds kEvery{1};

  // Nothing: do not log this one. Otherwise how many were not logged since the last line.
  [[nodiscard]] std::optional<std::uint64_t> admit(Instant now, std::string_view address);

 private:
  std::map<std::string, Instant, std::less<>> logged_;
  Instant second_{};             // its beginning
  std::uint32_t in_second_ = 0;  // lines
  std::uint64_t unlogged_ = 0;
};

}  // namespace quipu
