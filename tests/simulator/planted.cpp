#include "tests/simulator/planted.h"

#include <algorithm>
#include <sstream>

#ifndef PLANTED_BUGS
#define PLANTED_BUGS ""
#endif

namespace quipu::sim {
namespace {

std::string& current() {
  static std::string bug;
  return bug;
}

}  // namespace

std::vector<std::string> planted_bugs() {
  // That one needs no patch: it is of the simulated disk.
  std::vector<std::string> names{"partial_record_replayed"};
  std::istringstream patched(PLANTED_BUGS);
  for (std::string name; std::getline(patched, name, ',');) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

bool plant(std::string_view bug) {
  const std::vector<std::string> names = planted_bugs();
  if (!bug.empty() && std::find(names.begin(), names.end(), bug) == names.end()) return false;
  current() = bug;
  return true;
}

bool planted(std::string_view bug) { return current() == bug; }

const std::string& planted_now() { return current(); }

}  // namespace quipu::sim
