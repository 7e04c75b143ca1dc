// planted.h: whether a planted bug is switched on. Only the build that plants them
// has them in its product code (planted/).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace quipu::sim {

// For the whole process, before anything runs. Empty: none. False: there is no such bug.
bool plant(std::string_view bug);
// The bugs of this build, by name.
[[nodiscard]] std::vector<std::string> planted_bugs();
[[nodiscard]] bool planted(std::string_view bug);
// The bug that is switched on. Empty: none.
[[nodiscard]] const std::string& planted_now();

}  // namespace quipu::sim
