// credentials.h: who a program is, to nodes that have a users file (README, "Users").
//
// Plain data without locks, and a value type. Threads: several may read one object, while none
// changes it.
#pragma once

#include <string>

namespace quipu {

struct Credentials {
  std::string user = "default";
  std::string secret{};  // empty: it does not authenticate
};

}  // namespace quipu
