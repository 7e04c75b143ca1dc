// resp_decisions.h: commands of Redis that read and change counters in one go, wherever a node
// decides.
//
//   words ─▶ RespConnection::decide ─▶ Op ─▶ … the node that decides ─▶ RespDecider ─▶ reply
//            checks them                                                checks them again
//
// Each such command is a Rule in its family's file: how its words are read, and what it does to
// the counters (cluster/changes/decision.h). So no command has a second encoding. Commands that
// are no conditions, such as INCR or GET, have rules for transactions: there they are executed
// together with others.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/changes/decision.h"
#include "node/clients/resp/resp_command.h"

namespace quipu {

// What was read of a command's words. With an error, the rest says nothing.
template <class Wanted>
struct ReadWords {
  Wanted wanted{};
  std::string error{};  // as it is sent
};

struct RespRule {
  using Words = RespConnection::Words;
  std::string_view name;  // of the command, in lower case
  // The error for these words; empty: they are sound.
  std::string (*objection)(Words words);
  // REQUIRES: all counters that the words name are those of the decision.
  void (*carry_out)(Words words, Decisions& on, RespWriter& to);
  bool of_one = true;  // it is about words[1] alone; all words behind that are short
};

// `read` makes of the words what `act` needs.
template <auto read, auto act>
[[nodiscard]] constexpr RespRule rule(std::string_view name) {
  return {name, [](RespRule::Words words) { return read(words).error; },
          [](RespRule::Words words, Decisions& on, RespWriter& to) {
            act(read(words).wanted, *on.find(words[1]), to);
          }};
}

// For rules about several counters, whose words the command itself checks.
template <auto act>
[[nodiscard]] constexpr RespRule rule_of_several(std::string_view name) {
  return {name, [](RespRule::Words) { return std::string(); }, act, false};
}

// For rules without options.
inline ReadWords<bool> read_key_alone(RespRule::Words) { return {}; }

[[nodiscard]] std::span<const RespRule> counter_rules();
[[nodiscard]] std::span<const RespRule> expiry_rules();
[[nodiscard]] std::span<const RespRule> value_rules();
[[nodiscard]] std::span<const RespRule> reset_rules();

// nullptr: the command has none.
[[nodiscard]] const RespRule* rule_of(const RespCommand& command);

// The run of commands that decide on one counter. The key is words[1].
void decide(RespConnection& connection, RespConnection::Words words);
// The op that has these words decided, or an error: they are not sound. It borrows from the
// connection, until its questions are given.
struct DecisionOp {
  Op op{};
  std::string error{};
};
[[nodiscard]] DecisionOp decision_of(RespConnection& connection, RespConnection::Words words);
// The same for a packed transaction. Its op borrows the packed words.
struct Together {
  Op op{};
  std::vector<std::string_view> keys{};  // each once, ascending; they borrow the packed words
};
// Nothing: some of these commands are executed only by themselves.
[[nodiscard]] std::optional<Together> together(RespConnection& connection, std::string_view packed);
// Writes the reply of a decision, or why there was none.
void write_decided(RespConnection& connection, const Done& done, RespWriter& to);

// The outcomes of decisions on several counters, asked together within a Task.
struct Decided {
  std::size_t open = 0;      // without an answer
  std::int64_t applied = 0;  // the sum of the replies; OK is 1
  bool spread = false;       // some counter is spread over shards: nobody decides
  std::string error{};       // the least certain one; empty: none

  // True: all have their answers.
  bool take(const Done& done);
};

// The reply where some of several counters failed. Doubt goes before PARTIAL.
void write_partly(RespConnection& connection, std::int64_t done, std::string_view what,
                  const std::string& error, RespWriter& to);

// For words from any member. One thread's.
class RespDecider final : public Decider {
 public:
  RespDecider();
  ~RespDecider() override;
  [[nodiscard]] std::string decide(std::string_view packed, Decisions& on) const override;
  [[nodiscard]] std::vector<std::string_view> keys(std::string_view packed) const override;

 private:
  mutable std::unique_ptr<ScriptEngine> engine_;  // from the first script on
};

// Carries out one command that accepts these words, if they are sound and about counters of the
// decision.
void carry_out(const RespCommand& command, const RespRule& rule, RespConnection::Words words,
               Decisions& on, RespWriter& to);
[[nodiscard]] inline bool is_key(std::string_view word) {
  return !word.empty() && word.size() <= kMaxKey;
}
// Asks for a decision, and writes its reply. What is behind it waits if it is at quorum, since a
// majority is asked first.
void ask_decision(RespConnection& connection, const Op& op);

// The reply for a change that was refused.
void refuse(const Decision& on, Code why, RespWriter& to);
// The same where this many other counters were changed before ("reset", "set").
void refuse_rest(const Decision& on, Code why, std::int64_t done, std::string_view what,
                 RespWriter& to);

// Whether the total fits into a reply. If not, the reply is an error that says so.
[[nodiscard]] bool writable(const Decision::Held& held, const Decision& on, RespWriter& to);
// The reply of GET. REQUIRES: it is writable.
void write_held(const Decision::Held& held, RespWriter& to);

// ---- words that several rules share ----
// A deadline as commands name it.
struct ExpiryWord {
  std::int64_t count = 0;
  bool milliseconds = false;
  bool absolute = false;
  bool keep = false;  // KEEPTTL, or PERSIST

  bool operator==(const ExpiryWord&) const = default;
};
// EX, PX, EXAT, PXAT. Nullopt: another word.
[[nodiscard]] std::optional<ExpiryWord> expiry_word(std::string_view word);
// When that is; a time beyond what a counter may have is the latest that it may have. Wall{} is
// never the answer. nullopt: it leaves the range of a number, as in Redis.
[[nodiscard]] std::optional<Wall> moment_of(const ExpiryWord& expiry, Wall from);
[[nodiscard]] std::string invalid_expiry(std::string_view command);
// The same for a decision. nullopt: it was refused, and the reply says why.
[[nodiscard]] std::optional<Wall> end_by(const ExpiryWord& expiry, std::string_view command,
                                         const Decision& on, RespWriter& to);

}  // namespace quipu
