// answers.h: a peer's answers to the node's questions. They usually match the question, since
// only those are accepted, with contents of their own.
#pragma once

#include <optional>

#include "tests/fuzz/some_messages.h"

namespace quipu::fuzz {

// Nothing if `asked` needs no answer.
[[nodiscard]] std::optional<PeerMessage> some_answer(const PeerMessage& asked, Bytes& bytes,
                                                     const Known& known);

}  // namespace quipu::fuzz
