// ledger.h: what clients asked and were told, and whether a total can be true.
//
// Witness keys: the i-th add on one adds 4^i. A total's base-4 digits then say
// exactly which adds it contains: 0 no, 1 yes, 2 or more: counted twice.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "protocol/instant.h"
#include "quipu/levels.h"
#include "quipu/status.h"

namespace quipu::sim {

inline constexpr std::size_t kAddsPerWitness = 30;

class Ledger {
 public:
  struct AddId {
    std::string key;
    std::size_t digit;
  };
  // The next add: to the current witness key.
  AddId begin_add(Instant now, Ack ack);
  void end_add(const AddId& id, Instant now, const Status& status);
  [[nodiscard]] static std::int64_t amount(std::size_t digit) {
    return std::int64_t{1} << (2 * digit);
  }

  // A strong read ended; what it began with must be in it. Returns what is wrong.
  struct ReadId {
    std::string key;
    std::vector<bool> must;  // digits acked at quorum, or seen by a strong read, before
  };
  [[nodiscard]] ReadId begin_strong_read(const std::string& key) const;
  [[nodiscard]] std::string end_strong_read(const ReadId& id, std::int64_t value);

  // What no crash may have taken: for acks at disk, only if no disk was lost.
  [[nodiscard]] std::string check_final(const std::string& key, std::int64_t value,
                                        bool disk_lost) const;

  [[nodiscard]] std::vector<std::string> keys() const;
  [[nodiscard]] std::size_t acknowledged() const { return acknowledged_; }
  [[nodiscard]] std::size_t doubtful() const { return doubtful_; }

 private:
  struct Add {
    Ack ack{};
    std::optional<Outcome> outcome;  // none: not answered
    bool seen = false;               // by a strong read that ended
  };
  [[nodiscard]] std::string check_possible(const std::string& key, std::int64_t value) const;

  std::map<std::string, std::vector<Add>> adds_;
  std::string current_;
  std::size_t acknowledged_ = 0, doubtful_ = 0;
};

}  // namespace quipu::sim
