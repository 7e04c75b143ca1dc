// release.h: which release this is, and which versions of the frames it speaks.
//
// Release N works beside release N − 1: each speaks the newest version of the release before it,
// too. A link uses the highest version that both sides speak, so members are restarted into a new
// release one by one (a "rolling upgrade", as in etcd or Cassandra).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/ids.h"

namespace quipu {

// It says which tables the frames have (protocol/README.md).
enum class FrameVersion : std::uint8_t {};

struct FrameVersions {
  FrameVersion from{}, to{};  // both are spoken
  [[nodiscard]] bool contain(FrameVersion version) const {
    return version >= from && version <= to;
  }
  friend bool operator==(const FrameVersions&, const FrameVersions&) = default;
};

// What one side says of itself.
struct Speaker {
  std::string release{};  // such as "0.1.0"
  FrameVersions frames{};
  friend bool operator==(const Speaker&, const Speaker&) = default;
};

[[nodiscard]] std::string_view release();
[[nodiscard]] FrameVersions spoken_versions();
[[nodiscard]] inline Speaker this_build() { return {std::string(release()), spoken_versions()}; }

// The highest that both speak, if there is one.
[[nodiscard]] inline std::optional<FrameVersion> common_version(const FrameVersions& a,
                                                                const FrameVersions& b) {
  const FrameVersion highest = std::min(a.to, b.to);
  return highest >= std::max(a.from, b.from) ? std::optional(highest) : std::nullopt;
}

// For people: both releases, what each speaks, and what to do. `they`: a node, a client, …
[[nodiscard]] std::string no_common_version(std::string_view they, const Speaker& theirs,
                                            const Speaker& ours);

}  // namespace quipu
