// decision.h: commands that decide on what they read, such as SET NX, EXPIRE GT or INCREX; and
// several commands as one, such as a transaction.
//
//   words ─▶ Coordinator: who decides? ─┬─ this node ─▶ Decider, once the counters are in memory
//                                       └─ another: the words travel (OpKind::decide)
//
// An owner of the counter decides: this node if it is an owner, else another one that is up. In a
// namespace with `decide = home`, the first owner that is up decides, in the order of the owner
// table. (Two nodes may disagree about who is up.) If no owner is up, a decision is unavailable.
// Words about several counters need an owner of all of them: the home of the first that is decided
// about at its home, if any is. If there is none, the answer is invalid_argument, with
// kDecidedApart.
//
// A decision runs in one go, so no other change of this node comes in between. All that it
// changes becomes durable together or not at all. It sees what this node knows: another owner may
// decide on the same counter meanwhile.
//
// Words that travelled are never sent again, since the reply of a retry is unknown. If the answer
// is lost, the outcome is in doubt. They carry a token, so that no copy of a message counts twice.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/membership/wall_clock.h"
#include "storage/executor.h"

namespace quipu {

inline constexpr std::string_view kDecidedApart = "no node that is up keeps all of these counters";

inline constexpr std::string_view kOtherKind = "the key has a counter of another kind";

// Why a change of this shard is of the wrong type: kOtherKind and which, or the kind that the
// counter's namespace fixes. For people. REQUIRES: what the key has of other kinds is in memory.
[[nodiscard]] std::string why_wrong_type(const Executor& executor, const ShardRef& ref,
                                         const Placement& placement);

// One counter, for the time of a decision. Each change answers at once: not ok, nothing was
// changed by it.
class Decision {
 public:
  // All but the placement must outlive it. REQUIRES: the counter is in memory, with one shard.
  Decision(Executor& executor, const WallClock& clock, std::string_view key,
           const Placement& placement)
      : executor_(executor), clock_(clock), ref_{key, 0}, placement_(placement) {}

  [[nodiscard]] std::string_view key() const { return ref_.key; }
  [[nodiscard]] const Placement& placement() const { return placement_; }

  struct Held {
    bool exists = false;
    std::optional<std::int64_t> total;  // nullopt: it has left the range of a number
    Wall ends{};                        // 0: never
    Kind kind = Kind::sum;              // of another kind, `total` is 0
  };
  [[nodiscard]] Held held() const;
  // nullopt: this node's clock is not trusted.
  [[nodiscard]] std::optional<Wall> today() const { return executor_.date(); }
  // From when a time to live counts. nullopt: this node's clock is not trusted.
  [[nodiscard]] std::optional<Wall> lives_from() const;

  Code add(std::int64_t amount);
  Code set(const NewValue& wanted);
  // These two are for the key's counters of all kinds.
  // Wall{}: they have no end any more. What has passed ends them at once.
  Code expire(Wall at);
  Code reset();

  // How long its namespace says that new counters live; add() heeds it. 0: for ever.
  [[nodiscard]] Wall::duration usual_ttl() const;
  // Why a change was refused with that code. For people.
  [[nodiscard]] std::string reason(Code code) const;

 private:
  [[nodiscard]] bool forbidden() const;
  Code apply_to_all_kinds(OpKind kind, std::int64_t amount);
  // The first shard of the sum. If the key has a counter of another kind and no sum, that one's.
  [[nodiscard]] ShardKey first() const;

  Executor& executor_;
  const WallClock& clock_;
  const ShardRef ref_;
  const Placement placement_;
};

// The counters that one decision is about.
class Decisions {
 public:
  // Ascending by key; they must outlive it.
  Decisions(std::span<Decision> all, const Executor& executor) : all_(all), executor_(executor) {}

  // nullptr: the decision is not about that counter.
  [[nodiscard]] Decision* find(std::string_view key) const;
  // What this node's clock shows, trusted or not.
  [[nodiscard]] Wall shown_time() const { return executor_.wall(); }

 private:
  const std::span<Decision> all_;
  const Executor& executor_;
};

// What words mean. Implemented by the layer that takes them from clients.
class Decider {
 public:
  Decider() = default;
  Decider(const Decider&) = delete;
  Decider& operator=(const Decider&) = delete;
  virtual ~Decider() = default;
  // Both get words that may come from another member, and be any bytes.
  // The reply, of 1 to kMaxDecisionReply bytes.
  [[nodiscard]] virtual std::string decide(std::string_view words, Decisions& on) const = 0;
  // The counters that the words are about, ascending, each once. None: the op's key alone.
  [[nodiscard]] virtual std::vector<std::string_view> keys(std::string_view words) const = 0;
};

}  // namespace quipu
