// resp_transaction.h: MULTI, EXEC, DISCARD.
//
//   MULTI ─▶ each command is checked and queued ─▶ EXEC ─┬─ together: one decision, one reply
//                   └─ an error ─▶ EXEC: EXECABORT        └─ apart: one after the other
//
// They are executed together if one node may decide about all counters that they name, and each
// of them has a rule (resp_decisions.h). Then no other command comes between them on that node,
// and all that they change becomes durable together or not at all. Otherwise they are executed
// like a pipeline.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "node/clients/resp/resp_packed.h"

namespace quipu {

// The commands of a connection since MULTI.
class RespTransaction {
 public:
  // Beyond these it is refused: words and their places in memory.
  static constexpr std::size_t kMaxBytes = std::size_t{2} << 20;
  static constexpr std::size_t kMaxCommands = 16'384;

  // False: it is full.
  [[nodiscard]] bool queue(std::span<const std::string_view> words);
  // EXEC must not execute it.
  void fail() { failed_ = true; }
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] const std::vector<std::vector<std::string>>& commands() const { return commands_; }
  [[nodiscard]] std::vector<std::vector<std::string>> take() { return std::move(commands_); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  std::vector<std::vector<std::string>> commands_;
  std::size_t bytes_ = 0;
  bool failed_ = false;
};

}  // namespace quipu
