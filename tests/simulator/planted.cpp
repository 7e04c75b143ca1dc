#include "tests/simulator/planted.h"

#include <string>

namespace quipu::sim {
namespace {

std::string& current() {
  static std::string bug;
  return bug;
}

}  // namespace

void plant(std::string_view bug) { current() = bug; }

bool planted(std::string_view bug) { return current() == bug; }

}  // namespace quipu::sim
