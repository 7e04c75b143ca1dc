// node.h: one whole NodeCore on a disk of memory, whose clients and peers are
// strangers.
//
// What it checks, whatever they say:
//   1. A frame that is refused has changed nothing.
//   2. Each request is answered once, with its id, by its deadline at the latest.
//   3. What is durable is what is in memory: recovered, it has the same digests.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "cluster/node_core.h"
#include "storage/memory_store.h"
#include "storage/recovery.h"
#include "tests/fuzz/some_messages.h"

namespace quipu::fuzz {

class Node {
 public:
  // Of so many members, the first; founded, its peers not connected.
  explicit Node(std::size_t members);
  // On a disk that somebody else has written.
  Node(const ClusterConfig& config, std::unique_ptr<Executor> executor, const MemoryDisk& disk);

  [[nodiscard]] static const ClusterConfig& config(std::size_t members);
  [[nodiscard]] static StoreOwner owner(const ClusterConfig& config);
  // As found on the disk of a founded member that has started once.
  [[nodiscard]] static const MemoryDisk& founded_disk(std::size_t members);
  // Bounds so low that inputs reach them.
  [[nodiscard]] static NodeSettings settings();
  [[nodiscard]] static ExecutorOptions options();

  // ---- clients ----
  // Bytes as they came with one read of the client's connection.
  void client_bytes(std::string_view bytes);

  // ---- peers ----
  // The member's connection is made anew.
  void connect(MemberIndex member);
  void disconnect(MemberIndex member);
  void peer_bytes(MemberIndex member, std::string_view bytes);
  // A Hello as the founded member itself would say it.
  [[nodiscard]] Hello hello(MemberIndex member) const;
  // A question or states that the node has sent to that member; each taken once.
  std::optional<PeerMessage> take_asked(MemberIndex member);

  // ---- disk and time ----
  void stall(bool stalled);
  void on_storage_full(bool full);
  void pass(Duration duration);

  // Lets everything end, and checks what can be checked only then.
  void finish();

  [[nodiscard]] const NodeCore& core() const { return *core_; }
  [[nodiscard]] Known known() const;
  // Of counters that were only added to: what the answers say that they must hold.
  void check_sums() const;

 private:
  struct Link {
    LinkId id{};
    FrameDecoder decoder;
    std::deque<PeerMessage> asked;
  };
  // What a client has asked and is owed.
  struct Asked {
    std::uint64_t id = 0;
    std::size_t keys = 0;  // of a read, and one more; an op has none
    OpKind kind{};
    std::string key{};
    std::int64_t amount = 0;
    Token token{};
    bool operator==(const Asked&) const = default;
  };
  struct Print {
    std::vector<std::pair<Partition, Hash128>> digests;
    Commit sealed{};
    bool open = false;
    bool operator==(const Print&) const = default;
  };

  void start();
  void give_ops(std::vector<Op>& ops);
  void ask(const Op& op);
  bool client_frame(const FrameDecoder::Frame& frame, std::vector<Op>& ops);
  void link_frame(MemberIndex member, const FrameDecoder::Frame& frame);
  void perform(Effects& effects);
  void write();
  void take_sent(const Effects::Send& send);
  void take_answer(const Effects::Reply& reply);
  void note(const Asked& asked, const Done& done);
  [[nodiscard]] Print print(const Executor& executor) const;
  void check_recovered();
  void recover_core();

  const ClusterConfig& config_;
  MemoryDisk disk_;
  std::unique_ptr<MemoryStore> store_;
  Random random_{1};
  std::unique_ptr<NodeCore> core_;
  Instant now_{std::chrono::hours(1)};
  std::deque<Sealed> writes_;
  bool stalled_ = false;

  FrameDecoder client_;
  ClientId client_id_{1};
  std::vector<Asked> owed_;
  std::vector<Serial> serials_;
  std::map<MemberIndex, Link> links_;
  std::uint64_t next_link_ = 1;

  std::map<std::string, __int128> sums_;
  std::set<std::string> unsure_;  // keys whose sums the answers do not tell
  std::set<std::pair<Serial, std::uint64_t>> counted_;
};

}  // namespace quipu::fuzz
