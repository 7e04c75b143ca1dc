// contents.h: a store's contents as a map, which also serves as a model of a store.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "storage/store.h"

namespace quipu::test {

using Contents = std::map<std::string, std::string>;

inline void apply_batch(const Batch& batch, Contents& to) {
  for (const auto& [key, value] : batch.puts) to[key] = value;
  for (const std::string& key : batch.deletes) to.erase(key);
}

// Every key below "\xff"; nothing if the scan failed.
inline std::optional<Contents> contents(Store& store) {
  Contents found;
  const Status status = store.scan("", "\xff", [&](std::string_view key, std::string_view value) {
    found.emplace(key, value);
    return Status();
  });
  if (!status.ok()) return std::nullopt;
  return found;
}

inline Batch put(std::string key, std::string value) {
  return {.puts = {{std::move(key), std::move(value)}}, .deletes = {}};
}

}  // namespace quipu::test
