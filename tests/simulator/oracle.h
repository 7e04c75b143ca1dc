// oracle.h: sees every disk and every message, unlike any node, and reports at once when a node
// sends what it may not send yet.
//
//   what became durable ─▶ each node's durable states
//   what is sent        ─▶ is it in them?   an ack ─▶ is everything acked in them?
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cluster/membership/config.h"
#include "protocol/message_codec.h"
#include "protocol/partitions.h"
#include "storage/memory_store.h"
#include "tests/simulator/network.h"
#include "tests/simulator/repairs.h"
#include "tests/simulator/trace.h"
#include "tests/storage/journal_names.h"

namespace quipu::sim {

// For people.
[[nodiscard]] std::string tell(const Op& op);
[[nodiscard]] std::string tell(const Done& done);

inline constexpr ShardIndex kShards = 8;  // of a counter: the most that the workload raises to

class Oracle {
 public:
  // `config` must outlive it.
  Oracle(Timeline& time, Trace& trace, const ClusterConfig& config)
      : time_(time),
        trace_(trace),
        config_(config),
        names_(config.members.size()),
        stores_(config.members.size()),
        replaced_(config.members.size()),
        before_(config.members.size()),
        disks_(config.members.size()),
        counted_(config.members.size()),
        seen_(config.members.size()),
        sighted_(config.members.size()),
        went_back_(config.members.size()) {}

  // The fence under which a copy of a member is in sync. Nothing: it is not, or it is down.
  using VotesBy = std::function<std::optional<Fence>(MemberIndex, Partition)>;
  void set_votes(VotesBy votes_by) { votes_by_ = std::move(votes_by); }
  // Whether it is up, and its new disk has not been filled with a partition yet.
  using OfCopy = std::function<bool(MemberIndex, Partition)>;
  void set_bootstrapping(OfCopy hollow) { bootstrapping_ = std::move(hollow); }
  // Whether the copy on its present disk has counted for a quorum at some time.
  void set_has_voted(OfCopy has_voted) { has_voted_ = std::move(has_voted); }
  // Known once the cluster is founded.
  void set_placement(HashKey placement) { placement_ = placement; }

  // A process starts on that store. `disk` must outlive it.
  void on_start(MemberIndex node, StoreId store, const MemoryDisk& disk);
  void on_durable(MemberIndex node, const Batch& batch);
  // Also for the same disk in another state.
  void on_disk_replaced(MemberIndex node, const MemoryDisk& disk);
  // A node sends that to another, over that connection.
  void on_sent(MemberIndex from, HostId to, ConnId connection, const std::string& frame);

  // How far the store has come, as that node's disk shows. (By the cells on it: the product's own
  // notes of that are what is checked.)
  [[nodiscard]] Commit seen(MemberIndex node, StoreId store) const;

  // On how many of its owners' disks some shard's total has this base-4 digit. A disk that was
  // never in sync is left out, unless it had the digit under another name, and may have acked it
  // then: if it has not been replaced since `begun`. (One that is out of sync again, because one
  // more owner is its source now, may have acked the digit before. What it has stays there.)
  [[nodiscard]] std::size_t holders(const std::string& key, std::size_t digit, bool negative,
                                    Instant begun) const;
  // The disks that have it at all.
  [[nodiscard]] std::vector<MemberIndex> holding(const std::string& key, std::size_t digit,
                                                 bool negative) const;

  // A witness key's digits, as bits: those that every strong read shows that is answered from the
  // current disks, and those that one may show, by any majority.
  struct Readable {
    std::uint32_t always = ~0U, ever = 0;
  };
  [[nodiscard]] Readable readable(const std::string& key, bool negative) const;
  // The same again while these are unchanged: when a disk last got or lost something of the
  // counter, and which copies are in sync, shard by shard.
  [[nodiscard]] Instant changed(const std::string& key) const;
  using Votes = std::vector<std::optional<Fence>>;
  [[nodiscard]] Votes votes(const std::string& key) const;
  // The digits that each owner's disk shows, so that any of them may be asked.
  [[nodiscard]] std::uint32_t shown_by_all(const std::string& key, bool negative) const;
  // The number of shards that a majority of the first one's owners have on their disks.
  [[nodiscard]] ShardIndex known_shards(const std::string& key) const;
  [[nodiscard]] HashKey placement() const { return placement_; }
  // Nothing, or two owners whose disks hold different states of it. (The nodes compare digests,
  // which may leave something out.)
  [[nodiscard]] std::string who_differs(const std::string& key) const;
  // The counter exists for any owner in sync.
  [[nodiscard]] bool exists_for_all(const std::string& key) const;
  // As its disk has it.
  [[nodiscard]] const ShardState& durable(MemberIndex node, ShardRef shard) const;
  // As its disk has it. 0: none.
  [[nodiscard]] ActorId own_actor(MemberIndex node, Partition partition) const;

 private:
  struct HashName {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const {
      return std::hash<std::string_view>{}(name);
    }
  };
  // A counter's states on each disk.
  struct Copies {
    std::vector<std::vector<ShardState>> on;  // by node, by shard
    Instant changed{};                        // when one of them last did
  };
  using Shards = std::unordered_map<std::string, std::vector<ShardState>>;  // by key, by shard
  struct Owed {  // by connection and asker: sent states that await an ack
    std::map<std::uint64_t, Delta> frames, writes;
  };

  void know(MemberIndex node, ShardRef shard, ActorId actor, Commit commit, std::int64_t sum);
  [[nodiscard]] std::optional<std::int64_t> written(MemberIndex writer, ShardRef shard,
                                                    ActorId actor, Commit commit) const;
  void tell(MemberIndex from, HostId to, const PeerMessage& message);
  void absorb(MemberIndex node, const Delta& delta);
  void absorb_record(MemberIndex node, const std::string& key, const std::string& value);
  void check_actors(MemberIndex node, const Delta& delta);
  void check_goes_on(MemberIndex node, Partition partition, ActorId actor);
  [[nodiscard]] Commit reached(MemberIndex node, ShardRef shard, ActorId actor) const;
  void check_versions(MemberIndex node);
  void check_given_up(MemberIndex node, const ShardRef& shard);
  void check_usable(ShardRef shard, ShardIndex usable);
  void check_sent(MemberIndex from, const Delta& delta, const char* what);
  void check_acked(MemberIndex by, const Delta& delta, const std::vector<Partition>& unfilled,
                   const char* what);
  void check_greeting(MemberIndex from, HostId to, const Hello& hello);
  void check_repaired(MemberIndex by, std::uint64_t epoch, Repairs& repairs);
  struct Answers;
  [[nodiscard]] Answers answers(const ShardKey& shard, bool negative, Fence fence) const;
  [[nodiscard]] bool holds(MemberIndex node, const DeltaEntry& entry) const;
  void join(MemberIndex node, ShardRef shard, std::span<const Cell> cells, ShardIndex count,
            ShardIndex usable);
  [[nodiscard]] const Copies* copies(std::string_view key) const;
  [[nodiscard]] Partition partition(ShardRef shard) const;

  Timeline& time_;
  Trace& trace_;
  const ClusterConfig& config_;
  HashKey placement_{};
  OfCopy bootstrapping_;
  OfCopy has_voted_;
  VotesBy votes_by_;
  std::unordered_map<std::string, Copies, HashName, std::equal_to<>> copies_;  // what is durable
  std::vector<test::JournalNames> names_;                                      // of the same disks
  std::unordered_map<std::uint64_t, std::int64_t> sums_;  // by hash of (shard, actor, commit)
  struct Writer {
    MemberIndex node;
    StoreId store;
  };
  std::unordered_map<std::uint64_t, Writer> writers_;  // by actor: the first that showed it
  std::vector<StoreId> stores_;                        // by node: the store that it runs on
  std::vector<Instant> replaced_;                      // … when its disk last was
  std::vector<Shards> before_;                         // … its content when it got its name
  std::vector<const MemoryDisk*> disks_;               // … the disk it is on
  std::vector<Partitions> counted_;                    // … where it was in sync in this start
  std::vector<std::map<StoreId, Commit>> seen_;        // by node: of others' stores
  std::vector<std::map<StoreId, Commit>> sighted_;     // … as its records note
  std::map<std::pair<ConnId, MemberIndex>, Owed> owed_;
  std::map<std::pair<ConnId, MemberIndex>, Repairs> repairs_;  // by connection and asker
  std::map<std::string, ShardIndex, std::less<>> usable_;      // by key: the most that was right
  std::vector<bool> went_back_;  // by node: its disk did, to an older state
  Instant disk_lost_{};
};

}  // namespace quipu::sim
