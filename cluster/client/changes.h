// changes.h: adds, applies, resets and expires on their way to an executor, each exactly once.
//
//   unassigned ──choose──▶ executor's queue ──session has room──▶ sent ──Done──▶ finished
//        ▲                       │ suspected                     │   ▲
//        ├───────────────────────┘             connection lost   ▼   │ reconnected
//        └──────── resting ◀──── retry, rebind ────────────────  lost
//
// Invariants
//   1. A change has a token from its first sending on. The token, and with it the executor,
//      changes only when an answer proves that nothing was applied.
//   2. A number is settled only when its change will never be sent again.
//   3. Every change ends in exactly one completion, at its deadline at the latest: in_doubt if
//      it is bound then, else the reason why it could not be sent. An unbound change that
//      finds no executor with room ends at once.
//
// For an add with an affinity, the client must know the counter's number of shards before it
// chooses an executor, since other clients choose by that number, too. If it does not know,
// it asks, and the add waits for the answer.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

#include "cluster/client/directory.h"
#include "cluster/client/effects.h"
#include "cluster/client/links.h"
#include "cluster/client/remote_executor.h"
#include "cluster/client/settings.h"
#include "protocol/instant.h"

namespace quipu {

struct ClientStats {
  struct PerNode {
    std::uint64_t through = 0;   // applied changes answered by it
    std::uint64_t executed = 0;  // applied changes executed by it
  };
  std::uint64_t applied = 0;
  std::uint64_t refused = 0;
  std::uint64_t unknown = 0;
  // Changes that had to be sent again, and ended applied or refused.
  std::uint64_t settled_by_retry = 0;
  // The part of these whose link broke or whose answer was in_doubt, without those that were
  // sent again because the client chose another node.
  std::uint64_t settled_doubts = 0;
  std::map<std::string, PerNode> nodes;  // by name
};

class ClientChanges {
 public:
  // All must outlive it.
  ClientChanges(const ClientSettings& settings, const ClientLinks& links,
                ClientDirectory& directory, RequestIds& ids)
      : settings_(settings), links_(links), directory_(directory), ids_(ids) {}

  void submit(Instant now, ClientChange change, ClientEffects& effects);

  // False: it answers nothing that is open here.
  bool on_done(Instant now, const Done& done, ClientEffects& effects);
  bool on_values(Instant now, const Values& values, ClientEffects& effects);
  // The connected node closes: it has carried out nothing that it has not answered. on_lost_link()
  // follows.
  void on_parted(Instant now, ClientEffects& effects);
  // The nodes refuse the credentials. What was never sent ends with this. The rest waits for its
  // deadline: it may have been applied.
  void on_rejected(Instant now, const Status& why, ClientEffects& effects);
  // The connection to the node was lost: nothing can be sent until on_link, and new changes do
  // not assume that a session of that node still exists.
  void on_lost_link(Instant now, ClientEffects& effects);
  void on_link(Instant now, ConnectionId link, ClientEffects& effects);
  // The directory has changed.
  void on_config(Instant now, ClientEffects& effects);
  void on_tick(Instant now, ClientEffects& effects);
  [[nodiscard]] Instant deadline() const;
  // Completes everything.
  void stop(Instant now, ClientEffects& effects);

  // The connected node owes an answer.
  [[nodiscard]] bool waiting() const;
  // An answer said that the config has changed. Reported once.
  [[nodiscard]] bool take_stale() { return std::exchange(stale_, false); }
  [[nodiscard]] std::size_t size() const { return by_id_.size(); }
  [[nodiscard]] const ClientStats& stats() const { return stats_; }

 private:
  using Entry = ChangeList::iterator;
  // The connected node was asked how many shards a counter has.
  struct Ask {
    std::string key;
    ChangeList waiting{};
  };

  RemoteExecutor& executor(StoreId store) {
    return executors_.try_emplace(store, store).first->second;
  }
  void unlink();
  void move(Entry entry, ChangeList& to);
  void assign(Instant now, Entry entry, ClientEffects& effects);
  [[nodiscard]] bool wait_for_shards(Instant now, Entry entry, ClientEffects& effects);
  [[nodiscard]] Ask& ask_shards(const std::string& key, ClientEffects& effects);
  void unassign(ChangeList& changes);
  void assign_all(Instant now, ClientEffects& effects);
  void flush(Instant now, RemoteExecutor& to, ClientEffects& effects);
  void open_session(Instant now, RemoteExecutor& at, ClientEffects& effects);
  void send(Instant now, Entry entry, ClientEffects& effects);
  [[nodiscard]] bool has_words(ClientChange& change) const;
  void rest(Instant now, Entry entry);
  void wake(Instant now, ClientEffects& effects);
  void expire(Instant now, ClientEffects& effects);
  void suspect(Instant now, RemoteExecutor& who, ClientEffects& effects);
  void suspect(Instant now, RemoteExecutor& who, const Done& said, ClientEffects& effects);
  void unassign_from(Instant now, RemoteExecutor& who, ClientEffects& effects);
  void suspect_silent(Instant now, ClientEffects& effects);
  void on_session(Instant now, RemoteExecutor& at, const Done& done, ClientEffects& effects);
  void on_refused(Instant now, Entry entry, const Done& done, ClientEffects& effects);
  void on_unsettled(Instant now, Entry entry, const Done& done, ClientEffects& effects);
  void rebind(Instant now, Entry entry, ClientEffects& effects);
  [[nodiscard]] std::string why_unassigned(std::string_view otherwise) const;
  void finish(Instant now, Entry entry, Status status, ClientEffects& effects,
              std::optional<std::int64_t> total = {});
  void give_up(Instant now, Entry entry, std::string_view why, ClientEffects& effects);
  void note(const ClientChange& change, ClientJournalEntry::Kind kind, Code code,
            ClientEffects& effects) const;
  void count(const ClientChange& change, Outcome outcome);

  const ClientSettings& settings_;
  const ClientLinks& links_;
  ClientDirectory& directory_;
  RequestIds& ids_;
  std::optional<ConnectionId> link_;
  bool stale_ = false;
  Instant next_expiry_ = kNever;  // at or before the first deadline

  std::map<StoreId, RemoteExecutor> executors_;  // each with its queue
  ChangeList unassigned_;
  std::map<std::uint64_t, Ask> asks_;                      // by id, on link_
  std::unordered_map<std::string, std::uint64_t> asking_;  // their ids; never iterated
  ChangeList sent_;                                        // on link_, not answered
  ChangeList lost_;                                        // bound, to send on the next link
  ChangeList resting_;                                     // in the order of `wake`
  std::unordered_map<std::uint64_t, Entry> by_id_;         // never iterated
  ClientStats stats_;
};

}  // namespace quipu
