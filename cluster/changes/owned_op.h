// owned_op.h: an op that outlives the bytes it was decoded from.
//
// An Op borrows its key and words. An op that waits, for a round or for its executor, owns them:
// they and the op are stored separately, and a borrowing Op is made when it is needed.
#pragma once

#include <string>

#include "protocol/client_messages.h"

namespace quipu {

class OwnedOp {
 public:
  OwnedOp() = default;
  explicit OwnedOp(const Op& op) : key_(op.key), words_(op.words), op_(op) {
    op_.key = op_.words = {};
  }

  // Borrows this object's key and words: valid while this object lives and does not move.
  [[nodiscard]] Op borrow() const {
    Op op = op_;
    op.key = key_;
    op.words = words_;
    return op;
  }
  [[nodiscard]] const std::string& key() const { return key_; }
  [[nodiscard]] const std::string& words() const { return words_; }
  // The op without them.
  [[nodiscard]] const Op& fields() const { return op_; }
  [[nodiscard]] Op& fields() { return op_; }

 private:
  std::string key_;
  std::string words_;
  Op op_;
};

}  // namespace quipu
