// owned_op.h: an op that outlives the bytes that it was decoded from.
//
// An Op borrows its key. One that waits, for a round or for its executor, owns it: the key
// and the op are kept apart, and an Op that borrows is made whenever one is needed.
#pragma once

#include <string>

#include "protocol/client_messages.h"

namespace quipu {

class OwnedOp {
 public:
  OwnedOp() = default;
  explicit OwnedOp(const Op& op) : key_(op.key), op_(op) { op_.key = {}; }

  // Borrows this object's key: valid as long as this object is, and stays where it is.
  [[nodiscard]] Op borrow() const {
    Op op = op_;
    op.key = key_;
    return op;
  }
  [[nodiscard]] const std::string& key() const { return key_; }
  // All of the op but its key.
  [[nodiscard]] const Op& fields() const { return op_; }
  [[nodiscard]] Op& fields() { return op_; }

 private:
  std::string key_;
  Op op_;
};

}  // namespace quipu
