// answers.h: what a peer says to what the node has asked it: mostly to the point, as
// only that gets through, with contents of its own.
#pragma once

#include <optional>

#include "tests/fuzz/some_messages.h"

namespace quipu::fuzz {

// Nothing if `asked` wants no answer.
[[nodiscard]] std::optional<PeerMessage> some_answer(const PeerMessage& asked, Bytes& bytes,
                                                     const Known& known);

}  // namespace quipu::fuzz
