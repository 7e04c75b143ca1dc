// bodies.h: bodies of any kind, by value.
#pragma once

#include <initializer_list>
#include <string>

#include "storage/kinds/kind.h"

namespace quipu::test {

inline std::string bytes(std::initializer_list<int> values) {
  std::string all;
  for (const int value : values) all += static_cast<char>(value);
  return all;
}

inline std::string joined_bodies(const KindRules& rules, std::string into,
                                 const std::string& from) {
  Edit edit(into.data(), into.size());
  rules.join(edit, from);
  return std::string(edit.body());
}

}  // namespace quipu::test
