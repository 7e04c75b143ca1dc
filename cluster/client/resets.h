// resets.h: a reset of a counter, made of one reset for each of its shards.
//
//   asked ──how many shards──▶ one change per shard ──all done──▶ one status
//
// Parts are numbered like calls, in a range of their own. If some shards were reset and others
// refused, the reset as a whole is in doubt. It may be repeated at any time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "cluster/client/effects.h"
#include "protocol/instant.h"
#include "quipu/levels.h"

namespace quipu {

class ClientResets {
 public:
  // The shell's calls have numbers below this.
  static constexpr std::uint64_t kFirstPart = std::uint64_t{1} << 63;

  struct Reset {
    CallId call{};
    std::string key;
    Ack ack = Ack::disk;
    std::int64_t at_ms = 0;  // as in Op
    Instant deadline{};
    std::size_t open = 0;  // parts without an answer
    std::size_t applied = 0;
    std::size_t parts = 0;
    Status worst{};
  };

  [[nodiscard]] static bool is_part(CallId call) { return raw_call(call) >= kFirstPart; }
  // The number for a reset's parts, and for the question before them.
  [[nodiscard]] CallId begin(Reset reset);
  [[nodiscard]] bool empty() const { return resets_.empty(); }
  // nullptr: it has ended.
  [[nodiscard]] Reset* find(CallId part);
  // One part ended. The last part ends the whole.
  [[nodiscard]] std::optional<ClientEffects::Completion> on_part(CallId part, Status status);
  // It ended before it had parts.
  [[nodiscard]] std::optional<ClientEffects::Completion> fail(CallId part, Status status);

 private:
  [[nodiscard]] static std::uint64_t raw_call(CallId call) {
    return static_cast<std::uint64_t>(call);
  }

  std::map<CallId, Reset> resets_;
  std::uint64_t next_ = kFirstPart;
};

}  // namespace quipu
