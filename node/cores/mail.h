// mail.h: what one reactor of a node sends to another at the end of a batch.
//
//   questions   client, id, … | client, id, … | …      in the order in which they were asked
//   ops         for the changes among them
//   lengths     of the keys, for the reads among them
//   replies     client, id, … | …                      to questions of the other reactor
//   done        of changes
//   values      of reads
//
// Flat, so that a question needs no allocation of its own. Cleared mail is reused. It has no
// thread of its own: its current holder reads or writes it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cluster/gates/effects.h"
#include "protocol/client_messages.h"

namespace quipu {

class Mail {
 public:
  struct Question {
    ClientId client{};
    std::uint64_t id = 0;
    std::uint32_t keys = 0;  // for a read; 0: a change
    std::uint32_t timeout_ms = 0;
    ReadLevel level{};
  };
  struct Reply {
    ClientId client{};
    std::uint64_t id = 0;
    std::uint32_t values = 0;  // for a read; 0: for a change
    Asked asked{};             // of a read
  };

  void ask(ClientId client, const Op& op);
  void ask(ClientId client, const Read& read);  // at least one key
  void tell(ClientId client, std::uint64_t id, Done done);
  void tell(ClientId client, std::uint64_t id, std::span<const Value> values, Asked asked = {});
  // The reader was waiting until this reactor accepts more. Now it does.
  void wake() { awake_ = true; }

  [[nodiscard]] bool empty() const { return questions_.empty() && replies_.empty() && !awake_; }
  // Keeps the memory, unless it is large.
  void clear();

  // ---- for reading, once ----
  [[nodiscard]] std::span<const Question> questions() const { return questions_; }
  [[nodiscard]] std::span<const Reply> replies() const { return replies_; }
  // Each moves on to the next. Keys borrow the mail.
  [[nodiscard]] std::span<Op> next_ops(std::size_t count);
  void next_keys(std::size_t count, std::vector<std::string_view>& to);  // appended
  [[nodiscard]] Done& next_done() { return done_[read_.done++]; }
  [[nodiscard]] std::span<const Value> next_values(std::size_t count);

 private:
  struct Position {
    std::size_t ops = 0, lengths = 0, keys = 0, done = 0, values = 0;
  };
  [[nodiscard]] std::string_view next_key(std::size_t length);

  std::vector<Question> questions_;
  std::vector<Op> ops_;
  std::vector<std::uint32_t> lengths_;
  std::vector<char> keys_;
  std::vector<Reply> replies_;
  std::vector<Done> done_;
  std::vector<Value> values_;
  bool awake_ = false;
  Position read_;
};

}  // namespace quipu
