// frames.h: decodes what a core sent.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "protocol/frame.h"

namespace quipu {

// Calls visit(type, payload) for each frame in `bytes`, which has whole frames. `salt`: the
// cluster's, between members.
template <class Visit>
void for_each_frame(const std::string& bytes, Visit visit, std::uint64_t salt = 0) {
  FrameDecoder decoder;
  std::memcpy(decoder.prepare(bytes.size()).data(), bytes.data(), bytes.size());
  decoder.commit(bytes.size());
  for (;;) {
    auto frame = decoder.next(salt);
    ASSERT_TRUE(frame.ok()) << frame.status().message();
    if (!frame->has_value()) break;
    visit((*frame)->type, (*frame)->payload);
  }
  ASSERT_EQ(decoder.buffered(), 0u);
}

}  // namespace quipu
