// load_all.h: executes a LoadRequest in one call, as the storage thread does.
#pragma once

#include <utility>

#include "storage/loader.h"

namespace quipu {

inline Result<Loaded> load_all(Store& store, HashKey placement, LoadRequest request) {
  Load load(placement, std::move(request));
  while (!load.finished()) {
    if (Status read = load.step(store, 1'000); !read.ok()) return read;
  }
  return load.take();
}

}  // namespace quipu
