// ledger.h: the clients' requests and answers. It checks whether an answer can be true.
//
// Witness keys: the i-th add on one adds 4^i (or -4^i). A total's base-4 digits then show
// exactly which adds it contains. 0: no. 1: yes. 2 or more: counted twice. Every other witness
// key adds 2·4^i, and half of its total has these digits. So sums have any number of bits, and
// the sums at the end of each encoded width occur. On the other keys, with amounts of both
// signs, a total must lie between the certain adds plus all doubtful negative ones, and the
// certain adds plus all doubtful positive ones.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cluster/membership/config.h"
#include "protocol/client_messages.h"
#include "protocol/instant.h"
#include "protocol/keyed_hash.h"
#include "tests/simulator/trace.h"

namespace quipu::sim {

inline constexpr std::size_t kAddsPerWitness = 30;

enum class KeyKind : std::uint8_t { witness, negative_witness, signed_sum, big_sum };

class Ledger {
  struct Key;

 public:
  using OpId = std::size_t;
  struct Change {
    OpKind kind = OpKind::add;
    std::string key;
    Key* of = nullptr;
    std::int64_t amount = 0;
    std::size_t digit = 0;
    Instant begun{};
    // When it was first acked at that level. kNever: it was not.
    Instant acked[3] = {kNever, kNever, kNever};
    Instant refused = kNever;  // certainly not applied, as far as its executor's disk shows
    // A reset with a token: when it was first acked at disk or better, and the disk of that ack. A
    // retry after that clears nothing more, unless that disk has lost the token since.
    Instant carried_out = kNever;
    MemberIndex executor = 0;
    // An add: the disks that had it when it was last acked at disk or better, and when that was.
    std::vector<MemberIndex> holders;
    Instant held = kNever;
    // Strong reads: the first that ended with it, and the first that ended without it though it
    // must once have been included (only a reset does that).
    Instant seen = kNever, seen_cleared = kNever;
    [[nodiscard]] bool acked_before(Ack level, Instant when) const;
    [[nodiscard]] bool applied() const { return acked_before(Ack::memory, kNever); }
  };

  // ---- requests and answers ----
  [[nodiscard]] std::string open_key(KeyKind kind);
  // Only names whose first shard is in one of a few partitions from now on, so that several dirty
  // states meet there, and sometimes two in one leaf. `leaves`: one name in six is in a certain
  // leaf, which then holds more than a small answer can carry.
  void crowd(HashKey placement, bool leaves) {
    crowded_ = placement;
    leaves_crowd_ = leaves;
  }
  [[nodiscard]] bool full(const std::string& key) const;
  // For a witness key this chooses the amount. For another key it uses `amount`.
  OpId begin_add(Instant now, const std::string& key, std::int64_t amount);
  OpId begin_reset(Instant now, const std::string& key);
  [[nodiscard]] const Change& change(OpId id) const { return changes_[id]; }
  // An ack at one level is an ack at all lower levels. Returns the contradiction, if any.
  Failure on_acked(OpId id, Instant now, Ack level);
  Failure on_refused(OpId id, Instant now);
  void on_carried_out(OpId id, Instant now, MemberIndex executor);
  void on_held(OpId id, Instant now, std::vector<MemberIndex> holders);
  // A process died, or a disk was lost, together with what was only there.
  void on_crash(Instant now) { last_crash_ = now; }
  void on_disk_lost(Instant now, MemberIndex whose) {
    disks_lost_.emplace_back(now, whose);
    all_changed_ = now;
  }
  [[nodiscard]] std::size_t disks_lost_since(Instant when) const;
  [[nodiscard]] bool disk_lost_since(MemberIndex whose, Instant when) const;
  // No node can know that this is an older copy, so it is in sync until all that could say so have.
  [[nodiscard]] std::size_t on_copy_back(Instant now);
  // `renamed`: it has another name now, and is in sync once it is filled. Otherwise no node could
  // know better, and what it lost is pulled in its own time.
  void on_copy_noticed(std::size_t which, Instant now, bool renamed) {
    backs_[which].to = now;
    backs_[which].renamed = renamed;
    all_changed_ = now;
  }

  // Nothing fails from now on, and every earlier question has been answered.
  void on_quiet(Instant now) { quiet_ = now; }

  // ---- results of reads ----
  struct Times {
    Instant begun, answered, ended;  // the middle one by the node
    bool by_owner = false;           // of a copy in sync
  };
  Failure check_read(ReadLevel level, const std::string& key, const Value& value,
                     const Times& times);
  // A fresh read has begun its questions: it shows the digits that each owner had by then.
  [[nodiscard]] Failure check_fresh(const std::string& key, std::uint32_t shown, const Value& value,
                                    Instant begun) const;
  // The digits, as bits, that a strong read shows which begins and ends now.
  [[nodiscard]] Failure check_readable(const std::string& key, std::uint32_t always,
                                       std::uint32_t ever, Instant now) const;
  // After this time, the result of check_readable() for the same bits does not depend on time.
  [[nodiscard]] Instant changed(const std::string& key) const {
    return std::max(all_changed_, keys_.at(key).changed);
  }
  // When nothing is in flight any more.
  [[nodiscard]] Failure check_final(const std::string& key, const Value& value, Instant now) const;
  // Whether a reset may have cleared it by then.
  [[nodiscard]] bool may_be_cleared(const Change& add, Instant by) const;

  // Oldest first.
  [[nodiscard]] const std::vector<std::string>& keys() const { return names_; }
  [[nodiscard]] KeyKind kind(const std::string& key) const { return keys_.at(key).kind; }

  [[nodiscard]] bool ever_reset(const std::string& key) const {
    return !keys_.at(key).resets.empty();
  }
  // Whether a disk went back to an older copy.
  [[nodiscard]] bool came_back() const { return !backs_.empty(); }
  [[nodiscard]] std::size_t size() const { return changes_.size(); }

 private:
  struct Key {
    KeyKind kind{};
    bool doubled = false;    // a witness key that adds 2·4^i
    std::vector<OpId> adds;  // the i-th stands for digit i
    std::vector<OpId> resets;
    std::uint64_t refused = 0;  // bits of digits, like a sum
    Instant changed{};          // when something about it was last requested or answered
  };
  OpId begin(Instant now, OpKind kind, const std::string& key);
  [[nodiscard]] std::string say(const Change& change, const std::string& what) const;
  [[nodiscard]] std::string times(const Change& change) const;
  [[nodiscard]] bool must_hold(const Change& add, Instant begun, Instant ended) const;
  [[nodiscard]] bool must_be_clear(const Change& add, const Key& key, Instant begun) const;
  [[nodiscard]] bool refused_for_good(const Change& change) const;
  [[nodiscard]] bool ended_before(const Change& reset, Instant when) const;
  [[nodiscard]] bool held_still(const Change& add) const;
  [[nodiscard]] bool surely_held(const Change& add) const;
  [[nodiscard]] bool survives(const Change& add) const;
  [[nodiscard]] bool fooled(Instant from, Instant to) const;
  [[nodiscard]] static std::int64_t digits(const Key& key, const Value& value);
  [[nodiscard]] Failure check_digits(const Key& key, const Value& value) const;
  [[nodiscard]] Failure check_complete(const Key& key, const Value& value,
                                       const Times& times) const;
  Failure check_strong(const Key& key, const Value& value, Instant begun, Instant ended);
  template <class Certain>
  [[nodiscard]] Failure check_bounds(const std::string& name, const Key& key, const Value& value,
                                     Instant ended, Certain&& certain) const;

  std::vector<Change> changes_;
  std::optional<HashKey> crowded_;
  bool leaves_crowd_ = false;
  std::uint64_t next_name_ = 0;
  std::unordered_map<std::string, Key> keys_;  // never iterated
  std::vector<std::string> names_;
  Instant last_crash_ = Instant::min();
  Instant quiet_ = kNever;
  std::vector<std::pair<Instant, MemberIndex>> disks_lost_;
  struct Back {
    Instant from, to;  // unnoticed for this long
    bool renamed = false;
  };
  std::vector<Back> backs_;
  Instant all_changed_{};  // when something last happened that affects all keys
};

[[nodiscard]] std::uint64_t digit_of(std::int64_t value, std::size_t digit);

}  // namespace quipu::sim
