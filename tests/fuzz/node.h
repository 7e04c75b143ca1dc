// node.h: one whole NodeCore on a disk of memory. Its clients and peers are strangers.
//
// Its checks, for any input:
//   1. A refused frame has changed nothing.
//   2. Each request is answered once, with its id, by its deadline at the latest.
//   3. The durable state equals memory: after recovery, it has the same digests.
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
  // The first of this many members; founded, its peers not connected.
  explicit Node(std::size_t members);
  // On a disk with any content.
  Node(const ClusterConfig& config, std::unique_ptr<Executor> executor, const MemoryDisk& disk);

  [[nodiscard]] static const ClusterConfig& config(std::size_t members);
  [[nodiscard]] static StoreOwner owner(const ClusterConfig& config);
  // As on the disk of a founded member that has started once.
  [[nodiscard]] static const MemoryDisk& founded_disk(std::size_t members);
  // Bounds so low that inputs reach them.
  [[nodiscard]] static NodeSettings settings();
  [[nodiscard]] static ExecutorOptions options();

  // ---- clients ----
  // The bytes of one read of the client's connection.
  void client_bytes(std::string_view bytes);

  // ---- peers ----
  // Replaces the member's connection.
  void connect(MemberIndex member);
  void disconnect(MemberIndex member);
  void peer_bytes(MemberIndex member, std::string_view bytes);
  // A Hello as the founded member itself would send it.
  [[nodiscard]] Hello hello(MemberIndex member) const;
  // A question or states that the node has sent to that member. Each is taken once.
  std::optional<PeerMessage> take_asked(MemberIndex member);

  // ---- disk and time ----
  void stall(bool stalled);
  void on_storage_full(bool full);
  void pass(Duration duration);

  // Lets everything end, and then makes the final checks.
  void finish();

  [[nodiscard]] const NodeCore& core() const { return *core_; }
  [[nodiscard]] Known known() const;
  // For counters with adds only: the totals that follow from the answers.
  void check_sums() const;

 private:
  struct Link {
    LinkId id{};
    FrameDecoder decoder;
    std::deque<PeerMessage> asked;
  };
  // A client's open requests.
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
    Hash128 namespaces{};
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
  [[nodiscard]] Wall wall() const {
    return Wall(std::chrono::floor<Wall::duration>(now_.time_since_epoch()));
  }

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
  std::set<std::string> unsure_;  // keys whose sums do not follow from the answers
  std::set<std::pair<Serial, std::uint64_t>> counted_;
};

}  // namespace quipu::fuzz
