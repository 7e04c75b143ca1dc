// listing.h: answers lists of counters, across owners.
//
//   cursor ──own partitions, in memory──▶ another's ──ListPart──▶ one of its live
//            owners ──ListedPart──▶ the answer, or on from there if it has no keys
//
// For states in the own store alone, this node asks itself, like another owner.
//
// Partitions are visited in order, so that a cursor means the same on every node. An owner
// lists only partitions where its copy is in sync, and asks no other node: it stops at the
// first other partition. Any owner will do, so one is asked. If its link is lost, it cannot
// answer, or it is silent for an interval, another one is asked.
//
// Rule: nothing is left out silently. If no owner answers before the deadline, the answer ends
// before that partition. If it would be empty, it says `unavailable`.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cluster/gates/node_settings.h"
#include "cluster/gates/outbound.h"
#include "cluster/membership/view.h"
#include "cluster/reads/owner_set.h"

namespace quipu {

class Listing {
 public:
  // All must outlive it.
  Listing(const View& view, const Executor& executor, Outbound& out, const NodeSettings& settings)
      : view_(view),
        executor_(executor),
        out_(out),
        settings_(settings),
        next_number_(view.first_number()) {}

  void on_list(Instant now, ClientId client, const List& list);
  // A peer's question about this node's memory.
  void on_list_part(MemberIndex from, const ListPart& ask);
  void on_listed_part(MemberIndex from, const ListedPart& told);
  void on_link_lost(MemberIndex member);
  void on_tick(Instant now);

  [[nodiscard]] std::size_t size() const { return walks_.size(); }

 private:
  struct Walk {
    ClientId client{};
    std::uint64_t id = 0;
    std::string prefix;
    std::uint32_t limit = 0;
    Instant deadline{};
    std::uint32_t begin = 0;   // as the client asked
    std::uint32_t cursor = 0;  // there is nothing to tell from begin to here
    std::uint32_t end = 0;     // at the latest, it is answered here
    // Owners of the cursor's partition.
    OwnerSet asked{};     // they have not answered yet
    OwnerSet vain{};      // they did, since the last interval, and could not tell
    bool ticked = false;  // an interval has ended since the first was asked
  };
  // By the number of the open question. All owners that get the same question get the same
  // number. A walk that went on has another.
  using Walks = std::map<std::uint64_t, Walk>;

  struct Found {
    std::vector<std::string> keys;
    std::uint32_t next = 0;
    std::vector<Kind> kinds;  // of the keys
  };
  [[nodiscard]] Found held(std::string_view prefix, std::uint32_t cursor, std::uint32_t end,
                           std::uint32_t limit) const;
  [[nodiscard]] bool can_tell(std::uint32_t cursor) const;
  [[nodiscard]] std::uint32_t end_of_memory(std::uint32_t cursor) const;
  [[nodiscard]] bool sound(const Walk& walk, MemberIndex from, const ListedPart& answer) const;
  [[nodiscard]] OwnerSet only(const Walk& walk, MemberIndex member) const;
  void advance(Walk walk);
  void wait(Walk walk);
  void ask(Walks::iterator at);
  [[nodiscard]] Walk take(Walks::iterator at);
  void answer(const Walk& walk, std::vector<std::string> keys, std::vector<Kind> kinds);
  void refuse(const Walk& walk, Code code, std::string why);

  const View& view_;
  const Executor& executor_;
  Outbound& out_;
  const NodeSettings& settings_;
  Walks walks_;
  std::size_t bytes_ = 0;  // of all their answers, at most
  std::uint64_t next_number_;
};

}  // namespace quipu
