#include "protocol/release.h"

namespace quipu {
namespace {

std::string range(const FrameVersions& versions) {
  return versions.from == versions.to ? "frames of version " + std::to_string(raw(versions.to))
                                      : "frames of versions " + std::to_string(raw(versions.from)) +
                                            " to " + std::to_string(raw(versions.to));
}

}  // namespace

std::string_view release() { return QUIPU_VERSION; }

FrameVersions spoken_versions() { return {FrameVersion{2}, FrameVersion{2}}; }

std::string no_common_version(std::string_view they, const Speaker& theirs, const Speaker& ours) {
  return std::string(they) + " is of release " + theirs.release + " and speaks " +
         range(theirs.frames) + ", this is release " + ours.release + " and speaks " +
         range(ours.frames) + ": upgrade by one release at a time";
}

}  // namespace quipu
