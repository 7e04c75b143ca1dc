// planted.h: whether a planted bug is switched on. Only the build that plants them
// has them in its product code (planted/).
#pragma once

#include <string_view>

namespace quipu::sim {

// For the whole process, before anything runs. Empty: none.
void plant(std::string_view bug);
[[nodiscard]] bool planted(std::string_view bug);

}  // namespace quipu::sim
