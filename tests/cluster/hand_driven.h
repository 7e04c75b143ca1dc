// hand_driven.h: whole nodes. The test moves their network, disks and clock.
//
// Each call goes on until nothing is left to do, except what the test holds back: a held link,
// a stalled disk, time that does not pass. Frames of a link arrive in order or, if it is cut,
// not at all.
//
// Nodes are named by their MemberIndex. Nothing dials by itself: see connect().
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cluster/node_core.h"
#include "storage/memory_store.h"
#include "storage/recovery.h"

namespace quipu::test {

using namespace std::chrono_literals;

// A client's request, besides the key and the amount.
struct Ask {
  Ack ack = Ack::disk;
  ShardIndex shard = kAnyShard;
  Token token{};
  std::uint32_t timeout_ms = 0;
  Affinity affinity{};
};

class HandDriven {
 public:
  struct Options {
    std::size_t nodes = 3;
    std::uint8_t replication = 3;
    NodeSettings settings{};
    std::set<std::size_t> edges{};  // which of the names "n0", "n1", … own nothing
    bool start = true;              // all of them, connected and founded
  };
  HandDriven() : HandDriven(Options{}) {}
  explicit HandDriven(Options options);

  // ---- nodes ----
  [[nodiscard]] std::vector<MemberIndex> all() const;
  void start(MemberIndex node);  // with a disk that is full: for reads only
  void start_all();              // not connected
  // Loses what is not durable. Its peers' links close.
  void crash(MemberIndex node);
  void restart(MemberIndex node) { crash(node), start(node), connect(node); }
  // Accepts no more work; see whether its core is quiet().
  void begin_closing(MemberIndex node);
  // An empty disk; `marked`: as --rebuild makes it.
  void wipe(MemberIndex node, NewStore kind = NewStore::unmarked);
  [[nodiscard]] MemoryDisk& disk(MemberIndex node) { return nodes_[node].disk; }
  [[nodiscard]] bool running(MemberIndex node) const { return nodes_[node].core != nullptr; }
  [[nodiscard]] const NodeCore& core(MemberIndex node) const { return *nodes_[node].core; }
  [[nodiscard]] const Meta& meta(MemberIndex node) const { return core(node).executor().meta(); }
  [[nodiscard]] std::uint64_t stat(MemberIndex node, const std::string& name) const;
  [[nodiscard]] std::string peer_state(MemberIndex node, MemberIndex peer) const;
  [[nodiscard]] bool up(MemberIndex a, MemberIndex b) const;
  // How often the core asked for a new recovery from its store.
  [[nodiscard]] std::size_t restarts(MemberIndex node) const { return nodes_[node].restarts; }
  NodeSettings& settings(MemberIndex node) { return nodes_[node].settings; }

  // ---- disks ----
  // Writes wait until resume(). A crash loses them.
  void stall(MemberIndex node) { nodes_[node].stalled = true; }
  void resume(MemberIndex node);
  // The core is informed that the disk is full, and writes wait until make_room().
  void fill(MemberIndex node);
  void make_room(MemberIndex node);

  // Reads from the store wait until release_loads().
  void hold_loads(MemberIndex node) { nodes_[node].loads_held = true; }
  void release_loads(MemberIndex node);
  void release_one_load(MemberIndex node);

  // ---- network ----
  void connect(MemberIndex a, MemberIndex b);
  void connect(MemberIndex node);  // to all that run
  void connect_all();
  void cut(MemberIndex a, MemberIndex b);
  void cut_off(MemberIndex node);
  // Only this side is informed that the link is gone.
  void lose_side(MemberIndex node, MemberIndex peer);
  void hold(MemberIndex from, MemberIndex to) { held_.insert({from, to}); }
  void release(MemberIndex from, MemberIndex to);
  // Messages held on this link arrive late, and so does its end, whatever newer links carry.
  void hold_link(MemberIndex from, MemberIndex to);
  void release_links();
  // Sees every frame before it arrives, may change it, and decides what happens to it.
  enum class Fate { deliver, drop };
  using Meddler = std::function<Fate(MemberIndex from, MemberIndex to, PeerMessage&)>;
  void meddle(Meddler meddler) { meddler_ = std::move(meddler); }
  void be_fair() { meddler_ = nullptr; }
  // Sees every frame as it arrives.
  using Watcher = std::function<void(MemberIndex from, MemberIndex to, const Frame&)>;
  void watch(Watcher watcher) { watcher_ = std::move(watcher); }
  // As if `from` had sent it on its link.
  void forge(MemberIndex from, MemberIndex to, const PeerMessage& message,
             FrameVersion version = spoken_versions().to);
  // Frames that arrived since the last call, by type.
  [[nodiscard]] std::map<FrameType, std::size_t> take_traffic() {
    return std::exchange(traffic_, {});
  }

  // ---- clients ----
  // Each returns the id that its answer carries.
  std::uint64_t op(MemberIndex node, Op op);
  std::uint64_t add(MemberIndex node, std::string_view key, std::int64_t amount, Ask ask = {});
  // Adds 1 to each, in one batch. The results are ignored.
  void add_all(MemberIndex node, const std::vector<std::string>& keys);
  std::uint64_t reset(MemberIndex node, std::string_view key, Ask ask = {});
  std::uint64_t raise(MemberIndex node, std::string_view key, ShardIndex count);
  std::uint64_t read(MemberIndex node, std::string_view key, ReadLevel level,
                     std::uint32_t timeout_ms = 0);
  std::uint64_t list(MemberIndex node, List list);
  std::uint64_t size(MemberIndex node, std::uint32_t timeout_ms = 0);
  std::uint64_t namespaces(MemberIndex node, NamespaceRequest request);
  // While its clock shows something else for a moment.
  std::uint64_t namespaces(MemberIndex node, NamespaceRequest request, std::uint64_t wall_ms);
  // The executor's answer, if it came.
  [[nodiscard]] std::optional<Done> done(std::uint64_t id) const;
  [[nodiscard]] std::optional<Code> code(std::uint64_t id) const;
  [[nodiscard]] std::optional<Value> value(std::uint64_t id) const;
  [[nodiscard]] std::optional<Keys> keys(std::uint64_t id) const;
  [[nodiscard]] std::optional<KeyCount> sized(std::uint64_t id) const;
  [[nodiscard]] std::optional<NamespaceReply> namespaces_reply(std::uint64_t id) const;
  std::uint64_t query(MemberIndex node, Query query);
  [[nodiscard]] std::optional<QueryReply> queried(std::uint64_t id) const;
  std::uint64_t range(MemberIndex node, RangeRequest request);
  [[nodiscard]] std::optional<RangeReply> ranged(std::uint64_t id) const;
  // A session at `executor`, asked of `node`; the token of its number 1.
  Token session(MemberIndex node, MemberIndex executor);
  // The answer to a read that is answered at once.
  [[nodiscard]] std::int64_t total(MemberIndex node, std::string_view key, ReadLevel level);
  // What this node's memory holds, even if it is not an owner.
  [[nodiscard]] std::int64_t held(MemberIndex node, std::string_view key,
                                  ShardIndex shard = 0) const;
  [[nodiscard]] ShardState state(MemberIndex node, std::string_view key,
                                 ShardIndex shard = 0) const;

  // ---- placement ----
  [[nodiscard]] const ClusterConfig& config() const { return config_; }
  [[nodiscard]] Partition partition(std::string_view key, ShardIndex shard = 0) const;
  [[nodiscard]] std::vector<MemberIndex> owners(std::string_view key, ShardIndex shard = 0) const;
  [[nodiscard]] bool owns(MemberIndex node, std::string_view key, ShardIndex shard = 0) const;
  // A key whose first shard `node` does or does not own; `nth` for another one.
  [[nodiscard]] std::string key_of(MemberIndex node, std::size_t nth = 0) const {
    return find_key(node, true, nth);
  }
  [[nodiscard]] std::string key_not_of(MemberIndex node, std::size_t nth = 0) const {
    return find_key(node, false, nth);
  }

  // ---- time ----
  [[nodiscard]] Instant now() const { return now_; }
  // What the clock of its machine shows. All show the same until one is set.
  [[nodiscard]] Wall wall(MemberIndex node) const;
  void set_clock(MemberIndex node, Wall wall);
  void pass(Duration duration);
  // Goes on until nothing is left to do at this moment.
  void run();

 private:
  struct Node {
    Wall::duration clock_ahead{};
    MemoryDisk disk;
    NodeSettings settings;
    std::unique_ptr<MemoryStore> store;
    std::unique_ptr<NodeCore> core;
    std::deque<Sealed> writes;
    bool stalled = false;
    std::optional<Loaded> loaded;  // on its way back from the store
    bool loads_held = false;
    NewStore kind = NewStore::unmarked;
    std::size_t restarts = 0;
  };
  struct Side {
    MemberIndex node;
    LinkId id;
    std::deque<std::string> inbox;
    bool open = true;
    bool closing = false;  // by its own wish; the peer must be informed
    bool held = false;
  };
  struct Link {
    Side sides[2];
  };

  void perform(MemberIndex node, Effects& effects);
  void boot(MemberIndex node);
  bool write_some(MemberIndex node);
  bool load_some(MemberIndex node);
  bool deliver_some(Link& link, int to);
  bool close_some(Link& link);
  void close(Side& side);
  Link* link_between(MemberIndex a, MemberIndex b);
  [[nodiscard]] std::string find_key(MemberIndex node, bool owned, std::size_t nth) const;
  [[nodiscard]] const NodeCore& any_core() const;

  ClusterConfig config_;
  Random random_;
  Instant now_{1h};
  std::deque<Node> nodes_;
  std::deque<Link> links_;
  std::uint64_t next_link_ = 1;
  std::uint64_t next_id_ = 1;
  std::set<std::pair<MemberIndex, MemberIndex>> held_;
  Meddler meddler_;
  Watcher watcher_;
  std::map<FrameType, std::size_t> traffic_;
  std::map<std::uint64_t, Done> done_;
  std::map<std::uint64_t, Value> values_;
  std::map<std::uint64_t, Keys> keys_;
  std::map<std::uint64_t, KeyCount> sized_;
  std::map<std::uint64_t, NamespaceReply> namespaces_;
  std::map<std::uint64_t, RangeReply> ranged_;
  std::map<std::uint64_t, QueryReply> queried_;
};

// More nodes than owners: some own nothing of a given key.
inline HandDriven::Options five() {
  HandDriven::Options options;
  options.nodes = 5;
  return options;
}

}  // namespace quipu::test
