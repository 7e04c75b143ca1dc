// resp_walk.h: walks through all counters with one prefix, within a Task of the connection.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "node/clients/resp/resp_questions.h"

namespace quipu {

// The fixed beginning of every match of the pattern.
[[nodiscard]] std::string_view literal_prefix(std::string_view pattern);

// Lists step by step, about `page` names at a time.
class Walk {
 public:
  Walk(RespConnection& connection, std::string prefix, std::uint32_t page = kMaxListKeys)
      : connection_(connection), prefix_(std::move(prefix)), page_(page) {}

  void ask() { connection_.again(List{.prefix = prefix_, .cursor = cursor_, .limit = page_}); }
  // The names of this step, which may be the last. REQUIRES: the step is ok.
  [[nodiscard]] std::vector<std::string> take(const Keys& keys) {
    cursor_ = keys.next;
    return keys.keys;
  }
  [[nodiscard]] bool ended() const { return cursor_ == kListEnd; }

 private:
  RespConnection& connection_;
  const std::string prefix_;
  const std::uint32_t page_;
  std::uint32_t cursor_ = 0;
};

// Resets all counters that a step listed, before the next step.
class ResetAll {
 public:
  ResetAll(RespConnection& connection, std::string prefix)
      : connection_(connection), walk_(connection, std::move(prefix), kPage) {}

  void begin() { walk_.ask(); }
  // True: it has ended. Otherwise it has asked again, or waits for more answers.
  [[nodiscard]] bool take(const RespAnswer& answer);
  // Once it has ended: why it stopped. Empty: all were reset.
  [[nodiscard]] const std::string& failure() const { return failure_; }
  [[nodiscard]] std::uint64_t reset() const { return reset_; }

 private:
  // Each counter may have 1,024 shards, and a node takes 65,536 resets of shards at a time.
  static constexpr std::uint32_t kPage = 64;

  RespConnection& connection_;
  Walk walk_;
  std::size_t open_ = 0;  // resets of this step without an answer
  std::uint64_t reset_ = 0;
  Done worst_;
  std::string failure_;
};

}  // namespace quipu
